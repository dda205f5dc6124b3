package sqltext

// aggregates give one row whatever the WHERE lets through.
var aggregates = setOf(`count sum min max avg bool_and bool_or every array_agg json_agg jsonb_agg string_agg
	json_object_agg jsonb_object_agg group_concat bit_and bit_or any_value`)

// filtered answers Call.Filtered: some level lets only rows with a true answer through, and no
// level around it makes up rows again.
func (p *parser) filtered(c *found) bool {
	for _, l := range p.levels {
		if p.filters(l, c) && p.reaches(l) {
			return true
		}
	}
	return false
}

// filters reports whether a condition of l is the answer of c, or a conjunction with it.
func (p *parser) filters(l *level, c *found) bool {
	for _, w := range l.where {
		for _, part := range p.conjuncts(w.lo, w.hi) {
			if p.carries(part.lo, part.hi, l, c) || l.having && p.aliasCarries(part, l, c) {
				return l.having || !p.aggregated(l)
			}
		}
	}
	return false
}

// aliasCarries is for MySQL's HAVING, which may name a column of the select list.
func (p *parser) aliasCarries(part span, l *level, c *found) bool {
	lo, hi := part.lo, part.hi
	for {
		a, b := p.unwrap(p.bare(lo, hi))
		if a == lo && b == hi {
			break
		}
		lo, hi = a, b
	}
	if hi-lo != 1 {
		return false
	}
	for _, it := range l.list {
		if it.alias != "" && it.alias == p.toks[lo].text && p.carries(it.lo, it.hi, l, c) {
			return true
		}
	}
	return false
}

// aggregated reports whether l is an aggregate over all its rows.
func (p *parser) aggregated(l *level) bool {
	if l.group {
		return false
	}
	for _, it := range l.list {
		for i := it.lo; i < it.hi; i++ {
			if p.subs[i] != nil {
				i = p.skip(i, it.hi)
				continue
			}
			if p.invokes(i, it.hi, aggregates) && !p.at(p.mate[i+1]+1, it.lo, it.hi).is("over") {
				return true
			}
		}
	}
	return false
}

// conjuncts splits a condition at its ANDs; a condition with an OR is one part.
func (p *parser) conjuncts(lo, hi int) []span {
	for hi-lo > 2 && p.toks[lo].is("(") && p.mate[lo] == hi-1 && p.subs[lo] == nil {
		lo, hi = lo+1, hi-1
	}
	var out []span
	start, between := lo, false
	for i := lo; i < hi; i++ {
		switch w := p.word(i, lo, hi); {
		case w == "or" || w == "xor":
			return []span{{lo, hi}}
		case w == "between":
			between = true
		case w == "and" && between:
			between = false
		case w == "and":
			out = append(out, span{start, i})
			start = i + 1
		case p.clauseHole(i, start, hi):
			return append(out, span{start, i}) // what the hole adds is not known
		}
		i = p.skip(i, hi)
	}
	return append(out, span{start, hi})
}

// clauseHole reports whether a hole behind a whole operand stands at i.
func (u *unit) clauseHole(i, lo, hi int) bool {
	return u.toks[i].kind == hole && i > lo && u.toks[i-1].ends()
}

// reaches reports whether no rows at l mean no rows of the statement.
func (p *parser) reaches(l *level) bool {
	for range p.levels {
		up := l.up
		switch l.role {
		case roleTop:
			return true
		case roleArm:
			if len(up.arms) > 1 {
				return false
			}
		case roleDerived, roleCTE:
			if l.role == roleCTE {
				up = p.reader(l)
			}
			if up == nil || p.outerJoined(up, l) || p.aggregated(up) {
				return false
			}
		case roleExpr:
			if !p.required(up, l) || p.aggregated(up) {
				return false
			}
		}
		l = up
	}
	return false
}

func (p *parser) outerJoined(up, l *level) bool {
	for i := range up.from {
		if f := &up.from[i]; f.outer && (f.sub == l || p.derivedOf(up, f) == l) {
			return true
		}
	}
	return false
}

// required reports whether the condition of up can be true only if the subquery l has rows.
func (p *parser) required(up, l *level) bool {
	for _, w := range up.where {
		for _, part := range p.conjuncts(w.lo, w.hi) {
			if l.at < part.lo || l.at >= part.hi {
				continue
			}
			for i := part.lo; i < part.hi; i++ {
				if t := p.at(i, part.lo, part.hi); t.is("not") || t.is("or") || t.is("is") || t.is("<>") || t.is("!=") || t.is("all") || t.is("coalesce") {
					return false
				}
				if p.subs[i] != nil {
					i = p.skip(i, part.hi)
				}
			}
			return true
		}
	}
	return false
}
