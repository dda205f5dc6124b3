package pgadvisory

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/advisorylint/advisorylint/internal/testserver"
	"github.com/advisorylint/advisorylint/runtime/lock"
)

func connect(t *testing.T) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(context.Background(), testserver.Postgres(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) }) // nothing depends on it
	if _, err := conn.Exec(context.Background(), Schema); err != nil {
		t.Fatal(err)
	}
	return conn
}

// A planner leaves out what it takes to be of no use, and folds what it takes to be constant.
func TestPlansKeepEveryFunction(t *testing.T) {
	conn := connect(t)
	for _, m := range []mode{exclusive, shared} {
		for _, c := range []struct {
			sql       string
			args      []any
			functions string
		}{
			{m.wait, []any{"10", int64(1)}, "pg_backend_pid pg_try_advisory_lock set_config pg_advisory_lock"},
			{m.waitFencing, []any{"10", int64(1)}, "pg_backend_pid pg_try_advisory_lock set_config pg_advisory_lock nextval"},
			{m.try, []any{int64(1)}, "pg_backend_pid pg_try_advisory_lock"},
			{m.tryFencing, []any{int64(1)}, "pg_backend_pid pg_try_advisory_lock nextval"},
			{m.unlock, []any{int64(1)}, "pg_backend_pid pg_advisory_unlock"},
			{m.unlockAll, []any{"{1,2}"}, "pg_backend_pid bool_and(pg_advisory_unlock"},
			{m.undo, []any{"{1,2}", m.name}, "pg_backend_pid bool_and(pg_advisory_unlock pg_lock_status"},
		} {
			plan := explain(t, conn, c.sql, c.args)
			for f := range strings.FieldsSeq(c.functions) {
				if m.name == shared.name && strings.Contains(f, "advisory") {
					f += "_shared"
				}
				if !strings.Contains(plan, f+"(") {
					t.Errorf("%s\nhas no %s in its plan:\n%s", c.sql, f, plan)
				}
			}
		}
	}
}

func explain(t *testing.T, conn *pgx.Conn, sql string, args []any) string {
	t.Helper()
	rows, err := conn.Query(context.Background(), "EXPLAIN (VERBOSE) "+sql, append([]any{pgx.QueryExecModeSimpleProtocol}, args...)...)
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return strings.Join(lines, "\n")
}

// What undo is for: it frees what the session has, of these keys and in this mode only, and draws no warning
// for what it does not have.
func TestUndoFreesWhatIsHeldWithoutAWarning(t *testing.T) {
	ctx := context.Background()
	config, err := pgx.ParseConfig(testserver.Postgres(t))
	if err != nil {
		t.Fatal(err)
	}
	var notices []string
	config.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) { notices = append(notices, n.Message) }
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	if _, err := conn.Exec(ctx, `SELECT pg_advisory_lock(-7), pg_advisory_lock(8), pg_advisory_lock_shared(9), pg_advisory_lock(-1, 249)`); err != nil {
		t.Fatal(err)
	}
	var pid int64
	var freed bool
	for _, keys := range []string{"{-7,1,2,9}", "{3}"} {
		if err := conn.QueryRow(ctx, exclusive.undo, keys, exclusive.name).Scan(&pid, &freed); err != nil || !freed {
			t.Fatalf("undo of %s gave %v, %v", keys, freed, err)
		}
	}
	var left string
	err = conn.QueryRow(ctx, `SELECT string_agg(((classid::bigint << 32) | objid::bigint) || mode, ' ' ORDER BY objid) FROM pg_locks
		WHERE locktype = 'advisory' AND pid = pg_backend_pid()`).Scan(&left)
	if want := "8ExclusiveLock 9ShareLock -4294967047ExclusiveLock"; err != nil || left != want {
		t.Errorf("left are %q (%v), want %q", left, err, want)
	}
	if len(notices) != 0 {
		t.Errorf("the server warned: %q", notices)
	}
}

func TestLockTimeoutIsNeverNoLimitByRounding(t *testing.T) {
	for wait, want := range map[time.Duration]string{
		-1: "0", 0: "1", 1: "1", time.Millisecond: "1", time.Millisecond + 1: "2", time.Minute: "60000",
		1<<63 - 1: "2147483647",
	} {
		if got := LockTimeout(wait); got != want {
			t.Errorf("LockTimeout(%v) is %q, want %q", wait, got, want)
		}
	}
	conn := connect(t)
	if _, err := conn.Exec(context.Background(), `SELECT set_config('lock_timeout', $1, false)`, LockTimeout(1<<63-1)); err != nil {
		t.Errorf("the server refuses the longest wait: %v", err)
	}
}

func TestListHasEverySign(t *testing.T) {
	keys := []lock.Key{lock.Int64Key("list", -1<<63), lock.Int64Key("list", -1), lock.Int64Key("list", 1<<63-1)}
	if got, want := list(keys), "{-9223372036854775808,-1,9223372036854775807}"; got != want {
		t.Errorf("list is %s, want %s", got, want)
	}
}
