package sqltext

import (
	"strings"
	"testing"
)

// check asserts what holds of every script, whatever the text.
func check(t *testing.T, x Text) {
	s := Parse(x)
	all := strings.Join(x.Lits, "")
	for _, st := range s.Stmts {
		if (len(st.Calls) > 0 || len(st.Settings) > 0 || len(st.View) > 0 || len(st.LocksPids) > 0) && !Mentions(all) {
			t.Fatalf("Mentions misses what Parse finds: %+v", st)
		}
		for _, c := range st.Calls {
			checkCall(t, x, &c)
		}
	}
}

func checkCall(t *testing.T, x Text, c *Call) {
	if c.Func == nil || c.Column < -1 || c.Limit > Yes {
		t.Fatalf("malformed call %+v", c)
	}
	for _, a := range append(append([]Arg{c.Timeout}, c.Args...), partsOf(c.Args)...) {
		if a.Kind == Hole && (a.Index < 0 || a.Index >= x.Holes()) || a.Index < 0 {
			t.Fatalf("index out of range: %+v", a)
		}
	}
	if c.Lit < 0 {
		return
	}
	if c.Lit >= len(x.Lits) || c.Start < 0 || c.End > len(x.Lits[c.Lit]) || c.Start >= c.End {
		t.Fatalf("span out of range: %+v", c)
	}
	span := x.Lits[c.Lit][c.Start:c.End]
	if !hasFold(span, c.Func.Name) || !strings.HasSuffix(span, ")") {
		t.Fatalf("span %q is no call of %s", span, c.Func.Name)
	}
}

func partsOf(args []Arg) (parts []Arg) {
	for _, a := range args {
		parts = append(parts, a.Parts...)
	}
	return parts
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"SELECT pg_advisory_lock($1)",
		"SELECT id FROM desks WHERE pg_try_advisory_lock(id) AND ⟨⟩ LIMIT 1",
		"WITH a AS (SELECT pg_try_advisory_lock(1) AS ok), b AS (SELECT * FROM a) SELECT * FROM b WHERE ok",
		"WITH RECURSIVE a AS (SELECT 1 UNION ALL SELECT * FROM a) SELECT pg_advisory_lock(1) FROM a LIMIT 1",
		"DO $$ BEGIN IF pg_try_advisory_lock(⟨⟩) THEN EXECUTE 'SELECT pg_advisory_unlock(''1'')'; END IF; END $$",
		"SELECT GET_LOCK(\"a\\\"\", 1) # x\n, `b` FROM `c` /*!50000 LIMIT 1 */",
		"SET LOCAL lock_timeout = '⟨⟩ms'; SELECT set_config('x', $1, true)",
		"SELECT (classid::int << 32) | objid::int8 FROM pg_locks l WHERE l.pid IN ($1, ⟨⟩)",
		"INSERT INTO a SELECT 1 FROM b ON CONFLICT DO UPDATE SET c = 1 RETURNING pg_advisory_lock(1)",
		"((SELECT pg_advisory_lock(1)) UNION (VALUES (2), (3))) FETCH FIRST ROW ONLY",
		"SELECT pg_advisory_⟨⟩(1), E'\\'', U&'\\0061', $tag$ $$ $tag$, \"x\"\"y\", a ? 'b', :c::d, @e, 1..2, 0x1f",
		"CREATE FUNCTION f() RETURNS int BEGIN ATOMIC SELECT CASE WHEN 1 THEN 2 END; END; COMMIT",
		"))((][;;", "'", "$", "\xff⟨⟩\xff", "/*", "E'\\", "((((((((", "SELECT CAST(", "SELECT x FROM (", "a.b.", "::", "SET LOCAL", "WITH a AS", "EXPLAIN ANALYZE", "DO", "EXECUTE '",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) { check(t, text(s)) })
}

// TestDeepAndWideTexts: the worst that fits into MaxLen ends, and does not exhaust the stack.
func TestDeepAndWideTexts(t *testing.T) {
	fill := func(unit string) string { return strings.Repeat(unit, MaxLen/len(unit)) }
	for _, s := range []string{
		"SELECT " + fill("("), fill("(SELECT "), fill("SELECT * FROM (") + "SELECT pg_advisory_lock(1)",
		"SELECT 1" + fill(" UNION SELECT pg_advisory_lock(1)"),
		"SELECT " + fill("pg_advisory_lock(a),"),
		"SELECT " + fill("(SELECT a FROM b WHERE c AND pg_try_advisory_lock(a)),"),
		"WITH " + fill("a AS (TABLE a),") + "b AS (SELECT 1) SELECT pg_advisory_lock(1) FROM a LIMIT 1",
		"WITH a AS (SELECT pg_try_advisory_lock(1) AS a)," + fill("a AS (SELECT a FROM a WHERE a),") + "b AS (SELECT 1) SELECT a FROM b WHERE a",
		"SELECT pg_advisory_lock(" + fill("a::int,") + "1)",
		fill("DO 'EXECUTE ''SELECT 1''';"),
		"DO $$ " + fill("EXECUTE 'EXECUTE ''SELECT 1''';"),
		"SELECT 1 FROM pg_locks WHERE " + fill("(pid = classid"),
		fill("$$"), fill("⟨⟩"), fill("a⟨⟩ "), fill("CASE "), fill("CAST("), fill("::int"), fill("SET LOCAL "), fill("+"), "@" + fill("+"), fill("SET/*"), fill("set"),
		"SET LOCAL a = " + fill("1,"),
		"WITH f AS (SELECT pg_try_advisory_lock(1) AS a)" + func() string {
			var b strings.Builder
			for i := range 200 {
				b.WriteString(", f" + itoa(i) + " AS (SELECT x.a, y.a FROM f" + itoa(max(0, i-1)) + " x, f" + itoa(max(0, i-1)) + " y)")
			}
			return b.String()
		}() + " SELECT a FROM f199 WHERE a",
	} {
		check(t, text(s))
	}
}

func BenchmarkParse(b *testing.B) {
	x := Const("WITH due AS (SELECT id FROM desks WHERE free LIMIT 10) SELECT id FROM due WHERE pg_try_advisory_lock(id) ORDER BY id LIMIT $1")
	b.SetBytes(int64(len(x.Lits[0])))
	b.ReportAllocs()
	for b.Loop() {
		if len(Parse(x).Stmts[0].Calls) != 1 {
			b.Fatal("not the one call")
		}
	}
}

func BenchmarkMentions(b *testing.B) {
	s := strings.Repeat("SELECT name, address, created_at FROM customers WHERE region = $1 ORDER BY name ", 10)
	b.SetBytes(int64(len(s)))
	b.ReportAllocs()
	for b.Loop() {
		if Mentions(s) {
			b.Fatal("mentions a lock")
		}
	}
}
