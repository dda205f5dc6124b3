package symexec

import (
	"strconv"
	"strings"

	"github.com/advisorylint/advisorylint/analyzer/internal/client"
	"github.com/advisorylint/advisorylint/analyzer/internal/summary"
	"github.com/advisorylint/advisorylint/analyzer/internal/term"
)

// normal brings a condition into one form: no negation, == for !=, the constant on the right. It
// returns the condition and whether it is the opposite of what was given.
func normal(t *term.Term) (cond *term.Term, negated bool) {
	for t.Op == term.Not {
		t, negated = t.Args[0], !negated
	}
	if t.Op != term.Bin {
		return t, negated
	}
	op, a, b := t.Str, t.Args[0], t.Args[1]
	if a.Op == term.Const && b.Op != term.Const {
		a, b = b, a
		op = flip(op)
	}
	switch op {
	case "!=":
		op, negated = "==", !negated
	case ">=":
		op, negated = "<", !negated
	case "<=":
		op, negated = ">", !negated
	}
	if op == "==" && b.IsBool(true) {
		c, n := normal(a)
		return c, negated != n
	}
	if op == "==" && b.IsBool(false) {
		c, n := normal(a)
		return c, negated == n
	}
	return term.New(term.Bin, op, "", "bool", a, b), negated
}

func flip(op string) string {
	switch op[0] {
	case '<':
		return ">" + op[1:]
	case '>':
		return "<" + op[1:]
	}
	return op
}

type tri int8

const (
	unknown tri = iota
	no
	yes
)

func of(b bool) tri {
	if b {
		return yes
	}
	return no
}

// eval says whether t holds in s.
func (s *state) eval(t *term.Term) tri {
	c, neg := normal(t)
	v := s.evalNormal(c)
	if v != unknown && neg {
		return yes + no - v
	}
	return v
}

func (s *state) evalNormal(c *term.Term) tri {
	switch {
	case c.IsBool(true):
		return yes
	case c.IsBool(false):
		return no
	}
	if f, ok := s.facts.get(c.Key()); ok {
		return of(f.Val)
	}
	if isError(c) {
		return s.evalIs(c)
	}
	if c.Op != term.Bin {
		return unknown
	}
	a, b := c.Args[0], c.Args[1]
	if want, ok := strings.CutPrefix(c.Str, "is "); ok {
		return isType(a, want)
	}
	if c.Str != "==" {
		return compare(c.Str, a, b)
	}
	if a.Op == term.Const && b.Op == term.Const {
		return of(a.Str == b.Str)
	}
	if b.IsNil() && a.Op == term.Phi {
		return s.allNil(a)
	}
	if b.IsNil() && s.nonNil(a) {
		return no
	}
	return unknown
}

// isError reports whether c is a call of errors.Is or errors.As.
func isError(c *term.Term) bool {
	return c.Op == term.Call && (c.Str == "errors.Is" || c.Str == "errors.As") && len(c.Args) == 2
}

func (s *state) evalIs(c *term.Term) tri {
	err, target := c.Args[0], c.Args[1]
	if c.Str == "errors.Is" && term.Equal(err, target) && s.nonNil(err) {
		return yes
	}
	if s.evalNormal(term.New(term.Bin, "==", "", "bool", err, term.Nil())) == yes {
		return no
	}
	return unknown
}

// isType says whether a value has the type want, where its own is known to be no interface.
func isType(v *term.Term, want string) tri {
	if v.Type == want && want != "" {
		return yes
	}
	row, ok := client.TypeOf(v.Type)
	if !ok || row.Role != client.Handle || row.Kind == client.Unknown || v.Type == "github.com/jackc/pgx.Tx" {
		return unknown
	}
	return no
}

// compare says whether a op b holds for two small integer constants.
func compare(op string, a, b *term.Term) tri {
	m, ok := a.IntVal()
	n, ok2 := b.IntVal()
	if !ok || !ok2 {
		return unknown
	}
	x, err := strconv.Atoi(m)
	y, err2 := strconv.Atoi(n)
	if err != nil || err2 != nil {
		return unknown
	}
	switch op {
	case "<":
		return of(x < y)
	case ">":
		return of(x > y)
	}
	return unknown
}

func (s *state) allNil(phi *term.Term) tri {
	out := unknown
	for i, a := range phi.Args {
		v := unknown
		if a.IsNil() {
			v = yes
		} else if s.nonNil(a) {
			v = no
		}
		if i > 0 && v != out {
			return unknown
		}
		out = v
	}
	return out
}

// nonNil reports whether t cannot be nil.
func (s *state) nonNil(t *term.Term) bool {
	switch t.Op {
	case term.Cell, term.FieldPtr, term.ElemPtr, term.Func, term.Closure, term.Bound, term.Global, term.Sent, term.Stmt:
		return true
	case term.Call:
		return nonNilCalls[t.Str]
	case term.As:
		return s.nonNil(t.Args[0])
	case term.Load:
		// A package's error variable holds an error.
		return t.Args[0].Op == term.Global && t.Type == "error"
	}
	return false
}

var nonNilCalls = map[string]bool{
	"errors.New": true, "fmt.Errorf": true, "context.Background": true, "context.TODO": true,
	"context.WithoutCancel": true,
}

// assume records that t is val; it reports whether that is possible.
func (s *state) assume(t *term.Term, val bool) bool {
	c, neg := normal(t)
	if neg {
		val = !val
	}
	if have := s.evalNormal(c); have != unknown {
		return have == of(val)
	}
	if isError(c) && val && !s.assume(term.New(term.Bin, "==", "", "bool", c.Args[0], term.Nil()), false) {
		return false // an error that is another one is not nil
	}
	if stable(c) {
		s.learn(summary.Fact{Cond: c, Val: val})
	}
	return true
}

// stable reports whether the same condition, met again, has the same outcome.
func stable(c *term.Term) bool {
	return !c.Has(func(t *term.Term) bool {
		return t.Op == term.Opaque && strings.HasPrefix(t.Site, "big:")
	})
}
