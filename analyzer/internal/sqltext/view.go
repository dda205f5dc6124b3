package sqltext

// lockView is a reading of pg_locks by a range of tokens.
type lockView struct {
	*unit
	lo, hi  int
	names   map[string]bool // pg_locks and its aliases
	queries map[int]bool    // the parentheses of the queries that read it; -1 is the outermost
	around  []int           // for each token from lo, the innermost parenthesis around it that holds a query, or -1
}

// view looks at how a range of tokens reads pg_locks.
func (p *parser) view(lo, hi int) {
	if !p.readsLocks(lo, hi) {
		return
	}
	v := lockView{p.unit, lo, hi, map[string]bool{"pg_locks": true}, map[int]bool{}, p.queriesAround(lo, hi)}
	for i := lo; i < hi; i++ {
		t := &p.toks[i]
		if t.text != "pg_locks" || t.kind != word && t.kind != quoted {
			continue
		}
		v.queries[v.around[i-lo]] = true
		if p.at(i+1, lo, hi).is("as") {
			i++
		}
		if a := p.at(i+1, lo, hi); a.kind == quoted || a.kind == word && !afterTable[a.text] {
			v.names[a.text] = true
		}
	}
	for _, f := range v.faults() {
		if !contains(p.stmt.View, f) {
			p.stmt.View = append(p.stmt.View, f)
		}
	}
	for i := lo; i < hi; i++ {
		if v.column(i, "pid") && v.ofLocks(i) {
			p.stmt.LocksPids = append(p.stmt.LocksPids, v.against(i)...)
		}
	}
}

func contains(faults []ViewFault, f ViewFault) bool {
	for _, g := range faults {
		if f == g {
			return true
		}
	}
	return false
}

func (v *lockView) column(i int, name string) bool {
	t := v.at(i, v.lo, v.hi)
	return (t.kind == word || t.kind == quoted) && t.text == name && t.holes == nil &&
		!v.at(i+1, v.lo, v.hi).is("(") && !v.at(i+1, v.lo, v.hi).is(".")
}

func (u *unit) readsLocks(lo, hi int) bool {
	for i := lo; i < hi; i++ {
		if t := &u.toks[i]; t.text == "pg_locks" && (t.kind == word || t.kind == quoted) {
			return true
		}
	}
	return false
}

// queriesAround computes lockView.around.
func (u *unit) queriesAround(lo, hi int) []int {
	around := make([]int, hi-lo)
	stack, now := []int{}, -1
	for i := lo; i < hi; i++ {
		t := &u.toks[i]
		if t.is(")") && u.mate[i] >= lo && len(stack) > 0 {
			now = stack[len(stack)-1]
			stack = stack[:len(stack)-1]
		}
		around[i-lo] = now
		if t.is("(") && u.mate[i] < hi {
			stack = append(stack, now)
			if next := u.at(i+1, lo, hi); next.kind == word && (queryVerbs[next.text] || writeVerbs[next.text]) {
				now = i
			}
		}
	}
	return around
}

// ofLocks reports whether the column at i is one of pg_locks: by its qualifier, or because the
// query around it reads pg_locks.
func (v *lockView) ofLocks(i int) bool {
	if v.at(i-1, v.lo, v.hi).is(".") {
		return v.names[v.at(i-2, v.lo, v.hi).text]
	}
	return v.queries[v.around[i-v.lo]]
}

// faults finds the faults of the way in which lock keys are read back.
func (v *lockView) faults() []ViewFault {
	var class, object, subid, narrow bool
	for i := v.lo; i < v.hi; i++ {
		switch {
		case v.column(i, "classid"):
			o := v.operand(i)
			class = class || v.used(o)
			narrow = narrow || v.shifted(o) && !wideTypes[o.cast]
		case v.column(i, "objid"):
			object = object || v.used(v.operand(i))
		case v.column(i, "objsubid"):
			subid = true
		}
	}
	var out []ViewFault
	if class && object && !subid && !v.otherLocks() {
		out = append(out, KeyWithoutObjsubid)
	}
	if narrow {
		out = append(out, NarrowShift)
	}
	return out
}

var wideTypes = setOf("bigint int8 numeric decimal")

// operand is a column with its qualifier, casts and parentheses.
type operand struct {
	span
	cast string // the outermost cast's type
}

func (v *lockView) operand(i int) operand {
	o := operand{span: span{i, i + 1}}
	for v.at(o.lo-1, v.lo, v.hi).is(".") && o.lo-2 >= v.lo {
		o.lo -= 2
	}
	for {
		before, after := v.at(o.lo-1, v.lo, v.hi), v.at(o.hi, v.lo, v.hi)
		name := v.at(o.lo-2, v.lo, v.hi)
		switch {
		case after.is("::"):
			o.cast = v.at(o.hi+1, v.lo, v.hi).text
			o.hi = v.typeEnd(o.hi+1, v.hi)
		case before.is("(") && after.is("as") && name.is("cast"):
			o.cast = v.at(o.hi+1, v.lo, v.hi).text
			o.lo, o.hi = o.lo-2, min(v.mate[o.lo-1]+1, v.hi)
		case before.is("(") && v.mate[o.lo-1] == o.hi && (name.kind != word || beforeOperand[name.text]) && name.kind != quoted:
			o.lo, o.hi = o.lo-1, o.hi+1
		default:
			return o
		}
	}
}

