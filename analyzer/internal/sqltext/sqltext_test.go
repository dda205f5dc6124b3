package sqltext

import (
	"fmt"
	"strings"
	"testing"
)

// text builds a Text from a string in which ⟨⟩ is a hole.
func text(s string) Text { return Text{Lits: strings.Split(s, "⟨⟩")} }

// calls lists the calls of a script: name(args), "~" before a nested one, "@n" for GET_LOCK's
// timeout.
func calls(s *Script) string {
	var out []string
	for _, st := range s.Stmts {
		for _, c := range st.Calls {
			var args []string
			for _, a := range c.Args {
				args = append(args, argText(a))
			}
			one := c.Func.Name + "(" + strings.Join(args, ", ") + ")"
			if c.Timeout.Kind != NoArg {
				one += "@" + argText(c.Timeout)
			}
			if c.Nested {
				one = "~" + one
			}
			out = append(out, one)
		}
	}
	return strings.Join(out, "; ")
}

func argText(a Arg) string {
	switch a.Kind {
	case Placeholder:
		if a.Name != "" {
			return "$" + a.Name
		}
		return fmt.Sprintf("$%d", a.Index)
	case Literal:
		if a.Str {
			return "'" + a.Text + "'"
		}
		return a.Text
	case Hole:
		return fmt.Sprintf("⟨%d⟩", a.Index)
	case Expr:
		var parts []string
		for _, p := range a.Parts {
			parts = append(parts, argText(p))
		}
		s := a.Text + "{" + strings.Join(parts, " ") + "}"
		if a.Str {
			s = "str:" + s
		}
		return s
	}
	return "-"
}

// rows runs a table of texts and what a view of their scripts says.
func rows(t *testing.T, table [][2]string, view func(*Script) string) {
	t.Helper()
	for _, r := range table {
		if got := view(Parse(text(r[0]))); got != r[1] {
			t.Errorf("%s\n got %s\nwant %s", r[0], got, r[1])
		}
	}
}

