package pgadvisory

import (
	"context"
	"errors"
	"time"

	"github.com/advisorylint/advisorylint/runtime/lock"
)

// claimSQL writes the time when the last one is old enough: $3 microseconds. One that lies further
// in the future than that is from before the server's clock was set back, and counts as none.
const claimSQL = `INSERT INTO advisorylint.last_run AS last (key, name, started_at) VALUES ($1::bigint, $2::text, clock_timestamp())
	ON CONFLICT (key) DO UPDATE SET name = excluded.name, started_at = clock_timestamp()
	WHERE last.started_at <= clock_timestamp() - $3::bigint * interval '1 microsecond'
	OR last.started_at > clock_timestamp() + $3::bigint * interval '1 microsecond'
	RETURNING key`

// Claim implements lock.Claimer by the table in Schema. While this Backend holds the lock of key, as
// in RunOnce, it runs on the lock's session: it needs no other, and fails when the lock is lost.
func (b *Backend) Claim(ctx context.Context, key lock.Key, every time.Duration) (bool, error) {
	args := []any{key.Int64(), key.String(), every.Microseconds()}
	var claimed int64
	var err error
	if h := b.holds.get(key); h != nil {
		err = h.do(ctx, func(ctx context.Context) error {
			return h.session.QueryRow(ctx, claimSQL, args, &claimed)
		})
	} else {
		err = b.claim(ctx, args, &claimed)
	}
	if errors.Is(err, ErrNoRow) {
		return false, nil
	}
	return err == nil, Failure(ctx, err)
}

// claim runs on a session of its own.
func (b *Backend) claim(ctx context.Context, args []any, claimed *int64) error {
	session, err := b.sessions.Get(ctx, true)
	if err != nil {
		return err
	}
	err = session.QueryRow(ctx, claimSQL, args, claimed)
	if err != nil && !errors.Is(err, ErrNoRow) && !survived(err) {
		session.Destroy()
	} else {
		session.Return()
	}
	return err
}
