package pglock

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"reflect"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/advisorylint/advisorylint/runtime/internal/pgadvisory"
)

// A conn is a connection of the pool, with what is below database/sql: that can be closed while a statement
// hangs on it.
type conn struct {
	*sql.Conn
	driver driver.Conn
	pgx    *pgx.Conn // nil when the driver is another
}

// below finds the driver's connection.
func below(c *sql.Conn) (conn, error) {
	found := conn{Conn: c}
	err := c.Raw(func(raw any) error {
		found.driver, _ = raw.(driver.Conn)
		found.pgx = pgxOf(raw)
		return nil
	})
	return found, err
}

// pgxOf finds the connection of pgx's stdlib, also below drivers that only watch, as those of OpenTelemetry.
func pgxOf(raw any) *pgx.Conn {
	for {
		switch c := raw.(type) {
		case interface{ Conn() *pgx.Conn }:
			return c.Conn()
		case interface{ Raw() driver.Conn }:
			raw = c.Raw()
		default:
			return nil
		}
	}
}

// moment is for what returns because a context ended, as database/sql and pgx do: in no time, with an error
// that says more than the context's.
const moment = 10 * time.Millisecond

// goodbye is how long a driver has to have the server give up a statement whose context ended, before the
// connection is closed: until then the server may still grant what the statement asks for.
const goodbye = 250 * time.Millisecond

// bounded runs do, which is a statement with ctx, and gives it up when ctx ends, with the cause as the error.
// Lib/pq asks the server to cancel the statement, and waits for the answer for as long as the network is
// silent; pgx sets a deadline on the socket, and needs no help. Whatever else is done with the connection
// waits for the statement, for as long as goodbye.
func (c conn) bounded(ctx context.Context, do func() error) error {
	if c.pgx != nil || c.driver == nil || ctx.Done() == nil {
		return do()
	}
	done := make(chan error, 1)
	go func() { done <- do() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	select {
	case err := <-done:
		return err
	case <-time.After(moment):
	}
	go func() {
		select {
		case <-done:
		case <-time.After(goodbye):
			// Not through database/sql, which waits for the statement. Closing the socket ends it.
			_ = c.driver.Close()
		}
	}()
	return context.Cause(ctx)
}

// queryRow implements pgadvisory.Session.
func (c conn) queryRow(ctx context.Context, query string, args []any, dest ...any) error {
	if c.pgx != nil {
		return c.pgxRow(ctx, query, args, dest)
	}
	query, args = inlined(query, args)
	// What a statement that was given up still scans must not be the caller's.
	own := make([]any, len(dest))
	for i, d := range dest {
		own[i] = reflect.New(reflect.TypeOf(d).Elem()).Interface()
	}
	err := c.bounded(ctx, func() error { return c.QueryRowContext(ctx, query, args...).Scan(own...) })
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return pgadvisory.ErrNoRow
	case err != nil:
		return err
	}
	for i, d := range dest {
		reflect.ValueOf(d).Elem().Set(reflect.ValueOf(own[i]).Elem())
	}
	return nil
}

// pgxRow goes past database/sql, and without arguments past prepared statements.
func (c conn) pgxRow(ctx context.Context, query string, args, dest []any) (err error) {
	if len(args) == 0 {
		args = []any{pgx.QueryExecModeExec}
	}
	failed := c.Raw(func(any) error {
		err = c.pgx.QueryRow(ctx, query, args...).Scan(dest...)
		return nil
	})
	switch {
	case failed != nil:
		return failed
	case errors.Is(err, pgx.ErrNoRows):
		return pgadvisory.ErrNoRow
	}
	return err
}

// How long hangUp waits: for another statement on the connection, which it can't go past, and then for
// Rows that the caller forgot, before which database/sql does not let the connection go.
const (
	forStatement = time.Second
	forRows      = 100 * time.Millisecond
)

// hangUp closes the connection and takes it out of the pool.
func (c conn) hangUp() {
	closed, gone := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(gone)
		_ = c.Raw(func(raw any) error {
			c.closeSocket(raw)
			close(closed)
			return driver.ErrBadConn // database/sql: not to be used again
		})
	}()
	select {
	case <-gone:
		return
	case <-closed:
	case <-time.After(forStatement):
	}
	select {
	case <-gone:
	case <-time.After(forRows):
	}
}

// closeSocket closes without waiting for the network: pgx's stdlib would for 5 s.
func (c conn) closeSocket(raw any) {
	if c.pgx != nil {
		ended, cancel := context.WithCancel(context.Background())
		cancel()
		_ = c.pgx.PgConn().Close(ended)
		return
	}
	if d, ok := raw.(driver.Conn); ok {
		_ = d.Close()
	}
}