// keyOperators compare or combine the halves of a key. || is not among them: it makes text to
// show.
var keyOperators = setOf("= < > <= >= <> != << >> | & # + - *")

// used reports whether an operand is compared, or combined with something.
func (v *lockView) used(o operand) bool {
	before, after := v.at(o.lo-1, v.lo, v.hi), v.at(o.hi, v.lo, v.hi)
	return v.compares(o.hi) || after.kind == op && keyOperators[after.text] ||
		before.kind == op && keyOperators[before.text] || v.inRow(o)
}

// compares reports whether a comparison by keywords begins at i.
func (v *lockView) compares(i int) bool {
	t := v.at(i, v.lo, v.hi)
	if t.is("is") && v.at(i+1, v.lo, v.hi).is("not") {
		return v.at(i+2, v.lo, v.hi).is("distinct")
	}
	return t.is("in") || t.is("between") || t.is("not") || t.is("is") && v.at(i+1, v.lo, v.hi).is("distinct")
}

// inRow reports whether an operand stands in a row that is compared: (classid, objid) = ($1,
// $2), or in USING (classid, objid).
func (v *lockView) inRow(o operand) bool {
	for i := o.lo - 1; i >= v.lo; i-- {
		t := &v.toks[i]
		switch {
		case t.is(")") && v.mate[i] >= 0:
			i = v.mate[i]
		case t.is("("):
			before, end := v.at(i-1, v.lo, v.hi), v.mate[i]+1
			after := v.at(end, v.lo, v.hi)
			if before.kind == word && !beforeOperand[before.text] && !before.is("row") || before.kind == quoted {
				return false // a function's arguments
			}
			return before.is("using") || before.kind == op && keyOperators[before.text] ||
				after.kind == op && keyOperators[after.text] || v.compares(end)
		case t.kind == word && (queryVerbs[t.text] || clauses[t.text].next != nil || t.text == "where" || t.text == "from"):
			return false
		}
	}
	return false
}

// shifted reports whether an operand is shifted left, or multiplied by 2^32.
func (v *lockView) shifted(o operand) bool {
	const high = "4294967296"
	after, before := v.at(o.hi, v.lo, v.hi), v.at(o.lo-1, v.lo, v.hi)
	return after.is("<<") || after.is("*") && v.at(o.hi+1, v.lo, v.hi).text == high ||
		before.is("*") && v.at(o.lo-2, v.lo, v.hi).text == high
}

// otherLocks reports whether the locks that are looked at are of another type than advisory.
func (v *lockView) otherLocks() bool {
	other := false
	for i := v.lo; i < v.hi; i++ {
		if t := &v.toks[i]; t.kind == str && t.text == "advisory" {
			return false
		}
		if v.column(i, "locktype") && v.at(i+1, v.lo, v.hi).is("=") && v.at(i+2, v.lo, v.hi).kind == str {
			other = true
		}
	}
	return other
}

// against returns what the pid column at i is compared with, when a value from outside the
// database is in it.
func (v *lockView) against(i int) []Arg {
	o := v.operand(i)
	var spans []span
	after := v.at(o.hi, v.lo, v.hi)
	in := o.hi
	if after.is("not") {
		in++
	}
	switch {
	case equates(after) && o.hi+1 < v.hi:
		spans = append(spans, span{o.hi + 1, v.operandEnd(o.hi + 1)})
	case v.at(in, v.lo, v.hi).is("in") && v.at(in+1, v.lo, v.hi).is("("):
		spans = v.arguments(in+1, v.hi)
	case equates(v.at(o.lo-1, v.lo, v.hi)) && o.lo-1 > v.lo:
		spans = append(spans, span{v.operandStart(o.lo-1, v.lo), o.lo - 1})
	}
	var out []Arg
	for _, s := range spans {
		if a := v.arg(s.lo, s.hi); a.Kind != Expr || a.Parts != nil {
			out = append(out, a)
		}
	}
	return out
}

func equates(t *token) bool { return t.is("=") || t.is("<>") || t.is("!=") }

// operandEnd returns where the operand that begins at i ends.
func (v *lockView) operandEnd(i int) int {
	if t := v.at(i, v.lo, v.hi); t.is("-") || t.is("+") {
		i++
	}
	if i >= v.hi {
		return v.hi
	}
	i = v.skip(i, v.hi) + 1
	for i < v.hi {
		switch t := &v.toks[i]; {
		case t.is("."):
			i = min(i+2, v.hi)
		case t.is("(") || t.is("["):
			i = v.skip(i, v.hi) + 1
		case t.is("::"):
			i = v.typeEnd(i+1, v.hi)
		default:
			return i
		}
	}
	return min(i, v.hi)
}
