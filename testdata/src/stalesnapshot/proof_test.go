package stalesnapshot

import (
	"context"
	"database/sql"
	"testing"

	"github.com/advisorylint/advisorylint/internal/testserver"
	"github.com/advisorylint/advisorylint/testdata/src/proof"
)

func TestMain(m *testing.M) { testserver.Main(m) }

const (
	room = 12
	// first is the last ticket when the program begins, second the one that the lock's holder draws
	// before it lets go.
	first, second = 7, 8

	tickets = `CREATE TABLE tickets (room bigint NOT NULL, number int NOT NULL); INSERT INTO tickets VALUES (12, 7)`
	drawn   = `INSERT INTO tickets VALUES (12, 8)`
)

type program func(ctx context.Context, room int64) (int, error)

func on[H any](handle H, read func(context.Context, H, int64) (int, error)) program {
	return func(ctx context.Context, room int64) (int, error) { return read(ctx, handle, room) }
}

// inTx gives read a READ COMMITTED transaction.
func inTx(db *sql.DB, read func(context.Context, *sql.Tx, int64) (int, error)) program {
	return func(ctx context.Context, room int64) (int, error) {
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			return 0, err
		}
		defer tx.Rollback()
		return read(ctx, tx, room)
	}
}

// afterTheHolder runs p while another session holds the room, draws a ticket once p waits, and
// gives back what p reads as soon as it has the lock.
func afterTheHolder(t *testing.T, s *proof.Server, p program) (number int) {
	t.Helper()
	s.Exec(tickets)
	let := s.Hold(room)
	run := proof.Start(t, func() (err error) { number, err = p(t.Context(), room); return err })
	s.WantWaiting()
	s.Exec(drawn) // committed, and only then the lock is let go
	let()
	if err := run.Wait(); err != nil {
		t.Fatal(err)
	}
	return number
}

func TestReadIsOlderThanTheLock(t *testing.T) {
	for name, c := range map[string]struct {
		open func(*proof.Server) program
		want int
	}{
		"Last":             {func(s *proof.Server) program { return on(s.DB(), Last) }, first},
		"LastSerializable": {func(s *proof.Server) program { return on(s.Pool(1), LastSerializable) }, first},
		"LastAtOnce":       {func(s *proof.Server) program { return inTx(s.DB(), LastAtOnce) }, first},
		"LastByHand":       {func(s *proof.Server) program { return on(s.Pool(1), LastByHand) }, first},
		"LastByHelper":     {func(s *proof.Server) program { return on(s.DB(), LastByHelper) }, first},
		"LastGorm":         {func(s *proof.Server) program { return on(s.Gorm(), LastGorm) }, first},
		// The new ticket has the number that the holder's ticket has.
		"Draw": {func(s *proof.Server) program { return on(s.Pool(1), Draw) }, second},
	} {
		t.Run(name, func(t *testing.T) {
			s := proof.Postgres(t)
			if got := afterTheHolder(t, s, c.open(s)); got != c.want {
				t.Errorf("number = %d, want the stale %d", got, c.want)
			}
		})
	}
}

func TestReadIsNewerThanTheLock(t *testing.T) {
	for name, c := range map[string]struct {
		open func(*proof.Server) program
		want int
	}{
		"LastFresh":        {func(s *proof.Server) program { return on(s.DB(), LastFresh) }, second},
		"LastInTwo":        {func(s *proof.Server) program { return inTx(s.DB(), LastInTwo) }, second},
		"LastGormFresh":    {func(s *proof.Server) program { return on(s.Gorm(), LastGormFresh) }, second},
		"LastLockedBefore": {func(s *proof.Server) program { return on(s.DB(), LastLockedBefore) }, second},
		"DrawInTwo":        {func(s *proof.Server) program { return on(s.Pool(1), DrawInTwo) }, second + 1},
	} {
		t.Run(name, func(t *testing.T) {
			s := proof.Postgres(t)
			if got := afterTheHolder(t, s, c.open(s)); got != c.want {
				t.Errorf("number = %d, want %d", got, c.want)
			}
			s.WantFree(proof.Key(room))
		})
	}
}
