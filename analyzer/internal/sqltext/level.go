package sqltext

// role is what a query level is to the level around it.
type role uint8

const (
	roleTop     role = iota
	roleArm          // an arm of UNION, INTERSECT, EXCEPT, or the query that parentheses and a tail surround
	roleDerived      // (SELECT …) in FROM
	roleCTE          // WITH name AS (SELECT …)
	roleSource       // the SELECT of INSERT … SELECT
	roleExpr         // a subquery in an expression
)

// span is a range of tokens, without the end.
type span struct{ lo, hi int }

// section is a clause of a query.
type section uint8

const (
	secHead section = iota // between the verb and the first clause
	secList                // SELECT or RETURNING list
	secInto
	secFrom
	secWhere
	secGroup
	secHaving
	secOrder
	secLimit
	secFetch
	secOffset
	secSet
	secValues
	secRest // clauses that decide nothing: WINDOW, FOR UPDATE, ON CONFLICT, MERGE's WHEN
)

// level is one query level: a SELECT, a data-changing statement, a set of arms, or a bare
// expression.
type level struct {
	up      *level
	role    role
	at      int    // index of the parenthesis around it, -1 when it has none
	name    string // of a CTE
	cols    []string
	lateral bool

	verb   string // "" for an expression
	list   []item
	from   []fromItem
	where  []span // WHERE and HAVING
	having bool
	sorted bool
	group  bool
	into   bool
	rows   int // rows of VALUES
	limit  Tri // of this level alone; No when it has none
	// hole: a hole stands where a clause of this level could be.
	hole bool
	arms []*level
	ctes []*level
}

// item is a column of a select list.
type item struct {
	span
	alias string // "" when it has none
}

// parser recognises the levels of one statement, or of one piece of a PL/pgSQL block.
type parser struct {
	*unit
	script  *Script
	stmt    *Statement
	nested  bool
	partial bool // the text is a piece of a statement, or was cut: what stands around it is not known
	idle    bool // the statement runs nothing: its calls do not count

	levels  []*level
	subs    map[int]*level // by the index of the parenthesis around them
	calls   []found
	columns map[columnKey]int
	depth   int
	work    int
}

// columnKey is what parser.column is asked; call is the token that names it.
type columnKey struct {
	level *level
	call  int
}

// found is a lock call with its place.
type found struct {
	Call
	name  int // index of the token that names it
	close int // index of its closing parenthesis
	level *level
}

// maxDepth and maxWork bound recursion and what is spent on following names: what is beyond is
// not looked at, and the script is partial.
const (
	maxDepth = 200
	maxWork  = 1 << 18
)

func (p *parser) enter() bool {
	if p.depth >= maxDepth || p.work >= maxWork {
		p.script.Partial = true
		return false
	}
	p.depth++
	p.work++
	return true
}

func (p *parser) leave() { p.depth-- }

func (p *parser) newLevel(up *level, r role, at int) *level {
	l := &level{up: up, role: r, at: at, limit: No}
	p.levels = append(p.levels, l)
	if at >= 0 {
		p.subs[at] = l
	}
	return l
}

// word returns the keyword at i, "" when no plain word stands there, or when it is qualified
// or an alias.
func (p *parser) word(i, lo, hi int) string {
	t := p.at(i, lo, hi)
	if t.kind != word || t.holes != nil || p.at(i-1, lo, hi).is(".") {
		return ""
	}
	return t.text
}

// query reads a query expression: CTEs, then arms, then what applies to all of them.
func (p *parser) query(lo, hi int, l *level) {
	if !p.enter() {
		return
	}
	defer p.leave()
	for lo < hi && p.toks[lo].is("(") && p.mate[lo] == hi-1 {
		lo, hi = lo+1, hi-1
	}
	if p.word(lo, lo, hi) == "with" {
		lo = p.with(lo, hi, l)
	}
	l.verb = p.word(lo, lo, hi)
	if writeVerbs[l.verb] {
		p.write(lo, hi, l)
		return
	}
	arms := p.split(lo, hi)
	last := arms[len(arms)-1]
	paren := p.at(lo, lo, hi).is("(")
	if len(arms) == 1 && !(paren && p.startsQuery(lo, hi)) {
		p.arm(lo, hi, l)
		return
	}
	tail := p.tail(last.lo, last.hi)
	arms[len(arms)-1].hi = tail
	for _, a := range arms {
		arm := p.newLevel(l, roleArm, -1)
		l.arms = append(l.arms, arm)
		p.query(a.lo, a.hi, arm)
		l.hole = arm.hole // what hides behind the last one is for all of them
	}
	p.arm(tail, hi, l)
	l.verb = l.arms[0].verb
}

