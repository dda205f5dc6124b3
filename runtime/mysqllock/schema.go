package mysqllock

import (
	"context"
	_ "embed"
	"fmt"
	"strings"
	"time"

	"github.com/advisorylint/advisorylint/runtime/lock"
)

// Schema makes the table that Fencing and RunOnce need, unless it is there: one statement, for the
// program's migrations. A program that uses both needs SELECT, INSERT and UPDATE on it.
//
//go:embed schema.sql
var Schema string

var _ lock.Claimer = (*backend)(nil)

// rowTries bounds how often a statement on the table is tried again when InnoDB chose its transaction to end
// a deadlock: rows beside each other may be inserted at one time.
const rowTries = 3

// onRows runs do, which is such a statement, until another does not stand in its way.
func onRows(do func() error) error {
	for try := 0; ; try++ {
		if err := do(); !contended(err) || try == rowTries {
			return err
		}
	}
}

// tokens counts up the row of each name and gives what is in it then. Each holder does so after it got
// the lock and before it can release it, so that tokens come in the order of the holders.
func (s *session) tokens(ctx context.Context, names []string) ([]int64, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, answerWithin, errSilent)
	defer cancel()
	tokens := make([]int64, len(names))
	for i, n := range names {
		token, err := s.token(ctx, n)
		if ctx.Err() != nil {
			return nil, ended(ctx, answerWithin, err)
		}
		if err != nil {
			return nil, fmt.Errorf("fencing token: %w", hint(err))
		}
		tokens[i] = token
	}
	return tokens, nil
}

// token commits what it counted, whatever autocommit is: the row must not go back when someone rolls
// back, nor stay locked.
func (s *session) token(ctx context.Context, name string) (token int64, err error) {
	// On MariaDB names that differ in case are different locks (measured). MySQL's source makes them lower
	// case first. One row for both is right on either: tokens need to grow, not to be without gaps.
	count := fmt.Sprintf("INSERT INTO advisorylint_locks (name, token) VALUES (X'%x', LAST_INSERT_ID(1)) "+
		"ON DUPLICATE KEY UPDATE token = LAST_INSERT_ID(token + 1)", strings.ToLower(name))
	err = onRows(func() error {
		result, err := s.conn.ExecContext(ctx, count)
		if err != nil {
			return err
		}
		if token, err = result.LastInsertId(); err != nil {
			return err
		}
		_, err = s.conn.ExecContext(ctx, "COMMIT")
		return err
	})
	return token, err
}

// Claim remembers a run in the row of key, in a transaction of a connection that the pool has to spare.
func (b *backend) Claim(ctx context.Context, key lock.Key, every time.Duration) (claimed bool, err error) {
	err = onRows(func() (err error) {
		claimed, err = b.claim(ctx, key.Name64(), every)
		return err
	})
	if err != nil {
		return false, fmt.Errorf("claim: %w", hint(err))
	}
	return claimed, nil
}

// claim counts the rows that a statement changed only where that does not depend on the driver's
// clientFoundRows.
func (b *backend) claim(ctx context.Context, name string, every time.Duration) (bool, error) {
	tx, err := b.pool.Value().BeginTx(ctx, nil)
	if err != nil {
		return false, err
	}
	defer tx.Rollback() // of no effect after Commit
	insert := fmt.Sprintf("INSERT IGNORE INTO advisorylint_locks (name) VALUES (X'%x')", name)
	if _, err := tx.ExecContext(ctx, insert); err != nil {
		return false, err
	}
	update := fmt.Sprintf("UPDATE advisorylint_locks SET claimed = UTC_TIMESTAMP(6) WHERE name = X'%x' "+
		"AND (claimed IS NULL OR claimed <= UTC_TIMESTAMP(6) - INTERVAL %d MICROSECOND)", name, max(every.Microseconds(), 1))
	result, err := tx.ExecContext(ctx, update)
	if err != nil {
		return false, err
	}
	changed, err := result.RowsAffected()
	if err != nil {
		return false, err
	}
	return changed == 1, tx.Commit()
}

// contended reports whether a statement on a row may succeed when it is tried again.
func contended(err error) bool {
	code := serverCode(err)
	return code == codeDeadlock || code == codeLockWait
}

// hint tells who forgot the table where to find it.
func hint(err error) error {
	if serverCode(err) == codeNoTable {
		return fmt.Errorf("create the table of mysqllock.Schema: %w", err)
	}
	return err
}
