package sqltext

import (
	"fmt"
	"strings"
	"testing"
)

// verbsOf lists the statements: verb, transaction control in capitals, ! for a snapshot.
func verbsOf(s *Script) string {
	var out []string
	for _, st := range s.Stmts {
		v := st.Verb + []string{"", ":B", ":C", ":R"}[st.Tx]
		if st.Snapshot {
			v += "!"
		}
		out = append(out, v)
	}
	return strings.Join(out, " ")
}

func TestStatementsAndTransactionControl(t *testing.T) {
	rows(t, [][2]string{
		{"", ""},
		{" ;; -- nothing\n/* ; */ ;", ""},
		{"SELECT 1; UPDATE t SET a = ';'; ", "select update"},
		{"(SELECT 1) UNION (SELECT 2)", "select"},
		{"WITH a AS (SELECT 1) INSERT INTO t SELECT * FROM a", "with"},
		{"BEGIN; COMMIT", "begin:B commit:C"},
		{"BEGIN WORK; END", "begin:B end:C"},
		{"START TRANSACTION; ROLLBACK", "start:B rollback:R"},
		{"BEGIN ISOLATION LEVEL REPEATABLE READ", "begin:B!"},
		{"begin transaction isolation level serializable, read only", "begin:B!"},
		{"BEGIN ISOLATION LEVEL READ COMMITTED", "begin:B"},
		{"START TRANSACTION WITH CONSISTENT SNAPSHOT", "start:B!"},
		{"SET TRANSACTION ISOLATION LEVEL SERIALIZABLE", "set!"},
		{"SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL REPEATABLE READ", "set!"},
		{"SET TRANSACTION READ ONLY", "set"},
		{"SAVEPOINT a; ROLLBACK TO SAVEPOINT a; ROLLBACK WORK TO a; RELEASE a", "savepoint rollback rollback release"},
		{"ABORT; ROLLBACK AND CHAIN", "abort:R rollback:R"},
		{"PREPARE TRANSACTION 'x'; COMMIT PREPARED 'x'", "prepare commit"},
		{"SELECT 'BEGIN; COMMIT'", "select"},
		{"DO $$ BEGIN NULL; END $$; SELECT 1", "do select"},
		{"CREATE FUNCTION f() RETURNS int BEGIN ATOMIC SELECT 1; SELECT CASE WHEN true THEN 2 END; END; SELECT 3", "create select"},
		{"START SLAVE", "start"},
		{"EXPLAIN SELECT 1; VACUUM desks", "explain vacuum"},
		{"id = $1 AND pg_try_advisory_lock(id)", ""},
		{"⟨⟩; SELECT 1", " select"},
	}, verbsOf)
}

func TestPartial(t *testing.T) {
	for sql, want := range map[string]bool{
		"SELECT pg_advisory_lock($1)":                        false,
		"SELECT pg_advisory_⟨⟩($1)":                          true,
		"SELECT ⟨⟩_lock($1)":                                 true,
		"SELECT f(pg_advisory_⟨⟩(1))":                        true,
		"SELECT ⟨⟩(1)":                                       true,
		"SELECT f(⟨⟩)":                                       false,
		"SELECT a FROM t WHERE b = ⟨⟩":                       false,
		"SELECT a FROM t WHERE ⟨⟩ = b":                       false,
		"SELECT a FROM t WHERE b LIKE ⟨⟩":                    false,
		"SELECT a FROM t WHERE b = '⟨⟩'":                     false,
		"SELECT a FROM t WHERE (⟨⟩)":                         true,
		"SELECT a FROM t ORDER BY ⟨⟩":                        true,
		"SELECT ⟨⟩ FROM t":                                   true,
		"SELECT * ⟨⟩":                                        true,
		"SELECT a * ⟨⟩":                                      false,
		"SELECT a FROM ⟨⟩":                                   true,
		`SELECT a FROM "⟨⟩"`:                                 false,
		`SELECT "⟨⟩"(1)`:                                     true,
		"SELECT a FROM t LIMIT ⟨⟩ OFFSET ⟨⟩":                 false,
		"INSERT INTO t (a) VALUES (⟨⟩, '⟨⟩'), (⟨⟩, 1)":       false,
		"UPDATE t SET a = ⟨⟩ WHERE b IN (⟨⟩)":                false,
		"SELECT 1⟨⟩":                                         true,
		"⟨⟩":                                                 true,
		"SELECT 1; ⟨⟩":                                       true,
		"SELECT 1 -- ⟨⟩":                                     false,
		"SET lock_timeout = ⟨⟩":                              false,
		"SET LOCAL lock_timeout TO '⟨⟩ms'":                   false,
		"WITH ⟨⟩ AS (SELECT 1) SELECT 2":                     true,
		"WITH a AS (⟨⟩) SELECT 2":                            true,
		"DO $$ BEGIN ⟨⟩ END $$":                              true,
		"DO $$ BEGIN PERFORM f(⟨⟩); END $$":                  false,
		"LISTEN ⟨⟩":                                          true,
		"SELECT 1" + strings.Repeat(" ", MaxLen) + "LIMIT 1": true,
	} {
		if got := Parse(text(sql)).Partial; got != want {
			t.Errorf("%.60s: partial %v, want %v", sql, got, want)
		}
	}
}

