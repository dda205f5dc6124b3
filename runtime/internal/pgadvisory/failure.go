package pgadvisory

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/advisorylint/advisorylint/runtime/lock"
)

// SQLSTATEs, from the manual's appendix "PostgreSQL Error Codes".
const (
	lockNotAvailable = "55P03" // lock_timeout
	queryCanceled    = "57014" // statement_timeout, pg_cancel_backend, a driver's cancel request
	deadlockDetected = "40P01"
	outOfMemory      = "53200" // no room in the shared lock table
	undefinedTable   = "42P01"
	invalidSchema    = "3F000"
)

// failures says which error of package lock a SQLSTATE of a lock statement is.
var failures = map[string]struct {
	is   error
	text string // what else there is to say
}{
	lockNotAvailable: {is: lock.ErrTimeout},
	queryCanceled:    {is: lock.ErrTimeout, text: "statement_timeout of the session, or pg_cancel_backend, ended the wait"},
	deadlockDetected: {is: lock.ErrDeadlock},
	outOfMemory:      {is: lock.ErrLockTableFull, text: "raise max_locks_per_transaction, or hold fewer locks"},
	undefinedTable:   {is: errNoSchema},
	invalidSchema:    {is: errNoSchema},
}

var errNoSchema = errors.New("fencing and RunOnce need a sequence and a table in the database: run the SQL in the package's Schema")

// Failure gives the error of a statement that takes a lock, or needs what Schema creates, its place among
// those of package lock, and keeps the driver's. When ctx, which the statement ran with, has ended, it
// wraps context.Cause(ctx). Nil stays nil.
func Failure(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if cause := context.Cause(ctx); cause != nil {
		if errors.Is(err, cause) {
			return err
		}
		return fmt.Errorf("%w: %w", cause, err)
	}
	known, ok := failures[sqlState(err)]
	switch {
	case !ok:
		return err
	case known.text == "":
		return fmt.Errorf("%w: %w", known.is, err)
	default:
		return fmt.Errorf("%w: %w (%s)", known.is, err, known.text)
	}
}

// sqlState is the server's code in err, or "". Both drivers' errors have the method.
func sqlState(err error) string {
	var server interface{ SQLState() string }
	if errors.As(err, &server) {
		return server.SQLState()
	}
	return ""
}

// endedByServer reports whether err is the server's word that it ended the session: 57P01 to 57P05,
// for an administrator, a crash, a shutdown, a dropped database, an idle session.
func endedByServer(err error) bool { return strings.HasPrefix(sqlState(err), "57P") }

// survived reports whether err is one of a statement, after which the session goes on.
func survived(err error) bool {
	state := sqlState(err)
	return state != "" && !endedByServer(err) && !strings.HasPrefix(state, "08")
}
