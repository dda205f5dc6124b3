package configfile

import (
	"fmt"

	"go.yaml.in/yaml/v3"

	"github.com/advisorylint/advisorylint/internal/settings"
)

// shape is what an option's value looks like. The YAML library would take a number for a string, and a
// key that nobody reads.
type shape struct {
	list bool
	// keys are those of the list's items, with the kind of value of each; nil: items are words.
	keys    []string
	values  map[string]string // tags
	mapping bool              // of words to words
	example string
}

var shapes = map[string]shape{
	settings.Rules:  {list: true, example: "[default, lockwait]"},
	settings.Pooler: {example: "transaction"},
	settings.Clients: {list: true, keys: []string{"type", "handle"}, values: map[string]string{"type": "!!str", "handle": "!!str"},
		example: "[{type: example.com/store.DB, handle: pool}]"},
	settings.Wrappers: {list: true, keys: []string{"func", "handle", "sql"}, values: map[string]string{"func": "!!str", "handle": "!!str", "sql": "!!int"},
		example: "[{func: example.com/store.Run, handle: pool, sql: 1}]"},
	settings.Exclude:  {list: true, example: "[internal/gen/**]"},
	settings.Severity: {mapping: true, example: "{lockwait: info}"},
}

func (s shape) check(r *reader, name string, value *yaml.Node) error {
	if len(value.Content) == 0 && value.Value == "" {
		return r.errorf(value, "%s has no value: give one, %s, or leave it out", name, s.example)
	}
	switch {
	case s.list && value.Kind != yaml.SequenceNode:
		return r.errorf(value, "%s is %s: want a list, %s", name, describe(value), s.example)
	case s.mapping && value.Kind != yaml.MappingNode:
		return r.errorf(value, "%s is %s: want %s", name, describe(value), s.example)
	case s.list:
		for _, item := range value.Content {
			if err := s.item(r, name, resolve(item)); err != nil {
				return err
			}
		}
		return nil
	case s.mapping:
		return r.pairs(value, nil, "", func(key, value *yaml.Node) error {
			return word(r, name+"."+key.Value, value, "!!str", s.example)
		})
	}
	return word(r, name, value, "!!str", s.example)
}

func (s shape) item(r *reader, name string, item *yaml.Node) error {
	if s.keys == nil {
		return word(r, "an item of "+name, item, "!!str", s.example)
	}
	if item.Kind != yaml.MappingNode {
		return r.errorf(item, "an item of %s is %s: want %s", name, describe(item), s.example)
	}
	return r.pairs(item, s.keys, "key", func(key, value *yaml.Node) error {
		return word(r, name+"."+key.Value, value, s.values[key.Value], s.example)
	})
}

func word(r *reader, name string, value *yaml.Node, tag, example string) error {
	if value.Kind != yaml.ScalarNode || value.ShortTag() != tag {
		return r.errorf(value, "%s is %s: want %s", name, describe(value), example)
	}
	return nil
}

func describe(n *yaml.Node) string {
	switch n.Kind {
	case yaml.SequenceNode:
		return "a list"
	case yaml.MappingNode:
		return "a mapping"
	}
	if n.ShortTag() == "!!null" {
		return "empty"
	}
	return fmt.Sprintf("%q", n.Value)
}
