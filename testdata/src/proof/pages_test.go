package proof

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/advisorylint/advisorylint/internal/testserver"
)

func TestMain(m *testing.M) { testserver.Main(m) }

// pages are those whose query lists locks; the headings are those of every rule's page.
var (
	pages = []string{"poollock", "unlockresult", "unlockctx", "unlockorder",
		"lockleak", "earlyunlock", "lockmismatch", "acquireresult"}
	headings = []string{"What it reports", "Why", "Failing example", "Fixed example",
		"See it live", "When it stays silent", "Known limits"}
)

// page reads a rule's page and cuts it at its headings.
func page(t *testing.T, rule string) (sections map[string]string, order []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "rules", rule+".md"))
	if err != nil {
		t.Fatal(err)
	}
	parts := strings.Split(string(text), "\n## ")
	if !regexp.MustCompile(`^# ` + rule + `\n\n[^\n]+\.\n$`).MatchString(parts[0]) {
		t.Errorf("%s begins with %q, want its name and one line", rule, parts[0])
	}
	sections = map[string]string{}
	for _, part := range parts[1:] {
		heading, body, _ := strings.Cut(part, "\n")
		sections[heading] = body
		order = append(order, heading)
	}
	return sections, order
}

func TestPagesHaveTheSameHeadings(t *testing.T) {
	for _, rule := range pages {
		if _, order := page(t, rule); !slices.Equal(order, headings) {
			t.Errorf("%s has the headings %q, want %q", rule, order, headings)
		}
	}
}

// The queries of the pages give back the keys that were asked for, whatever their sign and form.
func TestPagesShowTheKeysAsTheyWereTaken(t *testing.T) {
	s := Postgres(t)
	want := map[string]bool{}
	holder := s.Session()
	take := func(key, call string) {
		want[key] = true
		if _, err := holder.Exec(context.Background(), `SELECT `+call); err != nil {
			t.Fatal(err)
		}
	}
	for _, k := range []int64{0, 1, -1, 1 << 31, -1 << 31, 1 << 32, -1 << 32, 1<<63 - 1, -1 << 63} {
		take(Key(k), fmt.Sprintf(`pg_advisory_lock('%d')`, k))
	}
	for _, k := range [][2]int32{{0, 0}, {0, 1}, {1, 2}, {-1, 2}, {1, -2}, {-1 << 31, 1<<31 - 1}} {
		take(Keys(k[0], k[1]), fmt.Sprintf(`pg_advisory_lock_shared('%d'::int4, '%d'::int4)`, k[0], k[1]))
	}
	for _, rule := range pages {
		if got := shown(t, s, rule); !maps.Equal(got, want) {
			t.Errorf("%s shows %v, want %v", rule, slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want)))
		}
	}
}

// shown runs the page's query and collects its column key.
func shown(t *testing.T, s *Server, rule string) map[string]bool {
	t.Helper()
	sections, _ := page(t, rule)
	_, sql, _ := strings.Cut(sections["See it live"], "```sql\n")
	sql, _, found := strings.Cut(sql, "\n```")
	if !found {
		t.Fatalf("%s has no query", rule)
	}
	rows, err := s.watch.Query(context.Background(), sql)
	if err != nil {
		t.Fatal(err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowToMap)
	if err != nil {
		t.Fatalf("%s: %v", rule, err)
	}
	keys := map[string]bool{}
	for _, row := range list {
		keys[row["key"].(string)] = true
	}
	return keys
}
