package faultproxy

import (
	"errors"
	"io"
	"net"
	"sync"
	"time"
)

// dialTimeout bounds the connection to the server.
const dialTimeout = 10 * time.Second

// link is one client's connection and the server's that belongs to it.
type link struct {
	proxy  *Proxy
	client *net.TCPConn
	holed  bool // a chunk of it was swallowed; under the proxy's mutex

	mu     sync.Mutex
	server *net.TCPConn // nil before it is made
	halved bool         // the server's side was closed on purpose
	over   bool
	done   chan struct{} // closed with over
}

// serve connects to the server and passes chunks on until both directions have ended.
func (l *link) serve() {
	defer func() {
		l.end()
		l.proxy.mu.Lock()
		defer l.proxy.mu.Unlock()
		delete(l.proxy.links, l)
	}()
	if !l.pass() {
		return
	}
	conn, err := net.DialTimeout("tcp", l.proxy.target, dialTimeout)
	if err != nil {
		l.reset() // what a client of a server that is gone sees, one step later
		return
	}
	server := conn.(*net.TCPConn)
	l.mu.Lock()
	l.server = server
	gone := l.over || l.halved
	l.mu.Unlock()
	if gone {
		server.Close()
	}
	var both sync.WaitGroup
	both.Go(func() { l.pump(server, l.client, false) })
	both.Go(func() { l.pump(l.client, server, true) })
	both.Wait()
}

// pump passes chunks from one side to the other, and then the end of file. Any other fault of one side
// resets the other one.
func (l *link) pump(to, from *net.TCPConn, replies bool) {
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		if n > 0 && !(replies && l.proxy.swallow(l)) {
			if !l.wait() || !l.pass() {
				return
			}
			if _, err := to.Write(buffer[:n]); err != nil && !l.isHalved() {
				if l.pass() {
					l.reset()
				}
				return
			}
		}
		switch {
		case err == nil:
			continue
		case l.isHalved():
			if replies {
				<-l.done // the client is not to hear of it
			}
			l.end()
			return
		case !l.pass():
			return
		case errors.Is(err, io.EOF):
			to.CloseWrite()
		default:
			l.reset()
		}
		return
	}
}

// wait holds a chunk for the delay; false when the link is over.
func (l *link) wait() bool {
	l.proxy.mu.Lock()
	delay := l.proxy.delay
	l.proxy.mu.Unlock()
	if delay <= 0 {
		return true
	}
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-l.done:
		return false
	}
}

// pass returns when no blackhole is in the way; false when the link is over.
func (l *link) pass() bool {
	l.proxy.mu.Lock()
	open := l.proxy.open
	l.proxy.mu.Unlock()
	select {
	case <-open:
		return true
	default:
	}
	select {
	case <-open:
		return true
	case <-l.done:
		return false
	}
}

func (l *link) isHalved() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.halved
}

// end closes both sides.
func (l *link) end() { l.close(false) }

// reset closes both sides with an RST.
func (l *link) reset() { l.close(true) }

func (l *link) close(abruptly bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over {
		return
	}
	l.over = true
	close(l.done)
	for _, conn := range []*net.TCPConn{l.client, l.server} {
		if conn == nil {
			continue
		}
		if abruptly {
			conn.SetLinger(0)
		}
		conn.Close()
	}
}

// halve closes the server's side.
func (l *link) halve() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.halved = true
	if l.server != nil {
		l.server.Close()
	}
}
