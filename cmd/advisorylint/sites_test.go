package main

import (
	"strings"
	"testing"
)

// Silence of a program without locks can be told from silence about locks, and from blindness.
func TestSitesTellSilenceFromBlindness(t *testing.T) {
	dir := writeModule(t, map[string]string{
		"none/none.go": "package none\n\nfunc N() int { return 3 }\n",
		"right/right.go": `package right

import (
	"context"
	"database/sql"
)

type line interface {
	ExecContext(context.Context, string, ...any) (sql.Result, error)
}

type shelf struct{ on line }

func Hold(ctx context.Context, conn *sql.Conn) error {
	_, err := conn.ExecContext(ctx, "SELECT pg_advisory_lock(8)")
	return err
}

func hold(ctx context.Context, on line, key int64) error {
	_, err := on.ExecContext(ctx, "SELECT pg_advisory_xact_lock($1)", key)
	return err
}

func (s *shelf) hold(ctx context.Context) {
	s.on.ExecContext(ctx, "SELECT pg_advisory_lock(9)")
}

var _ = (*shelf).hold

func Use(ctx context.Context, tx *sql.Tx) error {
	return hold(ctx, tx, 4)
}
`,
	})
	lintIn(t, dir, "./none").want(t, 0, "no findings; 1 package looked at; no lock in them\n")
	lintIn(t, dir, "-lockview", "./right").want(t, 0, "no findings; 1 package looked at; 4 lock sites in them\n")
	got := lintIn(t, dir, "-v", "-lockview", "./right")
	got.want(t, 0,
		"right/right.go:15:12: pg_advisory_lock, session-level, on a pinned connection, key 8\n",
		"right/right.go:20:12: pg_advisory_xact_lock, transaction-level, key key; not known: what stands behind on, a parameter\n",
		"right/right.go:25:2: pg_advisory_lock, session-level, key 9; not known: what stands behind on, a field\n",
		"right/right.go:31:9: pg_advisory_xact_lock, transaction-level, on a transaction, in a function called here\n")
	if n := strings.Count(got.stderr, "\n"); n != 5 {
		t.Errorf("%d lines\n%v", n, got)
	}
	lintIn(t, dir, "-v", "-poollock", "./none").wantNot(t, ".go:")
}
