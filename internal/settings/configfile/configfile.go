// Package configfile reads .advisorylint.yaml.
package configfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/advisorylint/advisorylint/internal/settings"
	"github.com/advisorylint/advisorylint/internal/yamldoc"
)

// Name is the file's name. It lies at a module's root, or in a directory above it.
const Name = ".advisorylint.yaml"

// Error is what is wrong with a file, and where.
type Error struct {
	Path string
	Line int // 0: no line in particular
	Text string
}

func (e *Error) Error() string {
	if e.Line == 0 {
		return e.Path + ": " + e.Text
	}
	return fmt.Sprintf("%s:%d: %s", e.Path, e.Line, e.Text)
}

// Find reads the file that governs the packages in dir; nil when there is none. rules are the names of
// all rules.
func Find(dir string, rules []string) (*settings.File, error) {
	path, err := Locate(dir)
	if path == "" || err != nil {
		return nil, err
	}
	return Read(path, rules)
}

// Locate gives the path of the file that governs dir, "" when there is none.
func Locate(dir string) (string, error) {
	for d := settings.ModuleRoot(dir); ; {
		if path := filepath.Join(d, Name); exists(path) {
			return path, nil
		}
		if path := filepath.Join(d, strings.TrimSuffix(Name, ".yaml")+".yml"); exists(path) {
			return "", &Error{Path: path, Text: "the file's name is " + Name + ": rename it"}
		}
		up := filepath.Dir(d)
		if up == d {
			return "", nil
		}
		d = up
	}
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// Read reads the file at path and checks it. Its errors are of type *Error.
func Read(path string, rules []string) (*settings.File, error) {
	data, err := Load(path)
	if err != nil {
		return nil, err
	}
	return Parse(path, data, rules)
}

// Load gives what stands in the file at path. Its errors are of type *Error.
func Load(path string) ([]byte, error) {
	data, err := os.ReadFile(path)
	if err == nil {
		return data, nil
	}
	var pe *fs.PathError
	if errors.As(err, &pe) {
		err = pe.Err
	}
	return nil, &Error{Path: path, Text: "cannot be read: " + err.Error()}
}

// Parse reads what stands in the file at path.
func Parse(path string, data []byte, rules []string) (*settings.File, error) {
	r := reader{path: path, file: &settings.File{Path: path, Lines: map[string]int{}}, values: map[string]*yaml.Node{}}
	root, err := r.document(data)
	if err == nil && root != nil {
		err = r.options(root)
	}
	if err != nil {
		return nil, err
	}
	if fault := r.file.Check(rules); fault != nil {
		return nil, r.fault(fault)
	}
	return r.file, nil
}

// reader is one file under way.
type reader struct {
	path   string
	file   *settings.File
	values map[string]*yaml.Node // by option
}

func (r *reader) errorf(n *yaml.Node, format string, args ...any) error {
	line := 0
	if n != nil {
		line = n.Line
	}
	return &Error{Path: r.path, Line: line, Text: fmt.Sprintf(format, args...)}
}

// document gives the options of the file; nil when it is empty.
func (r *reader) document(data []byte) (*yaml.Node, error) {
	root, fault := yamldoc.Read(data)
	switch {
	case fault != nil:
		return nil, r.at(fault)
	case root == nil || root.Tag == "!!null":
		return nil, nil
	case root.Kind != yaml.MappingNode:
		return nil, r.errorf(root, "%s: want options such as rules: [default]", describe(root))
	}
	return root, nil
}

// at says which file a fault is in.
func (r *reader) at(f *yamldoc.Fault) error { return &Error{Path: r.path, Line: f.Line, Text: f.Text} }

func (r *reader) options(root *yaml.Node) error {
	return r.pairs(root, settings.Names, "option", func(key, value *yaml.Node) error {
		name := key.Value
		r.file.Lines[name], r.values[name] = key.Line, value
		if err := shapes[name].check(r, name, value); err != nil {
			return err
		}
		if err := value.Decode(target(&r.file.Settings, name)); err != nil {
			return r.at(yamldoc.Syntax(err))
		}
		return nil
	})
}

// pairs walks a mapping whose keys are among names, each once; names nil: any key.
func (r *reader) pairs(mapping *yaml.Node, names []string, what string, do func(key, value *yaml.Node) error) error {
	seen := map[string]int{}
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		key, value := mapping.Content[i], resolve(mapping.Content[i+1])
		switch {
		case names != nil && !slices.Contains(names, key.Value):
			return r.errorf(key, "there is no %s %q: there are %s", what, key.Value, strings.Join(names, ", "))
		case seen[key.Value] > 0:
			return r.errorf(key, "%s stands in line %d already", key.Value, seen[key.Value])
		}
		seen[key.Value] = key.Line
		if err := do(key, value); err != nil {
			return err
		}
	}
	return nil
}

func resolve(n *yaml.Node) *yaml.Node {
	for n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	return n
}

// target is the field of an option.
func target(s *settings.Settings, name string) any {
	return map[string]any{
		settings.Rules: &s.Rules, settings.Pooler: &s.Pooler, settings.Clients: &s.Clients,
		settings.Wrappers: &s.Wrappers, settings.Exclude: &s.Exclude, settings.Severity: &s.Severity,
	}[name]
}

// fault gives a value that cannot be its place.
func (r *reader) fault(f *settings.Fault) error {
	at := r.values[f.Option]
	if f.Item >= 0 && f.Item < len(at.Content) {
		at = resolve(at.Content[f.Item])
	}
	for i := 0; f.Key != "" && at.Kind == yaml.MappingNode && i+1 < len(at.Content); i += 2 {
		if at.Content[i].Value == f.Key {
			at = at.Content[i]
			break
		}
	}
	return r.errorf(at, "%s", f.Error())
}
