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
	advisorylint config [flags]        say which options are in force here, and where they come from
	advisorylint cache [clean]         say where the cache is and how large, or empty it
	advisorylint gopls -o PATH         build a gopls that has the rules inside, for editors
	advisorylint version               print the version
	advisorylint help                  print this

	go vet -vettool=$(which advisorylint) [flags] [packages]
	go fix -fixtool=$(which advisorylint) [flags] [packages]

The flags:

	-rules LIST     which rules run: default, all, names, separated by commas; -name takes one away
	-RULE           run this rule, and only those asked for so; -RULE=false takes it away
	-pooler KIND    the pooler that connections go through: transaction, session or none;
	                transaction adds poolerlock to the default set
	-clients LIST   types that stand for a database, example.com/store.DB=pool (or conn, session, tx)
	-wrappers LIST  functions that send SQL, example.com/store.Run=pool:1; 1 is the text's argument
	-exclude LIST   say nothing of files that match, internal/gen/**, from the module's root
	-severity LIST  lockwait=info,poollock=error; warning where nothing is said
	-config FILE    the configuration file, in the place of the one found; off for none
	-fix            apply the fixes
	-diff           print the fixes as a unified diff
	-format FORM    print findings as text, json, html, sarif, github or checkstyle
	-json           the same as -format=json: findings and fixes in go vet's form
	-out FILE       write what -format prints to a file
	-baseline FILE  keep back the findings that the file knows; those that are new count
	-write-baseline FILE
	                write the findings there are to the file, and print none
	-c N            show N lines of source round each finding
	-cache DIR      keep what is learned of packages in this directory, off for nowhere; not given:
	                where ADVISORYLINT_CACHE says, or below the user's cache directory
	-test=false     leave test files out
	-tags LIST      build tags
	-C DIR          change to this directory first
	-v              list the places at which locks are seen, and what is not known of them
	-debug          say how long it took and what could not be followed
	-debug=timing   say how long each package took, and of how many functions the SSA form was built

The options from -rules to -severity, but for -RULE, can stand in .advisorylint.yaml too, at the
module's root or above it. A flag takes the place of the file's option.

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
	version, goVersion := build()
	fmt.Println("advisorylint", version, goVersion)
	return exitClean
}

// build is what the build recorded of itself: the version, (devel) when there is none, and Go's.
func build() (version, goVersion string) {
	version = "(devel)"
	if info, ok := debug.ReadBuildInfo(); ok {
		goVersion = info.GoVersion
		if info.Main.Version != "" {
			version = info.Main.Version
		}
	}
	return version, goVersion
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
