package findings

import (
	"go/token"
	"os"
	"strings"
)

// Sources reads files, each once, to count columns in them. A file that cannot be read has no lines.
type Sources struct{ lines map[string][]string }

// Span gives the part of a file between two positions. The end is left out where it is not known, is in
// another file, as with a //line comment between the two, or comes before the start.
func (s *Sources) Span(start, end token.Position) Span {
	span := Span{File: start.Filename, Start: s.position(start)}
	e := s.position(end)
	if end.Filename == start.Filename && !before(e, span.Start) {
		span.End = e
	}
	return span
}

func before(a, b Position) bool {
	return a.Line < b.Line || a.Line == b.Line && a.Column < b.Column
}

func (s *Sources) position(at token.Position) Position {
	p := Position{Line: at.Line, Column: at.Column}
	// A //line comment may speak of a file that is not there, or shorter.
	if line, ok := s.line(at.Filename, at.Line); ok && 0 < at.Column && at.Column <= len(line)+1 {
		p.UTF16 = utf16Len(line[:at.Column-1]) + 1
	}
	return p
}

// Line gives the text of a line without the spaces round it, "" when there is no such line.
func (s *Sources) Line(file string, number int) string {
	line, _ := s.line(file, number)
	return strings.TrimSpace(line)
}

func (s *Sources) line(file string, number int) (string, bool) {
	lines, ok := s.lines[file]
	if !ok {
		if data, err := os.ReadFile(file); err == nil {
			lines = strings.Split(string(data), "\n")
		}
		if s.lines == nil {
			s.lines = map[string][]string{}
		}
		s.lines[file] = lines
	}
	if number < 1 || number > len(lines) {
		return "", false
	}
	return lines[number-1], true
}

// utf16Len is how many code units text has in UTF-16. A byte that is not UTF-8 is read as U+FFFD, one unit.
func utf16Len(text string) int {
	n := 0
	for _, r := range text {
		n++
		if r > 0xFFFF {
			n++
		}
	}
	return n
}