func TestCallsAndTheirArguments(t *testing.T) {
	rows(t, [][2]string{
		{"SELECT pg_advisory_lock($1)", "pg_advisory_lock($0)"},
		{"select PG_ADVISORY_LOCK ( $2::bigint )", "pg_advisory_lock($1)"},
		{"SELECT pg_try_advisory_lock(?, ?), pg_advisory_unlock(?)", "pg_try_advisory_lock($0, $1); pg_advisory_unlock($2)"},
		{"SELECT pg_advisory_lock(@desk)", "pg_advisory_lock($desk)"},
		{"SELECT pg_advisory_lock(:desk::int8)", "pg_advisory_lock($desk)"},
		{"SELECT pg_advisory_lock(sqlc.arg(desk)), pg_advisory_unlock(sqlc.narg('desk'))", "pg_advisory_lock($desk); pg_advisory_unlock($desk)"},
		{"SELECT pg_advisory_lock(CAST(($3) AS bigint))", "pg_advisory_lock($2)"},
		{"SELECT pg_advisory_xact_lock(-7)", "pg_advisory_xact_lock(-7)"},
		{"SELECT pg_advisory_xact_lock(+0x10, 1_000)", "pg_advisory_xact_lock(16, 1000)"},
		{"SELECT pg_advisory_lock('12'::bigint)", "pg_advisory_lock('12')"},
		{"SELECT pg_advisory_lock(⟨⟩)", "pg_advisory_lock(⟨0⟩)"},
		{"SELECT pg_advisory_lock(⟨⟩, ⟨⟩)", "pg_advisory_lock(⟨0⟩, ⟨1⟩)"},
		{"SELECT pg_advisory_lock(1⟨⟩)", "pg_advisory_lock(1 ⟨0⟩{⟨0⟩})"},
		{"SELECT pg_advisory_lock($⟨⟩)", "pg_advisory_lock($⟨0⟩{⟨0⟩})"},
		{"SELECT pg_advisory_lock(hashtextextended($1::text, 0))", "pg_advisory_lock(hashtextextended ( $1 , 0 ){$0})"},
		{"SELECT pg_advisory_lock(hashtext('desk-⟨⟩'))", "pg_advisory_lock(hashtext ( 'desk-⟨0⟩' ){⟨0⟩})"},
		{"SELECT pg_advisory_lock(id) FROM desks", "pg_advisory_lock(id{})"},
		{"SELECT pg_catalog.pg_advisory_unlock_all()", "pg_advisory_unlock_all()"},
		{`SELECT "pg_catalog"."pg_advisory_lock"(1)`, "pg_advisory_lock(1)"},
		{`SELECT "pg_advisory_lock"(1)`, "pg_advisory_lock(1)"},
		{"SELECT audit.pg_advisory_lock(1)", ""},
		{"SELECT x.pg_catalog.pg_advisory_lock(1)", ""},
		{`SELECT "PG_ADVISORY_LOCK"(1)`, ""},
		{"SELECT pg_advisory_lock", ""},
		{"SELECT pg_advisory_locked(1), my_pg_advisory_lock(2)", ""},
		{"SELECT pg_advisory_lock/* here */(1)", "pg_advisory_lock(1)"},
		{"SELECT pg_advisory_lock((SELECT max(id) FROM desks))", "pg_advisory_lock(select max ( id ) from desks{})"},
		{"SELECT pg_advisory_lock(", "pg_advisory_lock()"},
		{"pg_try_advisory_lock(?)", "pg_try_advisory_lock($0)"},
		{"WHERE pg_try_advisory_lock(desks.id)", "pg_try_advisory_lock(desks . id{})"},
		// Not executed, or not code.
		{"SELECT 1 -- pg_advisory_lock(1)", ""},
		{"SELECT 1 /* a /* pg_advisory_lock(1) */ pg_advisory_lock(2) */", ""},
		{"INSERT INTO notes (body) VALUES ('SELECT pg_advisory_lock(1)')", ""},
		{"INSERT INTO notes (body) VALUES ('it''s pg_advisory_lock(1)')", ""},
		{`SELECT E'it\'s pg_advisory_lock(1)'`, ""},
		{"SELECT $tag$ pg_advisory_lock(1) $$ $tag$", ""},
		{`SELECT "pg_advisory_lock(1)" FROM t`, ""},
		{"CREATE FUNCTION f() RETURNS void AS $$ SELECT pg_advisory_lock(1) $$ LANGUAGE sql", ""},
		{"CREATE FUNCTION f() RETURNS bool BEGIN ATOMIC SELECT pg_try_advisory_lock(1); END; SELECT pg_advisory_lock(2)", "pg_advisory_lock(2)"},
		{"CREATE VIEW v AS SELECT pg_try_advisory_lock(id) FROM desks", ""},
		{"EXPLAIN SELECT pg_advisory_lock(1)", ""},
		{"GRANT EXECUTE ON FUNCTION pg_advisory_lock(bigint) TO app", ""},
		{"COMMENT ON FUNCTION f IS 'SELECT pg_advisory_lock(1)'", ""},
		// Executed inside something else.
		{"EXPLAIN (ANALYZE, BUFFERS) SELECT pg_advisory_lock(1)", "pg_advisory_lock(1)"},
		{"PREPARE p (bigint) AS SELECT pg_advisory_lock($1)", "pg_advisory_lock($0)"},
		{"DECLARE c CURSOR WITH HOLD FOR SELECT pg_advisory_lock(1)", "pg_advisory_lock(1)"},
		{"COPY (SELECT pg_advisory_lock(1)) TO STDOUT", "pg_advisory_lock(1)"},
		{"CREATE TEMP TABLE x AS SELECT pg_advisory_lock(1)", "pg_advisory_lock(1)"},
		{"CALL book(pg_try_advisory_lock($1))", "pg_try_advisory_lock($0)"},
		{"EXECUTE book(pg_try_advisory_lock(1))", "pg_try_advisory_lock(1)"},
		{"VALUES (pg_try_advisory_lock(1))", "pg_try_advisory_lock(1)"},
		{"INSERT INTO log SELECT pg_try_advisory_lock(1)", "pg_try_advisory_lock(1)"},
		{"INSERT INTO log (x) VALUES (pg_try_advisory_lock(1)) ON CONFLICT DO NOTHING", "pg_try_advisory_lock(1)"},
		{"-- name: TakeDesk :one\nSELECT pg_try_advisory_lock($1);", "pg_try_advisory_lock($0)"},
		{"-- +goose Up\n-- +goose StatementBegin\nSELECT pg_advisory_lock(9);\n-- +goose StatementEnd", "pg_advisory_lock(9)"},
		{"SELECT data ? 'a', data ?| array['b'], pg_advisory_lock(?) FROM t", "pg_advisory_lock($0)"},
		{"SELECT a[1:2], pg_advisory_lock(4)", "pg_advisory_lock(4)"},
	}, calls)
}