func TestCutTextHidesALimit(t *testing.T) {
	s := Parse(Const("SELECT pg_advisory_lock(id) FROM desks" + strings.Repeat(" ", MaxLen) + "LIMIT 1"))
	if got := limits(s); got != "?" {
		t.Errorf("limit %s, want ?", got)
	}
}

func TestSettings(t *testing.T) {
	view := func(s *Script) string {
		var out []string
		for _, st := range s.Stmts {
			for _, x := range st.Settings {
				one := fmt.Sprintf("%s=%s%c", x.Name, argText(x.Value), "?-+"[x.Local])
				if x.Config {
					one = "f:" + one
				}
				out = append(out, one)
			}
		}
		return strings.Join(out, " ")
	}
	rows(t, [][2]string{
		{"SET lock_timeout = '5s'", "lock_timeout='5s'-"},
		{"SET SESSION Lock_Timeout TO 5000", "lock_timeout=5000-"},
		{"SET LOCAL lock_timeout = 0", "lock_timeout=0+"},
		{"SET LOCAL lock_timeout TO DEFAULT", "lock_timeout=default{}+"},
		{"SET LOCAL \"lock_timeout\" = $1", "lock_timeout=$0+"},
		{"SET LOCAL lock_timeout = ⟨⟩", "lock_timeout=⟨0⟩+"},
		{"SET LOCAL lock_timeout = '⟨⟩ms'", "lock_timeout=str:'⟨0⟩ms'{⟨0⟩}+"},
		{"SET LOCAL ⟨⟩ = 5", "=5+"},
		{"SET ⟨⟩_timeout = 5", "=5-"},
		{"SET LOCAL search_path TO a, b", "search_path=a , b{}+"},
		{"SET search_path TO a, b", ""},
		{"SET LOCAL ROLE app", ""},
		{"SET SESSION innodb_lock_wait_timeout = 5, @@session.lock_wait_timeout = ?", "innodb_lock_wait_timeout=5- lock_wait_timeout=$0-"},
		{"SET @x_timeout = 5", ""},
		{"UPDATE desks SET hold_timeout = 5", ""},
		{"ALTER ROLE app SET lock_timeout = '5s'", ""},
		{"SELECT set_config('Lock_Timeout', $1, true)", "f:lock_timeout=$0+"},
		{"SELECT pg_catalog.set_config('lock_timeout', '5s', 'f'), pg_advisory_lock(1)", "f:lock_timeout='5s'-"},
		{"SELECT set_config($1, $2, $3)", "f:=$1?"},
		{"SELECT app.set_config('lock_timeout', '1', true)", ""},
		{"SELECT 'SET LOCAL lock_timeout = 5'", ""},
		{"DO $$ BEGIN SET LOCAL lock_timeout = '1s'; PERFORM set_config('a_timeout', '1', false); END $$", "lock_timeout='1s'+ f:a_timeout='1'-"},
		{"BEGIN; SET LOCAL statement_timeout = 1; COMMIT", "statement_timeout=1+"},
	}, view)
}

