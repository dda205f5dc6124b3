package lockview

import (
	"slices"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/advisorylint/advisorylint/internal/testserver"
	"github.com/advisorylint/advisorylint/testdata/src/proof"
)

func TestMain(m *testing.M) { testserver.Main(m) }

// undefinedFunction is the SQLSTATE for an operator that the server does not have.
const undefinedFunction = "42883"

// take runs statements that lock, in a session that stays open for the test.
func take(t *testing.T, conn *pgx.Conn, locks ...string) {
	t.Helper()
	for _, l := range locks {
		if _, err := conn.Exec(t.Context(), `SELECT pg_advisory_lock`+l); err != nil {
			t.Fatal(err)
		}
	}
}

func TestPidOfTheProgramIsNotABackends(t *testing.T) {
	s := proof.Postgres(t)
	conn, err := s.DB().Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.ExecContext(t.Context(), `SELECT pg_advisory_lock(31)`); err != nil {
		t.Fatal(err)
	}
	if held, err := Mine(t.Context(), conn); held || err != nil {
		t.Errorf("Mine, holding a lock = %v, %v, want the wrong answer false", held, err)
	}
	if held, err := MineByBackend(t.Context(), conn); !held || err != nil {
		t.Errorf("MineByBackend, holding a lock = %v, %v, want true", held, err)
	}
}

func TestPidOfTheProgramThroughAHelper(t *testing.T) {
	s := proof.Postgres(t)
	conn, err := s.Pool(1).Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Release()
	take(t, conn.Conn(), `(32)`)
	if held, err := MinePgx(t.Context(), conn); held || err != nil {
		t.Errorf("MinePgx, holding a lock = %v, %v, want the wrong answer false", held, err)
	}
	if held, err := MineByNumber(t.Context(), conn); !held || err != nil {
		t.Errorf("MineByNumber, holding a lock = %v, %v, want true", held, err)
	}
}

func TestPidOfTheProgramWithGorm(t *testing.T) {
	s := proof.Postgres(t)
	db := s.Gorm()
	pool, err := db.DB()
	if err != nil {
		t.Fatal(err)
	}
	pool.SetMaxOpenConns(1) // the console's reading is on the session that locks
	if err := db.Exec(`SELECT pg_advisory_lock(33)`).Error; err != nil {
		t.Fatal(err)
	}
	console := NewConsole(db)
	if n, err := console.Locks(t.Context()); n != 0 || err != nil {
		t.Errorf("Locks, holding one = %v, %v, want the wrong answer 0", n, err)
	}
	if n, err := console.LocksByBackend(t.Context()); n != 1 || err != nil {
		t.Errorf("LocksByBackend, holding one = %v, %v, want 1", n, err)
	}
}

func TestFormsOfKeysAreMixedUpWithoutObjsubid(t *testing.T) {
	ctx, s := t.Context(), proof.Postgres(t)
	pool := s.Pool(2)
	take(t, s.Session(), `(5, 6)`) // site 5, job 6; no lock with one key
	if held, err := Numbered(ctx, pool, 5<<32|6); !held || err != nil {
		t.Errorf("Numbered, nobody holding it = %v, %v, want the wrong answer true", held, err)
	}
	if held, err := NumberedAt(ctx, pool, 5<<32|6); held || err != nil {
		t.Errorf("NumberedAt, nobody holding it = %v, %v, want false", held, err)
	}
	take(t, s.Session(), `((7::bigint << 32) | 8)`) // one key; no job 8 on site 7
	if held, err := Running(ctx, pool, 7, 8); !held || err != nil {
		t.Errorf("Running, nobody holding it = %v, %v, want the wrong answer true", held, err)
	}
	if held, err := RunningAt(ctx, pool, 7, 8); held || err != nil {
		t.Errorf("RunningAt, nobody holding it = %v, %v, want false", held, err)
	}
}

func TestShiftOfAnIntLosesTheUpperHalf(t *testing.T) {
	ctx, s := t.Context(), proof.Postgres(t)
	const number = 9<<32 | 4
	take(t, s.Session(), `(38654705668)`)
	got, err := Numbers(ctx, s.Pool(1))
	if want := []int64{9 | 4}; err != nil || !slices.Equal(got, want) {
		t.Errorf("Numbers, with %d held = %v, %v, want the wrong answer %v", number, got, err, want)
	}
	if _, err := NumbersUncast(ctx, s.DB()); proof.State(err) != undefinedFunction {
		t.Errorf("NumbersUncast: %v, want SQLSTATE %s", err, undefinedFunction)
	}
	if held, err := NumberedAt(ctx, s.Pool(1), number); !held || err != nil {
		t.Errorf("NumberedAt, holding it = %v, %v, want true", held, err)
	}
}

func TestJobsAreRightForEverySignAndForm(t *testing.T) {
	ctx, s := t.Context(), proof.Postgres(t)
	conn := s.Session()
	take(t, conn, `(-1)`, `(0)`, `(9223372036854775807)`, `(-9223372036854775808)`, `(-4294967296)`,
		`(-3, -4)`, `(-3, 4)`, `(3, -4)`, `(2147483647, -2147483648)`)
	me := int32(conn.PgConn().PID())
	want := []Job{
		{1, -9223372036854775808, 0, 0, me}, {1, -4294967296, 0, 0, me}, {1, -1, 0, 0, me}, {1, 0, 0, 0, me},
		{1, 9223372036854775807, 0, 0, me},
		{2, 0, -3, -4, me}, {2, 0, -3, 4, me}, {2, 0, 3, -4, me}, {2, 0, 2147483647, -2147483648, me},
	}
	pool := s.Pool(1)
	got, err := Jobs(ctx, pool)
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("Jobs = %v, %v,\nwant %v", got, err, want)
	}
	for _, j := range want {
		held, err := NumberedAt(ctx, pool, j.Number)
		if j.Keys == 2 {
			held, err = RunningAt(ctx, pool, j.Site, j.On)
		}
		if !held || err != nil {
			t.Errorf("asked for %+v: %v, %v, want true", j, held, err)
		}
	}
}
