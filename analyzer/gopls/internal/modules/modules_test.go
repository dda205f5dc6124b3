package modules

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var rules = []string{"poollock", "lockwait"}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// module is a new module's root, with a configuration file when text is not empty.
func module(t *testing.T, text string) string {
	t.Helper()
	root := t.TempDir()
	write(t, filepath.Join(root, "go.mod"), "module example.org/shop\n")
	if text != "" {
		write(t, filepath.Join(root, ".advisorylint.yaml"), text)
	}
	return root
}

// start is what a gopls does as it starts; meet is what it does with a package of each module.
func start(t *testing.T, list string) *Modules {
	t.Helper()
	return Remember(list, rules)
}

func (m *Modules) meet(t *testing.T, roots ...string) {
	t.Helper()
	for _, root := range roots {
		if _, err := m.Find(filepath.Join(root, "stock")); err != nil {
			t.Fatal(err)
		}
	}
}

// rulesOf gives the rules that are in force in a module.
func (m *Modules) rulesOf(t *testing.T, root string) string {
	t.Helper()
	f, err := m.Find(root)
	if err != nil {
		t.Fatal(err)
	}
	if f == nil {
		return "none"
	}
	return strings.Join(f.Rules, ",")
}

func TestKeyChangesWithTheFilesThatAreKnown(t *testing.T) {
	list := filepath.Join(t.TempDir(), "kept", "list")
	plain, configured := module(t, ""), module(t, "rules: [lockwait]\n")
	first := start(t, list)
	first.meet(t, plain)
	second := start(t, list)
	if second.Key() != first.Key() {
		t.Error("a module without a file costs what was kept")
	}
	second.meet(t, configured, plain)
	third := start(t, list)
	if third.Key() == second.Key() {
		t.Error("what was kept before the module's file was in the name is found")
	}
	third.meet(t, configured, plain)
	if again := start(t, list); again.Key() != third.Key() {
		t.Error("nothing changed, and nothing is found")
	}

	seen := map[string]string{third.Key(): "at first"}
	for _, step := range []struct{ what, path, text string }{
		{"another rule", filepath.Join(configured, ".advisorylint.yaml"), "rules: [poollock]\n"},
		{"a broken file", filepath.Join(configured, ".advisorylint.yaml"), "rules: [nosuchrule]\n"},
		{"a file where none was", filepath.Join(plain, ".advisorylint.yaml"), "rules: [poollock]\n"},
		{"a file of the wrong name", filepath.Join(filepath.Dir(plain), ".advisorylint.yml"), "rules: [poollock]\n"},
	} {
		write(t, step.path, step.text)
		key := start(t, list).Key()
		if step.what == "a file of the wrong name" {
			// It lies above a file that governs.
			if seen[key] == "" {
				t.Errorf("%s changes the key", step.what)
			}
			continue
		}
		if before := seen[key]; before != "" {
			t.Errorf("%s has the key of %s", step.what, before)
		}
		seen[key] = step.what
	}
}

func TestFileHoldsAsItWasFirstRead(t *testing.T) {
	list := filepath.Join(t.TempDir(), "list")
	root, new := module(t, "rules: [lockwait]\n"), module(t, "")
	start(t, list).meet(t, root)
	m := start(t, list)
	// This one is in the key, so it must not be read later than the key was made.
	write(t, filepath.Join(root, ".advisorylint.yaml"), "rules: [poollock]\n")
	if got := m.rulesOf(t, root); got != "lockwait" {
		t.Errorf("a module that was known: %s", got)
	}
	if got := m.rulesOf(t, new); got != "none" {
		t.Errorf("a new module: %s", got)
	}
	write(t, filepath.Join(new, ".advisorylint.yaml"), "rules: [poollock]\n")
	if got := m.rulesOf(t, filepath.Join(new, "deeper")); got != "none" {
		t.Errorf("a new module, later: %s", got)
	}
	next := start(t, list)
	if got := next.rulesOf(t, root) + " " + next.rulesOf(t, new); got != "poollock poollock" {
		t.Errorf("the next gopls: %s", got)
	}
}

func TestFaultIsToldAndStays(t *testing.T) {
	list := filepath.Join(t.TempDir(), "list")
	root := module(t, "rules: [nosuchrule]\n")
	for range 2 { // as a new module, and as one that is known
		m := start(t, list)
		write(t, filepath.Join(root, ".advisorylint.yaml"), "rules: [nosuchrule]\n")
		for range 2 {
			f, err := m.Find(root)
			if f != nil || err == nil || !strings.Contains(err.Error(), ".advisorylint.yaml:1: ") || !strings.Contains(err.Error(), "nosuchrule") {
				t.Errorf("%v, %v", f, err)
			}
			write(t, filepath.Join(root, ".advisorylint.yaml"), "rules: [poollock]\n")
		}
		write(t, filepath.Join(root, ".advisorylint.yaml"), "rules: [nosuchrule]\n")
	}
}

func TestListThatCannotBeUsedKeepsNothing(t *testing.T) {
	dir := t.TempDir()
	list := filepath.Join(dir, "list")
	first := start(t, list)
	if err := os.Remove(list); err != nil {
		t.Fatal(err)
	}
	if start(t, list).Key() == first.Key() {
		t.Error("the list was lost, and what was kept by means of it is found")
	}
	write(t, list, "")
	if start(t, list).Key() == start(t, filepath.Join(dir, "other")).Key() {
		t.Error("an empty list has no mark of its own")
	}
	write(t, filepath.Join(dir, "file"), "")
	under := filepath.Join(dir, "file", "list")
	one, two := start(t, under), start(t, under)
	if one.Key() == two.Key() {
		t.Error("nothing can be written down, and yet something is found")
	}
	one.meet(t, module(t, ""))
	long := start(t, list)
	for range most + 1 {
		long.meet(t, module(t, ""))
	}
	if start(t, list).Key() == long.Key() {
		t.Error("the list grows without end")
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 3 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// Another gopls may just be writing.
func TestLineThatIsNotWholeIsLeftOut(t *testing.T) {
	list := filepath.Join(t.TempDir(), "list")
	root := module(t, "rules: [lockwait]\n")
	m := start(t, list)
	m.meet(t, root)
	whole := start(t, list)
	data, err := os.ReadFile(list)
	if err != nil {
		t.Fatal(err)
	}
	write(t, list, string(data)+`"/half/a pa`)
	if start(t, list).Key() != whole.Key() {
		t.Error("a line that is not whole is taken for a module")
	}
	write(t, list, strings.TrimSuffix(string(data), "\"\n"))
	if start(t, list).Key() != m.Key() {
		t.Error("a line that is not whole is taken for a module, or the mark is lost")
	}
}