func TestReturnsColumnsAndWrites(t *testing.T) {
	view := func(s *Script) string {
		var b strings.Builder
		for _, st := range s.Stmts {
			b.WriteByte(map[bool]byte{true: 'C', false: '-'}[st.ReturnsColumns])
			b.WriteByte(map[bool]byte{true: 'W', false: '-'}[st.Writes])
		}
		return b.String()
	}
	rows(t, [][2]string{
		{"SELECT pg_advisory_lock($1)", "--"},
		{"SELECT pg_advisory_lock($1), 1, 'a', true, now()", "--"},
		{"SELECT pg_advisory_lock(id) FROM desks", "--"},
		{"SELECT id, pg_advisory_lock(id) FROM desks", "C-"},
		{"SELECT d.* FROM desks d WHERE pg_try_advisory_lock(id)", "C-"},
		{"SELECT count(*) FROM desks WHERE pg_try_advisory_lock(1)", "C-"},
		{"SELECT max(seat) + 1, pg_advisory_xact_lock(1) FROM desks", "C-"},
		{"SELECT 1 FROM desks WHERE pg_try_advisory_lock(id)", "--"},
		{"SELECT * FROM pg_try_advisory_lock(1)", "--"},
		{"SELECT got FROM (SELECT pg_try_advisory_lock(1) AS got) s", "--"},
		{"SELECT id, pg_advisory_lock(id) FROM unnest($1::bigint[]) AS id", "--"},
		{"SELECT pg_advisory_lock(1), (SELECT seat FROM desks LIMIT 1)", "C-"},
		{"SELECT EXISTS (SELECT 1 FROM desks), pg_advisory_lock(1)", "C-"},
		{"WITH l AS (SELECT pg_advisory_lock(1)) SELECT seat FROM desks, l", "C-"},
		{"SELECT set_config('lock_timeout', '1', true), pg_advisory_lock(1)", "--"},
		{"SELECT CAST(pg_try_advisory_lock(1) AS text)", "--"},
		{"UPDATE desks SET a = 1", "-W"},
		{"UPDATE desks SET a = 1 RETURNING a", "CW"},
		{"WITH u AS (DELETE FROM desks RETURNING id) SELECT id FROM u", "CW"},
		{"INSERT INTO log VALUES (1)", "-W"},
		{"MERGE INTO a USING b ON a.x = b.x WHEN MATCHED THEN UPDATE SET y = 1", "-W"},
		{"REPLACE INTO log VALUES (1)", "-W"},
		{"SELECT replace(a, 'b', 'c') FROM desks FOR UPDATE", "C-"},
		{"DO $$ BEGIN DELETE FROM desks; END $$", "-W"},
		{"EXPLAIN DELETE FROM desks", "--"},
	}, view)
}

