package findings

import (
	"fmt"
	"io"
	"strconv"
	"strings"
)

var githubCommands = map[Severity]string{Error: "error", Warning: "warning", Info: "notice"}

// What the runner of GitHub Actions decodes in a command, as the toolkit that it comes with encodes it:
// escapeData and escapeProperty in packages/core/src/command.ts of github.com/actions/toolkit.
var (
	githubData     = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	githubProperty = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)

// GitHub writes the run as workflow commands of GitHub Actions, which make annotations. What could not be
// looked at is annotated too, without a place.
func (r *Run) GitHub(w io.Writer) error {
	var out strings.Builder
	for _, f := range r.shown() {
		command(&out, f.Severity.in(githubCommands), r.properties(f), r.text(f))
	}
	for _, t := range r.Troubles {
		command(&out, "error", []property{{"title", "advisorylint"}}, t)
	}
	_, err := io.WriteString(w, out.String())
	return err
}

// property is one of a command; its value is not empty.
type property struct{ name, value string }

func (r *Run) properties(f Finding) []property {
	start, end := f.Span.Start, f.Span.End
	list := []property{{"file", r.sourcePath(f.Span.File)}, {"line", strconv.Itoa(start.Line)}}
	if end.Line > start.Line {
		list = append(list, property{"endLine", strconv.Itoa(end.Line)})
	}
	// Columns are for one line: GitHub refuses them when the two lines differ.
	if start.UTF16 > 0 && end.Line <= start.Line {
		list = append(list, property{"col", strconv.Itoa(start.UTF16)})
		if end.UTF16 > 0 {
			list = append(list, property{"endColumn", strconv.Itoa(end.UTF16)})
		}
	}
	return append(list, property{"title", "advisorylint " + f.Rule})
}

// text is the message and, on a line each, the way that leads to the finding.
func (r *Run) text(f Finding) string {
	text := f.Message
	for _, s := range f.Related {
		text += fmt.Sprintf("\n%s:%d: %s", r.sourcePath(s.Span.File), s.Span.Start.Line, s.Message)
	}
	return text
}

func command(out *strings.Builder, name string, properties []property, text string) {
	out.WriteString("::" + name)
	for i, p := range properties {
		out.WriteByte(" ,"[min(i, 1)])
		out.WriteString(p.name + "=" + githubProperty.Replace(p.value))
	}
	out.WriteString("::" + githubData.Replace(text) + "\n")
}
