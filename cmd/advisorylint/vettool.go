package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strconv"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/unitchecker"

	"github.com/advisorylint/advisorylint/analyzer"
)

// go vet and go fix run this command with -V=full, -flags, and then once a package with a .cfg file.
// The protocol is unitchecker's, which reads -json, -fix, -diff and -c from variables that only its
// Main sets, and whose own flags would let an opt-in rule run by default. So this file reads the
// flags, chooses the rules, and calls Main with the command line of a tool that has these rules only.

// callUnitchecker runs unitchecker with the rules and arguments given. It does not return.
func callUnitchecker(rules []*analysis.Analyzer, args ...string) {
	guard(rules)
	os.Args = append([]string{os.Args[0]}, args...)
	unitchecker.Main(rules...)
}

// vetVersion answers -V=full: the hash of this binary, by which go vet knows what it may reuse.
func vetVersion(value string) int {
	if value != "full" {
		return versionCommand(nil)
	}
	callUnitchecker(nil, "-V=full")
	return exitFailed
}

// vetUnit lints the one package that a .cfg file describes.
func vetUnit(o *options, config string) int {
	rules, err := o.selected()
	if o.debug && err == nil {
		err = talkative(rules)
	}
	if isDependency(config) {
		// Only facts are wanted, and which rules run does not change them. Neither does a wrong
		// choice of rules, which the packages asked for complain of: once each, not once a dependency.
		callUnitchecker(factsOf(analyzer.All()), config)
	}
	if err != nil {
		return fail(err)
	}
	callUnitchecker(rules, append(o.vetArgs(), config)...)
	return exitFailed
}

// vetArgs is what unitchecker has to know of the flags.
func (o *options) vetArgs() []string {
	args := []string{"-c=" + strconv.Itoa(o.context)}
	for _, f := range []struct {
		on   bool
		name string
	}{{o.json, "-json"}, {o.fix, "-fix"}, {o.diff, "-diff"}} {
		if f.on {
			args = append(args, f.name)
		}
	}
	return args
}

// isDependency reports whether the unit is looked at for its facts only. A file that cannot be read
// is left to unitchecker to complain of.
func isDependency(config string) bool {
	data, err := os.ReadFile(config)
	if err != nil {
		return false
	}
	var unit unitchecker.Config
	return json.Unmarshal(data, &unit) == nil && unit.VetxOnly
}

// notForVet are flags that go vet must not pass on: build flags, which it keeps for itself, flags of
// linting without it, and -fix, which it gives when it wants files to be fixed (go vet -fix -json
// must not write any).
var notForVet = map[string]bool{
	"C": true, "tags": true, "test": true, "fix": true, "flags": true, "V": true,
}

// vetFlags answers -flags: which flags go vet shall take and pass on.
func vetFlags(o *options) int {
	type jsonFlag struct {
		Name  string
		Bool  bool
		Usage string
	}
	list := []jsonFlag{}
	o.set.VisitAll(func(f *flag.Flag) {
		if notForVet[f.Name] {
			return
		}
		b, ok := f.Value.(interface{ IsBoolFlag() bool })
		list = append(list, jsonFlag{f.Name, ok && b.IsBoolFlag(), f.Usage})
	})
	data, err := json.MarshalIndent(list, "", "\t")
	if err != nil {
		return fail(err)
	}
	fmt.Println(string(data))
	return exitClean
}