func TestReadingsOfLocks(t *testing.T) {
	view := func(s *Script) string {
		var out []string
		for _, st := range s.Stmts {
			for _, f := range st.View {
				out = append(out, []string{"", "key", "shift"}[f])
			}
			for _, a := range st.LocksPids {
				out = append(out, argText(a))
			}
		}
		return strings.Join(out, " ")
	}
	const from = " FROM pg_locks WHERE locktype = 'advisory' "
	rows(t, [][2]string{
		{"SELECT 1" + from + "AND classid = $1 AND objid = $2", "key"},
		{"SELECT 1" + from + "AND classid = $1 AND objid = $2 AND objsubid = 1", ""},
		{"SELECT 1" + from + "AND (classid, objid) = ($1, $2)", "key"},
		{"SELECT 1" + from + "AND (classid, objid) IN (SELECT a, b FROM t)", "key"},
		{"SELECT 1" + from + "AND l.classid IN ($1) AND $2 = l.objid", "key"},
		{"SELECT classid, objid" + from, ""},
		{"SELECT classid::text || ':' || objid::text" + from, ""},
		{"SELECT classid, objid, count(*)" + from + "GROUP BY classid, objid ORDER BY classid, objid", ""},
		{"SELECT classid" + from + "AND objid = $1", ""},
		{"SELECT (classid::bigint << 32) | objid::bigint" + from, "key"},
		{"SELECT (classid::bigint << 32) | objid::bigint, objsubid" + from, ""},
		{"SELECT 1" + from + "AND objsubid = 1 AND (classid::int << 32) + objid::int = $1", "shift"},
		{"SELECT classid << 32, objsubid" + from, "shift"},
		{"SELECT classid * 4294967296, objsubid" + from, "shift"},
		{"SELECT 4294967296 * classid, objsubid" + from, "shift"},
		{"SELECT classid::bigint * 4294967296, objsubid" + from, ""},
		{"SELECT CAST(l.classid AS int8) << 32, objsubid FROM pg_locks l", ""},
		{"SELECT ((l.classid)::bigint) << 32, objsubid FROM pg_locks l", ""},
		{"SELECT classid::bigint::int << 32, objsubid" + from, "shift"},
		{"SELECT (classid << 32)::bigint, objsubid" + from, "shift"},
		{"SELECT 1 FROM pg_locks WHERE locktype = 'object' AND classid = 1 AND objid = 2", ""},
		{"SELECT 1 FROM desks WHERE classid = 1 AND objid = 2", ""},
		{"SELECT 'pg_locks' FROM desks WHERE classid << 32 = 2", ""},
		{"SELECT 1" + from + "AND pid = $1", "$0"},
		{"SELECT 1" + from + "AND $1::int = pid", "$0"},
		{"SELECT 1" + from + "AND pg_locks.pid <> ?", "$0"},
		{"SELECT 1" + from + "AND pid = pg_backend_pid()", ""},
		{"SELECT 1 FROM pg_locks l WHERE l.pid = ⟨⟩", "⟨0⟩"},
		{"SELECT 1 FROM pg_locks AS l WHERE l.pid = 4242", "4242"},
		{"SELECT 1 FROM pg_catalog.pg_locks WHERE pid IN ($1, @me)", "$0 $me"},
		{"SELECT 1 FROM pg_locks WHERE pid = ANY($1)", "any ( $1 ){$0}"},
		{"SELECT 1 FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid WHERE a.pid = $1", ""},
		{"SELECT 1 FROM pg_stat_activity WHERE pid = $1 AND pid IN (SELECT pid FROM pg_locks)", ""},
		{"DO $$ BEGIN PERFORM 1 FROM pg_locks WHERE pid = 5; END $$", "5"},
	}, view)
}

func TestLookup(t *testing.T) {
	for name, want := range map[string]Func{
		"pg_advisory_lock":                 {Name: "pg_advisory_lock"},
		"PG_TRY_ADVISORY_LOCK_SHARED":      {Name: "pg_try_advisory_lock_shared", Try: true, Shared: true},
		"pg_advisory_unlock_shared":        {Name: "pg_advisory_unlock_shared", Op: Release, Shared: true},
		"pg_advisory_unlock_all":           {Name: "pg_advisory_unlock_all", Op: ReleaseAll},
		"pg_try_advisory_xact_lock_shared": {Name: "pg_try_advisory_xact_lock_shared", Xact: true, Try: true, Shared: true},
		"Get_Lock":                         {Name: "get_lock", System: MySQL},
		"RELEASE_LOCK":                     {Name: "release_lock", System: MySQL, Op: Release},
		"release_all_locks":                {Name: "release_all_locks", System: MySQL, Op: ReleaseAll},
	} {
		if f := Lookup(name); f == nil || *f != want {
			t.Errorf("%s: %+v, want %+v", name, f, want)
		}
	}
	for _, name := range []string{"", "pg_advisory", "pg_advisory_xact_unlock", "pg_sleep"} {
		if f := Lookup(name); f != nil {
			t.Errorf("%s: %+v, want none", name, f)
		}
	}
	if f := Lookup("get_lock"); !f.MayRefuse() || !f.Blocking() || !f.Session() {
		t.Errorf("get_lock waits and may refuse: %+v", f)
	}
}

