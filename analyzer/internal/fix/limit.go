package fix

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"

	"github.com/advisorylint/advisorylint/analyzer/internal/lockflow"
)

// LowerLimit moves a LIMIT into a subquery below the lock function, in the one literal that has the
// text, when the statement is simple enough to be certain of its meaning (see lower).
func LowerLimit(pass *analysis.Pass, e *lockflow.Event) []analysis.SuggestedFix {
	s := newSite(pass, e)
	if s == nil || e.Lock == nil || e.Lock.Column < 0 {
		return nil
	}
	if _, ok := s.sends(); !ok || e.Script == nil || len(e.Script.Stmts) != 1 || e.Stmt == nil || len(e.Stmt.Calls) != 1 {
		return nil
	}
	lit := s.literal(e.Send.SQL)
	if lit == nil {
		return nil
	}
	text := lit.Value[1 : len(lit.Value)-1]
	if lit.Value[0] == '"' && strings.Contains(text, `\`) {
		return nil // offsets and quotes would not be the text's
	}
	lowered, ok := lower(text, e.Lock.Func.Name)
	if !ok {
		return nil
	}
	return s.fix("Move the LIMIT into a subquery below the lock",
		[]analysis.TextEdit{{Pos: lit.Pos() + 1, End: lit.End() - 1, NewText: []byte(lowered)}})
}

// literal is the literal in this file that x is, by itself or by a constant or local variable that is used
// nowhere else.
func (s *site) literal(x ast.Expr) *ast.BasicLit {
	switch x := ast.Unparen(x).(type) {
	case *ast.BasicLit:
		if x.Kind == token.STRING {
			return x
		}
	case *ast.Ident:
		obj := s.pass.TypesInfo.Uses[x]
		if obj == nil || s.uses(obj) != 1 {
			return nil
		}
		switch obj := obj.(type) {
		case *types.Const:
			if obj.Pkg() != s.pass.Pkg || obj.Exported() {
				return nil // another package may use it
			}
		case *types.Var:
			if !s.isLocal(obj) {
				return nil
			}
		}
		return s.initial(obj)
	}
	return nil
}

// uses counts the uses of obj in the package; an assignment to it is one.
func (s *site) uses(obj types.Object) (n int) {
	for _, used := range s.pass.TypesInfo.Uses {
		if used == obj {
			n++
		}
	}
	return n
}

// initial is the literal with which this file declares obj.
func (s *site) initial(obj types.Object) (lit *ast.BasicLit) {
	declared := func(names []ast.Expr, values []ast.Expr) {
		for i, name := range names {
			id, ok := name.(*ast.Ident)
			if ok && s.pass.TypesInfo.Defs[id] == obj && i < len(values) && len(names) == len(values) {
				lit, _ = ast.Unparen(values[i]).(*ast.BasicLit)
			}
		}
	}
	ast.Inspect(s.e.File, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			declared(n.Lhs, n.Rhs)
		case *ast.ValueSpec:
			var names []ast.Expr
			for _, id := range n.Names {
				names = append(names, id)
			}
			declared(names, n.Values)
		}
		return lit == nil
	})
	return lit
}

// lower rewrites
//
//	SELECT a, lock(b) FROM … WHERE … ORDER BY … LIMIT n
//
// into
//
//	SELECT q.a, lock(q.b) FROM (SELECT a, b FROM … WHERE … ORDER BY … LIMIT n) AS q
//
// It takes only select lists of plain columns and the one lock call. The parts keep their order, so
// that placeholders that count by position keep their arguments.
func lower(sql, lock string) (string, bool) {
	toks, ok := scan(sql)
	if !ok || len(toks) == 0 || !toks[0].is("select") {
		return "", false
	}
	if toks[len(toks)-1].text == ";" {
		toks = toks[:len(toks)-1]
	}
	from := slices.IndexFunc(toks, func(t tok) bool { return t.depth == 0 && t.is("from") })
	if from < 2 || !simple(toks[from:]) {
		return "", false
	}
	l := lowering{sql: sql, lock: lock, alias: freeAlias(toks)}
	for _, item := range split(toks[1:from]) {
		if !l.item(item) {
			return "", false
		}
	}
	if l.locks != 1 || len(l.columns) == 0 || l.clashes(toks[from:]) {
		return "", false
	}
	first, last := toks[1], toks[from-1]
	body := toks[from:]
	end := body[len(body)-1].end
	kw := words(toks[0].text)
	return sql[:first.start] + strings.Join(l.outer, ", ") + sql[last.end:body[0].start] +
		kw("FROM (SELECT ") + strings.Join(l.columns, ", ") + " " + sql[body[0].start:end] +
		kw(") AS ") + l.alias + sql[end:], true
}

// words gives keywords in the case that the statement's own SELECT has.
func words(sel string) func(string) string {
	if sel == strings.ToLower(sel) {
		return strings.ToLower
	}
	return func(s string) string { return s }
}

// notSimple are words that make the outer level more than a filter, a sort and a limit.
var notSimple = []string{"union", "intersect", "except", "group", "having", "window", "into", "select", "with"}

// simple reports whether the clauses from FROM on are a filter, a sort by expressions and a limit.
func simple(toks []tok) bool {
	for i, t := range toks {
		if t.depth == 0 && (slices.ContainsFunc(notSimple, t.is) || t.text == ";") {
			return false
		}
		// ORDER BY 2 counts select items, and those change.
		if t.depth == 0 && t.kind == number && i > 0 && (toks[i-1].is("by") || toks[i-1].text == ",") {
			return false
		}
	}
	return true
}

func freeAlias(toks []tok) string {
	for _, a := range []string{"q", "picked", "limited"} {
		if !slices.ContainsFunc(toks, func(t tok) bool { return t.is(a) }) {
			return a
		}
	}
	return "lowered_limit"
}

// split cuts a select list at its commas.
func split(toks []tok) (items [][]tok) {
	start := 0
	for i, t := range toks {
		if t.depth == 0 && t.text == "," {
			items = append(items, toks[start:i])
			start = i + 1
		}
	}
	return append(items, toks[start:])
}

// lowering collects the two select lists.
type lowering struct {
	sql, lock, alias string
	outer            []string // the outer select list
	columns          []string // the inner one, each column once, as the text has it
	names            []string // the columns' names without their tables
	aliases          []string // of the outer list; the inner clauses must not use them
	locks            int
}

func (l *lowering) item(item []tok) bool {
	item, as := l.cutAlias(item)
	if len(item) == 0 {
		return false
	}
	if n := columnAt(item, 0); n == len(item) {
		name, ok := l.column(item)
		l.outer = append(l.outer, name+as)
		return ok
	}
	call, ok := l.call(item)
	l.outer = append(l.outer, call+as)
	l.locks++
	return ok
}

// cutAlias takes "AS name" off an item.
func (l *lowering) cutAlias(item []tok) (rest []tok, as string) {
	n := len(item)
	if n < 3 || !item[n-2].is("as") || item[n-2].depth > 0 || item[n-1].kind != word {
		return item, ""
	}
	l.aliases = append(l.aliases, item[n-1].text)
	return item[:n-2], l.sql[item[n-3].end:item[n-1].end]
}

// columnAt is the number of tokens of the column reference, "a" or "t.a", that begins at i; 0 when
// none does.
func columnAt(toks []tok, i int) int {
	if toks[i].kind != word && toks[i].kind != quoted {
		return 0
	}
	n := 1
	if i+2 < len(toks) && toks[i+1].text == "." && (toks[i+2].kind == word || toks[i+2].kind == quoted) {
		n = 3
	}
	if i+n < len(toks) && (toks[i+n].text == "(" || toks[i+n].text == ".") {
		return 0
	}
	return n
}

// column adds a column to the inner list and gives its name in the outer one. Two columns of one
// name would be ambiguous there.
func (l *lowering) column(ref []tok) (string, bool) {
	text, name := l.sql[ref[0].start:ref[len(ref)-1].end], ref[len(ref)-1].text
	if !slices.Contains(l.columns, text) {
		if slices.Contains(l.names, name) {
			return "", false
		}
		l.columns = append(l.columns, text)
		l.names = append(l.names, name)
	}
	return l.alias + "." + name, true
}

// notColumns are words in an expression that are no columns; an expression with one is not rewritten.
var notColumns = []string{"as", "and", "or", "not", "null", "true", "false", "case", "cast", "interval",
	"select", "distinct", "is", "in", "like", "at", "array", "row", "over", "filter", "collate", "exists"}

// call gives the lock call with its columns taken from the subquery.
func (l *lowering) call(item []tok) (string, bool) {
	if !item[0].is(l.lock) || len(item) < 3 || item[1].text != "(" || item[len(item)-1].text != ")" ||
		slices.ContainsFunc(item[2:len(item)-1], func(t tok) bool { return t.depth == 0 }) {
		return "", false
	}
	var b strings.Builder
	at := item[0].start
	for i := 2; i < len(item)-1; {
		if slices.ContainsFunc(notColumns, item[i].is) {
			return "", false
		}
		n, isType := columnAt(item, i), item[i-1].text == "::"
		if isType && item[i+1].kind == word || n == 0 && item[i+1].text == "." {
			return "", false // a type of two words, a column with its schema
		}
		if isType || n == 0 {
			i += max(n, 1)
			continue
		}
		name, ok := l.column(item[i : i+n])
		if !ok {
			return "", false
		}
		b.WriteString(l.sql[at:item[i].start] + name)
		i += n
		at = item[i-1].end
	}
	b.WriteString(l.sql[at:item[len(item)-1].end])
	return b.String(), true
}

// clashes reports whether the clauses use a name that only the outer select list has.
func (l *lowering) clashes(toks []tok) bool {
	return slices.ContainsFunc(l.aliases, func(name string) bool {
		return slices.ContainsFunc(toks, func(t tok) bool { return t.is(name) })
	})
}

// tok is a token of SQL text.
type tok struct {
	kind       kind
	text       string
	start, end int
	depth      int // of parentheses; a pair counts as outside of itself
}

type kind uint8

const (
	punct kind = iota
	word
	quoted // "name"
	number
	str
)

func (t tok) is(w string) bool { return t.kind == word && strings.EqualFold(t.text, w) }

// scan cuts simple SQL into tokens. It gives up on all that needs a real lexer: comments, dollar
// quotes, escapes, other prefixes of strings, back quotes.
func scan(sql string) (toks []tok, ok bool) {
	if strings.Contains(sql, "--") || strings.ContainsAny(sql, "\\#`") || strings.Contains(sql, "/*") || strings.Contains(sql, "$$") {
		return nil, false
	}
	depth := 0
	for i := 0; i < len(sql); {
		start, c := i, sql[i]
		t := tok{depth: depth}
		switch {
		case strings.IndexByte(" \t\r\n", c) >= 0:
			i++
			continue
		case c == '\'' || c == '"':
			end := strings.IndexByte(sql[i+1:], c)
			if end < 0 {
				return nil, false
			}
			i += end + 2
			t.kind = map[byte]kind{'\'': str, '"': quoted}[c]
		case isWord(c):
			for i < len(sql) && isWord(sql[i]) {
				i++
			}
			t.kind = word
			if '0' <= c && c <= '9' {
				t.kind = number
			}
			if i < len(sql) && sql[i] == '\'' {
				return nil, false // E'', B'', U&''
			}
		case c == '$' || c == '@' || c == ':' && i+1 < len(sql) && isWord(sql[i+1]):
			for i++; i < len(sql) && isWord(sql[i]); i++ {
			}
		default:
			i++
			if strings.HasPrefix(sql[start:], "::") {
				i++
			}
			if c == ')' {
				depth--
				t.depth = depth
			}
			if c == '(' {
				depth++
			}
		}
		t.text, t.start, t.end = sql[start:i], start, i
		toks = append(toks, t)
	}
	return toks, depth == 0
}

func isWord(c byte) bool {
	return c == '_' || c >= 0x80 || '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z'
}
