package main

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// wantLog looks for what golangci-lint says of its cache.
func (r run) wantLog(t *testing.T, lines ...string) {
	t.Helper()
	for _, line := range lines {
		if !strings.Contains(r.log, line) {
			t.Errorf("log lacks %q:\n%s", line, r.harbourLog())
		}
	}
}

func TestSecondRunComesFromTheCache(t *testing.T) {
	p := newProject(t)
	first := p.lint(t)
	first.wantLog(t, "analyzing 8/8 packages")
	second := p.lint(t)
	second.wantLog(t, "analyzing 0/8 packages", "Loaded package example.com/harbour/dock issues (1) from cache")
	first.want(t, byDefault()...)
	if !slices.Equal(first.issues, second.issues) {
		t.Errorf("from its cache golangci-lint gives %v, want %v", second.issues, first.issues)
	}
}

// A package is analysed again, with facts of the helper that come from the cache. Package dock imports the helper.
// Package pier does not; what is known of it comes by way of dock. Before 2.13, golangci-lint lost such facts
// in its cache (https://github.com/golangci/golangci-lint/pull/6649).
func TestFactsComeFromTheCache(t *testing.T) {
	for name, want := range map[string]string{"dock": pooledArrival, "pier": pooledMooring} {
		t.Run(name, func(t *testing.T) {
			p := newProject(t)
			p.lint(t, "./"+name).want(t, want)
			p.write(t, name+"/"+name+".go", func(text string) string { return text + "\nfunc cast() {}\n" })
			r := p.lint(t, "./"+name)
			r.wantLog(t, "analyzing 1/1 packages", `Loaded 3 cached facts for package "berth" and analyzer lockflow`)
			r.want(t, want)
		})
	}
}

// Facts of one analyzer are in the cache and those of another are not: before 2.14, golangci-lint lost
// the first in this case, and kept what it then did not find
// (https://github.com/golangci/golangci-lint/issues/6807).
func TestFactsSurviveAnotherLinter(t *testing.T) {
	p := newProject(t)
	p.lint(t, "./dock").want(t, pooledArrival)
	p.config.linters = []string{"govet"}
	r := p.lint(t, "./dock")
	r.wantLog(t, `Loaded 3 cached facts for package "berth" and analyzer lockflow`, `No cached facts for package "berth" and analyzer printf`)
	r.want(t, pooledArrival)
	p.lint(t, "./dock").want(t, pooledArrival)
}

func TestChangedDependencyIsSeen(t *testing.T) {
	p := newProject(t)
	for _, args := range [][]string{{"./dock"}, {"./dock", "./berth"}} { // a dependency, and a package of the run
		p.lint(t, args...).want(t, pooledArrival)
		p.replace(t, "berth/berth.go", "SELECT pg_advisory_lock($1)", "SELECT count(*) FROM berths WHERE number = $1")
		p.lint(t, args...).want(t)
		p.replace(t, "berth/berth.go", "SELECT count(*) FROM berths WHERE number = $1", "SELECT pg_advisory_xact_lock($1)")
		p.lint(t, args...).want(t, "dock/dock.go:13:9 xactlock")
		p.replace(t, "berth/berth.go", "SELECT pg_advisory_xact_lock($1)", "SELECT pg_advisory_lock($1)")
		p.lint(t, args...).want(t, pooledArrival)
	}
}

// What a build of the rules found is no answer to the next build: this one is the same but for a byte
// behind its end.
func TestAnotherBuildHasAnotherCache(t *testing.T) {
	p := newProject(t)
	p.lint(t, "./dock").wantLog(t, "analyzing 1/1 packages")
	p.lint(t, "./dock").wantLog(t, "analyzing 0/1 packages")

	program, err := os.ReadFile(binary)
	if err != nil {
		t.Fatal(err)
	}
	old := binary
	t.Cleanup(func() { binary = old })
	binary += "-next"
	if err := os.WriteFile(binary, append(program, 0), 0o755); err != nil {
		t.Fatal(err)
	}
	p.lint(t, "./dock").wantLog(t, "analyzing 1/1 packages")
}