func TestBlocksAndDynamicText(t *testing.T) {
	rows(t, [][2]string{
		{"DO $$ BEGIN PERFORM pg_advisory_lock(1); END $$", "~pg_advisory_lock(1)"},
		{"DO LANGUAGE plpgsql $b$ BEGIN PERFORM pg_advisory_lock(1); END $b$", "~pg_advisory_lock(1)"},
		{"DO 'BEGIN PERFORM pg_advisory_lock(hashtext(''a'')); END'", "~pg_advisory_lock(hashtext ( 'a' ){})"},
		{"DO $$ DECLARE ok bool := pg_try_advisory_lock(2); BEGIN NULL; END $$", "~pg_try_advisory_lock(2)"},
		{"DO $$ BEGIN IF NOT pg_try_advisory_lock(2) THEN RAISE EXCEPTION 'busy'; ELSE PERFORM pg_advisory_unlock(2); END IF; END $$",
			"~pg_try_advisory_lock(2); ~pg_advisory_unlock(2)"},
		{"DO $$ BEGIN WHILE NOT pg_try_advisory_lock(2) LOOP PERFORM pg_sleep(1); END LOOP; END $$", "~pg_try_advisory_lock(2)"},
		{"DO $$ BEGIN FOR r IN SELECT pg_advisory_lock(id) FROM desks LOOP NULL; END LOOP; END $$", "~pg_advisory_lock(id{})"},
		{"DO $$ BEGIN EXECUTE 'SELECT pg_advisory_lock(3)'; END $$", "~pg_advisory_lock(3)"},
		{"DO $$ BEGIN EXECUTE format('SELECT pg_advisory_lock(3), %L', x); END $$", "~pg_advisory_lock(3)"},
		{"DO $$ BEGIN RAISE NOTICE 'pg_advisory_lock(1)'; END $$", ""},
		{"DO $$ BEGIN PERFORM pg_advisory_lock(⟨⟩); END $$", "~pg_advisory_lock(⟨0⟩)"},
		{"DO $$ x = plpy.execute('SELECT pg_advisory_lock(1)') $$ LANGUAGE plpython3u", ""},
		{"DO GET_LOCK('a', 1)", "get_lock('a')@1"},
		{"DO RELEASE_LOCK('a'), RELEASE_LOCK('b')", "release_lock('a'); release_lock('b')"},
	}, calls)
	if s := Parse(text("DO $$ x = 1 $$ LANGUAGE plpython3u")); !s.Partial {
		t.Error("a block in another language can hide a call")
	}
}

