package sqltext

import (
	"sort"
	"strings"
)

// holeByte stands for a hole in a source's text. It occurs in no UTF-8 text; where a literal
// has it nevertheless, another invalid byte takes its place, so that offsets stay right.
const holeByte = 0xFF

// source is a Text in one piece, with the way back to its literals.
type source struct {
	text   string
	holeAt []int // offsets of the hole bytes
	holeNo []int // their numbers
	starts []int // offset of each literal; nil when no way back is known (a decoded string)
	cut    bool  // the text was longer than MaxLen
}

func newSource(t Text) *source {
	s := &source{}
	var b strings.Builder
	for i, l := range t.Lits {
		if i > 0 {
			if b.Len() >= MaxLen {
				s.cut = true
				break
			}
			s.holeAt = append(s.holeAt, b.Len())
			s.holeNo = append(s.holeNo, i-1)
			b.WriteByte(holeByte)
		}
		s.starts = append(s.starts, b.Len())
		if room := MaxLen - b.Len(); len(l) > room {
			l, s.cut = l[:max(0, room)], true
		}
		if strings.IndexByte(l, holeByte) >= 0 {
			l = strings.ReplaceAll(l, "\xff", "\xfe")
		}
		b.WriteString(l)
		if s.cut {
			break
		}
	}
	s.text = b.String()
	return s
}

// decoded is the source of a string literal's value. Its hole bytes are those numbered in holes.
func decoded(value string, holes []int) *source {
	s := &source{text: value, holeNo: holes}
	for i := 0; i < len(value); i++ {
		if value[i] == holeByte {
			s.holeAt = append(s.holeAt, i)
		}
	}
	return s
}

// holesIn returns the numbers of the holes between two offsets, nil when there is none.
func (s *source) holesIn(start, end int) []int {
	i := sort.SearchInts(s.holeAt, start)
	j := sort.SearchInts(s.holeAt, end)
	if i == j {
		return nil
	}
	return s.holeNo[i:j]
}

// locate translates a span into offsets of one literal; lit is -1 when it is not in one.
func (s *source) locate(start, end int) (lit, from, to int) {
	if s.starts == nil || s.holesIn(start, end) != nil {
		return -1, 0, 0
	}
	lit = sort.SearchInts(s.starts, start+1) - 1
	return lit, start - s.starts[lit], end - s.starts[lit]
}

// show puts ⟨n⟩ in place of the hole bytes of a piece of text.
func show(text string, holes []int) string {
	if len(holes) == 0 {
		return text
	}
	var b strings.Builder
	n := 0
	for i := 0; i < len(text); i++ {
		if text[i] != holeByte {
			b.WriteByte(text[i])
			continue
		}
		if n < len(holes) {
			b.WriteString("⟨" + itoa(holes[n]) + "⟩")
		}
		n++
	}
	return b.String()
}
