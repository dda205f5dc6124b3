package sqltext

// clauses are the keywords that begin a clause, with the words of which one must follow.
var clauses = map[string]struct {
	section section
	next    map[string]bool
}{
	"select":    {section: secList},
	"returning": {section: secList},
	"into":      {section: secInto},
	"from":      {section: secFrom},
	"where":     {section: secWhere},
	"group":     {secGroup, setOf("by")},
	"having":    {section: secHaving},
	"order":     {secOrder, setOf("by")},
	"limit":     {section: secLimit},
	"fetch":     {secFetch, setOf("first next")},
	"offset":    {section: secOffset},
	"window":    {section: secRest},
	"for":       {secRest, setOf("update share no key")},
	"lock":      {secRest, setOf("in")},
	"set":       {section: secSet},
	"values":    {section: secValues},
}

// writeClauses are those that only data-changing statements have.
var writeClauses = map[string]struct {
	section section
	next    map[string]bool
}{
	"using": {section: secFrom},
	"on":    {secRest, setOf("conflict duplicate")},
	"when":  {secRest, setOf("matched not")},
}

// clause reports which clause begins at i in a level of that verb, when the present one is now,
// and of how many words its keyword is; 0 when none begins there.
func (p *parser) clause(i, lo, hi int, verb string, now section) (section, int) {
	w := p.word(i, lo, hi)
	if w == "" || p.at(i-1, lo, hi).is("as") {
		return 0, 0
	}
	c, ok := clauses[w]
	if !ok && writeVerbs[verb] {
		c, ok = writeClauses[w]
	}
	words := 1
	if c.next != nil {
		ok, words = ok && c.next[p.word(i+1, lo, hi)], 2
	}
	switch {
	case !ok:
		return 0, 0
	case now == secRest && writeVerbs[verb]: // DO UPDATE SET … WHERE is the conflict's
		ok = w == "returning"
	case w == "from" && p.at(i-1, lo, hi).is("distinct"):
		ok = !isNot[p.word(i-2, lo, hi)] // IS [NOT] DISTINCT FROM
	case w == "using": // JOIN … USING (columns) is no clause
		ok = (verb == "delete" || verb == "merge") && !p.at(i+1, lo, hi).is("(")
	case w == "returning" || c.section == secSet || c.section == secValues:
		ok = writeVerbs[verb] || i == lo
	}
	if !ok {
		return 0, 0
	}
	return c.section, words
}

var isNot = setOf("is not")

// arm reads one SELECT, VALUES, data-changing statement or expression: everything between
// two set operators.
func (p *parser) arm(lo, hi int, l *level) {
	switch l.verb {
	case "update":
		p.run(lo+1, hi, secFrom, l)
	case "table":
		p.run(lo+1, hi, secFrom, l)
	case "insert", "replace", "delete", "merge":
		p.run(lo+1, hi, secHead, l)
	default:
		p.run(lo, hi, secList, l)
	}
}

// run reads clauses; now is the one that it begins in.
func (p *parser) run(lo, hi int, now section, l *level) {
	start := lo
	for i := lo; i < hi; i++ {
		s, words := p.clause(i, lo, hi, l.verb, now)
		if words == 0 {
			i = p.skip(i, hi)
			continue
		}
		p.section(now, start, i, l)
		i += words - 1
		now, start = s, i+1
	}
	p.section(now, start, hi, l)
}

// section records what a clause says of its level, and reads what is inside it.
func (p *parser) section(s section, lo, hi int, l *level) {
	lo = min(lo, hi)
	p.scan(lo, hi, l, s, s == secValues || s == secLimit || s == secFetch || s == secOffset)
	switch s {
	case secList:
		if lo < hi && len(l.arms) == 0 {
			l.list = p.items(lo, hi)
		}
	case secInto:
		l.into = l.into || !writeVerbs[l.verb]
	case secFrom:
		l.from = append(l.from, p.fromItems(lo, hi, false)...)
	case secWhere, secHaving:
		l.where = append(l.where, span{lo, hi})
		l.having = l.having || s == secHaving
	case secGroup:
		l.group = true
	case secOrder:
		l.sorted = true
	case secLimit:
		if w := p.word(lo, lo, hi); lo < hi && w != "all" && w != "null" {
			l.limit = Yes
		}
	case secFetch:
		l.limit = Yes
	case secValues:
		p.valueRows(lo, hi, l)
	}
}

// valueRows counts the rows of VALUES; its first row is the select list.
func (p *parser) valueRows(lo, hi int, l *level) {
	for i := lo; i < hi; i++ {
		if p.toks[i].is("(") {
			if l.rows++; l.rows == 1 && l.verb == "values" {
				l.list = p.items(i+1, p.inner(i, hi))
			}
		}
		i = p.skip(i, hi)
	}
}

// write reads INSERT, UPDATE, DELETE, MERGE or REPLACE. The SELECT of INSERT … SELECT is a
// level of its own.
func (p *parser) write(lo, hi int, l *level) {
	p.stmt.Writes = true
	if l.verb != "insert" && l.verb != "replace" {
		p.arm(lo, hi, l)
		return
	}
	for i := lo + 1; i < hi; i++ {
		w := p.word(i, lo, hi)
		if w == "values" || w == "set" || w == "default" || w == "returning" {
			break
		}
		if !queryVerbs[w] && !(p.toks[i].is("(") && p.startsQuery(i, hi)) {
			i = p.skip(i, hi)
			continue
		}
		end := p.sourceEnd(i, hi)
		p.scan(lo+1, i, l, secHead, false)
		p.query(i, end, p.newLevel(l, roleSource, -1))
		p.run(end, hi, secRest, l) // ON CONFLICT, RETURNING
		return
	}
	p.arm(lo, hi, l)
}

// sourceEnd returns where the SELECT of an INSERT that begins at i ends.
func (p *parser) sourceEnd(i, hi int) int {
	lo := i
	for ; i < hi; i++ {
		w := p.word(i, lo, hi)
		if w == "returning" || w == "on" && writeClauses["on"].next[p.word(i+1, lo, hi)] {
			return i
		}
		i = p.skip(i, hi)
	}
	return hi
}
