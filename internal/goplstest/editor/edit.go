package editor

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf16"
)

// TextEdit puts another text in the place of a part of a document.
type TextEdit struct {
	Range   Range  `json:"range"`
	NewText string `json:"newText"`
}

// Apply gives a text with edits made, which do not overlap.
func Apply(text string, edits []TextEdit) (string, error) {
	edits = slices.Clone(edits)
	slices.SortStableFunc(edits, func(a, b TextEdit) int {
		return cmp.Or(cmp.Compare(a.Range.Start.Line, b.Range.Start.Line), cmp.Compare(a.Range.Start.Character, b.Range.Start.Character))
	})
	var out strings.Builder
	done := 0
	for _, edit := range edits {
		start, err := offset(text, edit.Range.Start)
		if err != nil {
			return "", err
		}
		end, err := offset(text, edit.Range.End)
		if err != nil {
			return "", err
		}
		if start < done || end < start {
			return "", fmt.Errorf("edits overlap at %+v", edit.Range)
		}
		out.WriteString(text[done:start])
		out.WriteString(edit.NewText)
		done = end
	}
	return out.String() + text[done:], nil
}

// offset is where in text a position is.
func offset(text string, p Position) (int, error) {
	at := 0
	for range p.Line {
		next := strings.IndexByte(text[at:], '\n')
		if next < 0 {
			return 0, fmt.Errorf("there is no line %d", p.Line)
		}
		at += next + 1
	}
	units := 0
	for i, r := range text[at:] {
		if units >= p.Character || r == '\n' {
			return at + i, nil
		}
		units += utf16.RuneLen(r)
	}
	return len(text), nil
}
