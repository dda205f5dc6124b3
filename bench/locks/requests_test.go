package main

import (
	"bufio"
	"io"
	"net"
	"strings"
	"testing"
	"time"
)

func TestRequestsAreToldApart(t *testing.T) {
	// A PostgreSQL message after the first: type, length with itself, text.
	pg := func(kind byte, text string) string {
		return string([]byte{kind, 0, 0, 0, byte(4 + len(text))}) + text
	}
	maria := func(sequence byte, text string) string { return string([]byte{byte(len(text)), 0, 0, sequence}) + text }
	for name, c := range map[string]struct {
		protocol requests
		sent     string
		want     int
	}{
		"one command":               {redisRequests, "*1\r\n$4\r\nPING\r\n", 1},
		"a pipeline":                {redisRequests, "*2\r\n$3\r\nGET\r\n$1\r\na\r\n*2\r\n$3\r\nGET\r\n$5\r\n*1\r\n$\r\n", 2},
		"an empty argument":         {redisRequests, "*2\r\n$4\r\nECHO\r\n$0\r\n\r\n", 1},
		"a session and a query":     {postgresRequests, "\x00\x00\x00\x09start" + pg('Q', "select 1\x00"), 2},
		"an extended query":         {postgresRequests, "\x00\x00\x00\x04" + pg('P', "x") + pg('B', "") + pg('E', "yy") + pg('S', ""), 2},
		"the end is no request":     {postgresRequests, "\x00\x00\x00\x04" + pg('X', ""), 1},
		"login and two commands":    {mariadbRequests, maria(1, "login") + maria(0, "\x03DO 1") + maria(0, "\x0e"), 2},
		"a long command's packages": {mariadbRequests, maria(0, "abc") + maria(1, "def"), 1},
	} {
		n := 0
		err := c.protocol(bufio.NewReader(strings.NewReader(c.sent)), func() { n++ })
		if n != c.want || err != io.EOF {
			t.Errorf("%s: %d requests, %v, want %d", name, n, err, c.want)
		}
	}
	if err := redisRequests(bufio.NewReader(strings.NewReader("PING\r\n")), func() {}); err == nil || err == io.EOF {
		t.Errorf("what is no array: %v", err)
	}
}

func TestRelayPassesOnAndCounts(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			io.Copy(conn, conn)
			conn.Close()
		}
	}()
	r, err := newRelay(listener.Addr().String(), redisRequests)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("tcp", r.listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	const request = "*1\r\n$4\r\nPING\r\n"
	for i := range 3 {
		if _, err := io.WriteString(conn, request); err != nil {
			t.Fatal(err)
		}
		answer := make([]byte, len(request))
		if _, err := io.ReadFull(conn, answer); err != nil || string(answer) != request {
			t.Fatalf("answer %q, %v", answer, err)
		}
		// A request is counted after it was passed on.
		for end := time.Now().Add(10 * time.Second); r.count.Load() != int64(i+1); time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("%d requests after %d", r.count.Load(), i+1)
			}
		}
	}
	r.close()
	if _, err := conn.Read(make([]byte, 1)); err == nil {
		t.Error("the connection outlives the relay")
	}
}
