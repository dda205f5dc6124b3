package provenance

import (
	"strings"

	"github.com/advisorylint/advisorylint/analyzer/internal/sqltext"
	"github.com/advisorylint/advisorylint/analyzer/internal/term"
)

// Text is one text that a value can be, with the terms in its holes and the arguments that its
// placeholders take.
type Text struct {
	SQL   sqltext.Text
	Holes []*term.Term
	Args  []*term.Term
}

// Texts are the texts that t, a string or a statement, can be: at most term.MaxAtoms.
func (r *Reader) Texts(t *term.Term) []Text { return r.texts(t, 0) }

func (r *Reader) texts(t *term.Term, depth int) []Text {
	if depth > maxDepth {
		return []Text{hole(t)}
	}
	switch t.Op {
	case term.Const:
		if s, ok := t.StrVal(); ok {
			return []Text{{SQL: sqltext.Const(s)}}
		}
		if n, ok := t.IntVal(); ok {
			return []Text{{SQL: sqltext.Const(n)}}
		}
	case term.Phi:
		var out []Text
		for _, a := range t.Args {
			out = append(out, r.texts(a, depth)...)
		}
		if len(out) <= term.MaxAtoms {
			return out
		}
	case term.Concat:
		return r.concat(t.Args, depth)
	case term.As, term.Conv:
		return r.texts(t.Args[0], depth)
	case term.Load:
		if vals, ok := r.stores(t); ok {
			var out []Text
			for _, v := range vals {
				out = append(out, r.texts(v, depth+1)...)
			}
			if len(out) > 0 && len(out) <= term.MaxAtoms {
				return out
			}
		}
	case term.Stmt:
		return r.statement(t, depth)
	case term.Result:
		if t.Str == "0" {
			if out := r.transformed(t.Args[0], depth); t.Args[0].Op == term.Call && out != nil {
				return out
			}
		}
	case term.Call:
		if out := r.transformed(t, depth); out != nil {
			return out
		}
	}
	return []Text{hole(t)}
}

func hole(t *term.Term) Text {
	return Text{SQL: sqltext.Text{Lits: []string{"", ""}}, Holes: []*term.Term{t}}
}

// concat joins the alternatives of parts.
func (r *Reader) concat(parts []*term.Term, depth int) []Text {
	out := []Text{{SQL: sqltext.Const("")}}
	for _, p := range parts {
		alts := r.texts(p, depth)
		if len(out)*len(alts) > term.MaxAtoms {
			alts = []Text{hole(p)}
		}
		var next []Text
		for _, o := range out {
			for _, a := range alts {
				next = append(next, join(o, a))
			}
		}
		out = next
	}
	return out
}

func join(a, b Text) Text {
	lits := append([]string(nil), a.SQL.Lits...)
	lits[len(lits)-1] += b.SQL.Lits[0]
	lits = append(lits, b.SQL.Lits[1:]...)
	return Text{
		SQL:   sqltext.Text{Lits: lits},
		Holes: append(append([]*term.Term(nil), a.Holes...), b.Holes...),
		Args:  append(append([]*term.Term(nil), a.Args...), b.Args...),
	}
}

// transformed reads through functions that keep a text's meaning.
func (r *Reader) transformed(t *term.Term, depth int) []Text {
	switch t.Str {
	case "strings.TrimSpace", "strings.Clone", "strings.Trim", "strings.TrimRight", "strings.TrimLeft", "strings.TrimSuffix",
		"strings.TrimPrefix", "strings.ToLower", "strings.ToUpper":
		return r.texts(t.Args[0], depth)
	case "(embed.FS).ReadFile":
		if name, ok := t.Args[len(t.Args)-1].StrVal(); ok && r != nil && r.Fields != nil {
			if text, ok := r.Fields.Embedded(name); ok {
				return []Text{{SQL: sqltext.Const(text)}}
			}
		}
	case "strings.ReplaceAll", "strings.Replace":
		return r.replaced(t, depth)
	}
	return nil
}

func (r *Reader) replaced(t *term.Term, depth int) []Text {
	s, ok := t.Args[0].StrVal()
	if !ok {
		return nil
	}
	old, ok := t.Args[1].StrVal()
	if !ok || old == "" {
		return nil
	}
	parts := strings.Split(s, old)
	var args []*term.Term
	for i, p := range parts {
		if i > 0 {
			args = append(args, t.Args[2])
		}
		args = append(args, term.Str(p))
	}
	return r.concat(args, depth)
}

// clauses are a built statement's clauses in SQL's order, with what stands before and between.
var clauses = []struct{ slot, before, between string }{
	{"prefix", "", " "},
	{"with", " WITH ", ", "},
	{"select", " SELECT ", ", "},
	{"from", " FROM ", ", "},
	{"where", " WHERE ", " AND "},
	{"group", " GROUP BY ", ", "},
	{"having", " HAVING ", " AND "},
	{"order", " ORDER BY ", ", "},
	{"limit", " LIMIT ", ", "},
	{"suffix", " ", " "},
}

// statement puts a built statement's text together from its clauses.
func (r *Reader) statement(t *term.Term, depth int) []Text {
	by := map[string][]*term.Term{}
	for _, s := range t.Args[1:] {
		by[s.Str] = append(by[s.Str], s)
	}
	if raw := by["raw"]; len(raw) > 0 {
		return r.withArgs(r.texts(raw[0].Args[0], depth), raw[0].Args[1:])
	}
	if len(by["from"]) == 0 && len(by["where"])+len(by["order"]) > 0 {
		// The table is the model's.
		by["from"] = []*term.Term{term.New(term.Slot, "from", "", "", term.Str("_"))}
		if len(by["select"]) == 0 {
			by["select"] = []*term.Term{term.New(term.Slot, "select", "", "", term.Str("*"))}
		}
	}
	out := []Text{{SQL: sqltext.Const("")}}
	for _, c := range clauses {
		for i, s := range by[c.slot] {
			sep := c.between
			if i == 0 {
				sep = c.before
			}
			alts := r.withArgs(r.texts(s.Args[0], depth), s.Args[1:])
			if builtSelect(s.Args[0]) { // a query of its own, below this one
				for i := range alts {
					alts[i] = join(join(Text{SQL: sqltext.Const("(")}, alts[i]), Text{SQL: sqltext.Const(")")})
				}
			}
			if len(alts)*len(out) > term.MaxAtoms {
				alts = []Text{hole(s.Args[0])}
			}
			var next []Text
			for _, o := range out {
				for _, a := range alts {
					next = append(next, join(join(o, Text{SQL: sqltext.Const(sep)}), a))
				}
			}
			out = next
		}
	}
	return out
}

// builtSelect reports whether a clause is a whole query that a builder made.
func builtSelect(t *term.Term) bool {
	if t.Op != term.Stmt {
		return false
	}
	for _, s := range t.Args[1:] {
		if s.Str == "select" || s.Str == "from" {
			return true
		}
	}
	return false
}

func (r *Reader) withArgs(ts []Text, args []*term.Term) []Text {
	for i := range ts {
		ts[i].Args = append(append([]*term.Term(nil), ts[i].Args...), args...)
	}
	return ts
}
