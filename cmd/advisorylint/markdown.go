package main

import (
	"strings"
	"unicode/utf8"
)

// renderMarkdown lays the pages of docs/rules out for a terminal: headings, paragraphs, lists and
// fenced code, which is what they are written in. Anything else, a table for one, stays as it is.
func renderMarkdown(text string, columns int, paint palette) string {
	m := markdown{columns: columns, paint: paint}
	for line := range strings.Lines(text) {
		m.line(strings.TrimRight(line, " \t\r\n"))
	}
	m.flush()
	return m.out.String()
}

type markdown struct {
	out     strings.Builder
	columns int
	paint   palette

	fenced bool
	lead   string // what the paragraph under way starts with: "", or a list's "- "
	words  []string
}

func (m *markdown) line(line string) {
	trimmed := strings.TrimLeft(line, " ")
	switch {
	case strings.HasPrefix(trimmed, "```"):
		m.flush()
		m.fenced = !m.fenced
	case m.fenced:
		if line != "" {
			line = "    " + m.paint.code(line)
		}
		m.out.WriteString(line + "\n")
	case line == "":
		m.flush()
		m.out.WriteByte('\n')
	case strings.HasPrefix(line, "#"):
		m.flush()
		m.out.WriteString(m.paint.title(strings.TrimLeft(line, "# ")) + "\n")
	case strings.HasPrefix(line, "|"):
		m.flush()
		m.out.WriteString(line + "\n")
	case strings.HasPrefix(trimmed, "- "), strings.HasPrefix(trimmed, "* "):
		m.flush()
		m.lead = line[:len(line)-len(trimmed)] + "- "
		m.words = strings.Fields(trimmed[2:])
	default:
		m.words = append(m.words, strings.Fields(line)...)
	}
}

// flush writes the paragraph under way, wrapped, its later lines in line with its first word.
func (m *markdown) flush() {
	if len(m.words) == 0 {
		return
	}
	words := m.inline(m.words)
	indent := strings.Repeat(" ", len(m.lead))
	m.out.WriteString(m.lead)
	column := len(m.lead)
	for i, word := range words {
		n := utf8.RuneCountInString(m.words[i])
		switch {
		case i == 0:
		case column+1+n > m.columns:
			m.out.WriteString("\n" + indent)
			column = len(indent)
		default:
			m.out.WriteByte(' ')
			column++
		}
		m.out.WriteString(word)
		column += n
	}
	m.out.WriteByte('\n')
	m.lead, m.words = "", nil
}

// inline colours what stands between backquotes, in place of them. A span may go over several words.
func (m *markdown) inline(words []string) []string {
	text := strings.Join(words, " ")
	if !m.paint.on || strings.Count(text, "`")%2 != 0 {
		return words
	}
	spans := strings.Split(text, "`")
	for i := 1; i < len(spans); i += 2 {
		parts := strings.Split(spans[i], " ")
		for j, part := range parts {
			parts[j] = m.paint.code(part)
		}
		spans[i] = strings.Join(parts, " ")
	}
	return strings.Split(strings.Join(spans, ""), " ")
}
