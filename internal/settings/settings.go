// Package settings is what a user can choose: which rules run, what the linter is told of the program,
// where it does not look. The same options are flags of the command, keys of .advisorylint.yaml and
// settings of golangci-lint's plugin.
package settings

import (
	"strings"
)

// Settings are the options of one place. An option that is empty is not given there.
type Settings struct {
	// Rules choose from the suite, item by item from the left: default, all, a rule's name; with a
	// minus before it an item takes away. Empty: the default set.
	Rules []string `json:"rules,omitempty" yaml:"rules,omitempty"`
	// Pooler is what the program's connections go through: transaction, session or none. Empty: unknown.
	Pooler string `json:"pooler,omitempty" yaml:"pooler,omitempty"`
	// Clients are types that stand for a database, in libraries of which the linter knows nothing.
	Clients []Client `json:"clients,omitempty" yaml:"clients,omitempty"`
	// Wrappers are functions that send SQL text, where the linter cannot see that they do.
	Wrappers []Wrapper `json:"wrappers,omitempty" yaml:"wrappers,omitempty"`
	// Exclude are patterns of files in which nothing is reported, relative to where they are given:
	// "internal/gen/**", "**/*_mock.go".
	Exclude []string `json:"exclude,omitempty" yaml:"exclude,omitempty"`
	// Severity is error, warning or info, by rule. A rule without one has warning.
	Severity map[string]string `json:"severity,omitempty" yaml:"severity,omitempty"`
}

// Client says what stands behind a type.
type Client struct {
	Type   string `json:"type" yaml:"type"`     // example.com/store.DB; pointers to it are meant too
	Handle string `json:"handle" yaml:"handle"` // pool, conn, session or tx
}

// Wrapper says that a function or method sends SQL text.
type Wrapper struct {
	Func string `json:"func" yaml:"func"` // example.com/store.Run, or example.com/store.DB.Run for a method
	// Handle is the kind of what it sends on; empty: that of its receiver or first argument.
	Handle string `json:"handle,omitempty" yaml:"handle,omitempty"`
	// SQL is the number of the argument that is the text, counted from 0 without a receiver; nil: the
	// first string.
	SQL *int `json:"sql,omitempty" yaml:"sql,omitempty"`
}

// The options' names, which are the same wherever they can be given.
const (
	Rules    = "rules"
	Pooler   = "pooler"
	Clients  = "clients"
	Wrappers = "wrappers"
	Exclude  = "exclude"
	Severity = "severity"
)

// Names are the options in the order in which they are shown.
var Names = []string{Rules, Pooler, Clients, Wrappers, Exclude, Severity}

// Has reports whether an option is given.
func (s *Settings) Has(name string) bool {
	switch name {
	case Rules:
		return s.Rules != nil
	case Pooler:
		return s.Pooler != ""
	case Clients:
		return s.Clients != nil
	case Wrappers:
		return s.Wrappers != nil
	case Exclude:
		return s.Exclude != nil
	case Severity:
		return s.Severity != nil
	}
	return false
}

// Over gives s with what it does not give taken from below.
func (s Settings) Over(below Settings) Settings {
	for _, name := range Names {
		if s.Has(name) {
			below.take(name, &s)
		}
	}
	return below
}

// Only gives one option of s and no other.
func (s *Settings) Only(name string) (one Settings) {
	one.take(name, s)
	return one
}

// take sets one option to what it is in from.
func (s *Settings) take(name string, from *Settings) {
	switch name {
	case Rules:
		s.Rules = from.Rules
	case Pooler:
		s.Pooler = from.Pooler
	case Clients:
		s.Clients = from.Clients
	case Wrappers:
		s.Wrappers = from.Wrappers
	case Exclude:
		s.Exclude = from.Exclude
	case Severity:
		s.Severity = from.Severity
	}
}

// Form is how much of a rule runs.
type Form uint8

const (
	Off  Form = iota
	Part      // what the default set has of a rule that is on in part
	Full
)

// poolerRule is on by default behind a transaction pooler: who names one asks what it does to locks.
const poolerRule = "poolerlock"

// Form says how much of a rule runs, given the form that it has in the default set.
func (s *Settings) Form(rule string, byDefault Form) Form {
	if rule == poolerRule && s.Pooler == "transaction" {
		byDefault = Full
	}
	form := Off
	if len(s.Rules) == 0 || strings.HasPrefix(s.Rules[0], "-") {
		form = byDefault // taking away needs something to take from
	}
	for _, item := range s.Rules {
		name, away := strings.CutPrefix(item, "-")
		switch {
		case name != rule && name != "all" && name != "default":
		case away && (name != "default" || byDefault != Off):
			form = Off
		case away:
		case name == "default":
			form = max(form, byDefault)
		default:
			form = Full
		}
	}
	return form
}

// Level is the severity of a rule's findings.
func (s *Settings) Level(rule string) string {
	if level := s.Severity[rule]; level != "" {
		return level
	}
	return "warning"
}
