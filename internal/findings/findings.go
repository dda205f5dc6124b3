// Package findings holds what a run of the linter found, apart from the analysis that found it, and writes
// it in the formats of the programs that show findings: SARIF, GitHub's annotations, Checkstyle's XML.
package findings

import "cmp"

// Run is what one run of the linter found.
type Run struct {
	Version  string // of the linter, as its build recorded it
	Dir      string // the working directory
	Roots    []Root // the one of the sources first
	Rules    []Rule // those that ran, in the suite's order
	Findings []Finding
	// Compared: the findings were held against a baseline.
	Compared bool
	// Troubles say, a line each, what could not be looked at.
	Troubles []string
}

// Root is a directory that paths are written relative to.
type Root struct{ ID, Dir string }

// Rule is a rule's documentation.
type Rule struct {
	Name     string
	Severity Severity
	Summary  string // one line
	About    string // one paragraph
	Page     string // Markdown
	PageText string // Page as plain text
	URL      string // of Page
}

// Finding is one mistake.
type Finding struct {
	Rule     string
	Severity Severity
	Message  string
	Span     Span
	Line     string // the text of the line that it is on, without the spaces round it
	Related  []Step
	Fixes    []Fix
	Known    bool // it is in the baseline
	// Suppressed is not nil for a finding that the source keeps back.
	Suppressed *Suppression
}

// Severity is error, warning or info; empty, which the user did not choose, means warning.
type Severity string

const (
	Error   Severity = "error"
	Warning Severity = "warning"
	Info    Severity = "info"
)

// in gives the word that a format has for s.
func (s Severity) in(words map[Severity]string) string { return words[cmp.Or(s, Warning)] }

// Span is a part of a file.
type Span struct {
	File       string
	Start, End Position // End is after the last character; its Line is 0 when it is not known
}

// Position is a place in a file. Line and columns count from 1; a column that is not known is 0.
type Position struct {
	Line   int
	Column int // in bytes, as the go command counts
	UTF16  int // in UTF-16 code units, as editors and SARIF count
}

// Step is a place on the way to a finding.
type Step struct {
	Span    Span
	Message string
}

// Fix is edits that take a finding's mistake away, all of them together.
type Fix struct {
	Message string
	Edits   []Edit
}

// Edit puts New in the place of a span.
type Edit struct {
	Span Span
	New  string
}

// Suppression says how the source keeps a finding back.
type Suppression struct {
	Kind   string // lint:ignore or nolint
	Reason string // may be empty
}

// shown gives the findings that neither the source nor a baseline keeps back.
func (r *Run) shown() []Finding {
	var list []Finding
	for _, f := range r.Findings {
		if f.Suppressed == nil && !f.Known {
			list = append(list, f)
		}
	}
	return list
}
