// Package pgadvisory is what pglock and pgxlock have in common: PostgreSQL's session-level advisory
// locks on a session that the holder has for itself, as a lock.Backend over either driver.
package pgadvisory

import (
	"context"
	"errors"
)

// ErrNoRow is what Session.QueryRow gives when there is no row.
var ErrNoRow = errors.New("no row")

// A Session is one server session, which whoever got it has for itself until it gives it back. Its
// methods are not called concurrently.
type Session interface {
	// QueryRow runs one statement and scans its first row. ErrNoRow when there is none. Server errors
	// keep their SQLSTATE: errors.As to interface{ SQLState() string }. It returns soon after ctx has
	// ended, whatever the network does. Args are int64 and string, dest *int64, *bool and *string; a statement
	// without args must be sent without a named prepared statement, which some poolers do not know.
	QueryRow(ctx context.Context, sql string, args []any, dest ...any) error

	// Park reads from the connection until ctx ends, which leaves it usable and is nil, or the
	// connection dies, which is an error, at once. Drivers that can't give errors.ErrUnsupported, at once.
	Park(ctx context.Context) error

	// PID is the server process that answered when the connection was made (BackendKeyData). False when
	// the driver does not tell.
	PID() (pid uint32, ok bool)

	// Return gives the session back, for others to use: only one that is clean.
	Return()

	// Destroy closes the connection, so that the server frees whatever is locked on it. It does not
	// wait for a network that is silent.
	Destroy()
}

// inTime is err, what a statement with ctx gave, or the cause when ctx ended while the answer came: lib/pq may have
// closed the connection then.
func inTime(ctx context.Context, err error) error {
	if err == nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// Sessions is where sessions come from: a pool.
type Sessions interface {
	// Get gives a session. It waits for one as long as ctx allows; when it would wait for what only the
	// caller or other holders can give back, the error is lock.ErrPoolExhausted. Nested says that the
	// caller holds a session already.
	Get(ctx context.Context, nested bool) (Session, error)

	// Close closes what Get opened and the caller of the package did not.
	Close() error
}