func TestMySQL(t *testing.T) {
	rows(t, [][2]string{
		{"SELECT GET_LOCK(?, 10)", "get_lock($0)@10"},
		{"SELECT get_lock('desk', ?)", "get_lock('desk')@$0"},
		{"SELECT GET_LOCK(⟨⟩)", "get_lock(⟨0⟩)"},
		{"SELECT GET_LOCK('desk-⟨⟩', 10)", "get_lock(str:'desk-⟨0⟩'{⟨0⟩})@10"},
		{`SELECT GET_LOCK("it's \"d\"", -1)`, `get_lock('it's "d"')@-1`},
		{`SELECT GET_LOCK('it\'s', 1)`, "get_lock('it's')@1"},
		{"SELECT GET_LOCK(_utf8mb4'desk', 1)", "get_lock('desk')@1"},
		{"SELECT 1 # it's a comment: GET_LOCK('a', 1)\n, RELEASE_LOCK('b')", "release_lock('b')"},
		{"SELECT /*!50700 GET_LOCK('a', 1) */", "get_lock('a')@1"},
		{"SELECT /* GET_LOCK('a', 1) */ 1", ""},
		{"SELECT 'GET_LOCK(1, 2)'", ""},
		{"SELECT RELEASE_ALL_LOCKS()", "release_all_locks()"},
		{"SELECT COALESCE(GET_LOCK(?, 2), 0)", "get_lock($0)@2"},
		{"SELECT `GET_LOCK`, 'a' FROM `t`", ""},
		{"SELECT @got := GET_LOCK('a', 0)", "get_lock('a')@0"},
		{"SET @got = GET_LOCK('a', 0)", "get_lock('a')@0"},
		{"CREATE PROCEDURE p() BEGIN SELECT GET_LOCK('a', 1); END; SELECT RELEASE_LOCK('a')", "release_lock('a')"},
		// PostgreSQL programs have functions of these names too.
		{"SELECT get_lock($1)", ""},
		{"SELECT get_lock($1, $2)", ""},
		{"SELECT desks.get_lock(1, 2)", ""},
		{"SELECT get_lock('a')", ""},
	}, calls)
	for sql, want := range map[string]System{
		"SELECT GET_LOCK('a', 1)":            MySQL,
		"SELECT `a` FROM t":                  Postgres,
		"SELECT pg_advisory_lock(1)":         Postgres,
		"SELECT 'GET_LOCK(1, 2)'":            Postgres,
		"SELECT 1 -- GET_LOCK('a', 1)":       Postgres,
		"SELECT RELEASE_LOCK(?) FROM `dual`": MySQL,
	} {
		if got := Parse(text(sql)).System; got != want {
			t.Errorf("%s: system %d, want %d", sql, got, want)
		}
	}
}

// limits shows Limit of each call: - no, + yes, ? unknown.
func limits(s *Script) string {
	var b strings.Builder
	for _, st := range s.Stmts {
		for _, c := range st.Calls {
			b.WriteByte("?-+"[c.Limit])
		}
	}
	return b.String()
}

