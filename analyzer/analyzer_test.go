package analyzer

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/go/analysis"

	"github.com/advisorylint/advisorylint/analyzer/lockkey"
)

func names(list []*analysis.Analyzer) []string {
	var out []string
	for _, a := range list {
		out = append(out, a.Name)
	}
	slices.Sort(out)
	return out
}

// A rule is a folder here, a folder of fixtures, a page and a row of the suite.
func TestRuleIsWholeEverywhere(t *testing.T) {
	suite := names(All())
	for place, found := range map[string][]string{
		"analyzer/":     packagesHere(t),
		"testdata/src/": matches(t, "../testdata/src/*/bad.go", filepath.Dir),
		"docs/rules/":   matches(t, "../docs/rules/*.md", func(p string) string { return strings.TrimSuffix(p, ".md") }),
	} {
		for _, rule := range suite {
			if !slices.Contains(found, rule) {
				t.Errorf("%s has nothing of rule %s", place, rule)
			}
		}
		for _, name := range found {
			if !slices.Contains(suite, name) {
				t.Errorf("%s has %s, which is no rule of the suite", place, name)
			}
		}
	}
}

// packagesHere lists the folders beside this file that export an analyzer.
func packagesHere(t *testing.T) []string {
	t.Helper()
	exports := regexp.MustCompile(`(?m)^var Analyzer = `)
	var list []string
	for _, name := range matches(t, "*/*.go", filepath.Dir) {
		data, err := os.ReadFile(filepath.Join(name, name+".go"))
		if err == nil && exports.Match(data) && !slices.Contains(list, name) {
			list = append(list, name)
		}
	}
	return list
}

func matches(t *testing.T, pattern string, name func(string) string) []string {
	t.Helper()
	paths, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, p := range paths {
		if base := filepath.Base(name(p)); base != "README" {
			list = append(list, base)
		}
	}
	return list
}

func TestSuiteIsValid(t *testing.T) {
	for name, list := range map[string][]*analysis.Analyzer{"All": All(), "Default": Default()} {
		if err := analysis.Validate(list); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	form := regexp.MustCompile(`^[a-z]+$`)
	for _, a := range All() {
		if !form.MatchString(a.Name) {
			t.Errorf("%s: a rule's name has lower-case letters only", a.Name)
		}
		if !strings.HasPrefix(a.Doc, a.Name+": ") {
			t.Errorf("%s: its documentation does not start with its name", a.Name)
		}
		if !strings.HasSuffix(a.URL, "/docs/rules/"+a.Name+".md") {
			t.Errorf("%s: URL %q is not its page", a.Name, a.URL)
		}
		if ByName(a.Name) != a {
			t.Errorf("ByName(%q) is not the one of All", a.Name)
		}
	}
	if a := ByName("nosuchrule"); a != nil {
		t.Errorf("ByName of no rule is %s, want nil", a.Name)
	}
}

func TestDefaultLeavesOptInRulesOut(t *testing.T) {
	on, all := names(Default()), names(All())
	var out []string
	for _, name := range all {
		if !slices.Contains(on, name) {
			out = append(out, name)
		}
	}
	want := []string{"leasewatch", "lockwait", "poolerlock", "poolstarve", "stalesnapshot"}
	if !slices.Equal(out, want) {
		t.Errorf("opt-in are %v, want %v", out, want)
	}
}

func TestLockkeyIsOnInPart(t *testing.T) {
	if !slices.Contains(Default(), lockkey.NamesAnalyzer) || slices.Contains(Default(), lockkey.Analyzer) {
		t.Error("the default set has more of lockkey than names that are too long")
	}
	if ByName("lockkey") != lockkey.Analyzer {
		t.Error("ByName does not give all of lockkey")
	}
}

// The index of the pages says of each rule what the suite says.
func TestIndexAgreesWithTheSuite(t *testing.T) {
	data, err := os.ReadFile("../docs/rules/README.md")
	if err != nil {
		t.Fatal(err)
	}
	index := string(data)
	on := names(Default())
	for _, a := range All() {
		set := "opt-in"
		if slices.Contains(on, a.Name) {
			set = "default"
		}
		line, _, _ := strings.Cut(a.Doc, "\n")
		row := "| [" + a.Name + "](" + a.Name + ".md) | " + set + " | " + strings.TrimPrefix(line, a.Name+": ") + " |\n"
		if !strings.Contains(index, row) {
			t.Errorf("docs/rules/README.md lacks the row\n%s", row)
		}
	}
	if rows, rules := strings.Count(index, "\n| ["), len(All()); rows != rules {
		t.Errorf("docs/rules/README.md has %d rules, the suite %d", rows, rules)
	}
}
