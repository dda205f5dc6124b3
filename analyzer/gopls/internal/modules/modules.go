// Package modules lets a gopls with the rules follow configuration files.
//
// gopls keeps the findings of a package on disk, by the package's content and the names of the analyzers
// (internal/cache/analysis.go, cacheKey), and asks no analyzer again. A configuration file is not in that
// key. So one analyzer, which all rules stand on, has a name that is made of the configuration files: when
// one of them changes, gopls finds nothing that it kept.
//
// The name must be there as gopls starts, when no module is known yet. So the modules that were met are
// written down, and the next gopls begins with reading their files. Three things make this sound:
//
//   - A process follows a file as it was when it was first read, which is at the start for those that
//     are in the name. What it keeps under the name belongs to what the name says.
//   - A module is written down before anything of it is kept. One that has no file adds nothing to the
//     name, so that people without configuration files lose nothing.
//   - The list has a random mark, which is in the name too: what was kept by means of a list that is lost
//     is lost with it.
package modules

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/advisorylint/advisorylint/internal/settings"
	"github.com/advisorylint/advisorylint/internal/settings/configfile"
)

// Modules are those that this gopls knows of, with what governs each.
type Modules struct {
	index string // the path of the list
	mark  string
	rules []string
	key   string

	mu    sync.Mutex
	files map[string]file // by the module's root
}

// file is a configuration file as it was when it was first read.
type file struct {
	path   string // "": none
	data   []byte
	err    error
	parsed *settings.File
}

// most is how many modules the list may have before it is begun anew.
const most = 1000

// Remember reads the list at path, and the files of the modules on it. rules are the names of all rules.
func Remember(path string, rules []string) *Modules {
	m := &Modules{index: path, rules: rules, files: map[string]file{}}
	m.load()
	m.key = m.name()
	return m
}

// load reads the list, or begins one.
func (m *Modules) load() {
	data, err := os.ReadFile(m.index)
	lines := strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
	if err != nil || lines[0] == "" || len(lines) > most {
		m.begin()
		return
	}
	m.mark = lines[0]
	for _, line := range lines[1:] {
		// A line that another gopls is just writing is not whole.
		if root, err := strconv.Unquote(line); err == nil {
			m.files[root] = m.read(root)
		}
	}
}

// begin starts a new list. Where none can be written, the mark makes what is kept now of no use to
// others, which is as it must be.
func (m *Modules) begin() {
	m.mark = rand.Text()
	dir := filepath.Dir(m.index)
	if os.MkdirAll(dir, 0o700) != nil {
		return
	}
	f, err := os.CreateTemp(dir, "gopls-modules-")
	if err != nil {
		return
	}
	_, err = f.WriteString(m.mark + "\n")
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(f.Name(), m.index)
	}
	if err != nil {
		_ = os.Remove(f.Name()) // it is of no use, and no harm
	}
}

// read reads the file that governs the module at root.
func (m *Modules) read(root string) file {
	var f file
	if f.path, f.err = configfile.Locate(root); f.path == "" || f.err != nil {
		return f
	}
	if f.data, f.err = configfile.Load(f.path); f.err == nil {
		f.parsed, f.err = configfile.Parse(f.path, f.data, m.rules)
	}
	return f
}

// Find gives the file that governs a directory, as settings.Choice wants it.
func (m *Modules) Find(dir string) (*settings.File, error) {
	root := settings.ModuleRoot(dir)
	m.mu.Lock()
	defer m.mu.Unlock()
	f, known := m.files[root]
	if !known {
		f = m.read(root)
		m.files[root] = f
		m.note(root)
	}
	return f.parsed, f.err
}

// note adds a module to the list. One that cannot be added is met again by the next gopls.
func (m *Modules) note(root string) {
	f, err := os.OpenFile(m.index, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return
	}
	defer f.Close()
	_, _ = f.WriteString(strconv.Quote(root) + "\n") // in one write, so that lines of two processes do not mix
}

// Key is the name, made of the mark and of the files that were known at the start.
func (m *Modules) Key() string { return m.key }

func (m *Modules) name() string {
	hash := sha256.New()
	fmt.Fprintln(hash, m.mark)
	var parts []string
	for root, f := range m.files {
		if f.path != "" || f.err != nil {
			parts = append(parts, fmt.Sprintf("%q %q %v %x\n", root, f.path, f.err, sha256.Sum256(f.data)))
		}
	}
	slices.Sort(parts)
	for _, part := range parts {
		fmt.Fprint(hash, part)
	}
	return "advisorylint_" + hex.EncodeToString(hash.Sum(nil))[:16]
}
