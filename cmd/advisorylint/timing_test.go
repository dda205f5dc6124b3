package main

import (
	"regexp"
	"testing"
	"time"

	"golang.org/x/tools/go/packages"
)

func TestTimingIsOfEachPackage(t *testing.T) {
	dir, cache := warehouse(t), "-cache="+t.TempDir()
	for _, step := range []struct {
		name    string
		args    []string
		has, no []string
	}{
		{"cold", []string{"./..."}, []string{` ms +0\.0 ms +0 +sync\n`, ` ms +[0-9.]+ ms +2 +example\.org/shop/stock\n`, ` ms +0 +example\.org/shop/bins\n`,
			`ms +2 +in all: [0-9]{2,} packages from source, [0-9] known or not needed; listing took [0-9.]+ ms, all [0-9.]+ ms\n`}, nil},
		{"known", []string{"./..."}, []string{`in all: 0 packages from source, [0-9]{2,} known or not needed;`}, []string{"example.org/shop/stock\n"}},
		{"anew", []string{"-rules=lockwait", "./..."}, []string{`example\.org/shop/stock\n`, `in all: 2 packages from source`}, []string{"  sync\n"}},
	} {
		got := lintIn(t, dir, append([]string{cache, "-debug=timing"}, step.args...)...)
		for _, pattern := range step.has {
			if !regexp.MustCompile(pattern).MatchString(got.stderr) {
				t.Errorf("%s: no %s in %v", step.name, pattern, got)
			}
		}
		got.wantNot(t, step.no...)
	}
	lintIn(t, dir, "-debug=times", "./...").want(t, 1, `"times" for -debug: want true, false or timing`)
}

// A package is named when it takes long, and of several the one that takes longest.
func TestProgressNamesWhatIsSlow(t *testing.T) {
	start := time.Now()
	l := &looking{all: 3, since: map[*packages.Package]time.Time{}}
	early, late := &packages.Package{ID: "early"}, &packages.Package{ID: "late"}
	l.begin(early)
	l.begin(late)
	l.since[early], l.since[late] = start, start.Add(time.Minute)
	says := func(after time.Duration, want string) {
		t.Helper()
		if got := l.text(start.Add(after)); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	says(time.Second, "looking at locks: 0 of 3 packages")
	says(time.Minute, "looking at locks: 0 of 3 packages, now at early")
	says(time.Hour, "looking at locks: 0 of 3 packages, now at early")
	l.end(early)
	says(time.Minute, "looking at locks: 1 of 3 packages")
	says(time.Hour, "looking at locks: 1 of 3 packages, now at late")
}
