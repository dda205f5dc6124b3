package sqltext

import "strings"

// kind is the kind of a token. Comments and white space are none.
type kind uint8

const (
	word   kind = iota // identifier or keyword without quotes
	quoted             // quoted identifier
	str                // string literal
	num
	param // $1, ?, :name, @name
	hole
	op
	punct // ( ) [ ] , ; .
)

// token is one lexical unit of a source.
type token struct {
	kind       kind
	text       string // word: lower case; quoted, str: the value; param: "$1", "?", ":name", "@name"; else as written
	start, end int    // offsets in the source
	holes      []int  // numbers of the holes inside; a hole token has exactly one
	index      int    // param: its position, -1 when it has a name instead
	// open: a word with a hole at its end, so that a space and anything may follow.
	open bool
	// body is where a string's value stands in the source when it stands there as it is (no
	// escapes, no doubled quotes); both are 0 otherwise.
	body [2]int
}

// is reports whether t is the keyword, operator or punctuation s.
func (t *token) is(s string) bool {
	return t.text == s && (t.kind == word || t.kind == op || t.kind == punct) && t.holes == nil
}

// ends reports whether an operand may end with t, so that what follows is no operand of its own.
func (t *token) ends() bool {
	switch t.kind {
	case quoted, str, num, param, hole:
		return true
	case word:
		return !beforeOperand[t.text]
	case punct:
		return t.text == ")" || t.text == "]"
	}
	return false
}

// beforeOperand are the keywords that an operand follows: a ? after one of them is a
// placeholder, not PostgreSQL's JSON operator.
var beforeOperand = setOf(`select where and or not in like ilike similar between having on when then else
	case limit offset by values interval returning any all some from using is as distinct call execute do perform
	first next to return escape set into join lateral with union intersect except if while elsif update div mod xor rlike regexp`)

func setOf(words string) map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(words) {
		m[w] = true
	}
	return m
}

// unit is a run of tokens that is parsed together: a script, or the body of a DO block.
type unit struct {
	src   *source
	mysql bool
	toks  []token
	// mate is, for each opening bracket, the index of its closing one (the number of tokens
	// when it is missing) and the other way round; -1 for other tokens.
	mate []int
}

func newUnit(src *source, start, end int, mysql bool) *unit {
	x := lexer{src: src, pos: start, end: end, mysql: mysql}
	x.run()
	u := &unit{src: src, mysql: mysql, toks: x.toks, mate: make([]int, len(x.toks))}
	var stack []int
	for i := range u.toks {
		t := &u.toks[i]
		u.mate[i] = -1
		switch {
		case t.kind != punct:
		case t.text == "(" || t.text == "[":
			u.mate[i] = len(u.toks)
			stack = append(stack, i)
		case t.text == ")" || t.text == "]":
			// A bracket of the other kind was never closed: leave it open to the end.
			for len(stack) > 0 {
				o := stack[len(stack)-1]
				stack = stack[:len(stack)-1]
				if (u.toks[o].text == "(") == (t.text == ")") {
					u.mate[o], u.mate[i] = i, o
					break
				}
			}
		}
	}
	return u
}

// at returns token i, or an empty one outside [lo, hi).
func (u *unit) at(i, lo, hi int) *token {
	if i < lo || i >= hi || i < 0 || i >= len(u.toks) {
		return &none
	}
	return &u.toks[i]
}

// none stands where no token is: an operator without text is equal to nothing.
var none = token{kind: op}

// skip returns the index of the last token of what begins at i: the closing bracket of an
// opening one, but never beyond hi-1.
func (u *unit) skip(i, hi int) int {
	t := &u.toks[i]
	if t.kind == punct && (t.text == "(" || t.text == "[") {
		return min(u.mate[i], hi-1)
	}
	return i
}

// mysqlScopes are what follows @@ in MySQL's system variables.
var mysqlScopes = setOf("session global local")

// readScript chooses the dialect and splits the text into tokens. MySQL's is chosen for
// backticks, for @@session and for a MySQL lock function outside comments and strings.
func readScript(src *source) *unit {
	u := newUnit(src, 0, len(src.text), false)
	pg := false
	for i := range u.toks {
		t := &u.toks[i]
		if t.kind == op && strings.Contains(t.text, "`") || t.is("@@") && mysqlScopes[u.at(i+1, 0, len(u.toks)).text] {
			return newUnit(src, 0, len(src.text), true)
		}
		// MySQL has no numbered placeholders and no dollar quotes.
		dollar := t.kind == str && src.text[t.start] == '$'
		pg = pg || dollar || t.kind == param && t.text[0] == '$'
	}
	if pg || !namesMySQL(src.text) {
		return u
	}
	// What PostgreSQL reads as a string may be code to MySQL (\' and #), so both readings count.
	if m := newUnit(src, 0, len(src.text), true); u.callsMySQL() || m.callsMySQL() {
		return m
	}
	return u
}

func namesMySQL(s string) bool {
	for i := 0; i+len("get_lock") <= len(s); i++ {
		if c := fold(s[i]); c != 'g' && c != 'r' {
			continue
		}
		if hasFold(s[i:], "get_lock") || hasFold(s[i:], "release_lock") || hasFold(s[i:], "release_all_locks") {
			return true
		}
	}
	return false
}

func (u *unit) callsMySQL() bool {
	for i := range u.toks {
		if f := u.lockFunc(i, 0, len(u.toks)); f != nil && f.System == MySQL {
			return true
		}
	}
	return false
}
