package main

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
)

// A relay passes connections on to a server and counts the requests in what clients send: all that a
// client waits for an answer to, so that the count is also that of round trips, unless the client
// sends several at once.
type relay struct {
	listener net.Listener
	count    atomic.Int64

	mu    sync.Mutex
	conns map[net.Conn]struct{} // nil when closed
	group sync.WaitGroup
}

// requests reads all that one client sends from its first byte, and calls each for every request.
type requests func(from *bufio.Reader, each func()) error

// protocols is how the requests of each system are told apart.
var protocols = map[system]requests{postgresql: postgresRequests, redisdb: redisRequests, mariadb: mariadbRequests}

// newRelay listens on a free loopback port until close.
func newRelay(target string, protocol requests) (*relay, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	r := &relay{listener: listener, conns: map[net.Conn]struct{}{}}
	r.group.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", target)
			if err != nil {
				client.Close()
				continue
			}
			if r.keep(client, server) {
				r.pass(client, server, protocol)
			}
		}
	})
	return r, nil
}

// keep notes connections for close to end, or ends them when it has been called.
func (r *relay) keep(conns ...net.Conn) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range conns {
		if r.conns == nil {
			c.Close()
		} else {
			r.conns[c] = struct{}{}
		}
	}
	return r.conns != nil
}

// pass copies both ways until one side ends, and then ends both. What the client sends goes on to
// the server as it comes, before it is looked at.
func (r *relay) pass(client, server net.Conn, protocol requests) {
	both := func() {
		client.Close()
		server.Close()
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.conns, client)
		delete(r.conns, server)
	}
	r.group.Go(func() {
		defer both()
		// Of a protocol's error nobody hears, but its connection ends and so the measurement fails.
		_ = protocol(bufio.NewReaderSize(io.TeeReader(client, server), 64<<10), func() { r.count.Add(1) })
	})
	r.group.Go(func() {
		defer both()
		_, _ = io.Copy(client, server)
	})
}

func (r *relay) close() {
	r.listener.Close()
	r.mu.Lock()
	for c := range r.conns {
		c.Close()
	}
	r.conns = nil
	r.mu.Unlock()
	r.group.Wait()
}

// redisRequests counts commands: each is an array of bulk strings (RESP).
func redisRequests(from *bufio.Reader, each func()) error {
	for {
		n, err := respLength(from, '*')
		if err != nil {
			return err
		}
		each()
		for range n {
			size, err := respLength(from, '$')
			if err != nil {
				return err
			}
			if _, err := from.Discard(size + len("\r\n")); err != nil {
				return err
			}
		}
	}
}

func respLength(from *bufio.Reader, kind byte) (int, error) {
	line, err := from.ReadString('\n')
	if err != nil {
		return 0, err
	}
	if line[0] != kind {
		return 0, fmt.Errorf("a line %q where one that begins with %c was expected", line, kind)
	}
	return strconv.Atoi(strings.TrimSpace(line[1:]))
}

// postgresRequests counts the messages after which the server answers and waits: Query, Sync and
// FunctionCall (PostgreSQL manual, Message Formats). A first message without type begins a session,
// and cancels another's statement or asks for encryption.
func postgresRequests(from *bufio.Reader, each func()) error {
	var head [5]byte
	for first := true; ; first = false {
		kind, length := byte(0), head[:4]
		if !first {
			length = head[1:]
			var err error
			if kind, err = from.ReadByte(); err != nil {
				return err
			}
		}
		if _, err := io.ReadFull(from, length); err != nil {
			return err
		}
		if first || kind == 'Q' || kind == 'S' || kind == 'F' {
			each()
		}
		if _, err := from.Discard(int(binary.BigEndian.Uint32(length)) - 4); err != nil {
			return err
		}
	}
}

// mariadbRequests counts the packets that begin a command: their sequence number is 0 (MySQL's client
// and server protocol). Those that begin a session answer the server's first packet.
func mariadbRequests(from *bufio.Reader, each func()) error {
	for {
		var head [4]byte // length in three bytes, sequence number
		if _, err := io.ReadFull(from, head[:]); err != nil {
			return err
		}
		if head[3] == 0 {
			each()
		}
		if _, err := from.Discard(int(head[0]) | int(head[1])<<8 | int(head[2])<<16); err != nil {
			return err
		}
	}
}
