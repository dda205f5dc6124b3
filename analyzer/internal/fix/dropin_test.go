package fix

import (
	"strings"
	"testing"
)

const unread = `package p

import (
	"context"
	"database/sql"
)

func f(ctx context.Context, conn *sql.Conn, k int64) error {
	_, err := conn.ExecContext(ctx, "SELECT pg_advisory_unlock($1)", k) // here
	return err
}
`

func TestReleaseUsesTheRuntimeWhereThereIsOne(t *testing.T) {
	saved := dropIns
	defer func() { dropIns = saved }()
	dropIns = []dropIn{
		{lock: "pg_advisory_unlock", handle: "*pgx.Conn", importPath: "example.com/pgxlock", name: "Unlock"},
		{lock: "pg_advisory_unlock", handle: "*sql.Conn", importPath: "example.com/pglock", name: "Unlock"},
	}
	got := runBuilder(t, ReadAnswer, "release.go", unread+"\n// incomplete: the runtime's package is not at hand\n")
	for _, want := range []string{"err := pglock.Unlock(ctx, conn, k) // here\n", "\t\"database/sql\"\n\n\t\"example.com/pglock\"\n)"} {
		if !strings.Contains(got, want) {
			t.Errorf("the fix lacks %q:\n%s", want, got)
		}
	}
}
