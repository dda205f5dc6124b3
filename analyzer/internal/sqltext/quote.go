package sqltext

import "strings"

// comment skips a comment. PostgreSQL nests /* */; MySQL does not, runs the text of /*! … */,
// takes -- only before white space, and has #.
func (x *lexer) comment() bool {
	s := x.rest()
	switch {
	case strings.HasPrefix(s, "--") && (!x.mysql || len(s) == 2 || isSpace(s[2])), x.mysql && s[0] == '#':
		if i := strings.IndexByte(s, '\n'); i >= 0 {
			x.pos += i + 1
		} else {
			x.pos = x.end
		}
	case x.mysql && strings.HasPrefix(s, "/*!"):
		x.pos += 3
		for isDigit(x.peek(0)) {
			x.pos++
		}
		x.executed = true
	case x.executed && strings.HasPrefix(s, "*/"):
		x.pos += 2
		x.executed = false
	case strings.HasPrefix(s, "/*"):
		x.pos += blockComment(s, !x.mysql)
	default:
		return false
	}
	return true
}

// blockComment returns the length of the comment at the start of s.
func blockComment(s string, nests bool) int {
	depth := 0
	for i := 0; i+1 < len(s); i++ {
		switch {
		case s[i] == '/' && s[i+1] == '*' && (nests || depth == 0):
			depth++
			i++
		case s[i] == '*' && s[i+1] == '/':
			depth--
			i++
			if depth == 0 {
				return i + 1
			}
		}
	}
	return len(s)
}

// prefixed reads a string or identifier with a prefix (E, B, X, N, U&, MySQL's
// charset introducer _utf8mb4), if one stands here.
func (x *lexer) prefixed() bool {
	start, c, next := x.pos, fold(x.peek(0)), x.peek(1)
	switch {
	case next == '\'' && (c == 'e' || c == 'b' || c == 'x' || c == 'n'):
		x.pos++
		x.quote(start, c == 'e' || x.mysql)
	case c == 'u' && next == '&' && x.peek(2) == '\'' && !x.mysql:
		x.pos += 2
		x.quote(start, false)
	case c == 'u' && next == '&' && x.peek(2) == '"' && !x.mysql:
		x.pos += 2
		x.ident(start)
	case c == '_' && x.mysql:
		n := 1
		for continues(x.peek(n)) {
			n++
		}
		if x.peek(n) != '\'' && x.peek(n) != '"' {
			return false
		}
		x.pos += n
		x.quote(start, true)
	default:
		return false
	}
	return true
}

// quote reads a string literal; start is where its prefix begins.
func (x *lexer) quote(start int, escapes bool) {
	q, from := x.peek(0), x.pos+1
	raw, to := true, x.end
	for x.pos = from; x.pos < x.end; x.pos++ {
		c := x.peek(0)
		if c == '\\' && escapes {
			raw = false
			x.pos++
			continue
		}
		if c != q {
			continue
		}
		if x.peek(1) != q {
			to = x.pos
			break
		}
		raw = false
		x.pos++
	}
	x.pos = min(x.pos, x.end)
	to = min(to, x.end)
	if x.pos < x.end {
		x.pos++
	}
	value := x.src.text[from:to]
	if !raw {
		value = unquote(value, q, escapes)
	}
	t := x.emit(str, start, value)
	if raw {
		t.body = [2]int{from, to}
	}
}

// unquote undoes doubled quotes and the escapes that matter for reading SQL inside the
// string. Other escapes stay as they are: they may not make up a name that Mentions, which
// sees the text undecoded, would miss.
func unquote(s string, q byte, escapes bool) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		c := s[i]
		if i+1 == len(s) {
			b.WriteByte(c)
			continue
		}
		switch next := s[i+1]; {
		case c == q && next == q:
			i++
			b.WriteByte(q)
		case c == '\\' && escapes && strings.IndexByte(`'"\`, next) >= 0:
			i++
			b.WriteByte(next)
		case c == '\\' && escapes && (next == 'n' || next == 't' || next == 'r'):
			i++
			b.WriteByte(' ')
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// ident reads a quoted identifier. Its value keeps its case, and U& escapes stay undecoded.
func (x *lexer) ident(start int) {
	q, from := x.peek(0), x.pos+1
	for x.pos = from; x.pos < x.end; x.pos++ {
		if x.peek(0) != q {
			continue
		}
		if x.peek(1) != q {
			break
		}
		x.pos++
	}
	to := min(x.pos, x.end)
	x.pos = min(to+1, x.end)
	x.emit(quoted, start, strings.ReplaceAll(x.src.text[from:to], string([]byte{q, q}), string(q)))
}

// mysqlOperators are the operators of more than one character.
var mysqlOperators = []string{"<=>", "->>", "<<", ">>", "<=", ">=", "<>", "!=", "&&", "||", ":=", "->"}

func (x *lexer) mysqlOperator() {
	for _, o := range mysqlOperators {
		if strings.HasPrefix(x.rest(), o) {
			x.take(op, len(o))
			return
		}
	}
	x.take(op, 1)
}
