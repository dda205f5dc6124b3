package sqltext

// scan reads what stands in one clause of a level: subqueries become levels, lock calls and
// holes are noted. In values, as in a function's arguments, a hole can only be a value.
func (p *parser) scan(lo, hi int, l *level, s section, values bool) {
	if !p.enter() {
		return
	}
	defer p.leave()
	for i := lo; i < hi; i++ {
		t := &p.toks[i]
		switch {
		case t.is("("):
			p.group(i, lo, hi, l, s, values)
			i = p.skip(i, hi)
		case t.is("["):
			end := p.skip(i, hi)
			p.scan(i+1, end, l, s, true)
			i = end
		case t.holes != nil && (t.kind == word || t.kind == hole || t.kind == quoted):
			p.openHole(i, lo, hi, l, values)
		case t.kind == word || t.kind == quoted:
			p.callee(i, lo, hi, l)
		}
	}
}

// group reads what a parenthesis of a clause holds.
func (p *parser) group(i, lo, hi int, l *level, s section, values bool) {
	end := p.inner(i, hi)
	if !p.startsQuery(i, hi) {
		p.scan(i+1, end, l, s, values || p.listsValues(i, lo, hi))
		return
	}
	r, before := roleExpr, p.at(i-1, lo, hi)
	if s == secFrom && (before == &none || derivedAfter[before.text] && before.kind != quoted) {
		r = roleDerived
	}
	c := p.newLevel(l, r, i)
	c.lateral = before.is("lateral")
	p.query(i+1, end, c)
}

var derivedAfter = setOf(", ( join lateral apply straight_join")

// listsValues reports whether the parenthesis at i opens a function's arguments or a list of
// values, rather than grouping a condition.
func (p *parser) listsValues(i, lo, hi int) bool {
	switch t := p.at(i-1, lo, hi); t.kind {
	case word:
		return !groupingAfter[t.text]
	case quoted, hole:
		return true
	case op:
		return t != &none && t.text != "" // = (⟨0⟩)
	}
	return false
}

// groupingAfter are the keywords after which a parenthesis groups a condition, a table or a
// whole query, so that a hole in it can be any of these.
var groupingAfter = setOf(`and or not xor where having on when then else case select distinct from join
	lateral by as is all exists union except intersect returning with using if while perform`)

// openHole judges a hole that stands by itself or is a part of an identifier.
func (p *parser) openHole(i, lo, hi int, l *level, values bool) {
	t := &p.toks[i]
	called := p.at(i+1, lo, hi).is("(")
	switch {
	case t.kind == quoted && !called:
		return // can be nothing but a name
	case called && t.kind != hole: // pg_advisory_⟨0⟩(…): a function that is not known
	case values, !t.open && p.isOperand(i, lo, hi):
		if !called {
			return
		}
	}
	p.script.Partial, l.hole = true, true
}

// isOperand reports whether the token at i is a value or one side of a comparison.
func (p *parser) isOperand(i, lo, hi int) bool {
	before, after := p.at(i-1, lo, hi), p.at(i+1, lo, hi)
	if compares(after) && before.text != "," {
		return true
	}
	switch before.kind {
	case op:
		return before != &none && !p.isStar(i-1, lo, hi)
	case word:
		return before.holes == nil && valueAfter[before.text]
	}
	return false
}

// valueAfter are the keywords that a value follows, which can be no clause.
var valueAfter = setOf(`like ilike similar in between limit offset first next interval escape then else to
	rlike regexp`)

var comparing = setOf("= < > <= >= <> != <=> like ilike in between is not")

func compares(t *token) bool {
	return (t.kind == op || t.kind == word) && t.holes == nil && comparing[t.text]
}

// isStar reports whether the token at i is the * of a select list, not a multiplication.
func (p *parser) isStar(i, lo, hi int) bool {
	if !p.at(i, lo, hi).is("*") {
		return false
	}
	b := p.at(i-1, lo, hi)
	return b == &none || b.kind == punct && b.text != ")" && b.text != "]" || b.kind == word && beforeOperand[b.text]
}

// lockFunc returns the lock function that is called at i, nil when none is. It may be
// qualified by pg_catalog; in another schema it is somebody's own function.
func (u *unit) lockFunc(i, lo, hi int) *Func {
	t := u.at(i, lo, hi)
	if t.kind != word && t.kind != quoted || t.holes != nil || !u.at(i+1, lo, hi).is("(") {
		return nil
	}
	f := byName[t.text]
	if f == nil {
		return nil
	}
	if f.System == MySQL {
		n := len(u.arguments(i+1, hi))
		if u.at(i-1, lo, hi).is(".") || n != arity[f.Name] && !(n == 1 && arity[f.Name] > 0 && u.hasHole(i+1, hi)) {
			return nil
		}
		return f
	}
	if !u.builtin(i, lo, hi) {
		return nil
	}
	return f
}

// builtin reports whether the name at i has no schema, or is in pg_catalog.
func (u *unit) builtin(i, lo, hi int) bool {
	if !u.at(i-1, lo, hi).is(".") {
		return true
	}
	q := u.at(i-2, lo, hi)
	return (q.kind == word || q.kind == quoted) && q.text == "pg_catalog" && !u.at(i-3, lo, hi).is(".")
}

func (u *unit) hasHole(i, hi int) bool {
	for j := i; j < min(u.mate[i], hi); j++ {
		if u.toks[j].holes != nil {
			return true
		}
	}
	return false
}

// callee notes a lock call or a set_config call at i.
func (p *parser) callee(i, lo, hi int, l *level) {
	if p.idle || !p.at(i+1, lo, hi).is("(") {
		return
	}
	if p.toks[i].text == "set_config" && p.builtin(i, lo, hi) {
		p.setConfig(i, hi)
		return
	}
	if i > 0 && (p.toks[i-1].is("into") || p.toks[i-1].is("table") || p.toks[i-1].is("references")) {
		return // a table's name, and its columns
	}
	f := p.lockFunc(i, lo, hi)
	if f == nil || f.System == MySQL && !p.mysql {
		return
	}
	p.calls = append(p.calls, found{Call: p.newCall(f, i, hi), name: i, close: min(p.mate[i+1], hi), level: l})
}
