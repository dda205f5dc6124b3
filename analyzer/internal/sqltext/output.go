package sqltext

// returnsColumns answers Statement.ReturnsColumns for the levels whose rows are the result: a
// column of a table, a star, or a subquery that reads a table. Columns of functions and of
// VALUES come from no table, so nothing in them can be stale.
func (p *parser) returnsColumns(l *level) bool {
	if !p.enter() {
		return false
	}
	defer p.leave()
	for _, a := range l.arms {
		if p.returnsColumns(a) {
			return true
		}
	}
	if l.into {
		return false
	}
	for _, it := range l.list {
		if p.readsColumn(it, l) {
			return true
		}
	}
	return l.verb == "table"
}

func (p *parser) readsColumn(it item, l *level) bool {
	if p.answers(it.lo, it.hi, l) {
		return false
	}
	for i := it.lo; i < it.hi; i++ {
		t := &p.toks[i]
		switch {
		case p.subs[i] != nil:
			if p.readsTable(p.subs[i]) {
				return true
			}
			i = p.skip(i, it.hi)
		case p.lockFunc(i, it.lo, it.hi) != nil:
			i = p.skip(i+1, it.hi)
		case t.is("::"), t.is("as"): // an item has no alias left, so AS is CAST's
			i = p.typeEnd(i+1, it.hi) - 1
		case t.is("*") && (p.isStar(i, it.lo, it.hi) || p.at(i-1, it.lo, it.hi).is("(")):
			if p.readsTable(l) {
				return true
			}
		case p.isColumn(i, it, l) && p.readsTable(l):
			return true
		}
	}
	return false
}

// answers reports whether an expression is the answer of some call.
func (p *parser) answers(lo, hi int, l *level) bool {
	for i := range p.calls {
		if p.carries(lo, hi, l, &p.calls[i]) {
			return true
		}
	}
	return false
}

// notColumns are the keywords of expressions.
var notColumns = setOf(`and or not xor is in like ilike between similar to escape null true false unknown case when
	then else end as distinct all any some exists from for cast array row interval collate at time zone filter
	over partition by order asc desc default current_date current_time current_timestamp current_user
	session_user localtime localtimestamp user div mod within group where`)

// isColumn reports whether the name at i of a select item is a column's.
func (p *parser) isColumn(i int, it item, l *level) bool {
	t := &p.toks[i]
	if t.kind != word && t.kind != quoted || t.holes != nil {
		return false
	}
	next := p.at(i+1, it.lo, it.hi)
	if next.is("(") || next.is(".") || next.kind == str || t.kind == word && (notColumns[t.text] || t.text[0] == '@') {
		return false
	}
	lo := i
	if p.at(i-1, it.lo, it.hi).is(".") {
		lo = max(it.lo, i-2)
	}
	return !p.answers(lo, i+1, l)
}

// readsTable reports whether a level, or a derived table or CTE in its FROM, reads a table.
func (p *parser) readsTable(l *level) bool {
	if !p.enter() {
		return false
	}
	defer p.leave()
	for _, a := range l.arms {
		if p.readsTable(a) {
			return true
		}
	}
	if writeVerbs[l.verb] {
		return true
	}
	for i := range l.from {
		f := &l.from[i]
		if f.function || f.name == "dual" && p.mysql {
			continue
		}
		if sub := p.derivedOf(l, f); sub == nil || p.readsTable(sub) {
			return true
		}
	}
	for _, it := range l.list {
		for i := it.lo; i < it.hi; i++ {
			if sub := p.subs[i]; sub != nil && p.readsTable(sub) {
				return true
			}
		}
	}
	return false
}
