package suppress

import (
	"go/ast"
	"go/token"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
)

// directive is one comment that suppresses findings on the lines from first to last of its file.
type directive struct {
	pos, end    token.Pos
	file        string
	first, last int
	alone       bool // no code stands on its line

	nolint  bool     // //nolint, which needs no reason and may name nobody
	rules   []string // as written; empty means every rule
	reason  string
	matched bool
}

// tool stands in a nolint for all of our rules, as a linter's name does in golangci-lint.
const tool = "advisorylint"

func (d *directive) names(rule string) bool {
	return slices.Contains(d.rules, rule) || d.suite()
}

// suite reports whether d speaks of every rule.
func (d *directive) suite() bool {
	return d.nolint && (len(d.rules) == 0 || slices.Contains(d.rules, tool) || slices.Contains(d.rules, "all"))
}

func (d *directive) kind() string {
	if d.nolint {
		return "nolint"
	}
	return "lint:ignore"
}

// unreasoned reports whether d is a lint:ignore that does not say why.
func (d *directive) unreasoned() bool { return !d.nolint && d.reason == "" }

// parse reads the text of one comment; nil when it is no directive.
func parse(text string) *directive {
	if rest, ok := strings.CutPrefix(text, "//lint:ignore"); ok && startsWord(rest) {
		list, reason, _ := strings.Cut(strings.TrimSpace(rest), " ")
		if list == "" {
			return nil // names nobody, so no rule can speak of it
		}
		return &directive{rules: split(list), reason: strings.TrimSpace(reason)}
	}
	// golangci-lint takes "// nolint" too.
	rest, ok := strings.CutPrefix(strings.TrimLeft(text, "/ \t"), "nolint")
	if !ok || !strings.HasPrefix(text, "//") {
		return nil
	}
	if list, ok := strings.CutPrefix(rest, ":"); ok {
		list, reason, _ := strings.Cut(list, "//") // by golangci-lint's custom
		return &directive{nolint: true, rules: split(list), reason: strings.TrimSpace(reason)}
	}
	if !startsWord(rest) {
		return nil
	}
	_, reason, _ := strings.Cut(rest, "//")
	return &directive{nolint: true, reason: strings.TrimSpace(reason)}
}

func startsWord(rest string) bool { return rest == "" || rest[0] == ' ' || rest[0] == '\t' }

// split reads "a, b" into names. Words after a name are prose.
func split(list string) []string {
	var names []string
	for _, item := range strings.Split(list, ",") {
		if words := strings.Fields(item); len(words) > 0 {
			names = append(names, strings.ToLower(words[0]))
		}
	}
	return names
}

// find reads the directives of a pass that name its rule. Most files have none, and cost a look at their comments.
func find(pass *analysis.Pass) directives {
	var all directives
	for _, file := range pass.Files {
		var here directives
		for _, group := range file.Comments {
			for _, c := range group.List {
				if d := parse(c.Text); d != nil && d.names(pass.Analyzer.Name) {
					d.pos, d.end = c.Pos(), c.End()
					d.last = pass.Fset.PositionFor(group.End(), false).Line
					here = append(here, d)
				}
			}
		}
		if len(here) > 0 {
			place(pass.Fset, file, here)
			all = append(all, here...)
		}
	}
	return all
}

// place sets the lines that each directive covers. One after code covers its own line. One on a line
// of its own covers the line after its comment group, and a nolint there all of the declaration or
// statement that starts on that line, as in golangci-lint.
func place(fset *token.FileSet, file *ast.File, here directives) {
	line := func(pos token.Pos) int { return fset.PositionFor(pos, false).Line }
	code := map[int]bool{} // lines with code on them
	spans := map[int]int{} // first line of a declaration or statement -> its last
	ast.Inspect(file, func(n ast.Node) bool {
		switch n.(type) {
		case nil, *ast.File:
			return n != nil
		case *ast.CommentGroup, *ast.Comment:
			return false
		}
		first, last := line(n.Pos()), line(n.End()-1)
		code[first], code[last] = true, true
		switch n.(type) {
		case ast.Decl, ast.Stmt, ast.Spec, *ast.Field:
			spans[first] = max(spans[first], last)
		}
		return true
	})
	code[line(file.Package)] = true
	for _, d := range here {
		at := fset.PositionFor(d.pos, false)
		d.file, d.first = at.Filename, at.Line
		if code[at.Line] {
			d.last = at.Line
			continue
		}
		d.alone = true
		next := d.last + 1
		d.last = next
		if d.nolint {
			d.last = max(next, spans[next])
			if next == line(file.Package) {
				d.last = line(file.End())
			}
		}
	}
}