func TestLimit(t *testing.T) {
	rows(t, [][2]string{
		{"SELECT pg_advisory_lock(id) FROM desks LIMIT 1", "+"},
		{"SELECT pg_advisory_lock(id) FROM desks LIMIT $1", "+"},
		{"SELECT pg_advisory_lock(id) FROM desks LIMIT ⟨⟩", "+"},
		{"SELECT pg_advisory_lock(id) FROM desks LIMIT (SELECT 4)", "+"},
		{"SELECT pg_advisory_lock(id) FROM desks FETCH FIRST 3 ROWS ONLY", "+"},
		{"SELECT pg_advisory_lock(id) FROM desks OFFSET 1 FETCH NEXT ROW ONLY", "+"},
		{"SELECT pg_advisory_lock(id) FROM desks LIMIT ALL", "-"},
		{"SELECT pg_advisory_lock(id) FROM desks LIMIT NULL", "-"},
		{"SELECT pg_advisory_lock(id) FROM desks OFFSET 10", "-"},
		{"SELECT pg_advisory_lock(id) FROM desks", "-"},
		{"SELECT pg_try_advisory_lock($1) LIMIT 1", "-"},
		{"SELECT x FROM pg_try_advisory_lock($1) AS x LIMIT 1", "-"},
		{"SELECT id FROM desks, pg_try_advisory_lock(id) AS x WHERE x LIMIT 1", "+"},
		{"SELECT id FROM desks WHERE pg_try_advisory_lock(id) LIMIT 1", "+"},
		{"SELECT id FROM desks WHERE free ORDER BY pg_try_advisory_lock(id) LIMIT 1", "+"},
		{"SELECT pg_advisory_lock(id) FROM (SELECT id FROM desks LIMIT 5) s", "-"},
		{"SELECT pg_advisory_lock(id) FROM (SELECT 5 AS id) s LIMIT 1", "-"},
		{"WITH s AS (SELECT id FROM desks LIMIT 5) SELECT pg_advisory_lock(id) FROM s", "-"},
		{"WITH s AS MATERIALIZED (SELECT id FROM desks LIMIT 5), u AS (SELECT 1) SELECT pg_advisory_lock(s.id) FROM s, u", "-"},
		{"SELECT * FROM (SELECT pg_try_advisory_lock(id) AS got FROM desks) s LIMIT 1", "-"},
		{"SELECT * FROM (SELECT pg_try_advisory_lock(id) AS got FROM desks) s WHERE got LIMIT 1", "+"},
		{"SELECT * FROM (SELECT id, pg_try_advisory_lock(id) FROM desks) s ORDER BY id LIMIT 1", "+"},
		{"SELECT * FROM (SELECT * FROM (SELECT pg_try_advisory_lock(id) AS got FROM desks) a WHERE got) b LIMIT 1", "+"},
		{"SELECT * FROM (SELECT pg_try_advisory_lock(5) AS got) s WHERE got LIMIT 1", "-"},
		{"WITH s AS (SELECT id, pg_try_advisory_lock(id) AS got FROM desks) SELECT id FROM s WHERE got LIMIT 1", "+"},
		{"WITH s AS (SELECT pg_try_advisory_lock($1) AS got) SELECT id FROM desks, s WHERE got ORDER BY id LIMIT 1", "-"},
		{"SELECT id FROM desks d, LATERAL (SELECT pg_try_advisory_lock(d.id) AS got) l WHERE l.got LIMIT 1", "+"},
		{"SELECT id FROM desks CROSS JOIN LATERAL pg_try_advisory_lock(id) AS got WHERE got LIMIT 1", "+"},
		{"SELECT id, (SELECT pg_try_advisory_lock(9)) FROM desks LIMIT 1", "-"},
		{"SELECT id FROM desks WHERE EXISTS (SELECT 1 FROM seats WHERE pg_try_advisory_lock(seats.id)) LIMIT 1", "-"},
		{"SELECT pg_advisory_lock(1) UNION ALL SELECT pg_advisory_lock(2) LIMIT 1", "++"},
		{"SELECT pg_advisory_lock(1) UNION ALL (SELECT pg_advisory_lock(id) FROM desks LIMIT 1)", "-+"},
		{"(SELECT pg_advisory_lock(id) FROM desks) LIMIT 1", "+"},
		{"(SELECT pg_advisory_lock(id) FROM desks LIMIT 1)", "+"},
		{"((SELECT pg_advisory_lock(id) FROM desks)) ORDER BY 1", "-"},
		{"SELECT * FROM (SELECT pg_advisory_lock(1) UNION SELECT pg_advisory_lock(2)) u ORDER BY 1 LIMIT 1", "++"},
		{"UPDATE desks SET taken = true WHERE id = (SELECT id FROM desks WHERE pg_try_advisory_xact_lock(id) LIMIT 1)", "+"},
		{"UPDATE desks SET taken = true WHERE pg_try_advisory_xact_lock(id) AND id IN (SELECT id FROM desks LIMIT 1)", "-"},
		{"INSERT INTO log SELECT pg_advisory_lock(id) FROM desks LIMIT 2", "+"},
		{"WITH g AS (SELECT pg_advisory_lock($1)) INSERT INTO log SELECT id FROM desks LIMIT 2", "-"},
		{"SELECT GET_LOCK('a', 1) FROM dual LIMIT 1", "-"},
		{"DELETE FROM desks WHERE GET_LOCK(name, 0) LIMIT 1", "+"},
		{"SELECT GET_LOCK(name, 0) FROM desks LIMIT 0, 5", "+"},
		{"SELECT pg_advisory_lock(id) FROM unnest($1::bigint[]) AS id LIMIT 2", "+"},
		{"SELECT pg_advisory_lock(id) FROM (VALUES (1), (2)) v(id) LIMIT 1", "+"},
		{"SELECT pg_advisory_lock(id), 'LIMIT 1' FROM desks -- LIMIT 1", "-"},
		{`SELECT pg_advisory_lock(id) AS "limit" FROM desks d WHERE d.limit > 1`, "-"},
		{"SELECT pg_advisory_lock(id), array_agg(x ORDER BY x) OVER (ORDER BY y) FROM desks", "-"},
		{"SELECT extract(epoch FROM now()), pg_advisory_lock(1) LIMIT 1", "-"},
		{"SELECT a IS NOT DISTINCT FROM b, pg_advisory_lock(1) LIMIT 1", "-"},
		{"DO $$ BEGIN PERFORM pg_advisory_lock(id) FROM desks LIMIT 1; END $$", "+"},
		{"DO $$ BEGIN PERFORM pg_advisory_lock(1); PERFORM 1 FROM desks LIMIT 1; END $$", "-"},
		{"SELECT pg_advisory_lock(id) FROM desks; SELECT id FROM desks LIMIT 1", "-"},
		{"SELECT id FROM desks FOR UPDATE; SELECT pg_advisory_lock(id) FROM desks LIMIT 1 FOR UPDATE SKIP LOCKED", "+"},
		// Holes where a LIMIT could hide.
		{"SELECT pg_advisory_lock(id) FROM desks ⟨⟩", "?"},
		{"SELECT pg_advisory_lock($1)⟨⟩", "?"},
		{"SELECT pg_advisory_lock(id) FROM ⟨⟩", "?"},
		{"SELECT pg_advisory_lock(id) FROM desks⟨⟩", "?"},
		{"SELECT pg_advisory_lock(id) FROM desks WHERE ⟨⟩", "?"},
		{"SELECT pg_advisory_lock(id) FROM desks WHERE id = ⟨⟩", "-"},
		{"SELECT pg_advisory_lock(id) FROM desks WHERE id = $1⟨⟩", "?"},
		{"SELECT pg_advisory_lock(id) FROM desks WHERE id IN (⟨⟩)", "-"},
		{"SELECT pg_advisory_lock(id) FROM desks ⟨⟩ LIMIT 1", "+"},
		{"SELECT pg_advisory_lock(id) FROM (SELECT id FROM desks ⟨⟩) s", "-"},
		{"SELECT pg_advisory_lock(1) UNION ALL SELECT pg_advisory_lock(id) FROM desks ⟨⟩", "??"},
		{"SELECT pg_advisory_lock(⟨⟩)", "-"},
		{"pg_advisory_lock(id)", "?"},
	}, limits)
}

