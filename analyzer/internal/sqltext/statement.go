package sqltext

import "sort"

// Parse recognises what a text holds. It never fails: what it does not understand is absent
// from the result, and where that absence is not certain the result says so.
func Parse(t Text) *Script {
	s := &Script{}
	src := newSource(t)
	u := readScript(src)
	s.Partial = src.cut
	for _, st := range u.statements() {
		p := newParser(u, s, &Statement{})
		p.partial = src.cut && st.hi == len(u.toks)
		p.statement(st.lo, st.hi)
		s.Stmts = append(s.Stmts, *p.stmt)
	}
	if u.mysql && u.callsMySQL() {
		s.System = MySQL
	}
	return s
}

func newParser(u *unit, s *Script, st *Statement) *parser {
	return &parser{unit: u, script: s, stmt: st, subs: map[int]*level{}, columns: map[columnKey]int{}}
}

// statements splits a script at its semicolons; those in the body of a routine (BEGIN ATOMIC …
// END, and MySQL's BEGIN … END) do not count.
func (u *unit) statements() []span {
	var out []span
	start, n := 0, len(u.toks)
	routine, depth := false, 0
	for i := 0; i < n; i++ {
		t := &u.toks[i]
		switch {
		case t.is(";") && depth == 0:
			if i > start {
				out = append(out, span{start, i})
			}
			start, routine = i+1, false
		case t.is("function") || t.is("procedure") || u.mysql && (t.is("trigger") || t.is("event")):
			routine = routine || u.toks[start].is("create")
		case !routine:
		case t.is("begin") && (u.mysql || u.at(i+1, 0, n).is("atomic")), t.is("case") && depth > 0,
			depth > 0 && u.mysql && u.at(i-1, 0, n).is(";") && (t.is("if") || t.is("loop") || t.is("while") || t.is("repeat")):
			if !u.at(i-1, 0, n).is("end") {
				depth++
			}
		case t.is("end") && depth > 0:
			depth--
		}
		i = u.skip(i, n)
	}
	if start < n {
		out = append(out, span{start, n})
	}
	return out
}

// verbs are the first keywords of statements. A text that begins with another word is a piece
// of a statement, such as a column or a condition that a query builder is given.
var verbs = setOf(`abort alter analyze begin call checkpoint close cluster comment commit copy create deallocate declare
	delete desc describe discard do drop end execute explain fetch flush grant handler import insert kill listen load
	lock merge move notify optimize prepare reassign refresh reindex release rename repair replace reset revoke
	rollback savepoint security select set show start table truncate unlisten unlock update use vacuum values with xa`)

// statement fills the parser's Statement.
func (p *parser) statement(lo, hi int) {
	first := lo
	for lo < hi-1 && p.toks[lo].kind == hole && !p.at(lo+1, lo, hi).is("=") {
		p.script.Partial = true
		lo++
	}
	head := lo
	for p.at(head, lo, hi).is("(") && p.startsQuery(head, hi) {
		head++
	}
	verb := p.word(head, head, hi)
	if !verbs[verb] || verb == "replace" && p.at(head+1, head, hi).is("(") {
		verb = ""
	}
	p.stmt.Verb = verb
	top := p.newLevel(nil, roleTop, -1)
	top.hole = lo > first
	returns := p.dispatch(verb, lo, hi, top)
	p.finish(top, returns)
	p.view(lo, hi)
}

// dispatch reads a statement by its verb; it reports whether the rows of top are the result.
func (p *parser) dispatch(verb string, lo, hi int, top *level) bool {
	switch verb {
	case "":
		p.partial = true
		p.query(lo, hi, top)
		return true
	case "select", "with", "values", "table", "insert", "update", "delete", "merge", "replace":
		p.query(lo, hi, top)
		return true
	case "begin", "start", "commit", "end", "rollback", "abort":
		p.transaction(verb, lo, hi)
		p.idle = true
		p.scan(lo+1, hi, top, secRest, false)
	case "set":
		p.stmt.Snapshot = p.snapshot(lo, hi) && p.setsTransaction(lo, hi)
		p.setStatement(lo, hi)
		p.scan(lo+1, hi, top, secSet, false)
	case "do":
		if body := p.blockOf(lo, hi); body != nil {
			p.block(body, 0)
			return false
		}
		p.run(lo+1, hi, secList, top)
	case "call", "execute":
		p.run(lo+1, hi, secList, top)
	case "prepare":
		return p.prepare(lo, hi, top)
	default:
		p.carrier(verb, lo, hi, top)
	}
	return false
}

// carriers read a query that runs now, but whose rows are not the statement's result: the index
// of that query, -1 when there is none.
var carriers = map[string]func(p *parser, lo, hi int) int{
	"explain": (*parser).analyzed,
	"analyze": (*parser).mainAt,
	"declare": (*parser).mainAt,
	"copy":    (*parser).mainAt,
	"create":  (*parser).createdAs,
}

