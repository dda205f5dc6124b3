package check

import (
	"bytes"
	"crypto/sha256"
	"encoding/gob"
	"fmt"
	"io"
	"maps"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/cache"
	"golang.org/x/tools/go/packages"
)

// Cache keeps on disk what runs learn of packages, for later runs. An entry is found by a hash of all that it
// was made of; one that is not there, or is damaged, is made anew. Several runs may share a cache.
type Cache struct {
	files *cache.Cache
	// Facts names what decides, beside the source, which facts there are: the program that runs, and what it was
	// told. It is asked when packages have been listed. Findings names what else decides what is reported in a
	// package.
	Facts    func() (string, error)
	Findings func(*packages.Package) string
}

// OpenCache makes the directory, where it is not there yet, and gives a cache that keeps its files in it.
func OpenCache(dir string) (*Cache, error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, err
	}
	files, err := cache.Open(dir)
	return &Cache{files: files}, err
}

// key is a hash of all that something was made of.
type key = cache.ActionID

// store is the cache of one run; nil keeps nothing.
type store struct {
	files    *cache.Cache
	facts    string // a hash of what Cache.Facts says, and the go command of itself
	findings func(*packages.Package) string
	env      goEnv
}

// forRun gives the store of a run, nil without a cache.
func (c *Cache) forRun(env goEnv) (*store, error) {
	if c == nil {
		return nil, nil
	}
	facts, err := c.Facts()
	told := sha256.Sum256(fmt.Appendf(nil, "%q %q", facts, env))
	return &store{c.files, string(told[:]), c.Findings, env}, err
}

// trim takes away what has not been used for days. It looks once a day.
func (s *store) trim() {
	if s != nil {
		_ = s.files.Trim() // ignore error: the next run tries again
	}
}

// get reads an entry into v, which is zero, and reports whether there is a sound one.
func (s *store) get(k key, v any) bool {
	data, _, err := s.files.GetBytes(k)
	return err == nil && (len(data) == 0 || gob.NewDecoder(bytes.NewReader(data)).Decode(v) == nil)
}

// put writes an entry; nothing for a zero one, of which there are many. That one cannot be written costs the
// next run its time, and this one nothing.
func (s *store) put(k key, v any) {
	var data bytes.Buffer
	if reflect.ValueOf(v).IsZero() || gob.NewEncoder(&data).Encode(v) == nil {
		_, _, _ = s.files.PutNoVerify(k, bytes.NewReader(data.Bytes())) // ignore error: as said
	}
}

// about gives the key of one of the entries of a package.
func about(k key, parts ...string) key { return sha256.Sum256(fmt.Appendf(nil, "%x %q", k, parts)) }

// key is a hash of a unit and of all that it imports; not ok when something is wrong with one of them. cgo says
// whether cgo runs for it in any case; sum gives the hash of a file.
func (s *store) key(u *unit, cgo bool, sum func(name string) (string, error)) (k key, ok bool) {
	p := u.pkg
	if len(p.Errors) > 0 {
		return k, false
	}
	h := sha256.New()
	write := func(texts ...string) { // each with its length, so that no two lists are the same
		for _, t := range texts {
			_, _ = io.WriteString(h, strconv.Itoa(len(t))+" "+t) // a hash takes all
		}
	}
	write("package", s.facts, p.ID, p.PkgPath, p.Name, p.Dir, p.ForTest, strconv.FormatBool(cgo))
	if m := p.Module; m != nil {
		write("module", m.Path, m.Version, m.GoVersion, strconv.FormatBool(m.Main))
	}
	fixed := s.fixed(p.Dir)
	for _, name := range slices.Concat(p.GoFiles, p.OtherFiles, p.EmbedFiles) {
		write("file", name)
		if fixed {
			continue
		}
		text, err := sum(name)
		if err != nil {
			return k, false
		}
		write(text)
	}
	for _, path := range slices.Sorted(maps.Keys(p.Imports)) {
		dep := u.imports[path]
		if !dep.keyed {
			return k, false
		}
		write("import", path, string(dep.key[:]))
	}
	return key(h.Sum(nil)), true
}

// fileSum is a hash of a file.
func fileSum(name string) (string, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return "", err
	}
	return textSum(text), nil
}

func textSum(text []byte) string {
	sum := sha256.Sum256(text)
	return string(sum[:])
}

// fixed reports whether the files in dir are what their path says: those of a module in the module cache, and
// of a release of Go.
func (s *store) fixed(dir string) bool {
	return s.env.within("GOMODCACHE", dir) || s.env.within("GOROOT", dir) && strings.HasPrefix(s.env["GOVERSION"], "go")
}