// columns shows Column of each call, * for a shown one without a column.
func columns(s *Script) string {
	var out []string
	for _, st := range s.Stmts {
		for _, c := range st.Calls {
			switch {
			case c.Column >= 0:
				out = append(out, itoa(c.Column))
			case c.Shown:
				out = append(out, "*")
			default:
				out = append(out, "-")
			}
		}
	}
	return strings.Join(out, " ")
}

func TestColumn(t *testing.T) {
	rows(t, [][2]string{
		{"SELECT pg_try_advisory_lock(1)", "0"},
		{"SELECT 1, pg_try_advisory_lock(1) AS got, pg_advisory_unlock(2) freed", "1 2"},
		{"SELECT f(a, b), (pg_try_advisory_lock(1))::text", "1"},
		{"SELECT pg_try_advisory_lock(1) = true, pg_try_advisory_lock(2) IS TRUE", "0 1"},
		{"SELECT COALESCE(GET_LOCK(?, 2), 0)", "0"},
		{"SELECT IFNULL(GET_LOCK('a', 2), 0) = 1", "0"},
		{"SELECT IF(GET_LOCK('a', 2), 1, 0), IF(GET_LOCK('b', 2), 0, 1)", "0 *"},
		{"SELECT CASE WHEN pg_try_advisory_lock(1) THEN true ELSE false END", "0"},
		{"SELECT CASE WHEN pg_try_advisory_lock(1) THEN 'got' ELSE 'busy' END", "*"},
		{"SELECT NOT pg_try_advisory_lock(1)", "*"},
		{"SELECT pg_try_advisory_lock(1) AND free FROM desks", "*"},
		{"SELECT *, pg_try_advisory_lock(id) FROM desks", "*"},
		{"SELECT id FROM desks WHERE pg_try_advisory_lock(id)", "-"},
		{"SELECT * FROM pg_try_advisory_lock(1)", "0"},
		{"SELECT got FROM pg_try_advisory_lock(1) AS got", "0"},
		{"SELECT l.got FROM pg_try_advisory_lock(1) AS l(got)", "0"},
		{"SELECT id, got FROM (SELECT id, pg_try_advisory_lock(id) AS got FROM desks) s", "1"},
		{"SELECT s.ok FROM (SELECT pg_try_advisory_lock(1)) AS s(ok)", "0"},
		{"SELECT pg_try_advisory_lock FROM (SELECT pg_try_advisory_lock(1)) s", "0"},
		{"SELECT id FROM (SELECT id, pg_try_advisory_lock(id) AS got FROM desks) s", "-"},
		{"WITH l AS (SELECT pg_try_advisory_lock($1) AS ok) SELECT ok FROM l", "0"},
		{"WITH l (ok) AS (SELECT pg_try_advisory_lock($1)) SELECT 1, (SELECT ok FROM l)", "1"},
		{"WITH l AS (SELECT pg_try_advisory_lock($1) AS ok) SELECT * FROM l", "0"},
		{"SELECT (SELECT pg_try_advisory_lock(1))", "0"},
		{"SELECT (SELECT pg_try_advisory_lock(1)) AS got, 2", "0"},
		{"SELECT bool_or(pg_try_advisory_lock(id)) FROM desks", "*"},
		{"SELECT pg_try_advisory_lock(1) UNION ALL SELECT pg_try_advisory_lock(2)", "0 0"},
		{"SELECT DISTINCT ON (a, b) c, pg_try_advisory_lock(1) FROM desks", "1"},
		{"VALUES (1, pg_try_advisory_lock(1))", "1"},
		{"UPDATE desks SET taken = pg_try_advisory_lock(1)", "-"},
		{"UPDATE desks SET taken = true RETURNING id, pg_try_advisory_lock(id)", "1"},
		{"INSERT INTO log SELECT pg_try_advisory_lock(1)", "-"},
		{"INSERT INTO log (a) VALUES (1) RETURNING pg_try_advisory_lock(1)", "0"},
		{"SELECT GET_LOCK('a', 1) INTO @got", "-"},
		{"CALL book(pg_try_advisory_lock(1))", "-"},
		{"EXPLAIN ANALYZE SELECT pg_try_advisory_lock(1)", "-"},
		{"DO $$ BEGIN PERFORM pg_try_advisory_lock(1); END $$", "-"},
		{"DO RELEASE_LOCK('a')", "-"},
		{"SELECT pg_try_advisory_lock($1) ⟨⟩", "0"},
		{"⟨⟩SELECT pg_try_advisory_lock($1)", "0"},
		{"pg_try_advisory_lock(?)", "0"},
		{"pg_try_advisory_lock(?) AS got", "0"},
	}, columns)
}

