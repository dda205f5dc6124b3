package main

import (
	"fmt"
	"os"
	"runtime/debug"
	"strings"
	"text/tabwriter"

	"golang.org/x/tools/go/analysis"

	"github.com/advisorylint/advisorylint/analyzer"
)

const helpText = `advisorylint finds mistakes with distributed locks: PostgreSQL advisory locks, MySQL and
MariaDB named locks, Redis and etcd locks.

	advisorylint [flags] [packages]    lint; the default is the package in this directory
	advisorylint rules                 list the rules
	advisorylint explain RULE          say what a rule is about
	advisorylint version               print the version
	advisorylint help                  print this

	go vet -vettool=$(which advisorylint) [flags] [packages]
	go fix -fixtool=$(which advisorylint) [flags] [packages]

The flags:

	-rules LIST   which rules run: default, all, names, separated by commas; -name takes one away
	-RULE         run this rule, and only those asked for so; -RULE=false takes it away
	-pooler KIND  the pooler that connections go through: transaction, session or none;
	              transaction adds poolerlock to the default set
	-fix          apply the fixes
	-diff         print the fixes as a unified diff
	-json         print findings and fixes as JSON, as go vet does
	-c N          show N lines of source round each finding
	-test=false   leave test files out
	-tags LIST    build tags
	-C DIR        change to this directory first
	-debug        say how long it took and what could not be followed

The exit code is 0 when nothing was found, 3 when something was, and 1 when something could
not be looked at.

A finding is suppressed on its own line or the line before:

	//lint:ignore RULE the reason why it is no mistake here
	//nolint:RULE
	//nolint:advisorylint
`

func helpCommand(args []string) int {
	if len(args) > 0 {
		return explainCommand(args)
	}
	fmt.Print(helpText)
	return exitClean
}

// versionCommand prints the version that the build recorded.
func versionCommand([]string) int {
	version, goVersion := "(devel)", ""
	if info, ok := debug.ReadBuildInfo(); ok {
		goVersion = info.GoVersion
		if info.Main.Version != "" {
			version = info.Main.Version
		}
	}
	fmt.Println("advisorylint", version, goVersion)
	return exitClean
}

// rulesCommand prints the suite as a table.
func rulesCommand([]string) int {
	on := map[string]bool{}
	for _, a := range analyzer.Default() {
		on[a.Name] = true
	}
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	for _, a := range analyzer.All() {
		set := "opt-in"
		if on[a.Name] {
			set = "default"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\n", a.Name, set, summary(a))
	}
	if err := w.Flush(); err != nil {
		return fail(err)
	}
	return exitClean
}

// summary is the one line of a rule's documentation, without the name that it starts with.
func summary(a *analysis.Analyzer) string {
	line, _, _ := strings.Cut(a.Doc, "\n")
	return strings.TrimPrefix(line, a.Name+": ")
}
