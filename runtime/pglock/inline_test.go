package pglock

import (
	"math"
	"reflect"
	"testing"
)

func TestInlinedWritesNumbersAndPlainTexts(t *testing.T) {
	for _, c := range []struct {
		name, query string
		args        []any
		want        string
		left        []any
	}{
		{"nothing", `SELECT 1`, nil, `SELECT 1`, nil},
		{"the smallest number", `SELECT f($1)`, []any{int64(math.MinInt64)}, `SELECT f('-9223372036854775808'::int8)`, nil},
		{"several, in any order and again", `SELECT f($2, $1, $2)`, []any{int64(7), "5s"}, `SELECT f('5s', '7'::int8, '5s')`, nil},
		{"a list", `SELECT f($1::bigint[])`, []any{"{1,-2}"}, `SELECT f('{1,-2}'::bigint[])`, nil},
		{"more than nine", `SELECT $1, $10`, []any{int64(1), "", "", "", "", "", "", "", "", "x"}, `SELECT '1'::int8, 'x'`, nil},
		{"a quote", `SELECT f($1, $2)`, []any{int64(7), `it's`}, `SELECT f($1, $2)`, []any{int64(7), `it's`}},
		{"a backslash", `SELECT f($1)`, []any{`\`}, `SELECT f($1)`, []any{`\`}},
		{"a dollar", `SELECT f($1, $2)`, []any{`$2`, int64(1)}, `SELECT f($1, $2)`, []any{`$2`, int64(1)}},
		{"a line", `SELECT f($1)`, []any{"a\n"}, `SELECT f($1)`, []any{"a\n"}},
		{"another type", `SELECT f($1)`, []any{1.5}, `SELECT f($1)`, []any{1.5}},
	} {
		if query, left := inlined(c.query, c.args); query != c.want || !reflect.DeepEqual(left, c.left) {
			t.Errorf("%s: %s with %v, want %s with %v", c.name, query, left, c.want, c.left)
		}
	}
}
