package sqltext

// blockOf returns the string that holds the code of PostgreSQL's DO, nil when it is MySQL's DO,
// which evaluates expressions.
func (p *parser) blockOf(lo, hi int) *token {
	var body *token
	for i := lo + 1; i < hi; i++ {
		t := &p.toks[i]
		switch {
		case t.is("language"):
			i++
			if l := lower(p.at(i, lo, hi).text); l != "plpgsql" {
				p.script.Partial = true // code of another language
				return &none
			}
		case t.kind == str && body == nil:
			body = t
		default:
			if body == nil {
				return nil
			}
		}
	}
	return body
}

// maxNesting bounds strings within strings.
const maxNesting = 3

// tokensOf returns the tokens of a string's value. Where the value stands in the source as it is,
// positions stay those of the source.
func (p *parser) tokensOf(t *token) *unit {
	if t.body != [2]int{} {
		return newUnit(p.src, t.body[0], t.body[1], p.mysql)
	}
	s := decoded(t.text, t.holes)
	return newUnit(s, 0, len(s.text), p.mysql)
}

// block reads the PL/pgSQL code of a DO block. It is cut into its statements and conditions,
// each of which is read for itself.
func (p *parser) block(body *token, nesting int) {
	if body.kind != str {
		return
	}
	u := p.tokensOf(body)
	start, cases, n := 0, 0, len(u.toks)
	for i := 0; i < n; i++ {
		t := &u.toks[i]
		switch {
		case t.is(";"):
			cases = 0
		case t.is("case") && !u.at(i-1, 0, n).is("end"):
			cases++
			continue
		case t.is("end") && cases > 0:
			cases--
			continue
		case t.kind == word && blockWords[t.text] && t.holes == nil && cases == 0:
		default:
			i = u.skip(i, n)
			continue
		}
		p.piece(u, start, i, nesting)
		start = i + 1
	}
	p.piece(u, start, n, nesting)
}

// blockWords part the statements of a block, beside the semicolon.
var blockWords = setOf("begin declare then else loop exception")

// piece reads one statement or condition of a block.
func (p *parser) piece(u *unit, lo, hi, nesting int) {
	if lo >= hi {
		return
	}
	in := newParser(u, p.script, p.stmt)
	in.nested, in.partial = true, p.partial
	top := in.newLevel(nil, roleTop, -1)
	q := in.queryOf(lo, hi)
	switch {
	case in.word(lo, lo, hi) == "set":
		in.setStatement(lo, hi)
	case q >= 0 && in.word(q, lo, hi) == "execute":
		in.run(lo, hi, secList, top)
		in.dynamic(q, hi, nesting)
	case q < 0:
		in.run(lo, hi, secList, top)
	default:
		in.scan(lo, q, in.newLevel(nil, roleTop, -1), secRest, false)
		if in.toks[q].is("perform") || in.toks[q].is("call") {
			q++
		}
		in.query(q, hi, top)
	}
	in.finish(top, false)
	in.view(lo, hi)
}

// queryOf returns where a query begins in a piece, -1 when the piece has none.
func (p *parser) queryOf(lo, hi int) int {
	for i := lo; i < hi; i++ {
		switch w := p.word(i, lo, hi); w {
		case "select", "perform", "call", "update", "execute", "with":
			return i
		case "insert", "merge":
			if p.at(i+1, lo, hi).is("into") {
				return i
			}
		case "delete":
			if p.at(i+1, lo, hi).is("from") {
				return i
			}
		}
		i = p.skip(i, hi)
	}
	return -1
}

// dynamic reads the text that EXECUTE runs, when a string holds it: its first string.
func (p *parser) dynamic(lo, hi, nesting int) {
	for i := lo; i < hi; i++ {
		if t := &p.toks[i]; t.kind == str {
			p.runText(t, nesting+1)
			return
		}
	}
}

// runText reads the SQL text in a string.
func (p *parser) runText(t *token, nesting int) {
	if nesting > maxNesting {
		p.script.Partial = true
		return
	}
	u := p.tokensOf(t)
	for _, s := range u.statements() {
		inner := newParser(u, p.script, &Statement{})
		inner.nested = true
		inner.statement(s.lo, s.hi)
		st := inner.stmt
		for _, c := range st.Calls {
			c.Column = -1
			p.stmt.Calls = append(p.stmt.Calls, c)
		}
		p.stmt.Settings = append(p.stmt.Settings, st.Settings...)
		p.stmt.Writes = p.stmt.Writes || st.Writes
	}
}
