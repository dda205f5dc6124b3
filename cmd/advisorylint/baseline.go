package main

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/checker"
	"golang.org/x/tools/go/packages"

	"github.com/advisorylint/advisorylint/internal/baseline"
	"github.com/advisorylint/advisorylint/internal/findings"
)

// openBaseline checks -baseline and -write-baseline, and reads the file of the former before anything is
// looked at.
func (o *options) openBaseline() error {
	switch {
	case o.baseline != "" && o.writeBaseline != "":
		return errors.New("-baseline and -write-baseline are there: choose one, to keep back what is known or to write it anew")
	case o.baseline != "":
		return o.readBaseline()
	case o.writeBaseline == "":
		return nil
	case o.fix || o.diff:
		return errors.New("-write-baseline applies no fixes: fix first, and write what is left")
	case o.format != formatText:
		return fmt.Errorf("-write-baseline prints no findings: leave out -format=%s", o.format)
	}
	return replaceable(o.writeBaseline)
}

func (o *options) readBaseline() error {
	rewrite := "-write-baseline=" + o.baseline
	data, err := os.ReadFile(o.baseline)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("-baseline: there is no %s: %s makes it", o.baseline, rewrite)
	} else if err != nil {
		return fmt.Errorf("-baseline: %w", err)
	}
	o.known, err = baseline.Parse(data)
	var fault *baseline.Error
	if errors.As(err, &fault) {
		place := o.baseline
		if fault.Line > 0 {
			place += fmt.Sprintf(":%d", fault.Line)
		}
		if len(data) > 0 && !baseline.Is(data) {
			return fmt.Errorf("%s: %s; name a file that -write-baseline wrote", place, fault.Text)
		}
		return fmt.Errorf("%s: %s; %s writes it anew", place, fault.Text, rewrite)
	}
	return err
}

// replaceable says why a baseline is not to be written to name: a slip, such as a flag that takes the pattern
// after it for its file, must not cost a source its content.
func replaceable(name string) error {
	if filepath.Base(name) == "..." {
		return fmt.Errorf("-write-baseline=%s: that is a pattern of packages: name a file, -write-baseline=baseline.yaml", name)
	}
	data, err := os.ReadFile(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("-write-baseline: %w", err)
	case len(data) > 0 && !baseline.Is(data):
		return fmt.Errorf("-write-baseline: %s is there and is no baseline: name another file or remove it", name)
	}
	return nil
}

// save writes the baseline of the findings, and gives the exit code.
func (o *options) save(found []finding, pkgs []*packages.Package, troubles []string) int {
	if len(troubles) > 0 {
		return fail(errors.New("-write-baseline: nothing is written, since what could not be looked at may have findings too"))
	}
	named, err := namesFrom(o.writeBaseline)
	if err == nil {
		err = writeWhole(o.writeBaseline, baseline.Of(named.entries(found)).Format())
	}
	if err != nil {
		return fail(fmt.Errorf("-write-baseline: %w", err))
	}
	seen := findings.Count(len(paths(subjects(pkgs))), "package")
	fmt.Fprintf(os.Stderr, "%s in %s written to %s; %s looked at\n",
		findings.Count(len(found), "finding"), findings.Count(len(paths(packagesOf(found))), "package"), o.writeBaseline, seen)
	return exitClean
}

// writeWhole writes a file in one step, also one that is not there yet.
func writeWhole(name string, content []byte) error {
	if _, err := os.Lstat(name); !errors.Is(err, fs.ErrNotExist) {
		return writeFile(name, content)
	}
	part := filepath.Join(filepath.Dir(name), ".advisorylint-"+rand.Text())
	f, err := os.OpenFile(part, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return fmt.Errorf("%s: %w", name, errors.Unwrap(err)) // the name that the user knows
	}
	_, err = f.Write(content)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(part, name)
	}
	if err != nil {
		os.Remove(part) // ignore error: the first one counts
	}
	return err
}

// fresh marks the findings that the baseline knows and gives the others, with a line for each of its entries
// that no longer occurs. After trouble nothing is said to occur no longer.
func (o *options) fresh(graph *checker.Graph, c chosen, found []finding, troubles []string) ([]finding, []string, error) {
	if o.known == nil {
		return found, nil, nil
	}
	named, err := namesFrom(o.baseline)
	if err != nil {
		return nil, nil, err
	}
	known, left := o.known.Split(named.entries(found))
	for i := range found {
		found[i].known = known[i]
	}
	var gone []string
	seen := named.lookedAt(graph)
	for _, k := range left {
		if len(troubles) == 0 && seen.tells(c, k.Entry) {
			gone = append(gone, fmt.Sprintf("%s:%d: %s: %s no longer; -write-baseline=%s writes what is left",
				o.baseline, k.Line, k.Entry, occurs(k.Count), o.baseline))
		}
	}
	return slices.DeleteFunc(slices.Clone(found), func(f finding) bool { return f.known }), gone, nil
}

func occurs(n int) string {
	if n == 1 {
		return "1 finding occurs"
	}
	return findings.Count(n, "finding") + " occur"
}

// leaveOut takes the findings that are known out of the graph, which go vet's JSON is printed from.
func leaveOut(graph *checker.Graph, c chosen, found []finding) {
	known := map[mark]bool{}
	for _, f := range found {
		if f.known {
			known[f.mark()] = true
		}
	}
	for _, act := range graph.Roots {
		act.Diagnostics = slices.DeleteFunc(act.Diagnostics, func(d analysis.Diagnostic) bool {
			return known[c.finding(act, d).mark()]
		})
	}
}

// shown gives the findings that a format has: SARIF also those that are known.
func (o *options) shown(graph *checker.Graph, c chosen, all, fresh []finding) []finding {
	switch {
	case o.known == nil || o.format == formatSARIF:
		return all
	case o.format == formatJSON:
		leaveOut(graph, c, all)
	}
	return fresh
}
