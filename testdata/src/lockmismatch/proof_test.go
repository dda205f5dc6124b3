package lockmismatch

import (
	"context"
	"database/sql"
	"testing"

	"github.com/advisorylint/advisorylint/internal/testserver"
	"github.com/advisorylint/advisorylint/testdata/src/proof"
)

func TestMain(m *testing.M) { testserver.Main(m) }

func nothing(context.Context) error { return nil }

func pin(t *testing.T, db *sql.DB) *sql.Conn {
	conn, err := db.Conn(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

// Each program has a key of its own, except where the key is written in the program.
const part = -(5<<32 + 9)

// program is one function of bad.go or good.go with the key that it takes.
type program struct {
	key string
	run func(t *testing.T, s *proof.Server, work Work) (released bool, err error)
}

func onConn(f func(context.Context, *sql.Conn, int64, Work) (bool, error)) program {
	return program{proof.Key(part), func(t *testing.T, s *proof.Server, work Work) (bool, error) {
		return f(t.Context(), pin(t, s.DB()), part, work)
	}}
}

func TestBadUnlocksNothing(t *testing.T) {
	for name, p := range map[string]program{
		"shared as exclusive": onConn(SharedAsExclusive),
		"helpers":             onConn(ThroughHelpers),
		"exclusive as shared": {proof.Key(part), func(t *testing.T, s *proof.Server, work Work) (bool, error) {
			return ExclusiveAsShared(t.Context(), s.Pool(2), part, work)
		}},
		"one key as two": {proof.Key(1<<32 | 2), func(t *testing.T, s *proof.Server, work Work) (bool, error) {
			return OneKeyAsTwo(t.Context(), pin(t, s.DB()), 1, 2, work)
		}},
		"another key": {proof.Key(mergeKey), func(t *testing.T, s *proof.Server, work Work) (bool, error) {
			return OtherKey(t.Context(), pin(t, s.DB()), work)
		}},
		"keys swapped": {proof.Keys(8, 15), func(t *testing.T, s *proof.Server, work Work) (bool, error) {
			return SwappedKeys(t.Context(), s.Session(), work)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			s := proof.Postgres(t)
			released, err := p.run(t, s, nothing)
			if err != nil || released {
				t.Fatalf("released = %v, %v; want false with no error", released, err)
			}
			s.WantLeaked(p.key)
		})
	}
}

// The unlock answers false and the lock stays until the transaction ends.
func TestBadUnlocksATransactionLevelLock(t *testing.T) {
	s := proof.Postgres(t)
	after := 0
	released, err := TransactionLevel(t.Context(), s.DB(), part, nothing, func(context.Context) error {
		after = len(s.Locks(proof.Key(part)))
		return nil
	})
	if err != nil || released || after != 1 {
		t.Fatalf("released = %v, %v, locks after it = %d; want false and 1", released, err, after)
	}
	s.WantFree(proof.Key(part))
}

func TestGoodUnlocksWhatItLocked(t *testing.T) {
	for name, p := range map[string]program{
		"shared":  onConn(Shared),
		"both":    onConn(Both),
		"helpers": onConn(HelpersPaired),
		"exclusive": {proof.Key(part), func(t *testing.T, s *proof.Server, work Work) (bool, error) {
			return Exclusive(t.Context(), s.Pool(2), part, work)
		}},
		"two keys": {proof.Keys(1, -2), func(t *testing.T, s *proof.Server, work Work) (bool, error) {
			return TwoKeys(t.Context(), pin(t, s.DB()), 1, -2, work)
		}},
		"same key": {proof.Key(pruneKey), func(t *testing.T, s *proof.Server, work Work) (bool, error) {
			return SameKey(t.Context(), pin(t, s.DB()), true, work)
		}},
		"crossed": {proof.Keys(15, 8), func(t *testing.T, s *proof.Server, work Work) (bool, error) {
			return Crossed(t.Context(), s.Session(), work)
		}},
		"transaction's end": {proof.Key(part), func(t *testing.T, s *proof.Server, work Work) (bool, error) {
			return TransactionEnd(t.Context(), s.DB(), part, work)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			s := proof.Postgres(t)
			held := 0
			released, err := p.run(t, s, func(context.Context) error { held = len(s.Locks(p.key)); return nil })
			if err != nil || !released || held == 0 {
				t.Fatalf("held = %d, released = %v, %v; want both", held, released, err)
			}
			s.WantFree(p.key)
		})
	}
}

func TestMySQL(t *testing.T) {
	s := proof.MariaDB(t)
	released, err := MySQL(t.Context(), s.Session(), nothing)
	if err != nil || released.Valid {
		t.Fatalf("RELEASE_LOCK = %v, %v; want NULL: nobody holds a lock of that name", released, err)
	}
	s.WantLeaked("index.merge")

	released, err = MySQLSameName(t.Context(), s.Session(), nothing)
	if err != nil || released.Int64 != 1 {
		t.Fatalf("RELEASE_LOCK = %v, %v; want 1", released, err)
	}
	s.WantFree("index.prune")
}
