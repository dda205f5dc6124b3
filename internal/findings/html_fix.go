package findings

import "strings"

// htmlFix is a fix as a diff.
type htmlFix struct {
	Message string
	First   bool // shown open
	Files   []htmlFileDiff
}

type htmlFileDiff struct {
	File  string
	Lines []htmlDiffLine
}

// htmlDiffLine is a line of a unified diff.
type htmlDiffLine struct {
	Class string // add, del, hunk or "" for one that stays
	Sign  string
	Text  string
}

var diffClasses = map[byte]string{'+': "add", '-': "del", '@': "hunk", '\\': "hunk"}

// patches gives the fixes that change something.
func (p *Page) patches(list []Patch) []htmlFix {
	var fixes []htmlFix
	for _, patch := range list {
		fix := htmlFix{Message: patch.Message, First: len(fixes) == 0}
		for _, f := range patch.Files {
			if lines := diffLines(f.Unified); lines != nil {
				fix.Files = append(fix.Files, htmlFileDiff{p.place(Span{File: f.File}), lines})
			}
		}
		if fix.Files != nil {
			fixes = append(fixes, fix)
		}
	}
	return fixes
}

// diffLines reads the hunks of one file's diff, without the indentation that its lines share.
func diffLines(unified string) []htmlDiffLine {
	list := strings.Split(strings.TrimSuffix(unified, "\n"), "\n")
	if len(list) < 3 {
		return nil
	}
	var lines []htmlDiffLine
	var texts []string
	for _, text := range list[2:] { // the first two name the file
		if text == "" {
			text = " " // as some tools write an empty line
		}
		line := htmlDiffLine{Class: diffClasses[text[0]], Text: text}
		if line.Class != "hunk" {
			line.Sign, line.Text = text[:1], strings.TrimSuffix(text[1:], "\r")
			texts = append(texts, line.Text)
		}
		lines = append(lines, line)
	}
	indent := shared(texts)
	for i, line := range lines {
		if line.Class != "hunk" {
			lines[i].Text = strings.ToValidUTF8(line.Text[min(indent, len(line.Text)):], "\uFFFD")
		}
	}
	return lines
}
