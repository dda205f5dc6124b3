package main

import (
	"path/filepath"
	"slices"
)

// module is a public module whose source is linted.
type module struct {
	name       string
	path       string
	version    string   // fixed, so that figures of two days compare
	without    []string // folders that are left out
	leaf, base string   // a file of a package that nobody imports, and of one that most import
	floor, vet bool     // compared with the floor and with go vet too
}

// Small, large, and of the size of a service, with locks in it.
var modules = []module{
	{name: "pgx", path: "github.com/jackc/pgx/v5", version: "v5.13.0",
		leaf: "log/testingadapter/adapter.go", base: "internal/pgio/write.go", floor: true, vet: true},
	{name: "tools", path: "golang.org/x/tools", version: "v0.52.0",
		leaf: "cmd/stringer/stringer.go", base: "go/ast/inspector/inspector.go"},
	{name: "workflows", path: "github.com/cschleiden/go-workflows", version: "v1.2.0",
		without: []string{"samples", "analyzer"}, // programs of ten lines; an import that Go 1.26 does not compile
		leaf:    "tester/tester.go", base: "backend/payload/payload.go"},
}

// linter gives the linter's command in a module, with the folder of its own cache.
func (t tools) linter(name, dir, cache string) command {
	return command{name: name, dir: dir, argv: []string{t.advisorylint, "./..."}, env: []string{"ADVISORYLINT_CACHE=" + cache}, found: 3}
}

// list is what no linter can do without: the packages are listed.
func list(dir string) command {
	return command{name: "go list", dir: dir, argv: []string{"go", "list", "-deps", "-test", "./..."}}
}

// lint compares the linter on a module with others, all with nothing in their own caches, when cold; with itself
// and with go list where something was linted before, when warm.
func (t tools) lint(m module, dir string, cold, warm bool) contest {
	cache := filepath.Join(filepath.Dir(dir), m.name+"-cache")
	lint := t.linter("advisorylint", dir, cache)
	lint.empty = cache
	c := contest{
		// Builds all that is imported, so that nobody pays for the first who asks for it.
		first: []command{{name: "go list", dir: dir, argv: []string{"go", "list", "-e", "-export", "-compiled", "-deps", "-test", "./..."}}},
	}
	if cold {
		peers := filepath.Join(filepath.Dir(dir), "staticcheck-cache")
		c.commands = append(c.commands,
			command{name: "staticcheck", dir: dir, argv: []string{t.staticcheck, "./..."}, found: 1,
				env: []string{"STATICCHECK_CACHE=" + peers}, empty: peers},
			command{name: "sqlclosecheck", dir: dir, argv: []string{t.sqlclosecheck, "./..."}, found: 3},
		)
		c.rows = append(c.rows,
			row{m.name, cpu, "staticcheck", lint.name, 0.25},
			row{m.name, memory, "staticcheck", lint.name, 0},
			row{m.name, cpu, "sqlclosecheck", lint.name, 0.40},
			row{m.name, memory, "sqlclosecheck", lint.name, 0.40},
			row{m.name, memory, "", lint.name, 160e6},
		)
	}
	if cold && m.floor {
		c.commands = append(c.commands, command{name: "floor", dir: dir, argv: []string{t.floor, "./..."}})
		c.rows = append(c.rows, row{m.name, cpu, "floor", lint.name, 0.60}, row{m.name, memory, "floor", lint.name, 0.40})
	}
	c.commands = append(c.commands, lint)
	if warm {
		c.again(m.name, lint, filepath.Join(dir, m.leaf), filepath.Join(dir, m.base))
	}
	return c
}

// again adds runs of the linter that follow on one with an empty cache: of the same source, and of edited source.
func (c *contest) again(title string, cold command, leaf, base string) {
	add := func(name, edit string) {
		cmd := cold
		cmd.name, cmd.empty, cmd.edit = name, "", edit
		c.commands = append(c.commands, cmd)
	}
	c.commands = append(c.commands, list(cold.dir))
	add("unchanged", "")
	c.rows = append(c.rows, row{title, cpu, "go list", "unchanged", 1.30})
	add("leaf edited", leaf)
	add("base edited", base)
	for _, name := range []string{"leaf edited", "base edited"} {
		c.rows = append(c.rows, row{title, cpu, cold.name, name, 0}, row{title, cpu, "go list", name, 0})
	}
}

// goVet compares go vet with the rules and without.
func (t tools) goVet(m module, dir string) contest {
	// The one check that pgx does not pass is left out: go vet keeps no answer that has a finding,
	// so plain vet would start anew each time.
	plain := command{name: "go vet", dir: dir, argv: []string{"go", "vet", "-composites=false", "./..."}}
	ours := command{name: "go vet -vettool", dir: dir, argv: []string{"go", "vet", "-vettool=" + t.advisorylint, "./..."}}
	c := contest{
		first:    []command{plain, ours},
		commands: []command{plain, ours},
		rows:     []row{{m.name, elapsed, plain.name, ours.name, 1.10}},
	}
	for _, cmd := range []command{plain, ours} {
		cmd.name += ", base edited"
		cmd.edit = filepath.Join(dir, m.base)
		c.commands = append(c.commands, cmd)
	}
	c.rows = append(c.rows, row{m.name, elapsed, c.commands[2].name, c.commands[3].name, 1.10})
	return c
}

// named gives the modules of these names.
func named(names []string) []module {
	return slices.DeleteFunc(slices.Clone(modules), func(m module) bool { return !slices.Contains(names, m.name) })
}
