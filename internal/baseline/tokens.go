package baseline

import (
	"crypto/sha256"
	"encoding/hex"
	"go/scanner"
	"go/token"
	"slices"
	"strings"
	"unicode/utf8"
)

// lexeme is a token with its text.
type lexeme struct {
	kind token.Token
	text string
}

// text writes the tokens of src in one line. It depends on nothing else: not on white space, line breaks,
// comments, the comma that a line break wants before a bracket, or the case of a number's letters, which gofmt
// changes.
func text(src []byte) string {
	var out strings.Builder
	var last lexeme
	space := false // wanted after last
	for _, l := range lexemes(src) {
		between := operator(l.kind) && operand(last.kind) // and so no sign of what follows
		if space || between || word(last.kind) && word(l.kind) {
			out.WriteByte(' ')
		}
		out.WriteString(l.text)
		space = between || slices.Contains(separators, l.kind)
		last = l
	}
	return out.String()
}

var (
	separators = []token.Token{token.COMMA, token.SEMICOLON}
	closers    = []token.Token{token.RPAREN, token.RBRACE, token.RBRACK, token.EOF}
	tight      = []token.Token{token.LPAREN, token.LBRACE, token.LBRACK, token.PERIOD, token.COLON, token.ELLIPSIS}
)

func word(t token.Token) bool    { return t.IsLiteral() || t.IsKeyword() }
func operand(t token.Token) bool { return t.IsLiteral() || slices.Contains(closers[:3], t) }

// operator reports whether t stands between two operands or before one.
func operator(t token.Token) bool {
	return t.IsOperator() && !slices.Contains(slices.Concat(separators, closers, tight), t)
}

// lexemes gives the tokens of src without those that are there only because a line ends.
func lexemes(src []byte) []lexeme {
	file := token.NewFileSet().AddFile("", -1, len(src))
	var s scanner.Scanner
	s.Init(file, src, nil, 0)
	var list []lexeme
	for {
		_, kind, lit := s.Scan()
		for n := len(list) - 1; n >= 0 && slices.Contains(closers, kind) && slices.Contains(separators, list[n].kind); n-- {
			list = list[:n]
		}
		switch {
		case kind == token.EOF:
			return list
		case kind == token.INT || kind == token.FLOAT || kind == token.IMAG:
			lit = strings.ToLower(lit)
		case kind.IsOperator():
			lit = kind.String()
		}
		list = append(list, lexeme{kind, lit})
	}
}

// long is how many bytes a text has at most that is kept whole.
const long = 200

// shorten cuts a long text and adds a hash of all of it, so that a line stays readable and differs where the
// text does.
func shorten(text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= long {
		return text
	}
	sum := sha256.Sum256([]byte(text))
	end := long - 40
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + " … " + hex.EncodeToString(sum[:8])
}
