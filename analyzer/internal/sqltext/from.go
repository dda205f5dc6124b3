package sqltext

// fromItem is an entry of a FROM clause.
type fromItem struct {
	name     string // table or function, without schema
	at       int    // index of that name, or of a derived table's parenthesis
	function bool
	sub      *level // derived table
	alias    string // what the item is called at its level
	cols     []string
	outer    bool // on the side of an outer join that may be missing
	open     bool // the name is a hole
}

// fromItems reads the items between two tokens of a FROM clause.
func (p *parser) fromItems(lo, hi int, outer bool) []fromItem {
	if !p.enter() {
		return nil
	}
	defer p.leave()
	var items []fromItem
	fresh := true // an item may begin here
	for i := lo; i < hi; i++ {
		t := &p.toks[i]
		w := p.word(i, lo, hi)
		switch {
		case t.is(","), w == "join", w == "straight_join":
			fresh = true
			b := p.word(i-1, lo, hi)
			if b == "outer" {
				b = p.word(i-2, lo, hi)
			}
			outer = w == "join" && (b == "left" || b == "full")
		case !fresh:
			i = p.skip(i, hi)
		case w == "lateral" || w == "only":
		case w == "rows" && p.at(i+1, lo, hi).is("from"):
			i++
		case t.is("(") && p.subs[i] == nil:
			items = append(items, p.fromItems(i+1, p.inner(i, hi), outer)...)
			i, fresh = p.skip(i, hi), false
		case t.is("(") || t.kind == word || t.kind == quoted || t.kind == hole:
			var f fromItem
			f, i = p.fromItem(i, hi)
			f.outer = outer
			items = append(items, f)
			fresh = false
		}
	}
	return items
}

// fromItem reads the item at i and returns the index of its last token.
func (p *parser) fromItem(i, hi int) (fromItem, int) {
	lo := i
	var f fromItem
	if f.sub = p.subs[i]; f.sub != nil {
		f.at = i
		i = p.skip(i, hi)
	} else {
		for p.at(i+1, lo, hi).is(".") && i+2 < hi {
			i += 2
		}
		t := &p.toks[i]
		f.name, f.at, f.alias = t.text, i, t.text
		f.open = t.holes != nil
		if p.at(i+1, lo, hi).is("(") && (t.kind != word || !afterTable[t.text]) {
			f.function = true
			i = p.skip(i+1, hi)
		}
	}
	if p.at(i+1, lo, hi).is("with") && p.at(i+2, lo, hi).is("ordinality") {
		i += 2
	}
	if p.at(i+1, lo, hi).is("as") {
		i++
	}
	a := p.at(i+1, lo, hi)
	if a.kind == quoted || a.kind == word && !afterTable[a.text] && a.holes == nil {
		i++
		f.alias = a.text
		if p.at(i+1, lo, hi).is("(") {
			f.cols = p.names(i+2, p.inner(i+1, hi))
			i = p.skip(i+1, hi)
		}
	}
	return f, min(i, hi-1)
}

// afterTable are the keywords that can stand behind a table, which are no alias.
var afterTable = setOf(`on using join left right inner outer cross full natural tablesample where set returning
	straight_join force use ignore partition lateral as for window group order limit offset fetch when`)

// modifiers stand between SELECT and its list.
var modifiers = setOf(`all distinct distinctrow high_priority straight_join sql_small_result sql_big_result
	sql_buffer_result sql_no_cache sql_cache sql_calc_found_rows`)

// items splits a select list.
func (p *parser) items(lo, hi int) []item {
	for lo < hi && modifiers[p.word(lo, lo, hi)] {
		on := p.word(lo, lo, hi) == "distinct" && p.at(lo+1, lo, hi).is("on")
		lo++
		if on {
			lo++
			if lo < hi {
				lo = p.skip(lo, hi) + 1
			}
		}
	}
	var out []item
	for _, s := range p.commas(lo, hi) {
		out = append(out, p.item(s))
	}
	return out
}

// item finds the alias of a select item: behind AS, or a name behind the end of an operand.
func (p *parser) item(s span) item {
	for s.hi-1 > s.lo && p.clauseHole(s.hi-1, s.lo, s.hi) {
		s.hi--
	}
	last := p.at(s.hi-1, s.lo, s.hi)
	if s.hi-s.lo < 2 || last.kind != word && last.kind != quoted || last.holes != nil {
		return item{span: s}
	}
	before := p.at(s.hi-2, s.lo, s.hi)
	switch {
	case before.is("as") && s.hi-s.lo > 2:
		return item{span{s.lo, s.hi - 2}, last.text}
	case before.kind == word && (notBeforeAlias[before.text] || beforeOperand[before.text]):
	case last.kind == word && endsOperand[last.text]:
	case before.ends():
		return item{span{s.lo, s.hi - 1}, last.text}
	}
	return item{span: s}
}

// A name behind one of notBeforeAlias, or that is one of endsOperand, belongs to the operand.
var (
	notBeforeAlias = setOf("collate zone is not over double character national")
	endsOperand    = setOf("end null true false unknown isnull notnull")
)

// commas splits a range at its own commas; an empty range has no parts.
func (u *unit) commas(lo, hi int) []span {
	if lo >= hi {
		return nil
	}
	var out []span
	start := lo
	for i := lo; i < hi; i++ {
		if u.toks[i].is(",") {
			out = append(out, span{start, i})
			start = i + 1
			continue
		}
		i = u.skip(i, hi)
	}
	return append(out, span{start, hi})
}

// arguments are the arguments of the call whose parenthesis opens at i.
func (u *unit) arguments(i, hi int) []span { return u.commas(i+1, max(i+1, min(u.mate[i], hi))) }
