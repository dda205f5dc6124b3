package sqltext

import (
	"strconv"
	"strings"
)

// lexer splits a part of a source into tokens, by PostgreSQL's rules or by MySQL's.
type lexer struct {
	src      *source
	pos, end int
	mysql    bool
	toks     []token
	marks    int  // ? placeholders so far
	executed bool // inside MySQL's /*! … */, whose text counts
}

func isSpace(c byte) bool { return c == ' ' || '\t' <= c && c <= '\r' }
func isDigit(c byte) bool { return '0' <= c && c <= '9' }
func starts(c byte) bool {
	return 'a' <= fold(c) && fold(c) <= 'z' || c == '_' || c >= 0x80 && c != holeByte
}
func continues(c byte) bool { return starts(c) || isDigit(c) || c == '$' }

// opChars are the characters of PostgreSQL's operators, but for ?, which is a token of its own.
const opChars = "+-*/<>=~!@#%^&|`"

// peek returns the byte n beyond the present one, 0 beyond the end.
func (x *lexer) peek(n int) byte {
	if x.pos+n >= x.end {
		return 0
	}
	return x.src.text[x.pos+n]
}

func (x *lexer) rest() string { return x.src.text[x.pos:x.end] }

// emit appends a token that ends at the present position.
func (x *lexer) emit(k kind, start int, text string) *token {
	x.toks = append(x.toks, token{kind: k, text: text, start: start, end: x.pos, holes: x.src.holesIn(start, x.pos)})
	return &x.toks[len(x.toks)-1]
}

func (x *lexer) take(k kind, n int) {
	start := x.pos
	x.pos = min(x.pos+n, x.end)
	x.emit(k, start, x.src.text[start:x.pos])
}

func (x *lexer) run() {
	for x.pos < x.end {
		c := x.peek(0)
		switch {
		case isSpace(c):
			x.pos++
		case x.comment():
		case c == '\'':
			x.quote(x.pos, x.mysql)
		case c == '"' && x.mysql:
			x.quote(x.pos, true)
		case c == '"' || c == '`' && x.mysql:
			x.ident(x.pos)
		case c == holeByte || starts(c):
			if !x.prefixed() {
				x.word()
			}
		case isDigit(c) || c == '.' && isDigit(x.peek(1)) && !x.afterName():
			x.number()
		case c == '$':
			x.dollar()
		case c == ':' || c == '@' || c == '?':
			x.placeholder(c)
		case strings.IndexByte("()[],;.", c) >= 0:
			x.take(punct, 1)
		case strings.IndexByte(opChars, c) >= 0:
			x.operator()
		default:
			x.take(op, 1)
		}
	}
}

// afterName reports whether the last token is glued to this one and a name or a bracket: t.5
// is no number.
func (x *lexer) afterName() bool {
	if len(x.toks) == 0 {
		return false
	}
	t := &x.toks[len(x.toks)-1]
	return t.end == x.pos && (t.kind != op && t.kind != punct || t.text == ")" || t.text == "]")
}

// word reads identifier characters and the holes between them. Holes with nothing glued to
// them are tokens of their own.
func (x *lexer) word() {
	start, letters := x.pos, false
	x.holesBeforeVerb()
	if x.pos > start {
		return
	}
	for x.pos < x.end && (continues(x.peek(0)) || x.peek(0) == holeByte) {
		letters = letters || x.peek(0) != holeByte
		x.pos++
	}
	if letters {
		t := x.emit(word, start, lower(x.src.text[start:x.pos]))
		t.open = x.src.text[x.pos-1] == holeByte
		return
	}
	end := x.pos
	for x.pos = start; x.pos < end; {
		x.take(hole, 1)
	}
}

// holesBeforeVerb takes the holes that a program puts right before a statement, such as a
// comment of its own, as tokens of their own.
func (x *lexer) holesBeforeVerb() {
	if n := len(x.toks); n > 0 && !x.toks[n-1].is(";") {
		return
	}
	n := 0
	for x.peek(n) == holeByte {
		n++
	}
	end := n
	for continues(x.peek(end)) {
		end++
	}
	if n == 0 || !verbs[lower(x.rest()[n:end])] {
		return
	}
	for ; n > 0; n-- {
		x.take(hole, 1)
	}
}

func (x *lexer) number() {
	start := x.pos
	for x.pos < x.end {
		c := x.peek(0)
		exp := (c == '+' || c == '-') && fold(x.src.text[x.pos-1]) == 'e' && !hasFold(x.src.text[start:], "0x") && isDigit(x.peek(1))
		switch {
		case c == '.' && x.peek(1) == '.': // PL/pgSQL's 1..10
			x.emit(num, start, x.src.text[start:x.pos])
			return
		case isDigit(c) || 'a' <= fold(c) && fold(c) <= 'z' || c == '_' || c == '.' || exp && x.pos > start:
			x.pos++
		default:
			x.emit(num, start, x.src.text[start:x.pos])
			return
		}
	}
	x.emit(num, start, x.src.text[start:x.pos])
}

