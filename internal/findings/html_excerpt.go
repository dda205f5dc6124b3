package findings

import (
	"go/scanner"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// longest is how many lines of a finding's span an excerpt shows.
const longest = 12

// htmlLine is a line of source.
type htmlLine struct {
	Number int
	Marked bool // it is of the span
	Parts  []htmlPart
}

// htmlPart is a piece of a line that looks one way.
type htmlPart struct {
	Text  string
	Class string // how it is coloured, or ""
	Mark  bool   // it is of the span
}

// excerpts reads sources, each once.
type excerpts map[string]*source

// source is a file's text with what is coloured in it.
type source struct {
	lines  []string
	starts []int // offsets of the lines
	words  []word
}

// word is bytes of a file that have a class.
type word struct {
	start, end int
	class      string
}

func (x excerpts) source(file string) *source {
	if s, ok := x[file]; ok {
		return s
	}
	s := &source{}
	x[file] = s
	text, err := os.ReadFile(file)
	if err != nil {
		return s
	}
	s.lines = strings.Split(string(text), "\n")
	offset := 0
	for i, line := range s.lines {
		s.starts = append(s.starts, offset)
		offset += len(line) + 1
		s.lines[i] = strings.TrimSuffix(line, "\r")
	}
	if filepath.Ext(file) == ".go" {
		s.words = coloured(text)
	}
	return s
}

// coloured gives the words of a Go file that are not in the text's own colour. What does not scan stays as it is.
func coloured(text []byte) []word {
	var words []word
	file := token.NewFileSet().AddFile("", -1, len(text))
	var s scanner.Scanner
	s.Init(file, text, nil, scanner.ScanComments)
	for {
		pos, tok, literal := s.Scan()
		class := ""
		switch {
		case tok == token.EOF:
			return words
		case tok == token.COMMENT:
			class = "comment"
		case tok == token.STRING, tok == token.CHAR:
			class = "string"
		case tok.IsKeyword():
			class, literal = "keyword", tok.String()
		case tok == token.INT, tok == token.FLOAT, tok == token.IMAG:
			class = "literal"
		default:
			continue
		}
		start := file.Offset(pos)
		words = append(words, word{start, start + length(text[start:], literal), class})
	}
}

// length is how many bytes a literal has in the text that starts with it: more than the scanner gives when it
// has left carriage returns out of a raw string or a comment.
func length(text []byte, literal string) int {
	n := 0
	for i := range text {
		if n == len(literal) {
			return i
		}
		if text[i] == literal[n] {
			n++
		}
	}
	return len(text)
}

// of gives the lines of a span and those around it, without the indentation that they share. A file that
// cannot be read, or is shorter than it was, gives none.
func (x excerpts) of(span Span, around int) []htmlLine {
	s := x.source(span.File)
	first := span.Start.Line
	if first < 1 || first > len(s.lines) {
		return nil
	}
	last := min(max(first, span.End.Line), first+longest-1, len(s.lines))
	from, to := s.around(first, last, around)
	indent := shared(s.lines[from-1 : to])
	var lines []htmlLine
	for n := from; n <= to; n++ {
		line := htmlLine{Number: n, Marked: first <= n && n <= last}
		markFrom, markTo := s.marked(span, n)
		line.Parts = s.parts(n, min(indent, len(s.lines[n-1])), markFrom, markTo)
		lines = append(lines, line)
	}
	return lines
}

// around gives the lines from first to last with as many before and after them, but for blank lines at the ends
// and, as far as gofmt's layout shows it, for those of other functions.
func (s *source) around(first, last, n int) (from, to int) {
	from, to = first, last
	for from > max(1, first-n) && !strings.HasPrefix(s.lines[from-1], "func ") && !strings.HasPrefix(s.lines[from-2], "}") {
		from--
	}
	for to < min(len(s.lines), last+n) && !strings.HasPrefix(s.lines[to-1], "}") {
		to++
	}
	for from < first && strings.TrimSpace(s.lines[from-1]) == "" {
		from++
	}
	for to > last && strings.TrimSpace(s.lines[to-1]) == "" {
		to--
	}
	return from, to
}

// shared is how many spaces and tabs all lines start with that are not blank.
func shared(lines []string) int {
	indent := ""
	seen := false
	for _, line := range lines {
		text := strings.TrimLeft(line, " \t")
		if text == "" {
			continue
		}
		own := line[:len(line)-len(text)]
		if !seen {
			indent, seen = own, true
		}
		for !strings.HasPrefix(own, indent) {
			indent = indent[:len(indent)-1]
		}
	}
	return len(indent)
}

// marked gives the bytes of a line that are of the span, none when its columns are not known.
func (s *source) marked(span Span, number int) (from, to int) {
	if span.End.Line == 0 || span.Start.Column == 0 || span.End.Column == 0 || number < span.Start.Line || number > span.End.Line {
		return 0, 0
	}
	line := s.lines[number-1]
	from, to = len(line)-len(strings.TrimLeft(line, " \t")), len(line)
	if number == span.Start.Line {
		from = span.Start.Column - 1
	}
	if number == span.End.Line {
		to = span.End.Column - 1
	}
	to = min(to, len(line))
	return min(from, to), to
}

// parts cuts a line, from a byte of it on, where its look changes.
func (s *source) parts(number, from, markFrom, markTo int) []htmlPart {
	line, offset := s.lines[number-1], s.starts[number-1]
	cuts := []int{from, max(from, markFrom), max(from, markTo), len(line)}
	i, _ := slices.BinarySearchFunc(s.words, offset, func(w word, at int) int { return w.end - at })
	var words []word
	for ; i < len(s.words) && s.words[i].start < offset+len(line); i++ {
		w := word{max(s.words[i].start-offset, from), min(s.words[i].end-offset, len(line)), s.words[i].class}
		if w.start < w.end {
			words = append(words, w)
			cuts = append(cuts, w.start, w.end)
		}
	}
	slices.Sort(cuts)
	cuts = slices.Compact(cuts)
	var parts []htmlPart
	for i := 1; i < len(cuts); i++ {
		part := htmlPart{Text: strings.ToValidUTF8(line[cuts[i-1]:cuts[i]], "\uFFFD"), Mark: markFrom <= cuts[i-1] && cuts[i] <= markTo}
		for _, w := range words {
			if w.start <= cuts[i-1] && cuts[i] <= w.end {
				part.Class = w.class
			}
		}
		parts = append(parts, part)
	}
	return parts
}
