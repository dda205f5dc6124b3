// Package faultproxy is a TCP proxy on the loopback interface that does to a connection what networks
// do: it cuts, resets, delays, falls silent, loses a reply. It knows no protocol, so that it stands in
// front of PostgreSQL, MySQL and Redis alike.
package faultproxy

import (
	"errors"
	"net"
	"strings"
	"sync"
	"testing"
	"time"
)

// A Proxy passes connections on to one server. Its methods may be called from several goroutines, and
// concern the connections that it has when they are called unless they say otherwise.
type Proxy struct {
	tb       testing.TB
	target   string
	listener net.Listener
	running  sync.WaitGroup

	mu     sync.Mutex
	links  map[*link]struct{}
	closed bool
	delay  time.Duration
	refuse bool
	open   chan struct{} // closed while chunks may pass; not closed in a blackhole
	skip   int           // of the server's chunks, those that pass before the first that is swallowed
	drop   int           // and how many are still to be swallowed
}

// New starts a proxy to target, a host and port. It ends when the test does, with all connections.
func New(tb testing.TB, target string) *Proxy {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatalf("faultproxy: %v", err)
	}
	p := &Proxy{tb: tb, target: target, listener: l, links: map[*link]struct{}{}, open: make(chan struct{})}
	close(p.open)
	p.running.Go(p.accept)
	tb.Cleanup(p.Close)
	return p
}

// Addr is the host and port that clients connect to instead of the target's.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// Through is a URL or data source name with the proxy's address in place of the target's.
func (p *Proxy) Through(source string) string {
	p.tb.Helper()
	if !strings.Contains(source, p.target) {
		p.tb.Fatalf("faultproxy: %q does not name the target %s", source, p.target)
	}
	return strings.Replace(source, p.target, p.Addr(), 1)
}

// Connections is how many clients are connected, those with half a connection among them.
func (p *Proxy) Connections() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.links)
}

// Cut closes every connection on both sides, in order: each side reads an end of file.
func (p *Proxy) Cut() {
	for _, l := range p.snapshot() {
		l.end()
	}
}

// Reset closes every connection on both sides with an RST.
func (p *Proxy) Reset() {
	for _, l := range p.snapshot() {
		l.reset()
	}
}

// HalfOpen closes every connection on the server's side only. The client hears nothing of it, and
// what it sends disappears.
func (p *Proxy) HalfOpen() {
	for _, l := range p.snapshot() {
		l.halve()
	}
}

// Delay holds every chunk for d, in both directions, on connections of now and later; 0 ends it.
func (p *Proxy) Delay(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.delay = d
}

// Blackhole makes the network silent, or ends that. While it is, nothing is passed on in either
// direction, no side hears of the other's end, and new connections are accepted but not made to the
// server. What was sent meanwhile arrives when it ends, as TCP would have it.
func (p *Proxy) Blackhole(on bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.open:
		if on {
			p.open = make(chan struct{})
		}
	default:
		if !on {
			close(p.open)
		}
	}
}

// RefuseNew makes new connections fail, or ends that: they are reset as soon as they are made.
func (p *Proxy) RefuseNew(on bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refuse = on
}

// DropReplies swallows the next n chunks that the server sends, on whichever connections, and then cuts
// every connection that lost one. The requests have reached the server; the clients see no more than an
// end of file. 0 ends it, and cuts those that have lost one already.
func (p *Proxy) DropReplies(n int) { p.DropRepliesAfter(0, n) }

// DropRepliesAfter is DropReplies for the n chunks that follow the next skip ones.
func (p *Proxy) DropRepliesAfter(skip, n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.skip, p.drop = skip, n
	if n == 0 {
		p.cutHoled()
	}
}

// cutHoled cuts the connections that lost a chunk. The mutex is held.
func (p *Proxy) cutHoled() {
	for l := range p.links {
		if l.holed {
			l.end()
		}
	}
}

// Dropping is how many chunks are still to be swallowed.
func (p *Proxy) Dropping() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.drop
}

// Close ends the proxy and returns when nothing of it runs any more. The test's end calls it; a test
// that counts goroutines before its end calls it itself. A second call does nothing.
func (p *Proxy) Close() {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.listener.Close()
	p.Cut()
	p.running.Wait()
}

// accept takes clients until the listener is closed.
func (p *Proxy) accept() {
	for {
		conn, err := p.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			p.tb.Errorf("faultproxy: accept: %v", err)
			return
		}
		client := conn.(*net.TCPConn)
		l := &link{proxy: p, client: client, done: make(chan struct{})}
		p.mu.Lock()
		refused := p.refuse || p.closed
		if !refused {
			p.links[l] = struct{}{}
		}
		p.mu.Unlock()
		if refused {
			client.SetLinger(0)
			client.Close()
			continue
		}
		p.running.Go(l.serve)
	}
}

func (p *Proxy) snapshot() []*link {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := make([]*link, 0, len(p.links))
	for l := range p.links {
		all = append(all, l)
	}
	return all
}

// swallow says whether the chunk that the server sent on l just now is to disappear. A connection that
// lost one loses all that follow until it is cut, since a stream with a hole would be another fault.
func (p *Proxy) swallow(l *link) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.drop == 0:
		return l.holed // until its end
	case p.skip > 0 && !l.holed:
		p.skip--
		return false
	}
	l.holed = true
	p.drop--
	if p.drop == 0 {
		p.cutHoled()
	}
	return true
}
