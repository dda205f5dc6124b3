package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What a build makes is tested in internal/goplstest; here is what the command line says to it.
func TestGoplsRefusesInOneLine(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "gopls")
	for want, args := range map[string][]string{
		"-o is missing": {},
		"-o " + dir + " is a directory: want a file, as in -o " + path: {"-o", dir},
		"there is no flag -out ('advisorylint gopls -h' lists":         {"-out", path},
		`gopls takes flags only, and "./..." is none`:                  {"-o", path, "./..."},
		`-rules: there is no rule "lockwiat"; is it lockwait?`:         {"-o", path, "-rules=default,lockwiat"},
		`-pooler: "pgbouncer" is not one of`:                           {"-o", path, "-pooler=pgbouncer"},
		`-clients: "pipe" is not one of`:                               {"-o", path, "-clients=example.com/store.DB=pipe"},
		`-wrappers: "Run" is not a function with its import path`:      {"-o", path, "-wrappers=Run"},
		`-exclude: "gen/[" is no pattern`:                              {"-o", path, "-exclude=gen/["},
		"gopls shows all findings as warnings":                         {"-o", path, "-severity=lockwait=info"},
		"-version 23: want a version of gopls":                         {"-o", path, "-version=23"},
		"-source " + dir + " is not the source of advisorylint":        {"-o", path, "-source", dir},
	} {
		got := lintIn(t, dir, append([]string{"gopls"}, args...)...)
		got.want(t, 1, "advisorylint: ", want)
		if strings.Count(got.stderr, "\n") != 1 || got.stdout != "" {
			t.Errorf("%q: not one line: %v", args, got)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

func TestGoplsHelpListsItsFlags(t *testing.T) {
	got := lintIn(t, t.TempDir(), "gopls", "-h")
	if got.code != 0 || got.stderr != "" {
		t.Errorf("%v", got)
	}
	for _, name := range append([]string{"o", "version", "source"}, goplsOptions...) {
		if !strings.Contains(got.stdout, "-"+name) {
			t.Errorf("help lacks -%s", name)
		}
	}
}
