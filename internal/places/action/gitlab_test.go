package action

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/itchyny/gojq"
)

// GitLab's Code Quality report wants a description, a check_name, a fingerprint, a severity of its five,
// and the path and first line.
func TestFilterOfThePageMakesACodeQualityReport(t *testing.T) {
	query, err := gojq.Parse(blocks(t, "jq", "")[0])
	if err != nil {
		t.Fatal(err)
	}
	r := newRunner(t)
	held := []byte("package stock\n\nimport \"database/sql\"\n\nfunc Again(db *sql.DB) error {\n" +
		"\t//lint:ignore poollock one connection\n\t_, err := db.Exec(\"SELECT pg_advisory_lock(31)\")\n\treturn err\n}\n")
	if err := os.WriteFile(filepath.Join(r.workspace, "shop/stock/held.go"), held, 0o644); err != nil {
		t.Fatal(err)
	}
	got := r.run(t, map[string]string{"format": "sarif", "args": "-rules=poollock"})
	got.want(t, 3)
	data, err := os.ReadFile(got.outputs["file"])
	if err != nil {
		t.Fatal(err)
	}
	var log any
	if err := json.Unmarshal(data, &log); err != nil {
		t.Fatal(err)
	}
	value, ok := query.Run(log).Next()
	report, isList := value.([]any)
	if !ok || !isList || len(report) != 1 {
		t.Fatalf("the report is %v, want one finding: the other is suppressed", value)
	}
	issue := report[0].(map[string]any)
	for key := range map[string]bool{"description": true, "fingerprint": true} {
		if text, ok := issue[key].(string); !ok || text == "" {
			t.Errorf("%s is %v", key, issue[key])
		}
		delete(issue, key)
	}
	want := map[string]any{
		"check_name": "poollock",
		"severity":   "major",
		"location":   map[string]any{"path": "shop/stock/stock.go", "lines": map[string]any{"begin": 9.0}},
	}
	if !reflect.DeepEqual(issue, want) {
		t.Errorf("the report has\n%#v, want\n%#v", issue, want)
	}
}
