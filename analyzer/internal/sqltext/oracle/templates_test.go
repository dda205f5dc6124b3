package oracle

import (
	"strings"
	"testing"
)

// The parts of which statements are put together. @ stands for the part inside, ~ for a tail.
var (
	lockCalls = []string{
		"pg_advisory_lock($1)", "pg_catalog.pg_try_advisory_lock(d.id, 7)", `"pg_try_advisory_xact_lock"(d.id)`,
		"PG_TRY_ADVISORY_LOCK_SHARED(hashtext('a, LIMIT 1 (') /* ) */)", "pg_advisory_unlock((SELECT max(id) FROM seats LIMIT 1))",
		"desk.pg_advisory_lock(1)",
	}
	tails = []string{
		"", " LIMIT 1", " LIMIT ALL", " LIMIT NULL", " LIMIT $2 OFFSET 3", " OFFSET 2", " ORDER BY 1 LIMIT 2",
		" ORDER BY 1", " FETCH FIRST ROW ONLY", " OFFSET 1 ROWS FETCH NEXT 2 ROWS ONLY", " LIMIT 1 FOR UPDATE OF d SKIP LOCKED",
		" -- LIMIT 1\n", " LIMIT (SELECT 1)",
	}
	places = []string{
		"SELECT @~", "SELECT @ AS got FROM desks d~", "SELECT d.id FROM desks d WHERE @~",
		"SELECT d.id FROM desks d WHERE free AND (@ OR d.id = 2)~", "SELECT d.id FROM desks d GROUP BY 1 HAVING bool_or(@)~",
		"SELECT CASE WHEN @ THEN 'LIMIT' ELSE $$ FROM $$ END FROM desks d JOIN seats s USING (id)~",
		"SELECT d.id FROM desks d, LATERAL (SELECT @ AS got) l WHERE l.got~", "SELECT g FROM @ AS g~",
		"SELECT d.id FROM desks d LEFT JOIN seats s ON s.desk = d.id AND @ IS NOT DISTINCT FROM true~",
		"SELECT extract(day FROM d.day), @ FROM ONLY desks d~", "SELECT d.id FROM desks d WHERE d.id IN (SELECT 1 FROM seats WHERE @)~",
		"SELECT (SELECT @ FROM seats d ORDER BY 1 LIMIT 1) FROM desks~", "SELECT @ FROM (SELECT id FROM desks LIMIT 4) d~",
		"SELECT 1 FROM desks d UNION ALL SELECT @ IS NULL FROM desks d~", "(SELECT @ FROM desks d) INTERSECT (SELECT 2 LIMIT 1)~",
		"WITH d AS MATERIALIZED (SELECT id FROM desks LIMIT 3) SELECT @ FROM d~",
		"WITH RECURSIVE d(id) AS (SELECT 1 UNION SELECT id + 1 FROM d) SELECT d.id FROM d WHERE @~",
		"SELECT row_number() OVER (ORDER BY d.id), @ FROM desks d WINDOW w AS (ORDER BY id)~",
		"SELECT d.id FROM generate_series(1, 3) WITH ORDINALITY AS d(id, n) WHERE @~", "VALUES (@), (NULL)~",
	}
	wrappers = []string{
		"@", "(@)", "SELECT * FROM (@) w", "SELECT * FROM (@) w LIMIT 1", "SELECT * FROM (@) w WHERE true LIMIT 1",
		"SELECT * FROM (@) w ORDER BY 1 FETCH FIRST 2 ROWS ONLY", "WITH w AS (@) SELECT * FROM w LIMIT 1",
		"WITH w AS (@) SELECT * FROM w ORDER BY 1 LIMIT 1", "INSERT INTO log @", "INSERT INTO log (a) (@) ON CONFLICT DO NOTHING RETURNING *",
		"UPDATE desks SET taken = true WHERE EXISTS (@) RETURNING id", "WITH w AS (@) DELETE FROM desks USING w WHERE true",
		"(@) UNION ALL SELECT NULL LIMIT 1", "EXPLAIN @", "EXPLAIN (ANALYZE, COSTS off) @", "PREPARE p AS @",
		"CREATE TABLE copy AS @ WITH NO DATA", "CREATE MATERIALIZED VIEW m AS @", "CREATE VIEW v AS @", "COPY (@) TO STDOUT",
		"DECLARE c NO SCROLL CURSOR WITH HOLD FOR @", "BEGIN; @; COMMIT",
		"MERGE INTO desks t USING (@) w ON true WHEN MATCHED THEN DELETE",
		"CREATE FUNCTION f() RETURNS bool LANGUAGE sql BEGIN ATOMIC @; END",
	}
)

// TestStatementsOfTemplates compares every combination that PostgreSQL's grammar accepts.
func TestStatementsOfTemplates(t *testing.T) {
	tried, parsed, calls := 0, 0, 0
	for _, wrapper := range wrappers {
		for _, place := range places {
			for _, tail := range tails {
				for _, call := range lockCalls {
					query := strings.ReplaceAll(strings.Replace(place, "@", call, 1), "~", tail)
					n, ok := compare(t, strings.Replace(wrapper, "@", query, 1))
					tried, calls = tried+1, calls+n
					if ok {
						parsed++
					}
				}
			}
		}
	}
	t.Logf("%d statements, %d parsed, %d lock calls", tried, parsed, calls)
	if parsed < tried*3/4 || calls < parsed/2 {
		t.Errorf("too few statements are PostgreSQL: %d of %d, with %d calls", parsed, tried, calls)
	}
}
