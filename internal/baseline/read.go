package baseline

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/advisorylint/advisorylint/internal/yamldoc"
)

// Error is what is wrong with a file, and where.
type Error = yamldoc.Fault

func errorf(line int, format string, args ...any) error {
	return &Error{Line: line, Text: fmt.Sprintf(format, args...)}
}

// Parse reads a file. Its errors are of type *Error.
func Parse(data []byte) (*Baseline, error) {
	root, fault := yamldoc.Read(data)
	switch {
	case fault != nil:
		return nil, fault
	case root == nil:
		return nil, errorf(0, "it is empty")
	}
	if err := readable(root); err != nil {
		return nil, err
	}
	top, err := fields(root, "key", "version", "findings")
	if err != nil {
		return nil, err
	}
	list := top["findings"]
	if list == nil || list.Kind != yaml.SequenceNode {
		return nil, errorf(line(list), "findings is no list")
	}
	b := &Baseline{}
	lines := map[Entry]int{}
	for _, n := range list.Content {
		k, err := entry(n)
		if err != nil {
			return nil, err
		}
		if first := lines[k.Entry]; first > 0 {
			return nil, errorf(k.Line, "the entry of line %d once more: it has a count for that", first)
		}
		lines[k.Entry] = k.Line
		b.Known = append(b.Known, k)
	}
	return b, nil
}

// readable checks the version before anything else: a newer one may have keys that are not known here.
func readable(root *yaml.Node) error {
	for i := 0; i+1 < len(root.Content) && root.Kind == yaml.MappingNode; i += 2 {
		if root.Content[i].Value != "version" {
			continue
		}
		at := root.Content[i+1]
		version, err := number(at)
		if err == nil && version > Version {
			err = errorf(at.Line, "version %d is that of a newer advisorylint, and this one reads version %d", version, Version)
		}
		return err
	}
	return errorf(root.Line, "there is no version in it: it is no baseline")
}

// fields gives the values of a mapping by their keys, which are among names and there once.
func fields(n *yaml.Node, what string, names ...string) (map[string]*yaml.Node, error) {
	if n.Kind != yaml.MappingNode {
		return nil, errorf(n.Line, "want %s: and so on", names[0])
	}
	values := map[string]*yaml.Node{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		switch {
		case !slices.Contains(names, key.Value):
			return nil, errorf(key.Line, "there is no %s %q: there are %s", what, key.Value, strings.Join(names, ", "))
		case values[key.Value] != nil:
			return nil, errorf(key.Line, "%s is there twice", key.Value)
		}
		values[key.Value] = n.Content[i+1]
	}
	return values, nil
}

// entry reads an item of findings.
func entry(n *yaml.Node) (k Known, err error) {
	values, err := fields(n, "key of a finding", "rule", "file", "in", "at", "count")
	if err != nil {
		return k, err
	}
	k.Line, k.Count = n.Line, 1
	for _, f := range []struct {
		name string
		to   *string
		must bool
	}{{"rule", &k.Rule, true}, {"file", &k.File, true}, {"in", &k.In, false}, {"at", &k.At, false}} {
		switch v := values[f.name]; {
		case v == nil && f.must:
			return k, errorf(n.Line, "a finding without its %s", f.name)
		case v == nil:
		case v.Kind != yaml.ScalarNode || v.Value == "":
			return k, errorf(v.Line, "%s is no text", f.name)
		default:
			*f.to = v.Value
		}
	}
	if path.IsAbs(k.File) {
		return k, errorf(n.Line, "%q is absolute: files are named from the baseline's directory", k.File)
	}
	if v := values["count"]; v != nil {
		k.Count, err = number(v)
	}
	return k, err
}

// number reads a whole number from 1 up.
func number(n *yaml.Node) (int, error) {
	i, err := strconv.Atoi(n.Value)
	if n.Kind != yaml.ScalarNode || err != nil || i < 1 {
		return 0, errorf(n.Line, "want a whole number from 1 up")
	}
	return i, nil
}

func line(n *yaml.Node) int {
	if n == nil {
		return 0
	}
	return n.Line
}
