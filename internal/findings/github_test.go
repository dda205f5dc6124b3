package findings

import (
	"bytes"
	"strings"
	"testing"
)

// runnerCommand is a command as the runner reads it.
type runnerCommand struct {
	name       string
	properties map[string]string
	data       string
}

// runnerRead reads one line of a log as TryParseV2 in src/Runner.Common/ActionCommand.cs of
// github.com/actions/runner does. The order of what it decodes is the runner's.
func runnerRead(line string) (runnerCommand, bool) {
	unescape := func(text string, codes ...string) string {
		for _, code := range codes {
			token := map[string]string{"%0D": "\r", "%0A": "\n", "%3A": ":", "%2C": ",", "%25": "%"}[code]
			text = strings.ReplaceAll(text, code, token)
		}
		return text
	}
	rest, ok := strings.CutPrefix(strings.TrimLeft(line, " \t"), "::")
	if !ok {
		return runnerCommand{}, false
	}
	info, data, ok := strings.Cut(rest, "::")
	if !ok {
		return runnerCommand{}, false
	}
	name, list, _ := strings.Cut(info, " ")
	c := runnerCommand{name, map[string]string{}, unescape(data, "%0D", "%0A", "%25")}
	for _, item := range strings.Split(list, ",") {
		if key, value, ok := strings.Cut(item, "="); ok && value != "" {
			c.properties[key] = unescape(value, "%0D", "%0A", "%3A", "%2C", "%25")
		}
	}
	return c, true
}

func FuzzGitHubSurvivesTheRunner(f *testing.F) {
	f.Add("stock/a.go", "the lock runs on a pool", "is sent here")
	f.Add("a,b:c 50%.go", "100% :: title=x,line=3 %0A %25 %3A\r\n::error::x", "::")
	f.Add("köln 1.go", "", "\n")
	f.Fuzz(func(t *testing.T, file, message, step string) {
		if file == "" {
			return
		}
		r := &Run{Troubles: []string{step}, Findings: []Finding{{
			Rule: "poollock", Message: message, Span: Span{file, Position{3, 5, 4}, Position{3, 9, 8}},
			Related: []Step{{Span{file, Position{7, 1, 1}, Position{}}, step}},
		}}}
		var out bytes.Buffer
		if err := r.GitHub(&out); err != nil {
			t.Fatal(err)
		}
		lines := strings.FieldsFunc(out.String(), func(c rune) bool { return c == '\n' || c == '\r' })
		if len(lines) != 2 {
			t.Fatalf("%d lines, want 2: %q", len(lines), out.String())
		}
		c, ok := runnerRead(lines[0])
		if !ok || c.name != "warning" || c.data != message+"\n"+file+":7: "+step {
			t.Errorf("%q reads as %+v", lines[0], c)
		}
		want := map[string]string{"file": file, "line": "3", "col": "4", "endColumn": "8", "title": "advisorylint poollock"}
		for key, value := range want {
			if c.properties[key] != value {
				t.Errorf("%q: %s reads as %q, want %q", lines[0], key, c.properties[key], value)
			}
		}
		if len(c.properties) != len(want) {
			t.Errorf("%q has %d properties, want %d", lines[0], len(c.properties), len(want))
		}
		if c, ok := runnerRead(lines[1]); !ok || c.name != "error" || c.data != step || len(c.properties) != 1 {
			t.Errorf("%q reads as %+v", lines[1], c)
		}
	})
}
