package main

import (
	"os"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/go/analysis"

	"github.com/advisorylint/advisorylint/analyzer"
	"github.com/advisorylint/advisorylint/internal/driver"
	"github.com/advisorylint/advisorylint/internal/settings"
)

// running gives the rules that run after args in a directory without a configuration file, and those of
// them that run in part.
func running(args string) (runs, inPart []string, err error) {
	o, err := parseOptions(strings.Fields(args))
	if err != nil {
		return nil, nil, err
	}
	choice, err := o.use()
	if err != nil {
		return nil, nil, err
	}
	f, err := inForce(choice, os.TempDir())
	if err != nil {
		return nil, nil, err
	}
	for _, rule := range driver.Rules() {
		switch f.Runs(rule) {
		case settings.Part:
			inPart = append(inPart, rule)
			fallthrough
		case settings.Full:
			runs = append(runs, rule)
		}
	}
	slices.Sort(runs)
	slices.Sort(inPart)
	return runs, inPart, nil
}

func ruleNames(list []*analysis.Analyzer) []string {
	var names []string
	for _, a := range list {
		names = append(names, a.Name)
	}
	slices.Sort(names)
	return names
}

func TestSelected(t *testing.T) {
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
		got, _, err := running(test.args)
		if err != nil || !slices.Equal(got, test.want) {
			t.Errorf("%q: got %v, want %v, error %v", test.args, got, test.want, err)
		}
	}
}

// A rule that is on in part runs in full when it is asked for, wherever it is named.
func TestSelectedForm(t *testing.T) {
	both := []string{"lockkey", "retrystorm"}
	other := []string{"retrystorm"}
	for args, want := range map[string][]string{
		"":                                 both,
		"-rules=default":                   both,
		"-rules=all":                       nil,
		"-rules=default,all":               nil,
		"-rules=all,default":               nil,
		"-lockkey":                         nil,
		"-rules=default,lockkey":           other,
		"-rules=lockkey,default":           other,
		"-rules=default -lockkey":          other,
		"-rules=all,-lockkey,default":      {"lockkey"},
		"-rules=default -retrystorm=false": {"lockkey"},
	} {
		if _, got, err := running(args); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: in part are %v, want %v, error %v", args, got, want, err)
		}
	}
}

func TestSelectedRefuses(t *testing.T) {
	for args, want := range map[string]string{
		"-rules=poolock":              `-rules: there is no rule "poolock"; is it poollock?`,
		"-rules=-nosuchthing":         `-rules: there is no rule "nosuchthing" (`,
		"-pooler=maybe":               `-pooler: "maybe" is not one of transaction, session, none`,
		"-clients=DB=pool":            `-clients: "DB" is not a type with its import path`,
		"-clients=example.com/x.DB":   `-clients: "" is not one of pool, conn, session, tx`,
		"-wrappers=x.Run=lake":        `-wrappers: "lake" is not one of pool, conn, session, tx`,
		"-wrappers=(*x.DB).Run":       `want example.com/store.Run or example.com/store.DB.Run`,
		"-exclude=[":                  `-exclude: "[" is no pattern`,
		"-severity=poollock=loud":     `-severity: "loud" is not one of error, warning, info`,
		"-severity=poolock=info":      `is it poollock?`,
		"-config=nosuch.yaml":         "nosuch.yaml: cannot be read: no such file or directory",
		"-rules=default,-default":     "no rule is left to run",
		"-rules=lockwait -lockwait=0": "no rule is left to run",
	} {
		if _, _, err := running(args); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", args, err, want)
		}
	}
}

func TestParseOptionsRefuses(t *testing.T) {
	for args, want := range map[string]string{
		"-nosuchflag":            "there is no flag -nosuchflag",
		"-poollock=2":            "want true or false",
		"-wrappers=x.Run=pool:y": `x.Run: "y" is not the number of an argument`,
		"-c":                     "flag needs an argument",
	} {
		if _, err := parseOptions(strings.Fields(args)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", args, err, want)
		}
	}
}
