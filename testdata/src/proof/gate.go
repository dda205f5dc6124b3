package proof

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// Gate is a way to a Redis server on which a test can stop a command, whichever library sends it, and
// do what happens at that moment elsewhere.
type Gate struct {
	Addr string

	target  string
	running sync.WaitGroup

	mu    sync.Mutex
	sent  []string
	stop  string // the command that runs do; "" when none does, or does any more
	do    func()
	drops bool
	conns []net.Conn
	ended bool
}

// Open opens a gate that lets everything through.
func (s *Store) Open() *Gate {
	s.tb.Helper()
	return openGate(s.tb, s.Addr, &Gate{})
}

// Before opens a gate that runs do once, before the first command of that name goes on.
func (s *Store) Before(command string, do func()) *Gate {
	s.tb.Helper()
	g := s.Open()
	g.Stop(command, do)
	return g
}

// Stop has the gate run do once, before the next command of that name goes on.
func (g *Gate) Stop(command string, do func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.stop, g.do = command, do
}

// InPlaceOf opens a gate that runs do once, and closes the connection of the first command of that
// name: the server never sees that command.
func (s *Store) InPlaceOf(command string, do func()) *Gate {
	s.tb.Helper()
	return openGate(s.tb, s.Addr, &Gate{stop: command, do: do, drops: true})
}

func openGate(tb testing.TB, target string, g *Gate) *Gate {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	g.Addr, g.target = l.Addr().String(), target
	g.running.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			g.running.Go(func() { g.serve(conn) })
		}
	})
	tb.Cleanup(func() {
		l.Close()
		g.end()
		g.running.Wait()
	})
	return g
}

// Sent lists the commands that have gone through, as redis-cli would write them.
func (g *Gate) Sent() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return append([]string(nil), g.sent...)
}

// WantPassed fails the test unless the stop of the gate has been reached.
func (g *Gate) WantPassed(tb testing.TB) {
	tb.Helper()
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.stop != "" {
		tb.Fatalf("no %s was sent, only %q", g.stop, g.sent)
	}
}

func (g *Gate) serve(client net.Conn) {
	server, err := net.Dial("tcp", g.target)
	if err != nil {
		client.Close()
		return
	}
	if !g.keep(client, server) {
		return
	}
	g.running.Go(func() {
		io.Copy(client, server)
		client.Close()
	})
	defer server.Close()
	from := bufio.NewReader(client)
	for {
		raw, command, err := readCommand(from)
		if err != nil || !g.pass(command) {
			return
		}
		if _, err := server.Write(raw); err != nil {
			return
		}
	}
}

// keep notes both ends for the gate's own end, and closes them when that has come.
func (g *Gate) keep(conns ...net.Conn) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.conns = append(g.conns, conns...)
	if g.ended {
		for _, c := range conns {
			c.Close()
		}
	}
	return !g.ended
}

func (g *Gate) end() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.ended = true
	for _, c := range g.conns {
		c.Close()
	}
}

// pass reports whether the command goes on. What the gate does runs without its mutex: other
// connections go on meanwhile.
func (g *Gate) pass(command []string) bool {
	g.mu.Lock()
	meets := g.stop != "" && strings.EqualFold(command[0], g.stop)
	if meets {
		g.stop = ""
	}
	drops, do := meets && g.drops, g.do
	if !drops {
		g.sent = append(g.sent, strings.Join(command, " "))
	}
	g.mu.Unlock()
	if meets {
		do()
	}
	return !drops
}

// readCommand reads one command in the form that clients send, an array of bulk strings.
func readCommand(from *bufio.Reader) (raw []byte, command []string, err error) {
	var seen bytes.Buffer
	length := func(kind byte) int {
		var line string
		if line, err = from.ReadString('\n'); err != nil {
			return 0
		}
		seen.WriteString(line)
		n, convErr := strconv.Atoi(strings.TrimSpace(line[1:]))
		if line[0] != kind || convErr != nil {
			err = fmt.Errorf("%q begins no %q of a command", line, kind)
		}
		return n
	}
	n := length('*')
	for ; err == nil && n > 0; n-- {
		size := length('$')
		if err != nil {
			break
		}
		word := make([]byte, size+len("\r\n"))
		if _, err = io.ReadFull(from, word); err == nil {
			seen.Write(word)
			command = append(command, string(word[:size]))
		}
	}
	if err == nil && len(command) == 0 {
		err = fmt.Errorf("an empty command")
	}
	return seen.Bytes(), command, err
}
