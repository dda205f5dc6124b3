// Package poolerlock elects the one instance that sends out reminders. Its database is reached through
// PgBouncer in transaction mode, which gives a client another server session for each transaction. In
// bad.go the leader's lock is a session-level one, so it belongs to whoever uses that session next.
package poolerlock

import (
	"context"
	"database/sql"
	"errors"
	"net"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
)

const (
	// leader is the key of the lock that all instances try to get.
	leader = 90210
	// pooled is where PgBouncer listens.
	pooled = "postgres://postgres@pgbouncer.internal:6432/?pool_mode=transaction&sslmode=disable&default_query_exec_mode=exec"
)

// ErrNotHeld says that the server knows nothing of the lock that this instance had.
var ErrNotHeld = errors.New("the lead was not held by this session")

// Tunnel dials hosts that only the private network knows.
type Tunnel func(ctx context.Context, network, address string) (net.Conn, error)

// through makes config's connections go to database through the tunnel, which resolves names itself.
func (t Tunnel) through(config *pgx.ConnConfig, database string) {
	config.Database = database
	config.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) { return t(ctx, network, address) }
	config.LookupFunc = func(_ context.Context, host string) ([]string, error) { return []string{host}, nil }
	// pool_mode is a word to people; the server has no such parameter.
	delete(config.RuntimeParams, "pool_mode")
}

// Lead does the work if no other instance does, on a connection pinned for as long as it lasts.
func Lead(ctx context.Context, tunnel Tunnel, database string, work func(context.Context) error) (led bool, err error) {
	config, err := pgxpool.ParseConfig(pooled)
	if err != nil {
		return false, err
	}
	tunnel.through(config.ConnConfig, database)
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return false, err
	}
	defer pool.Close()
	conn, err := pool.Acquire(ctx)
	if err != nil {
		return false, err
	}
	defer conn.Release()
	if err := conn.QueryRow(ctx, `SELECT pg_try_advisory_lock($1)`, leader).Scan(&led); err != nil || !led { // want `pooler`
		return false, err
	}
	err = work(ctx)
	return true, errors.Join(err, resign(ctx, conn.Conn()))
}

// resign gives the lead back whatever became of ctx, or ends the client's session.
func resign(ctx context.Context, conn *pgx.Conn) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	var freed bool
	err := conn.QueryRow(ctx, `SELECT pg_advisory_unlock($1)`, leader).Scan(&freed)
	if err == nil && freed {
		return nil
	}
	if err == nil {
		err = ErrNotHeld
	}
	return errors.Join(err, conn.Close(ctx))
}

type rowQuerier interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// try is right on a session of the server's.
func try(ctx context.Context, q rowQuerier) (mine bool, err error) {
	err = q.QueryRowContext(ctx, `SELECT pg_try_advisory_lock($1)`, leader).Scan(&mine)
	return mine, err
}

// LeadSQL is Lead with database/sql.
func LeadSQL(ctx context.Context, tunnel Tunnel, database string, work func(context.Context) error) (led bool, err error) {
	config, err := pgx.ParseConfig(pooled)
	if err != nil {
		return false, err
	}
	tunnel.through(config, database)
	db := stdlib.OpenDB(*config)
	defer db.Close()
	conn, err := db.Conn(ctx)
	if err != nil {
		return false, err
	}
	defer conn.Close()
	if led, err = try(ctx, conn); err != nil || !led { // want `pooler`
		return false, err
	}
	err = work(ctx)
	return true, errors.Join(err, resignSQL(ctx, conn))
}

// resignSQL is resign for database/sql; closing the pool ends the session.
func resignSQL(ctx context.Context, conn *sql.Conn) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	var freed bool
	err := conn.QueryRowContext(ctx, `SELECT pg_advisory_unlock($1)`, leader).Scan(&freed)
	if err == nil && !freed {
		err = ErrNotHeld
	}
	return err
}
