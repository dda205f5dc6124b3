package sqltext

// carries reports whether the value of an expression at level l is the answer of call c, but for
// what does not hide it: parentheses, casts, COALESCE, a comparison with true or 1.
func (p *parser) carries(lo, hi int, l *level, c *found) bool {
	if !p.enter() {
		return false
	}
	defer p.leave()
	for {
		a, b := p.unwrap(p.bare(lo, hi))
		if a == lo && b == hi {
			break
		}
		lo, hi = a, b
	}
	if lo >= hi {
		return false
	}
	if sub := p.subs[lo-1]; sub != nil && p.mate[lo-1] == hi { // a scalar subquery
		return sub.role == roleExpr && p.onlyColumn(sub, c)
	}
	if c.close == hi-1 && (c.name == lo || c.name == lo+2 && p.toks[lo].text == "pg_catalog") {
		return true
	}
	t := &p.toks[hi-1]
	if t.kind != word && t.kind != quoted {
		return false
	}
	switch {
	case hi-lo == 1:
		return p.nameCarries(l, "", t.text, c)
	case hi-lo == 3 && p.toks[lo+1].is("."):
		return p.nameCarries(l, p.toks[lo].text, t.text, c)
	}
	return false
}

// onlyColumn reports whether the answer is the one column of a level.
func (p *parser) onlyColumn(l *level, c *found) bool {
	if len(l.arms) == 1 {
		return p.onlyColumn(l.arms[0], c)
	}
	return len(l.list) == 1 && p.column(l, c) == 0
}

// unwrap takes off one layer that does not hide an answer.
func (p *parser) unwrap(lo, hi int) (int, int) {
	n := hi - lo
	switch {
	case n < 3:
	case truth(p.at(hi-1, lo, hi)) && p.at(hi-2, lo, hi).is("is"):
		return lo, hi - 2
	case truth(p.at(hi-1, lo, hi)) && p.at(hi-2, lo, hi).is("="), p.positive(hi-2, lo, hi):
		return lo, hi - 2
	case truth(&p.toks[lo]) && p.toks[lo+1].is("="):
		return lo + 2, hi
	case p.toks[lo+1].is("(") && p.mate[lo+1] == hi-1:
		args := p.arguments(lo+1, hi)
		first := func(k int) bool { return len(args) == k && args[0].lo < args[0].hi }
		switch w := p.word(lo, lo, hi); {
		case (w == "coalesce" || w == "ifnull") && first(2) && falsehood(p.single(args[1])),
			w == "if" && first(3) && truth(p.single(args[1])) && falsehood(p.single(args[2])):
			return args[0].lo, args[0].hi
		}
	case p.toks[lo].is("case") && p.toks[lo+1].is("when") && p.toks[hi-1].is("end"):
		return p.unwrapCase(lo, hi)
	}
	return lo, hi
}

// unwrapCase takes off CASE WHEN … THEN true ELSE false END.
func (p *parser) unwrapCase(lo, hi int) (int, int) {
	then := hi - 3
	if p.at(hi-3, lo, hi).is("else") {
		if !falsehood(&p.toks[hi-2]) {
			return lo, hi
		}
		then = hi - 5
	}
	if p.at(then, lo+3, hi).is("then") && truth(&p.toks[then+1]) {
		return lo + 2, then
	}
	return lo, hi
}

// single returns the token that is all of an argument, or an empty one.
func (p *parser) single(s span) *token {
	if s.hi-s.lo != 1 {
		return &none
	}
	return &p.toks[s.lo]
}

// positive reports whether > 0, <> 0 or != 0 begins at i and ends the expression.
func (p *parser) positive(i, lo, hi int) bool {
	o, z := p.at(i, lo, hi), p.at(i+1, lo, hi)
	return (o.is(">") || o.is("<>") || o.is("!=")) && z.kind == num && z.text == "0"
}

func truth(t *token) bool {
	return t.is("true") || t.kind == num && t.text == "1" || t.kind == str && (t.text == "t" || t.text == "true" || t.text == "1")
}

func falsehood(t *token) bool {
	return t.is("false") || t.is("null") || t.kind == num && t.text == "0" || t.kind == str && (t.text == "f" || t.text == "0")
}

