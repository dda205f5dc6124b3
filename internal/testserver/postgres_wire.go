//go:build unix

package testserver

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"time"
)

// wireTimeout bounds one statement on a connection of our own.
const wireTimeout = time.Minute

// postgresExec runs one statement over a connection of its own and drops the rows. It speaks just
// enough of the protocol (PostgreSQL manual, Frontend/Backend Protocol, version 3.0) for a server
// that trusts the user, which keeps database drivers out of this package.
func postgresExec(port int, database, statement string) error {
	conn, err := net.DialTimeout("tcp", loopback(port), wireTimeout)
	if err != nil {
		return err
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(wireTimeout))

	const protocol3 = 3 << 16
	startup := binary.BigEndian.AppendUint32(nil, protocol3)
	for _, text := range []string{"user", postgresUser, "database", database, ""} {
		startup = append(append(startup, text...), 0)
	}
	in := bufio.NewReader(conn)
	if _, err := conn.Write(postgresMessage(0, startup)); err != nil {
		return err
	}
	if err := postgresReady(in); err != nil {
		return err
	}
	if _, err := conn.Write(postgresMessage('Q', append([]byte(statement), 0))); err != nil {
		return err
	}
	if err := postgresReady(in); err != nil {
		return err
	}
	// Terminate, so that the server's session ends now and does not find a closed connection.
	_, err = conn.Write(postgresMessage('X', nil))
	return err
}

// postgresMessage frames a message; the startup message, kind 0, has no kind byte.
func postgresMessage(kind byte, body []byte) []byte {
	var message []byte
	if kind != 0 {
		message = append(message, kind)
	}
	message = binary.BigEndian.AppendUint32(message, uint32(4+len(body)))
	return append(message, body...)
}

// postgresReady reads up to ReadyForQuery. An error of a statement comes before it, an error at
// startup comes instead of it.
func postgresReady(in *bufio.Reader) error {
	var failure error
	for {
		var header [5]byte
		if _, err := io.ReadFull(in, header[:]); err != nil {
			if failure != nil {
				return failure
			}
			return err
		}
		size := binary.BigEndian.Uint32(header[1:])
		if size < 4 || size > 1<<20 {
			return fmt.Errorf("message %q of %d bytes: not a PostgreSQL server", header[0], size)
		}
		body := make([]byte, size-4)
		if _, err := io.ReadFull(in, body); err != nil {
			return err
		}
		switch header[0] {
		case 'Z':
			return failure
		case 'E':
			failure = postgresError(body)
		case 'R':
			if auth := binary.BigEndian.Uint32(body); auth != 0 {
				return fmt.Errorf("the server asks for authentication %d, and this one trusts its users", auth)
			}
		}
	}
}

// postgresError makes an error of an ErrorResponse: fields of a type byte and a text.
func postgresError(body []byte) error {
	fields := map[byte]string{}
	for field := range bytes.SplitSeq(body, []byte{0}) {
		if len(field) > 1 {
			fields[field[0]] = string(field[1:])
		}
	}
	return fmt.Errorf("%s (SQLSTATE %s)", fields['M'], fields['C'])
}
