package golangci

import (
	"strings"
	"testing"

	"github.com/golangci/plugin-module-register/register"
	"golang.org/x/tools/go/analysis"

	"github.com/advisorylint/advisorylint/analyzer"
)

type (
	object = map[string]any
	list   = []any
)

// golangci-lint finds the plugin by its name.
func TestPluginIsRegistered(t *testing.T) {
	if _, err := register.GetPlugin("advisorylint"); err != nil {
		t.Fatal(err)
	}
}

func TestGoodSettings(t *testing.T) {
	for name, conf := range map[string]any{
		"none":  nil,
		"empty": object{},
		"all": object{
			"rules":    list{"default", "lockwait", "-xactlock"},
			"pooler":   "transaction",
			"clients":  list{object{"type": "example.com/store.DB", "handle": "pool"}},
			"wrappers": list{object{"func": "example.com/store.DB.Run", "sql": 1}},
			"exclude":  list{"internal/gen/**"},
		},
		"numbers of a JSON configuration": object{"wrappers": list{object{"func": "example.com/store.Run", "sql": 1.0}}},
	} {
		t.Run(name, func(t *testing.T) {
			linter, err := New(conf)
			if err != nil {
				t.Fatal(err)
			}
			given := linter.(plugin).settings
			if name == "all" {
				if given.Text("rules") != "default,lockwait,-xactlock" || given.Text("pooler") != "transaction" ||
					given.Text("clients") != "example.com/store.DB=pool" || given.Text("wrappers") != "example.com/store.DB.Run=:1" ||
					given.Text("exclude") != "internal/gen/**" {
					t.Errorf("settings are %+v", given)
				}
			}
			if mode := linter.GetLoadMode(); mode != register.LoadModeTypesInfo {
				t.Errorf("load mode %s, the rules need types", mode)
			}
			rules, err := linter.BuildAnalyzers()
			if err != nil {
				t.Fatal(err)
			}
			if err := analysis.Validate(rules); err != nil {
				t.Error(err)
			}
			// Opt-in rules too: golangci-lint keys its cache by the names, and the settings decide the rest.
			if len(rules) != len(analyzer.All()) {
				t.Errorf("%d rules, want %d", len(rules), len(analyzer.All()))
			}
		})
	}
}

func TestBadSettingsAreNamed(t *testing.T) {
	const key = "linters.settings.custom.advisorylint.settings"
	for _, test := range []struct {
		conf any
		says []string // the first is the key
	}{
		{"default", []string{": ", `"default"`, "rules: [default]"}},
		{list{"default"}, []string{": ", "a list", "rules: [default]"}},
		{object{"rule": list{"default"}}, []string{".rule: ", `no option "rule"`, "rules, pooler"}},
		{object{"rules": "lockwait"}, []string{".rules: ", `"lockwait"`, "want a list, [default, lockwait]"}},
		{object{"rules": list{"default", "poolock"}}, []string{".rules[1]: ", `no rule "poolock"`, "is it poollock?"}},
		{object{"rules": list{1}}, []string{".rules[0]: ", `"1"`, "[default, lockwait]"}},
		{object{"rules": nil}, []string{".rules: ", "empty", "[default, lockwait]"}},
		{object{"pooler": true, "rules": list{"all"}}, []string{".pooler: ", `"true"`, "want transaction"}},
		{object{"pooler": list{"session"}}, []string{".pooler: ", "a list", "want transaction"}},
		{object{"pooler": "pgbouncer"}, []string{".pooler: ", `"pgbouncer"`, "transaction, session, none"}},
		{object{"clients": list{object{"type": "DB", "handle": "pool"}}}, []string{".clients[0]: ", `"DB"`, "want example.com/store.DB"}},
		{object{"wrappers": list{object{"func": "a.b/c.Run"}, object{"func": "a.b/c.Do", "sqll": 1}}},
			[]string{".wrappers[1]: ", `no key "sqll"`, "func, handle, sql"}},
		{object{"wrappers": list{object{"func": "a.b/c.Run", "sql": "one"}}}, []string{".wrappers[0]: ", `"one"`, "sql: 1"}},
		{object{"wrappers": object{"func": "a.b/c.Run"}}, []string{".wrappers: ", "a mapping", "want a list"}},
		{object{"exclude": list{"gen/**", "a[/**"}}, []string{".exclude[1]: ", `"a[/**"`, "internal/gen/**"}},
		{object{"severity": object{"lockwait": "info"}}, []string{".severity: ", "golangci-lint", "text: '^lockwait: '"}},
	} {
		_, err := New(test.conf)
		if err == nil {
			t.Errorf("%v is taken", test.conf)
			continue
		}
		if strings.Contains(err.Error(), "\n") || !strings.HasPrefix(err.Error(), key+test.says[0]) {
			t.Errorf("%v: error %q, want one line that starts with %s%s", test.conf, err, key, test.says[0])
		}
		for _, want := range test.says[1:] {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%v: error %q lacks %q", test.conf, err, want)
			}
		}
	}
}