// placeholder reads what begins with : or @ or ?.
func (x *lexer) placeholder(c byte) {
	start, next := x.pos, x.peek(1)
	switch {
	case c == '?':
		x.question()
	case c == ':' && (next == ':' || next == '='):
		x.take(op, 2)
	case c == '@' && next == '@' && x.mysql && starts(x.peek(2)):
		x.pos += 2
		x.name()
		x.emit(word, start, lower(x.src.text[start:x.pos]))
	case starts(next):
		x.pos++
		x.name()
		x.emit(param, start, x.src.text[start:x.pos]).index = -1
	case c == '@' && !x.mysql:
		x.operator()
	default:
		x.take(op, 1)
	}
}

func (x *lexer) name() {
	for x.pos < x.end && continues(x.peek(0)) {
		x.pos++
	}
}

// question reads ?, which is a placeholder, or one of PostgreSQL's operators ?, ?|, ?& and
// the doubled form that some libraries send as one of these.
func (x *lexer) question() {
	next, after := x.peek(1), x.peek(2)
	if next == '?' || next == '&' || next == '|' && after != '|' {
		x.take(op, 2)
		return
	}
	if len(x.toks) > 0 && x.toks[len(x.toks)-1].ends() && x.operandFollows() {
		x.take(op, 1)
		return
	}
	start := x.pos
	x.pos++
	for isDigit(x.peek(0)) {
		x.pos++
	}
	t := x.emit(param, start, "?")
	if n, err := strconv.Atoi(x.src.text[start+1 : x.pos]); err == nil {
		t.index = n
		return
	}
	t.index = x.marks
	x.marks++
}

// operandFollows reports whether an operand begins after the ? at the present position; a
// keyword that goes on with the clause is none.
func (x *lexer) operandFollows() bool {
	s := x.src.text[x.pos+1 : x.end]
	for len(s) > 0 && isSpace(s[0]) {
		s = s[1:]
	}
	if s == "" {
		return false
	}
	return s[0] == '\'' || s[0] == '$' || s[0] == '?' || s[0] == ':' && !strings.HasPrefix(s, "::")
}

// operator reads the longest operator, as PostgreSQL's scanner does: it stops before a
// comment, and ends with + or - only if it has one of ~!@#%^&|`. It also stops before @name.
func (x *lexer) operator() {
	if x.mysql {
		x.mysqlOperator()
		return
	}
	s, n := x.rest(), 0
	for n < len(s) && strings.IndexByte(opChars, s[n]) >= 0 {
		if n > 0 && s[n] == '@' && s[n-1] != '@' && n+1 < len(s) && starts(s[n+1]) {
			break
		}
		if strings.HasPrefix(s[n:], "--") || strings.HasPrefix(s[n:], "/*") {
			break
		}
		n++
	}
	end := n
	if !strings.ContainsAny(s[:n], "~!@#%^&|`") {
		for n > 1 && (s[n-1] == '+' || s[n-1] == '-') {
			n--
		}
	}
	x.take(op, max(n, 1))
	for ; n < end; n++ { // the signs that were cut off are operators of their own
		x.take(op, 1)
	}
}

// dollar reads $1, $tag$ … $tag$, or a $ that is nothing.
func (x *lexer) dollar() {
	start := x.pos
	switch next := x.peek(1); {
	case isDigit(next):
		x.pos++
		for isDigit(x.peek(0)) {
			x.pos++
		}
		text := x.src.text[start:x.pos]
		t := x.emit(param, start, text)
		if n, err := strconv.Atoi(text[1:]); err == nil && n > 0 {
			t.index = n - 1
		}
	case next == holeByte: // $⟨n⟩: a placeholder whose number is not known
		x.pos += 2
		x.emit(param, start, "$\xff").index = -1
	case !x.mysql && (next == '$' || starts(next)):
		x.dollarQuote()
	case x.mysql:
		x.word()
	default:
		x.take(op, 1)
	}
}

func (x *lexer) dollarQuote() {
	start, n := x.pos, 1
	for starts(x.peek(n)) || isDigit(x.peek(n)) {
		n++
	}
	if x.peek(n) != '$' {
		x.take(op, 1)
		return
	}
	tag := x.src.text[start : start+n+1]
	from := start + len(tag)
	to := x.end
	x.pos = x.end
	if i := strings.Index(x.src.text[from:x.end], tag); i >= 0 {
		to = from + i
		x.pos = to + len(tag)
	}
	x.emit(str, start, x.src.text[from:to]).body = [2]int{from, to}
}
