package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/advisorylint/advisorylint/analyzer"
	"github.com/advisorylint/advisorylint/internal/baseline"
	"github.com/advisorylint/advisorylint/internal/settings"
)

// options is the command line of linting and of go vet's protocol, which share their flags so that a
// choice made in one can be copied to the other.
type options struct {
	set  *flag.FlagSet
	args []string // patterns, or the one configuration file of a unit

	given  settings.Settings  // -rules, -pooler and the other options that a configuration file has too
	config string             // -config
	chosen map[string]*choice // -RULE and -RULE=false

	json, fix, diff bool
	format          string             // -format: a key of formats, or text
	out             string             // -out: the file to write the format to
	baseline        string             // -baseline: the file of findings that are known
	writeBaseline   string             // -write-baseline: the file to write them to
	known           *baseline.Baseline // what is in the file of -baseline; nil without one
	context         int                // -c: lines of source round a finding, -1 for none

	dir   string // -C
	cache string // -cache
	tags  string
	tests bool
	debug debugMode
	sites bool // -v

	help        bool
	listFlags   bool   // -flags, of go vet's protocol
	fullVersion string // -V
}

// choice is a rule's flag: absent, true or false.
type choice struct{ given, on bool }

func (c *choice) String() string   { return "" }
func (c *choice) IsBoolFlag() bool { return true }
func (c *choice) Set(value string) error {
	on, err := strconv.ParseBool(value)
	if err != nil {
		return errors.New("want true or false")
	}
	*c = choice{given: true, on: on}
	return nil
}

// parseOptions reads args. Flags may stand before, between and after patterns.
func parseOptions(args []string) (*options, error) {
	o := &options{chosen: map[string]*choice{}}
	o.set = flag.NewFlagSet("advisorylint", flag.ContinueOnError)
	o.set.SetOutput(io.Discard)
	o.register()
	for {
		err := o.set.Parse(args)
		if errors.Is(err, flag.ErrHelp) {
			o.help = true
			return o, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%s ('advisorylint help' lists the flags)", flagMessage(err))
		}
		rest := o.set.Args()
		if len(rest) == 0 {
			break
		}
		o.args = append(o.args, rest[0])
		args = rest[1:]
	}
	return o, nil
}

// flagMessage says in fewer words what package flag says.
func flagMessage(err error) string {
	if name, ok := strings.CutPrefix(err.Error(), "flag provided but not defined: "); ok {
		return "there is no flag " + name
	}
	return err.Error()
}

func (o *options) register() {
	s := o.set
	for _, name := range settings.Names {
		s.Var(&option{&o.given, name}, name, optionUsage[name])
	}
	s.StringVar(&o.config, "config", "", "the configuration `file`; off for none")
	s.BoolVar(&o.json, "json", false, "print findings and fixes as JSON, in go vet's form")
	s.StringVar(&o.format, "format", "", "print findings as `form`: "+formatNames())
	s.StringVar(&o.out, "out", "", "write what -format prints to a `file`")
	s.StringVar(&o.baseline, "baseline", "", "keep back the findings that a `file` knows")
	s.StringVar(&o.writeBaseline, "write-baseline", "", "write the findings to a `file` for -baseline")
	s.BoolVar(&o.fix, "fix", false, "apply the fixes of the findings")
	s.BoolVar(&o.diff, "diff", false, "print the fixes as a unified diff and apply none")
	s.IntVar(&o.context, "c", -1, "show this many `lines` of source round each finding")
	s.StringVar(&o.dir, "C", "", "change to `dir` first")
	s.StringVar(&o.cache, "cache", "", "keep what is learned of packages in `dir`; off for nowhere")
	s.StringVar(&o.tags, "tags", "", "build `tags`, separated by commas")
	s.BoolVar(&o.tests, "test", true, "lint test files too")
	s.BoolVar(&o.sites, "v", false, "list the places at which locks are seen, and what is not known of them")
	s.Var(&o.debug, "debug", "say how long it took and what could not be followed; -debug=timing: how long each package took")
	s.BoolVar(&o.listFlags, "flags", false, "print the flags as JSON, for go vet")
	s.Var((*version)(&o.fullVersion), "V", "print the version, for go vet")

	for _, a := range analyzer.All() {
		c := new(choice)
		o.chosen[a.Name] = c
		s.Var(c, a.Name, "run only the rules given so; "+a.Name+"=false takes it away")
		// The default set's form of a rule is another analyzer of the same name; a rule's options
		// belong to the full form, which is the one that an option can change.
		a.Flags.VisitAll(func(f *flag.Flag) { s.Var(f.Value, a.Name+"."+f.Name, f.Usage) })
	}
}

// debugMode is what -debug asks for.
type debugMode string

const (
	debugAll    debugMode = "true"   // -debug
	debugTiming debugMode = "timing" // -debug=timing
)

func (d *debugMode) String() string   { return string(*d) }
func (d *debugMode) IsBoolFlag() bool { return true }
func (d *debugMode) Set(text string) error {
	on, err := strconv.ParseBool(text)
	switch {
	case text == string(debugTiming):
		*d = debugTiming
	case err != nil:
		return errors.New("want true, false or timing")
	case on:
		*d = debugAll
	default:
		*d = ""
	}
	return nil
}

// version is the value of -V, which go vet gives as -V=full and people as -V.
type version string

func (v *version) String() string     { return string(*v) }
func (v *version) IsBoolFlag() bool   { return true }
func (v *version) Set(s string) error { *v = version(s); return nil }

// option is the flag of an option that a configuration file has too.
type option struct {
	given *settings.Settings
	name  string
}

func (o *option) String() string {
	if o.given == nil {
		return ""
	}
	return o.given.Text(o.name)
}

func (o *option) Set(text string) error { return o.given.Set(o.name, text) }

var optionUsage = map[string]string{
	settings.Rules:    "run these rules: default, all, names separated by commas; -name takes one away",
	settings.Pooler:   "the pooler that the program's connections go through: transaction, session or none",
	settings.Clients:  "types that stand for a database: example.com/store.DB=pool, or conn, session, tx",
	settings.Wrappers: "functions that send SQL: example.com/store.Run=pool:1, where 1 is the argument that is the text",
	settings.Exclude:  "say nothing of files that match these patterns: internal/gen/**",
	settings.Severity: "severities by rule: lockwait=info, or warning, error",
}
