package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/unitchecker"

	"github.com/advisorylint/advisorylint/analyzer"
	"github.com/advisorylint/advisorylint/internal/driver"
	"github.com/advisorylint/advisorylint/internal/settings/configfile"
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

// vetVersion answers -V=full: a hash by which go vet knows what it may reuse, of this binary and of the
// configuration files that can govern what it is run on. The form is what cmd/go/internal/work reads.
func vetVersion(value string) int {
	if value != "full" {
		return versionCommand(nil)
	}
	id, err := identity()
	if err != nil {
		return fail(err)
	}
	fmt.Printf("%s version devel buildID=%s\n", filepath.Base(os.Args[0]), id)
	return exitClean
}

func identity() (string, error) {
	program, err := programID()
	if err != nil {
		return "", err
	}
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	digest, err := configfile.Digest(dir, driver.Rules())
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256([]byte(program + digest))
	return hex.EncodeToString(sum[:]), nil
}

// vetUnit lints the one package that a .cfg file describes.
func vetUnit(o *options, config string) int {
	unit := readUnit(config)
	choice, err := o.use()
	if err == nil && !unit.VetxOnly && unit.Dir != "" && unit.ModuleVersion == "" {
		_, err = inForce(choice, unit.Dir)
	}
	if o.debug == debugAll && err == nil {
		err = talkative(analyzer.All())
	}
	if unit.VetxOnly {
		// Only facts are wanted, and which rules run does not change them. A wrong choice of rules is
		// for the packages asked for to complain of: once each, not once a dependency.
		callUnitchecker(factsOf(analyzer.All()), config)
	}
	if err != nil {
		return fail(err)
	}
	callUnitchecker(analyzer.All(), append(o.vetArgs(), config)...)
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

// readUnit reads the description of a unit. One that cannot be read is left to unitchecker to complain of.
func readUnit(config string) (unit unitchecker.Config) {
	if data, err := os.ReadFile(config); err == nil {
		_ = json.Unmarshal(data, &unit) // as above
	}
	return unit
}

// notForVet are flags that go vet must not pass on: build flags, which it keeps for itself, flags of
// linting without it, -cache, for go vet has its own, -format, -out and the baseline's, which are about all
// packages at once, -config, whose file it would not know of when it looks for what it may reuse, and -fix,
// which it gives when it wants files to be fixed (go vet -fix -json must not write any).
var notForVet = map[string]bool{
	"C": true, "tags": true, "test": true, "format": true, "out": true, "fix": true, "flags": true, "V": true, "config": true, "v": true,
	"baseline": true, "write-baseline": true, "cache": true,
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