func TestMentions(t *testing.T) {
	for s, want := range map[string]struct{ any, lock bool }{
		"SELECT PG_Advisory_Lock($1)":   {true, true},
		"select Get_Lock(?, 1)":         {true, true},
		"RELEASE_ALL_LOCKS()":           {true, true},
		"release_lock":                  {true, true},
		"FROM pg_locks":                 {true, true},
		"FROM pg_locks%s":               {true, true},
		"select SET_CONFIG($1, $2, $3)": {true, true},
		"":                              {},
		"UPDATE t SET a = 1":            {},
		"SELECT id FROM desks LIMIT 1":  {},
		"a set of values":               {},

		// A name ends where it ends.
		"INSERT INTO pg_lock VALUES (1)": {},
		"FROM pg_locks_seen":             {},
		"FCNTL_GET_LOCKPROXYFILE":        {},
		"release_locks()":                {},
		"set_configuration":              {},

		// Names of advisory locks' functions are cut and put together anywhere.
		"pg_advisory":                   {true, true},
		"pg_advisory_%s":                {true, true},
		"pg_advisory%s":                 {true, true},
		"SELECT pg_%sadvisory_%slock":   {true, true},
		"pg_{{.Try}}advisory_xact_lock": {true, true},
		"pg_try_":                       {true, true},
		"advisory":                      {true, true},
		"_advisory_":                    {true, true},
		"_ADVISORY_UN":                  {true, true},
		"pg_advisory_unlock_all()":      {true, true},
		"locktype = 'advisory'":         {true, true},
		"advisor":                       {},
		"advisorys":                     {},
		"the advisory board":            {},
		"see the advisory.":             {},
		"ADVISORY_ID":                   {},
		"Radvisory_t.Count":             {},
		"AdvisoryIds":                   {},

		// SET begins a statement.
		"SET\tLOCAL x = 1":                            {true, true},
		"SET\n  LOCAL":                                {true, true},
		"SET/* a */LOCAL x = 1":                       {true, true},
		"SET -- a\nLOCAL x = 1":                       {true, true},
		"SET /*!50000 LOCAL */ x = 1":                 {true, true},
		"SELECT 1; SET LOCAL x = 1":                   {true, true},
		"-- for a while\nSET LOCAL x = 1":             {true, true},
		"DO $$ BEGIN SET LOCAL x = 1; END $$":         {true, true},
		"IF a THEN SET LOCAL x = 1; END IF":           {true, true},
		"EXECUTE 'SET LOCAL x = 1'":                   {true, true},
		"%sSET LOCAL %s":                              {true, true},
		"%s SET LOCAL %s":                             {true, true},
		"{{if .Wait}}SET LOCAL x = 1{{end}}":          {true, true},
		"failed to reset local address":               {},
		"failed to set local address":                 {},
		"UPDATE t SET local_id = 1":                   {},
		"SET locale = 'C'":                            {},
		"set -- $arguments":                           {},
		"SET a = 1, b = 'local'":                      {},
		"a data set\x00built with local_time":         {},
		"SET lock_timeout = 1":                        {true, true},
		"SELECT 1;SET SESSION lock_timeout TO '3s'":   {true, true},
		"SET statement_timeout = 1":                   {true, false},
		"SET statement_timeout = 1, lock_timeout = 1": {true, true},
		"ALTER ROLE app SET lock_timeout = 1":         {},
		"lock_timeout of a data set":                  {},
		"connection_timeout":                          {},
		"reset busy_timeout and lock_timeout":         {},
	} {
		if got := Mentions(s); got != want.any {
			t.Errorf("Mentions(%q) = %v", s, got)
		}
		if got := MentionsLock(s); got != want.lock {
			t.Errorf("MentionsLock(%q) = %v", s, got)
		}
	}
	for _, s := range []string{"UPDATE desks SET taken = true WHERE id = $1", "UPDATE DESKS SET ADVISORY_ID = 1"} {
		if n := testing.AllocsPerRun(100, func() { Mentions(s) }); n != 0 {
			t.Errorf("%s: %v allocations", s, n)
		}
	}
}

func TestTableNameIsNoCall(t *testing.T) {
	for _, text := range []string{
		"INSERT INTO get_lock (name, owner) VALUES (?, ?)",
		"INSERT INTO `release_lock` (name) VALUES (?)",
		"CREATE TABLE pg_advisory_lock (id bigint)",
	} {
		for _, st := range Parse(Const(text)).Stmts {
			if len(st.Calls) > 0 {
				t.Errorf("%s: call of %s", text, st.Calls[0].Func.Name)
			}
		}
	}
}
