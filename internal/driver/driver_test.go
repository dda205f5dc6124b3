package driver

import (
	"bytes"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"

	"github.com/advisorylint/advisorylint/analyzer"
	"github.com/advisorylint/advisorylint/analyzer/lockkey"
	"github.com/advisorylint/advisorylint/internal/settings"
	"github.com/advisorylint/advisorylint/internal/settings/configfile"
	"github.com/advisorylint/advisorylint/internal/suppress"
)

const schemaFile = "../../docs/advisorylint.schema.json"

// files are configuration files; wrong ones have a comment that begins with "wrong".
var files = []string{
	"",
	"rules: [default, lockwait, -xactlock]",
	"rules: [all]\npooler: none\nexclude: ['**/*_mock.go']\nseverity: {lockwait: info, getdel: error}",
	"clients: [{type: example.com/store.DB, handle: pool}, {type: example.com/store/v2.DB.Line, handle: conn}]",
	"wrappers: [{func: example.com/store.Run}, {func: store.DB.Run, handle: tx, sql: 0}]",
	"rules: [default # wrong: not YAML",
	"rules: default # wrong: no list",
	"rules: [] # wrong: empty",
	"rules: [poolock] # wrong: no rule",
	"rules: [--poollock] # wrong: no rule",
	"rule: [default] # wrong: no option",
	"pooler: maybe # wrong: no pooler",
	"pooler: [none] # wrong: a list",
	"clients: [{type: DB, handle: pool}] # wrong: no path",
	"clients: [{type: example.com/store, handle: pool}] # wrong: no name; store is behind the last dot",
	"clients: [{type: 'example.com/store.', handle: pool}] # wrong: no name",
	"clients: [{type: example.com/store.DB}] # wrong: no handle",
	"clients: [{handle: pool}] # wrong: no type",
	"clients: [{type: example.com/store.DB, handle: lake}] # wrong: no kind",
	"clients: [{type: example.com/store.DB, handle: pool, sql: 1}] # wrong: no key",
	"wrappers: [{func: '(*example.com/store.DB).Run'}] # wrong: a form of another tool",
	"wrappers: [{func: example.com/store.Run, sql: -1}] # wrong: negative",
	"wrappers: [{func: example.com/store.Run, sql: first}] # wrong: no number",
	"wrappers: [{handle: pool}] # wrong: no func",
	"exclude: [1] # wrong: a number",
	"severity: {poollock: loud} # wrong: no level",
	"severity: {poolock: info} # wrong: no rule",
	"severity: {} # wrong: empty",
	"[] # wrong: a list",
}

// Editors check a file by the schema, the linter by its own code: they must agree.
func TestSchemaAgreesWithTheReader(t *testing.T) {
	schema, err := jsonschema.NewCompiler().Compile(schemaFile)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range files {
		wrong := strings.Contains(text, "# wrong")
		if _, err := configfile.Parse("x.yaml", []byte(text), Rules()); (err != nil) != wrong {
			t.Errorf("the reader says of %q: %v", text, err)
		}
		var value any
		if err := yaml.Unmarshal([]byte(text), &value); err != nil {
			if !wrong {
				t.Errorf("%q: %v", text, err)
			}
			continue
		}
		data, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		instance, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(instance); (err != nil) != wrong {
			t.Errorf("the schema says of %q: %v", text, err)
		}
	}
}

func TestSchemaNamesEveryRuleAndOption(t *testing.T) {
	data, err := os.ReadFile(schemaFile)
	if err != nil {
		t.Fatal(err)
	}
	var schema struct {
		Properties map[string]struct {
			Items         struct{ Enum []string }
			PropertyNames struct{ Enum []string }
		}
	}
	if err := json.Unmarshal(data, &schema); err != nil {
		t.Fatal(err)
	}
	for _, name := range settings.Names {
		if _, ok := schema.Properties[name]; !ok {
			t.Errorf("the schema lacks %s", name)
		}
	}
	if len(schema.Properties) != len(settings.Names) {
		t.Errorf("the schema has %d options, want %d", len(schema.Properties), len(settings.Names))
	}
	want := []string{"default", "all", "-default", "-all"}
	for _, rule := range Rules() {
		want = append(want, rule, "-"+rule)
	}
	if got := schema.Properties[settings.Rules].Items.Enum; !slices.Equal(got, want) {
		t.Errorf("rules are %v, want %v", got, want)
	}
	if got := schema.Properties[settings.Severity].PropertyNames.Enum; !slices.Equal(got, Rules()) {
		t.Errorf("severities are for %v, want %v", got, Rules())
	}
}

func TestDefaultsAreTheSuites(t *testing.T) {
	forms := defaults()
	for _, a := range analyzer.All() {
		want := settings.Off
		for _, d := range analyzer.Default() {
			switch {
			case d == a:
				want = settings.Full
			case d.Name == a.Name:
				want = settings.Part
			}
		}
		if forms[a.Name] != want {
			t.Errorf("%s is %v by default, want %v", a.Name, forms[a.Name], want)
		}
	}
	if forms[lockkey.Analyzer.Name] != settings.Part {
		t.Error("lockkey is on in part")
	}
}

func TestUseRefusesWhatCannotBe(t *testing.T) {
	_, err := Use(settings.Given{Settings: settings.Settings{Rules: []string{"poolock"}}})
	if err == nil || !strings.HasPrefix(err.Error(), "rules: there is no rule") {
		t.Errorf("got %v", err)
	}
}

func TestSuppressedReadsTheResultOfARule(t *testing.T) {
	held := []suppress.Held{{Kind: "nolint"}}
	if got := Suppressed(&suppress.Result{Held: held}); len(got) != 1 || got[0].Kind != "nolint" {
		t.Errorf("got %v", got)
	}
	if got := Suppressed(nil); got != nil {
		t.Errorf("of no result: %v", got)
	}
}
