package main

import (
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/go/analysis"

	"github.com/advisorylint/advisorylint/analyzer"
	"github.com/advisorylint/advisorylint/analyzer/lockkey"
)

func ruleNames(list []*analysis.Analyzer) []string {
	var names []string
	for _, a := range list {
		names = append(names, a.Name)
	}
	slices.Sort(names)
	return names
}

func TestSelected(t *testing.T) {
	t.Cleanup(func() { _ = analyzer.ByName(poolerRule).Flags.Set("pooler", "") })
	def, all := ruleNames(analyzer.Default()), ruleNames(analyzer.All())
	without := func(list []string, name string) []string {
		return slices.DeleteFunc(slices.Clone(list), func(s string) bool { return s == name })
	}
	with := func(list []string, name string) []string {
		list = append(slices.Clone(list), name)
		slices.Sort(list)
		return list
	}
	for _, test := range []struct {
		args string
		want []string
	}{
		{"", def},
		{"./... -c 2", def},
		{"-rules=default", def},
		{"-rules=all", all},
		{"-rules=poollock,lockwait", []string{"lockwait", "poollock"}},
		{"-rules poollock,", []string{"poollock"}},
		{"-rules=-poollock", without(def, "poollock")},
		{"-rules=default,-poollock,lockwait", with(without(def, "poollock"), "lockwait")},
		{"-rules=all,-lockwait", without(all, "lockwait")},
		{"-rules=poollock,-poollock,lockwait", []string{"lockwait"}},
		{"-rules=all,-default", []string{"leasewatch", "lockwait", "poolerlock", "poolstarve", "stalesnapshot"}},
		{"-lockwait", []string{"lockwait"}},
		{"-poollock -lockwait ./...", []string{"lockwait", "poollock"}},
		{"./... -lockwait", []string{"lockwait"}},
		{"-poollock=false", without(def, "poollock")},
		{"-poollock -lockwait=false", []string{"poollock"}},
		{"-rules=all -poollock=false", without(all, "poollock")},
		{"-rules=poollock -lockwait", []string{"lockwait", "poollock"}},
		{"-pooler=transaction", with(def, "poolerlock")},
		{"-pooler=session", def},
		{"-pooler=transaction -poollock", []string{"poollock"}},
	} {
		o, err := parseOptions(strings.Fields(test.args))
		if err != nil {
			t.Errorf("%q: %v", test.args, err)
			continue
		}
		rules, err := o.selected()
		if err != nil {
			t.Errorf("%q: %v", test.args, err)
			continue
		}
		if got := ruleNames(rules); !slices.Equal(got, test.want) {
			t.Errorf("%q: got %v, want %v", test.args, got, test.want)
		}
	}
}

// A rule that is on in part runs in full when it is asked for, wherever it is named.
func TestSelectedForm(t *testing.T) {
	for args, want := range map[string]*analysis.Analyzer{
		"":                        lockkey.NamesAnalyzer,
		"-rules=default":          lockkey.NamesAnalyzer,
		"-rules=all":              lockkey.Analyzer,
		"-lockkey":                lockkey.Analyzer,
		"-rules=default,lockkey":  lockkey.Analyzer,
		"-rules=lockkey,default":  lockkey.Analyzer,
		"-rules=default -lockkey": lockkey.Analyzer,
	} {
		o, err := parseOptions(strings.Fields(args))
		if err != nil {
			t.Fatalf("%q: %v", args, err)
		}
		rules, err := o.selected()
		if err != nil {
			t.Fatalf("%q: %v", args, err)
		}
		if !slices.Contains(rules, want) {
			t.Errorf("%q: lockkey runs in the other form", args)
		}
	}
}

func TestSelectedRefuses(t *testing.T) {
	for args, want := range map[string]string{
		"-rules=poolock":              `there is no rule "poolock"; is it poollock?`,
		"-rules=-nosuchthing":         `there is no rule "nosuchthing" (`,
		"-rules=default,-default":     "no rule is left to run",
		"-rules=lockwait -lockwait=0": "no rule is left to run",
	} {
		o, err := parseOptions(strings.Fields(args))
		if err != nil {
			t.Fatalf("%q: %v", args, err)
		}
		if _, err := o.selected(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", args, err, want)
		}
	}
}

func TestParseOptionsRefuses(t *testing.T) {
	for args, want := range map[string]string{
		"-nosuchflag":   "there is no flag -nosuchflag",
		"-poollock=2":   "want true or false",
		"-pooler=maybe": "want transaction, session or none",
		"-c":            "flag needs an argument",
	} {
		if _, err := parseOptions(strings.Fields(args)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", args, err, want)
		}
	}
}
