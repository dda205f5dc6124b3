package sqltext

import (
	"strconv"
	"strings"
)

// newCall reads the call of f whose name stands at i.
func (p *parser) newCall(f *Func, i, hi int) Call {
	c := Call{Func: f, Column: -1, Lit: -1, Nested: p.nested}
	args := p.arguments(i+1, hi)
	for n, s := range args {
		if f.Name == "get_lock" && n == 1 {
			c.Timeout = p.arg(s.lo, s.hi)
			continue
		}
		c.Args = append(c.Args, p.arg(s.lo, s.hi))
		if c.HashesKey == "" {
			c.HashesKey = p.hashOf(s.lo, s.hi)
		}
	}
	if end := p.mate[i+1]; end < hi && p.toks[i].kind == word {
		if lit, from, to := p.src.locate(p.toks[i].start, p.toks[end].end); lit >= 0 {
			c.Lit, c.Start, c.End = lit, from, to
		}
	}
	return c
}

// bare strips casts and parentheses from around an expression.
func (u *unit) bare(lo, hi int) (int, int) {
	for lo < hi {
		switch c := u.lastCast(lo, hi); {
		case u.toks[lo].is("(") && u.mate[lo] == hi-1:
			lo, hi = lo+1, hi-1
		case c > lo:
			hi = c
		case u.toks[lo].is("cast") && u.at(lo+1, lo, hi).is("(") && u.mate[lo+1] == hi-1:
			as := u.castType(lo+1, hi)
			if as < 0 {
				return lo, hi
			}
			lo, hi = lo+2, as
		default:
			return lo, hi
		}
	}
	return lo, hi
}

// lastCast returns the index of the :: whose type ends the expression, -1 when none does.
func (u *unit) lastCast(lo, hi int) int {
	for i := hi - 1; i >= lo; i-- {
		t := &u.toks[i]
		switch {
		case t.is("::"):
			return i
		case t.is(")") || t.is("]"):
			if u.mate[i] < lo {
				return -1
			}
			i = u.mate[i]
		case t.kind == word && !notInType[t.text], t.kind == quoted, t.is("."):
		default:
			return -1
		}
	}
	return -1
}

var notInType = setOf("and or is not in like ilike between from as then else end when case collate")

// castType returns the index of AS in CAST(… AS type), whose parenthesis opens at i.
func (u *unit) castType(i, hi int) int {
	end := min(u.mate[i], hi)
	for j := i + 1; j < end; j++ {
		if u.toks[j].is("as") {
			return j
		}
		j = u.skip(j, end)
	}
	return -1
}

// arg classifies an argument.
func (u *unit) arg(lo, hi int) Arg {
	lo, hi = u.bare(lo, hi)
	sign := ""
	if hi-lo == 2 && (u.toks[lo].is("-") || u.toks[lo].is("+")) && u.toks[lo+1].kind == num {
		sign, lo = strings.Trim(u.toks[lo].text, "+"), lo+1
	}
	if hi-lo == 1 {
		switch t := &u.toks[lo]; {
		case t.kind == param && t.holes == nil:
			return placeholder(t)
		case t.kind == hole:
			return Arg{Kind: Hole, Index: t.holes[0]}
		case t.kind == num:
			return Arg{Kind: Literal, Text: sign + number(t.text)}
		case t.kind == str && t.holes == nil:
			return Arg{Kind: Literal, Text: t.text, Str: true}
		}
	}
	// sqlc's sqlc.arg(name) and sqlc.narg('name').
	if hi-lo == 6 && u.toks[lo].is("sqlc") && (u.toks[lo+2].is("arg") || u.toks[lo+2].is("narg")) && u.mate[lo+3] == hi-1 {
		return Arg{Kind: Placeholder, Name: u.toks[lo+4].text}
	}
	a := Arg{Kind: Expr, Str: hi-lo == 1 && u.toks[lo].kind == str, Text: u.text(lo, hi)}
	for i := lo; i < hi; i++ {
		switch t := &u.toks[i]; {
		case t.kind == param && t.holes == nil:
			a.Parts = append(a.Parts, placeholder(t))
		default:
			for _, h := range t.holes {
				a.Parts = append(a.Parts, Arg{Kind: Hole, Index: h})
			}
		}
	}
	return a
}

func placeholder(t *token) Arg {
	if t.index < 0 {
		return Arg{Kind: Placeholder, Name: t.text[1:]}
	}
	return Arg{Kind: Placeholder, Index: t.index}
}

// number normalises an integer: 0x10, 1_000 and 007 are 16, 1000 and 7.
func number(s string) string {
	plain := strings.ReplaceAll(s, "_", "")
	base := 10
	if len(plain) > 2 && plain[0] == '0' && strings.IndexByte("xob", fold(plain[1])) >= 0 {
		base = 0
	}
	if n, err := strconv.ParseInt(plain, base, 64); err == nil {
		return strconv.FormatInt(n, 10)
	}
	return s
}

// text is an expression in normal form: its tokens, without casts, joined by a space.
func (u *unit) text(lo, hi int) string {
	var b strings.Builder
	for i := lo; i < hi; i++ {
		t := &u.toks[i]
		if t.is("::") {
			i = u.typeEnd(i+1, hi) - 1
			continue
		}
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		switch t.kind {
		case str:
			b.WriteString("'" + show(strings.ReplaceAll(t.text, "'", "''"), t.holes) + "'")
		case quoted:
			b.WriteString(`"` + show(t.text, t.holes) + `"`)
		default:
			b.WriteString(show(t.text, t.holes))
		}
	}
	return b.String()
}

// typeEnd returns where the type name that begins at i ends.
func (u *unit) typeEnd(i, hi int) int {
	if i >= hi {
		return hi
	}
	i++
	for i < hi {
		t := &u.toks[i]
		switch {
		case t.is("."):
			i += 2
		case t.is("(") || t.is("["):
			i = u.skip(i, hi) + 1
		case t.is("precision") || t.is("varying"):
			i++
		default:
			return min(i, hi)
		}
	}
	return min(i, hi)
}