// carrier reads a statement that carries a query, or one that runs none.
func (p *parser) carrier(verb string, lo, hi int, top *level) {
	q := -1
	if f := carriers[verb]; f != nil {
		q = f(p, lo, hi)
	}
	if q < 0 {
		p.idle = true
		p.scan(lo+1, hi, top, secRest, verb == "comment")
		return
	}
	p.scan(lo+1, q, top, secHead, false)
	end := hi
	if verb == "copy" && p.toks[q].is("(") { // what follows is COPY's own
		end = p.skip(q, hi) + 1
	}
	p.query(q, end, top)
}

// mainAt returns where the query in a statement begins.
func (p *parser) mainAt(lo, hi int) int {
	for i := lo + 1; i < hi; i++ {
		if p.mainQuery(i, lo, hi) {
			if w := p.word(i, lo, hi); w != "table" && (w != "with" || !holds[p.word(i+1, lo, hi)]) {
				return i
			}
		}
		i = p.skip(i, hi)
	}
	return -1
}

// holds are what follows WITH in a cursor's WITH HOLD and in WITH NO DATA.
var holds = setOf("hold no")

// analyzed is mainAt for EXPLAIN, which runs its query only with ANALYZE.
func (p *parser) analyzed(lo, hi int) int {
	q := p.mainAt(lo, hi)
	for i := lo; i < q; i++ {
		if p.toks[i].is("analyze") || p.toks[i].is("analyse") {
			if t := p.at(i+1, lo, hi); t.is("false") || t.is("off") {
				return -1
			}
			return q
		}
	}
	return -1
}

// createdAs is mainAt for CREATE TABLE AS and CREATE MATERIALIZED VIEW AS. Views, functions
// and rules run later, if at all.
func (p *parser) createdAs(lo, hi int) int {
	for i := lo + 1; i < hi; i++ {
		switch w := p.word(i, lo, hi); w {
		case "table", "materialized":
			if p.at(hi-1, lo, hi).is("data") && p.at(hi-2, lo, hi).is("no") {
				return -1
			}
			for i++; i < hi; i++ {
				if p.toks[i].is("select") { // MySQL needs no AS
					return i
				}
				if p.toks[i].is("as") && i+1 < hi && p.mainQuery(i+1, lo, hi) {
					return i + 1
				}
				i = p.skip(i, hi)
			}
			return -1
		case "or", "replace", "global", "local", "temp", "temporary", "unlogged":
		default:
			return -1
		}
	}
	return -1
}

// prepare reads PREPARE name AS query, whose rows come with EXECUTE, and MySQL's PREPARE name
// FROM 'text'.
func (p *parser) prepare(lo, hi int, top *level) bool {
	for i := lo + 1; i < hi; i++ {
		switch {
		case p.toks[i].is("as"):
			p.query(i+1, hi, top)
			return true
		case p.toks[i].is("from") && p.at(i+1, lo, hi).kind == str:
			p.runText(&p.toks[i+1], 1)
			return false
		}
		i = p.skip(i, hi)
	}
	return false
}

// transaction reads transaction control.
func (p *parser) transaction(verb string, lo, hi int) {
	next := lo + 1
	if w := p.word(next, lo, hi); w == "work" || w == "transaction" {
		next++
	}
	switch w := p.word(next, lo, hi); {
	case w == "prepared":
	case verb == "begin", verb == "start" && p.at(lo+1, lo, hi).is("transaction"):
		p.stmt.Tx = Begin
		p.stmt.Snapshot = p.snapshot(lo, hi)
	case verb == "commit", verb == "end":
		p.stmt.Tx = Commit
	case verb == "abort", verb == "rollback" && w != "to":
		p.stmt.Tx = Rollback
	}
}

// setsTransaction reports whether SET is about transactions: SET TRANSACTION, SET SESSION
// CHARACTERISTICS AS TRANSACTION, MySQL's SET SESSION TRANSACTION.
func (p *parser) setsTransaction(lo, hi int) bool {
	for i := lo; i < hi; i++ {
		if p.toks[i].is("transaction") {
			return true
		}
	}
	return false
}

// finish judges the calls of a parser and hands them to the statement.
func (p *parser) finish(top *level, returns bool) {
	sort.SliceStable(p.calls, func(i, j int) bool { return p.calls[i].name < p.calls[j].name })
	for i := range p.calls {
		c := &p.calls[i]
		c.Limit = p.limitOf(c)
		c.Filtered = p.filtered(c)
		if returns {
			c.Column = p.column(top, c)
			c.Shown = c.Column >= 0 || p.shows(top, c)
		}
	}
	for i := range p.calls {
		p.stmt.Calls = append(p.stmt.Calls, p.calls[i].Call)
	}
	if returns && p.returnsColumns(top) {
		p.stmt.ReturnsColumns = true
	}
}
