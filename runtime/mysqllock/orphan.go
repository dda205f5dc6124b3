package mysqllock

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// A driver that gives up waiting for GET_LOCK closes the connection, but the server looks at it about
// once a second while it waits (measured on MariaDB; MySQL's source has the same second), and may grant
// the lock to it until then. So the waiter is killed from another connection.

const (
	killWithin = 2 * time.Second // with its own wait for a connection
	killLooks  = 3               // the server may not have read the statement yet
	killPause  = 50 * time.Millisecond
)

// newMark makes the comment by which the statements of one acquire are known in the list of processes. A
// connection's id would not do: a driver does not tell it before the first answer, and through a load
// balancer it may be someone else's on the server that the KILL comes to.
func newMark() string { return "advisorylint:" + rand.Text() }

// killWaiter ends the waiting statement with mark, as far as it can: it needs a connection of the pool,
// and no more privilege than any user has on its own connections. It does not wait for that.
func (b *backend) killWaiter(mark string) {
	db := b.pool.Value() // now: the caller of Do may be gone by the time of the KILL, and the pool with it
	b.killers.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), killWithin)
		defer cancel()
		for range killLooks {
			if err := kill(ctx, db, mark); !errors.Is(err, sql.ErrNoRows) {
				return
			}
			select {
			case <-time.After(killPause):
			case <-ctx.Done():
				return
			}
		}
	})
}

// kill looks for the statement once. The id can't be another connection's by the time that KILL uses it,
// since servers count ids up.
func kill(ctx context.Context, db *sql.DB, mark string) error {
	var id uint64
	find := fmt.Sprintf("SELECT ID FROM information_schema.PROCESSLIST WHERE INFO LIKE '%%%s%%' AND ID <> CONNECTION_ID()", mark)
	if err := db.QueryRowContext(ctx, find).Scan(&id); err != nil {
		return err
	}
	_, err := db.ExecContext(ctx, fmt.Sprintf("KILL %d", id))
	return err
}
