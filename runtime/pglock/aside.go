package pglock

import (
	"context"
	"database/sql"
	"time"
)

// aside takes a connection of a pool with ctx in a goroutine that start starts, and gives up when ctx ends.
// Lib/pq, when it opens one, looks at ctx for the dial only: without connect_timeout it waits for the
// server's first answers for as long as the network is silent. A connection that comes after all goes to the
// pool; until then unpin is not called, since it has its place there.
func aside(ctx context.Context, start func(func()), take func() (conn *sql.Conn, unpin func(), err error)) (*sql.Conn, func(), error) {
	if ctx.Done() == nil {
		return take()
	}
	type taken struct {
		conn  *sql.Conn
		unpin func()
		err   error
	}
	came, left := make(chan taken), make(chan struct{})
	start(func() {
		conn, unpin, err := take()
		select {
		case came <- taken{conn, unpin, err}:
		case <-left:
			if err == nil {
				_ = conn.Close() // its only error is that it was closed before
				unpin()
			}
		}
	})
	select {
	case t := <-came:
		return t.conn, t.unpin, t.err
	case <-ctx.Done():
	}
	select {
	case t := <-came:
		return t.conn, t.unpin, t.err
	case <-time.After(moment):
		close(left)
		return nil, nil, context.Cause(ctx)
	}
}
