package lockflow

import (
	"bytes"
	"go/token"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/tools/go/packages"
)

// fixtures are programs with the real client libraries.
var fixtures = sync.OnceValues(func() ([]*loaded, error) {
	pkgs, err := packages.Load(&packages.Config{Mode: packages.LoadSyntax, Dir: "../../../testdata/src"},
		"./jobrunner/joblock", "./jobrunner", "./lockleak", "./poollock", "./unlockctx", "./poolstarve")
	if err != nil {
		return nil, err
	}
	var out []*loaded
	packages.Visit(pkgs, nil, func(p *packages.Package) { // what is imported comes first
		if slices.Contains(pkgs, p) && len(p.Errors) == 0 {
			out = append(out, &loaded{fset: p.Fset, pkg: p.Types, files: p.Syntax, info: p.TypesInfo})
		}
	})
	return out, nil
})

func load(t testing.TB) []*loaded {
	t.Helper()
	if testing.Short() {
		t.Skip("loads the client libraries")
	}
	list, err := fixtures()
	if err != nil {
		t.Fatal(err)
	}
	if len(list) != 6 {
		t.Fatalf("%d packages could be loaded", len(list))
	}
	return list
}

func TestEventsOfRealProgramsAreTheSameEachTime(t *testing.T) {
	var events, bytesOf []string
	for range 5 {
		fs := &facts{data: map[string][]byte{}}
		var text strings.Builder
		for _, p := range load(t) {
			text.WriteString(p.pkg.Path() + "\n" + showAll(p, analyse(t, p.pass(fs))))
		}
		events = append(events, text.String())
		var raw bytes.Buffer
		for _, k := range sortedKeys(fs.data) {
			raw.WriteString(k)
			raw.Write(fs.data[k])
		}
		bytesOf = append(bytesOf, raw.String())
	}
	if n := strings.Count(events[0], "\n"); n < 60 {
		t.Errorf("only %d events", n)
	}
	for i := range events {
		if events[i] != events[0] {
			t.Errorf("run %d gives other events: %s", i, difference(events[0], events[i]))
		}
		if bytesOf[i] != bytesOf[0] {
			t.Errorf("run %d gives other facts", i)
		}
	}
}

func sortedKeys(m map[string][]byte) []string {
	var out []string
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

// difference is the first line in which two texts differ.
func difference(a, b string) string {
	x, y := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range min(len(x), len(y)) {
		if x[i] != y[i] {
			return "\n\t" + x[i] + "\n\t" + y[i]
		}
	}
	return "one is longer"
}

func TestEventsOfRealProgramsAreInOrderAndPlaced(t *testing.T) {
	fs := &facts{data: map[string][]byte{}}
	for _, p := range load(t) {
		var last token.Position
		for _, e := range analyse(t, p.pass(fs)) {
			where := p.fset.Position(e.Pos)
			if where.Filename < last.Filename || where.Filename == last.Filename && where.Offset < last.Offset {
				t.Errorf("%s: the event stands after a later one", where)
			}
			last = where
			if e.Call == nil || e.File == nil || e.Func == nil || e.Call.Pos() != e.Pos {
				t.Errorf("%s: the event has no place in the syntax", where)
			}
			if e.Inner == nil && len(e.Trail) > 0 || e.Inner != nil && len(e.Trail) == 0 {
				t.Errorf("%s: a trail of %d steps, and a helper's event %t", where, len(e.Trail), e.Inner != nil)
			}
			if e.Lock == nil && e.Lease == nil && e.Setting == nil && !e.Use && (e.Stmt == nil || len(e.Stmt.View)+len(e.Stmt.LocksPids) == 0) {
				t.Errorf("%s: the event is about nothing", where)
			}
		}
	}
}

// Drivers analyse packages at the same time, one process with many.
func TestPackagesCanBeAnalysedAtTheSameTime(t *testing.T) {
	list := load(t)
	fs := &facts{data: map[string][]byte{}}
	want := make([]string, len(list))
	for i, p := range list {
		want[i] = showAll(p, analyse(t, p.pass(fs)))
	}
	var wg sync.WaitGroup
	for range 2 {
		for i, p := range list {
			wg.Go(func() {
				res, err := run(p.pass(fs))
				if err != nil {
					t.Error(err)
					return
				}
				if got := showAll(p, res.(*Result).Events); got != want[i] {
					t.Errorf("%s: other events than alone: %s", p.pkg.Path(), difference(want[i], got))
				}
			})
		}
	}
	wg.Wait()
}

// The runner calls its lock's package, and what it learns of that comes by facts.
func TestARealProgramSeesItsLockPackage(t *testing.T) {
	fs := &facts{data: map[string][]byte{}}
	var got []string
	for _, p := range load(t) {
		events := analyse(t, p.pass(fs))
		if !strings.HasSuffix(p.pkg.Path(), "/jobrunner") {
			continue
		}
		for _, e := range events {
			if len(e.Trail) == 1 && strings.HasPrefix(e.Trail[0].Posn, "joblock.go:") {
				got = append(got, e.Lock.Func.Name+" on a "+e.Handle.Kind.String())
			}
		}
	}
	slices.Sort(got)
	for _, want := range []string{"pg_try_advisory_lock on a pinned connection", "pg_advisory_unlock on a pinned connection",
		"pg_try_advisory_lock on a pool", "pg_advisory_unlock on a pool"} {
		if !slices.Contains(got, want) {
			t.Errorf("no event of %s, only %q", want, slices.Compact(got))
		}
	}
}