func TestFiltered(t *testing.T) {
	view := func(s *Script) string {
		var b strings.Builder
		for _, st := range s.Stmts {
			for _, c := range st.Calls {
				b.WriteByte(map[bool]byte{true: 'y', false: 'n'}[c.Filtered])
			}
		}
		return b.String()
	}
	rows(t, [][2]string{
		{"SELECT id FROM desks WHERE pg_try_advisory_lock(id)", "y"},
		{"SELECT id FROM desks WHERE free AND (pg_try_advisory_lock(id) = true)", "y"},
		{"SELECT id FROM desks WHERE a BETWEEN 1 AND 2 AND pg_try_advisory_lock(id) IS TRUE", "y"},
		{"SELECT id FROM desks WHERE pg_try_advisory_lock(id) ⟨⟩", "y"},
		{"SELECT id FROM desks WHERE NOT pg_try_advisory_lock(id)", "n"},
		{"SELECT id FROM desks WHERE free OR pg_try_advisory_lock(id)", "n"},
		{"SELECT pg_try_advisory_lock(id) FROM desks WHERE free", "n"},
		{"SELECT g FROM pg_try_advisory_lock($1) AS g WHERE g", "y"},
		{"SELECT 1 FROM pg_try_advisory_lock($1) AS l(ok) WHERE l.ok", "y"},
		{"SELECT id FROM (SELECT id, pg_try_advisory_lock(id) AS got FROM desks) s WHERE s.got", "y"},
		{"SELECT id FROM (SELECT id, pg_try_advisory_lock(id) AS got FROM desks) s WHERE id > 4", "n"},
		{"WITH l AS (SELECT pg_try_advisory_lock($1) AS ok) SELECT id FROM desks, l WHERE l.ok", "y"},
		{"WITH l AS (SELECT pg_try_advisory_lock($1) AS ok) UPDATE desks SET taken = true WHERE (SELECT ok FROM l)", "y"},
		{"WITH l AS (SELECT 1 WHERE pg_try_advisory_lock($1)) SELECT id FROM desks, l", "y"},
		{"WITH l AS (SELECT 1 AS a WHERE pg_try_advisory_lock($1)) SELECT id FROM desks LEFT JOIN l ON a = 1", "n"},
		{"SELECT count(*) FROM desks WHERE pg_try_advisory_lock(1)", "n"},
		{"SELECT zone, count(*) FROM desks WHERE pg_try_advisory_lock(1) GROUP BY zone", "y"},
		{"SELECT EXISTS (SELECT 1 FROM desks WHERE pg_try_advisory_lock(id))", "n"},
		{"SELECT id FROM desks WHERE id IN (SELECT id FROM desks WHERE pg_try_advisory_lock(id))", "y"},
		{"SELECT id FROM desks WHERE NOT EXISTS (SELECT 1 FROM seats WHERE pg_try_advisory_lock(id))", "n"},
		{"UPDATE desks SET taken = true WHERE pg_try_advisory_xact_lock(id)", "y"},
		{"INSERT INTO log SELECT id FROM desks WHERE pg_try_advisory_xact_lock(id)", "y"},
		{"SELECT GET_LOCK(name, 0) AS got FROM desks HAVING got = 1", "y"},
		{"SELECT id FROM desks WHERE GET_LOCK(name, 0) = 1", "y"},
		{"SELECT id FROM desks WHERE GET_LOCK(name, 0) = 0", "n"},
		{"SELECT 1 WHERE pg_try_advisory_lock(1) UNION ALL SELECT 2", "n"},
	}, view)
}