// split cuts a query expression at its set operators.
func (p *parser) split(lo, hi int) []span {
	var arms []span
	start := lo
	for i := lo; i < hi; i++ {
		w := p.word(i, lo, hi)
		if setOperators[w] && (w != "minus" || p.mysql) && !p.at(i-1, lo, hi).is("as") {
			arms = append(arms, span{start, i})
			start = i + 1
			if w := p.word(start, lo, hi); w == "all" || w == "distinct" {
				start++
			}
			i = start - 1
			continue
		}
		i = p.skip(i, hi)
	}
	return append(arms, span{min(start, hi), hi})
}

var (
	setOperators = setOf("union intersect except minus")
	writeVerbs   = setOf("insert update delete merge replace")
	queryVerbs   = setOf("select values table with")
)

// tail returns where the clauses begin that apply to the whole set of arms.
func (p *parser) tail(lo, hi int) int {
	if p.at(lo, lo, hi).is("(") && p.startsQuery(lo, hi) {
		return p.skip(lo, hi) + 1
	}
	for i := lo; i < hi; i++ {
		s, words := p.clause(i, lo, hi, "", secList)
		if words > 0 && (s == secOrder || s == secLimit || s == secFetch || s == secOffset || s == secRest) {
			return i
		}
		i = p.skip(i, hi)
	}
	return hi
}

// with reads CTEs and returns where the main query begins.
func (p *parser) with(lo, hi int, l *level) int {
	i := lo + 1
	if p.word(i, lo, hi) == "recursive" {
		i++
	}
	for i < hi {
		name := p.at(i, lo, hi)
		if name.kind == hole {
			p.script.Partial, l.hole = true, true
		}
		var cols []string
		if i++; p.at(i, lo, hi).is("(") {
			end := p.skip(i, hi)
			cols = p.names(i+1, end)
			i = end + 1
		}
		if !p.at(i, lo, hi).is("as") {
			return min(i, hi)
		}
		for i++; p.at(i, lo, hi).is("not") || p.at(i, lo, hi).is("materialized"); i++ {
		}
		if !p.at(i, lo, hi).is("(") {
			return min(i, hi)
		}
		end := p.skip(i, hi)
		c := p.newLevel(l, roleCTE, i)
		c.name, c.cols = name.text, cols
		l.ctes = append(l.ctes, c)
		p.query(i+1, p.inner(i, hi), c)
		// SEARCH and CYCLE clauses may follow.
		for i = end + 1; i < hi && !p.toks[i].is(",") && !p.mainQuery(i, lo, hi); i++ {
			i = p.skip(i, hi)
		}
		if !p.at(i, lo, hi).is(",") {
			return min(i, hi)
		}
		i++
	}
	return hi
}

func (p *parser) mainQuery(i, lo, hi int) bool {
	w := p.word(i, lo, hi)
	return queryVerbs[w] || writeVerbs[w] || p.toks[i].is("(") && p.startsQuery(i, hi)
}

// inner returns the end of what stands in the parentheses that open at i.
func (p *parser) inner(i, hi int) int { return max(i+1, min(p.mate[i], hi)) }

// names are the identifiers of a list of names.
func (p *parser) names(lo, hi int) []string {
	var out []string
	for i := lo; i < hi; i++ {
		if t := &p.toks[i]; (t.kind == word || t.kind == quoted) && (i == lo || p.toks[i-1].is(",")) {
			out = append(out, t.text)
		}
	}
	return out
}

// startsQuery reports whether the parenthesis at i opens a subquery, rather than grouping an
// expression that begins with one.
func (p *parser) startsQuery(i, hi int) bool {
	lo, end := i+1, p.inner(i, hi)
	for lo < end && p.toks[lo].is("(") {
		i, lo = lo, lo+1
		// Behind the inner query only a set operator or a tail may follow.
		after := p.mate[i] + 1
		if after < end {
			w := p.word(after, lo, end)
			if _, n := p.clause(after, lo, end, "", secList); !setOperators[w] && n == 0 {
				return false
			}
		}
		end = p.inner(i, hi)
	}
	next := p.at(lo+1, lo, end)
	switch w := p.word(lo, lo, end); w {
	case "select", "with", "values":
		return true
	case "table":
		return next.kind == word || next.kind == quoted || next.kind == hole
	case "insert", "merge":
		return next.is("into")
	case "delete":
		return next.is("from")
	case "update":
		return next.kind == word || next.kind == quoted
	}
	return false
}
