// Package sariftest says what is wrong with a SARIF log: against the published schema, and in what no schema
// can say. It reads the log with the types of package sarif, so that it knows what these can write.
package sariftest

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"unicode/utf16"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/advisorylint/advisorylint/internal/findings/sarif"
)

//go:embed testdata/sarif-schema-2.1.0.json
var published []byte

var schema = sync.OnceValues(func() (*jsonschema.Schema, error) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(published))
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat() // uri, uri-reference
	if err := c.AddResource(sarif.Schema, doc); err != nil {
		return nil, err
	}
	return c.Compile(sarif.Schema)
})

// Read reads a log and lists what is wrong with it.
func Read(data []byte) (*sarif.Log, []string) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		return nil, []string{err.Error()}
	}
	s, err := schema()
	if err != nil {
		return nil, []string{"the schema: " + err.Error()}
	}
	if err := s.Validate(doc); err != nil {
		return nil, []string{err.Error()}
	}
	log := &sarif.Log{}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(log); err != nil {
		return nil, []string{err.Error()}
	}
	var problems []string
	for i := range log.Runs {
		c := checker{run: &log.Runs[i]}
		c.check()
		problems = append(problems, c.problems...)
	}
	return log, problems
}

type checker struct {
	run      *sarif.Run
	problems []string
}

func (c *checker) say(format string, args ...any) {
	c.problems = append(c.problems, fmt.Sprintf(format, args...))
}

func (c *checker) check() {
	if c.run.ColumnKind != sarif.UTF16 {
		c.say("columnKind is %q", c.run.ColumnKind)
	}
	rules := map[string]bool{}
	for _, r := range c.run.Tool.Driver.Rules {
		if rules[r.ID] {
			c.say("rule %s is there twice", r.ID)
		}
		rules[r.ID] = true
	}
	for id, base := range c.run.Bases {
		if !strings.HasSuffix(base.URI, "/") {
			c.say("base %s is %s, without a slash at its end", id, base.URI)
		}
	}
	prints := map[string]bool{}
	for i, r := range c.run.Results {
		c.result(fmt.Sprintf("result %d", i), r)
		for name, print := range r.PartialFingerprints {
			if prints[name+print] {
				c.say("result %d has the fingerprint of another", i)
			}
			prints[name+print] = true
		}
	}
}

func (c *checker) result(name string, r sarif.Result) {
	if rules := c.run.Tool.Driver.Rules; r.RuleIndex < 0 || r.RuleIndex >= len(rules) || rules[r.RuleIndex].ID != r.RuleID {
		c.say("%s: rule index %d is not that of %s", name, r.RuleIndex, r.RuleID)
	}
	if len(r.PartialFingerprints) == 0 {
		c.say("%s: no fingerprint", name)
	}
	if len(r.Locations) != 1 {
		c.say("%s: %d locations", name, len(r.Locations))
	}
	for _, l := range append(r.Locations, r.RelatedLocations...) {
		if _, err := Text(c.run, l.PhysicalLocation); err != nil {
			c.say("%s: %v", name, err)
		}
	}
	for _, fix := range r.Fixes {
		if _, err := Fixed(c.run, fix); err != nil {
			c.say("%s: fix %q: %v", name, fix.Description.Text, err)
		}
	}
}

// Text gives the text that a location is about.
func Text(run *sarif.Run, at sarif.PhysicalLocation) (string, error) {
	file, err := Path(run, at.ArtifactLocation)
	if err != nil {
		return "", err
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	start, end, err := span(string(text), at.Region)
	if err != nil {
		return "", fmt.Errorf("%s: %w", file, err)
	}
	return string(text[start:end]), nil
}

// Fixed gives the files that a fix changes as they are after it, by path.
func Fixed(run *sarif.Run, fix sarif.Fix) (map[string]string, error) {
	files := map[string]string{}
	for _, change := range fix.Changes {
		file, err := Path(run, change.ArtifactLocation)
		if err != nil {
			return nil, err
		}
		if _, ok := files[file]; ok {
			return nil, fmt.Errorf("%s is changed twice", file)
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		out, done := "", 0
		for _, r := range change.Replacements { // which this reads in the order of the file only
			start, end, err := span(string(text), r.DeletedRegion)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", file, err)
			}
			if start < done {
				return nil, fmt.Errorf("%s: replacements overlap or are out of order", file)
			}
			out += string(text[done:start])
			if r.InsertedContent != nil {
				out += r.InsertedContent.Text
			}
			done = end
		}
		files[file] = out + string(text[done:])
	}
	return files, nil
}

// Path gives the file of a location on this machine.
func Path(run *sarif.Run, at sarif.ArtifactLocation) (string, error) {
	u, err := url.Parse(at.URI)
	if err != nil {
		return "", err
	}
	if at.URIBaseID == "" {
		if u.Scheme != "file" {
			return "", fmt.Errorf("%s has no base", at.URI)
		}
		return filepath.FromSlash(u.Path), nil
	}
	base, ok := run.Bases[at.URIBaseID]
	if !ok {
		return "", fmt.Errorf("there is no base %s", at.URIBaseID)
	}
	b, err := url.Parse(base.URI)
	if err != nil {
		return "", err
	}
	if u.Scheme != "" || u.RawQuery != "" || u.Fragment != "" || !filepath.IsLocal(u.Path) || strings.Contains(u.Path, `\`) {
		return "", fmt.Errorf("%s is not a path below a base", at.URI)
	}
	return filepath.FromSlash(path.Join(b.Path, u.Path)), nil
}

// span gives the bytes of a text that a region is about, as 3.30 counts them.
func span(text string, r sarif.Region) (start, end int, err error) {
	lines := strings.SplitAfter(text, "\n")
	endLine := max(r.EndLine, r.StartLine)
	if r.StartLine < 1 || endLine > len(lines) {
		return 0, 0, fmt.Errorf("lines %d to %d of %d", r.StartLine, endLine, len(lines))
	}
	if start, err = offset(lines, r.StartLine, max(r.StartColumn, 1)); err != nil {
		return 0, 0, err
	}
	if r.EndColumn > 0 {
		end, err = offset(lines, endLine, r.EndColumn)
	} else {
		end = len(strings.Join(lines[:endLine-1], "")) + len(strings.TrimRight(lines[endLine-1], "\r\n"))
	}
	if err == nil && end < start {
		err = fmt.Errorf("the region %+v ends before it starts", r)
	}
	return start, end, err
}

// offset counts the column by encoding the line, not by the rule that the writer counts by.
func offset(lines []string, line, column int) (int, error) {
	units := utf16.Encode([]rune(lines[line-1]))
	if column > len(units)+1 {
		return 0, fmt.Errorf("column %d of line %d, which has %d", column, line, len(units))
	}
	before := string(utf16.Decode(units[:column-1]))
	if !strings.HasPrefix(lines[line-1], before) {
		return 0, fmt.Errorf("column %d of line %d is within a character", column, line)
	}
	return len(strings.Join(lines[:line-1], "")) + len(before), nil
}