// nameCarries reports whether a column name at level l means the answer of c.
func (p *parser) nameCarries(l *level, table, name string, c *found) bool {
	for i := range l.from {
		f := &l.from[i]
		if table != "" && table != f.alias {
			continue
		}
		if f.function {
			col := f.alias
			if len(f.cols) > 0 {
				col = f.cols[0]
			}
			if f.at == c.name && name == col {
				return true
			}
			continue
		}
		if sub := p.derivedOf(l, f); sub != nil {
			if n := p.column(sub, c); n >= 0 && p.columnName(sub, f, n) == name {
				return true
			}
		}
	}
	return false
}

// columnName is what column n of a derived table or CTE is called in item f.
func (p *parser) columnName(sub *level, f *fromItem, n int) string {
	switch {
	case n < len(f.cols):
		return f.cols[n]
	case n < len(sub.cols):
		return sub.cols[n]
	}
	for len(sub.arms) > 0 {
		sub = sub.arms[0]
	}
	if n >= len(sub.list) {
		return ""
	}
	it := sub.list[n]
	if it.alias != "" {
		return it.alias
	}
	lo, hi := p.bare(it.lo, it.hi)
	if lo >= hi {
		return ""
	}
	if hi-lo > 1 && p.toks[hi-1].is(")") { // a function's result is called like the function
		return p.at(p.mate[hi-1]-1, lo, hi).text
	}
	return p.toks[hi-1].text
}

// column returns the position of the answer of c among the columns of l, -1 when it is none.
func (p *parser) column(l *level, c *found) int {
	if !p.enter() {
		return -1
	}
	defer p.leave()
	key := columnKey{l, c.name}
	if n, ok := p.columns[key]; ok {
		return n
	}
	p.columns[key] = -1 // for a name that leads back here
	n := p.findColumn(l, c)
	p.columns[key] = n
	return n
}

func (p *parser) findColumn(l *level, c *found) int {
	for _, a := range l.arms {
		if n := p.column(a, c); n >= 0 {
			return n
		}
	}
	if l.into {
		return -1
	}
	for n, it := range l.list {
		if p.isStar(it.hi-1, it.lo, it.hi) {
			if n > 0 || len(l.list) > 1 || len(l.from) != 1 {
				return -1 // how many columns the star has is not known
			}
			return p.starColumn(l, c)
		}
		if p.carries(it.lo, it.hi, l, c) {
			return n
		}
	}
	return -1
}

// starColumn is column for SELECT * FROM with a single item.
func (p *parser) starColumn(l *level, c *found) int {
	f := &l.from[0]
	if f.function {
		if f.at == c.name {
			return 0
		}
		return -1
	}
	if sub := p.derivedOf(l, f); sub != nil {
		return p.column(sub, c)
	}
	return -1
}

// shows reports whether the answer of c, or a value made from it, is among the columns of l.
func (p *parser) shows(l *level, c *found) bool {
	if l.into || !p.enter() {
		return false
	}
	defer p.leave()
	for _, a := range l.arms {
		if p.shows(a, c) {
			return true
		}
	}
	for _, it := range l.list {
		if p.itemShows(it, l, c) {
			return true
		}
	}
	return false
}

func (p *parser) itemShows(it item, l *level, c *found) bool {
	if it.lo <= c.name && c.name < it.hi {
		return true
	}
	star := p.isStar(it.hi-1, it.lo, it.hi)
	for i := range l.from {
		f := &l.from[i]
		sub := p.derivedOf(l, f)
		if star && (f.function && f.at == c.name || sub != nil && p.shows(sub, c)) {
			return true
		}
	}
	for i := it.lo; i < it.hi; i++ {
		t := &p.toks[i]
		if sub := p.subs[i]; sub != nil {
			if p.shows(sub, c) {
				return true
			}
			i = p.skip(i, it.hi)
		} else if (t.kind == word || t.kind == quoted) && p.nameShows(l, t.text, c) {
			return true
		}
	}
	return false
}

// nameShows is nameCarries for a value made from the answer.
func (p *parser) nameShows(l *level, name string, c *found) bool {
	if p.nameCarries(l, "", name, c) {
		return true
	}
	if !p.enter() {
		return false
	}
	defer p.leave()
	for i := range l.from {
		sub := p.derivedOf(l, &l.from[i])
		if sub == nil {
			continue
		}
		for n, it := range sub.list {
			if p.columnName(sub, &l.from[i], n) == name && p.itemShows(it, sub, c) {
				return true
			}
		}
	}
	return false
}
