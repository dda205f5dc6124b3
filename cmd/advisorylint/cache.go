package main

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/packages"

	"github.com/advisorylint/advisorylint/internal/check"
	"github.com/advisorylint/advisorylint/internal/findings"
	"github.com/advisorylint/advisorylint/internal/settings"
)

// cacheVariable says where the cache is when -cache does not.
const cacheVariable = "ADVISORYLINT_CACHE"

// cacheDir is where the cache is, "" when there is none, and whether somebody chose it.
func (o *options) cacheDir() (dir string, given bool) {
	dir = o.cache
	if dir == "" {
		dir = os.Getenv(cacheVariable)
	}
	switch dir {
	case "off":
		return "", true
	case "":
		if base, err := os.UserCacheDir(); err == nil {
			return filepath.Join(base, "advisorylint"), false
		}
	}
	return dir, true
}

// openCache gives the cache of a run, nil when there is none. A directory that somebody chose must be usable; where
// nobody did, as in a container without a home, there is no cache then. Whoever asks what could not be
// followed wants that said anew.
func (o *options) openCache(c chosen, rules []*analysis.Analyzer) (*check.Cache, error) {
	dir, given := o.cacheDir()
	if dir == "" || o.debug == debugAll {
		return nil, nil
	}
	kept, err := check.OpenCache(dir)
	switch {
	case err != nil && given:
		return nil, fmt.Errorf("-cache: %w", err)
	case err != nil:
		return nil, nil
	}
	kept.Facts = func() (string, error) { return told(rules) }
	kept.Findings = func(p *packages.Package) string {
		digest, _ := c.inForce(p).Digest() // ignore error: it is of strings, which all can be written
		return digest
	}
	return kept, nil
}

// told is what decides which facts there are beside the source: this program, the types and functions that users
// declare, and the rules' own flags.
func told(rules []*analysis.Analyzer) (string, error) {
	var text strings.Builder
	program, err := programID()
	fmt.Fprintln(&text, program)
	fmt.Fprintln(&text, settings.AllSaid().Digest())
	for _, a := range check.Required(rules) {
		a.Flags.VisitAll(func(f *flag.Flag) { fmt.Fprintf(&text, "%s.%s=%q\n", a.Name, f.Name, f.Value) })
	}
	return text.String(), err
}

// cacheCommand says where the cache is and how large, or empties it.
func cacheCommand(args []string) int {
	o, err := parseOptions(args)
	if err == nil && len(o.args) > 1 || len(o.args) == 1 && o.args[0] != "clean" {
		err = fmt.Errorf("cache takes clean or nothing, and -cache (%s)", strings.Join(o.args, " "))
	}
	if err != nil {
		return fail(err)
	}
	dir, _ := o.cacheDir()
	if dir == "" {
		return fail(errors.New("there is no cache: -cache or " + cacheVariable + " is off, or there is no home directory"))
	}
	files, size, err := cacheFiles(dir)
	if err != nil {
		return fail(err)
	}
	if len(o.args) == 0 {
		fmt.Printf("%s: %s, %.1f MB\n", dir, findings.Count(len(files), "file"), float64(size)/1e6)
		return exitClean
	}
	for _, file := range files {
		if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fail(err)
		}
	}
	return exitClean
}

// cacheFiles lists the files of a cache, and of nothing else that may be in its directory: entries in directories by
// their first byte, and when it was last trimmed.
func cacheFiles(dir string) (files []string, size int64, err error) {
	own := regexp.MustCompile(`^([0-9a-f]{2}/[0-9a-f]{64}-[ad]|trim\.txt)$`)
	err = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // no cache yet, or another process empties it too
		} else if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil || entry.IsDir() || !own.MatchString(filepath.ToSlash(rel)) {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return nil // as above
		}
		files, size = append(files, path), size+info.Size()
		return nil
	})
	return files, size, err
}
