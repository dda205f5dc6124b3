//go:build unix

package testserver

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"
)

// redisDo sends one command, whose arguments have no blanks, over a connection of its own. It gives the
// text of the answer; of one with several parts, a line each.
func redisDo(port int, command string) (string, error) {
	conn, err := net.DialTimeout("tcp", loopback(port), wireTimeout)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(wireTimeout))
	if _, err := io.WriteString(conn, command+"\r\n"); err != nil {
		return "", err
	}
	answer, err := redisAnswer(bufio.NewReader(conn))
	if err != nil {
		return "", fmt.Errorf("%s: %w", command, err)
	}
	return answer, nil
}

// redisAnswer reads one value of the protocol's second version (RESP2).
func redisAnswer(in *bufio.Reader) (string, error) {
	line, err := in.ReadString('\n')
	if err != nil {
		return "", err
	}
	line = strings.TrimSuffix(line, "\r\n")
	if line == "" {
		return "", errors.New("empty line")
	}
	kind, rest := line[0], line[1:]
	switch kind {
	case '+', ':':
		return rest, nil
	case '-':
		return "", errors.New(rest)
	}
	length, err := strconv.Atoi(rest)
	if err != nil || kind != '$' && kind != '*' {
		return "", fmt.Errorf("answer %q", line)
	}
	if kind == '$' {
		text := make([]byte, max(length, 0)+2)
		if length < 0 {
			return "", nil
		}
		_, err := io.ReadFull(in, text)
		return string(text[:length]), err
	}
	var parts []string
	for range length {
		part, err := redisAnswer(in)
		if err != nil {
			return "", err
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, "\n"), nil
}