func TestHashesKey(t *testing.T) {
	for arg, want := range map[string]string{
		"hashtext($1)":                                     "hashtext",
		"pg_catalog.hashtext('a')::bigint":                 "hashtext",
		"hashtextextended($1, 0)":                          "",
		"hashtextextended($1, 0)::int":                     "int4 cast",
		"CAST(hashtextextended($1, 0) AS int4)":            "int4 cast",
		"('x' || substr(md5($1), 1, 8))::bit(32)::int":     "int4 cast",
		"('x' || substr(md5($1), 1, 16))::bit(64)::bigint": "",
		"$1::int":                         "",
		"id::int":                         "",
		"hashtextextended($1, $2::int)":   "",
		"1, hashtext($1)":                 "hashtext",
		"'hashtext(a)'":                   "",
		"abs(hashtext($1 || 'hashtext'))": "hashtext",
	} {
		s := Parse(Const("SELECT pg_advisory_lock(" + arg + ")"))
		if got := s.Stmts[0].Calls[0].HashesKey; got != want {
			t.Errorf("%s: %q, want %q", arg, got, want)
		}
	}
	if got := Parse(Const("SELECT GET_LOCK(CONCAT('d', CRC32(?)), 1)")).Stmts[0].Calls[0].HashesKey; got != "crc32" {
		t.Errorf("CRC32: %q", got)
	}
}

func TestLocationIsTheCallAsWritten(t *testing.T) {
	for sql, want := range map[string]string{
		"SELECT pg_advisory_lock( $1 ) AS x":                        "0:pg_advisory_lock( $1 )",
		"SELECT pg_catalog.pg_advisory_lock(f(1))":                  "0:pg_advisory_lock(f(1))",
		"SELECT ⟨⟩, pg_advisory_lock(1)":                            "1:pg_advisory_lock(1)",
		"SELECT pg_advisory_lock(⟨⟩)":                               "-1",
		`SELECT "pg_advisory_lock"(1)`:                              "-1",
		"SELECT pg_advisory_lock(1":                                 "-1",
		"DO $$ BEGIN PERFORM pg_advisory_lock(1); END $$":           "0:pg_advisory_lock(1)",
		"DO 'BEGIN PERFORM pg_advisory_lock(1); END'":               "0:pg_advisory_lock(1)",
		"DO 'BEGIN PERFORM pg_advisory_lock(hashtext(''a'')); END'": "-1",
	} {
		x := text(sql)
		c := Parse(x).Stmts[0].Calls[0]
		got := "-1"
		if c.Lit >= 0 {
			got = fmt.Sprintf("%d:%s", c.Lit, x.Lits[c.Lit][c.Start:c.End])
		}
		if got != want {
			t.Errorf("%s: %s, want %s", sql, got, want)
		}
	}
}
