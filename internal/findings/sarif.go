package findings

import (
	"encoding/json"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/advisorylint/advisorylint/internal/findings/sarif"
)

// home is the linter's address.
const home = "https://github.com/advisorylint/advisorylint"

// fingerprint names how partial fingerprints are made. Another way of making them needs another number,
// since a program that compares runs takes what it does not know for new.
const fingerprint = "advisorylint/v1"

var sarifLevels = map[Severity]string{Error: "error", Warning: "warning", Info: "note"}

// SARIF writes the run as a SARIF 2.1.0 log.
func (r *Run) SARIF(w io.Writer) error {
	run := sarif.Run{
		Tool:        sarif.Tool{Driver: r.driver()},
		Invocations: []sarif.Invocation{{ExecutionSuccessful: len(r.Troubles) == 0}},
		ColumnKind:  sarif.UTF16,
		Results:     []sarif.Result{},
	}
	for _, t := range r.Troubles {
		n := sarif.Notification{Level: "error", Message: sarif.NewMessage(t)}
		run.Invocations[0].Notifications = append(run.Invocations[0].Notifications, n)
	}
	prints := r.fingerprints()
	for i := range r.Findings {
		run.Results = append(run.Results, r.result(&r.Findings[i], prints[i]))
	}
	run.Bases = r.bases(run.Results)
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "\t")
	return e.Encode(sarif.Log{Schema: sarif.Schema, Version: sarif.Version, Runs: []sarif.Run{run}})
}

func (r *Run) driver() sarif.Component {
	c := sarif.Component{
		Name: "advisorylint", Version: r.Version, InformationURI: home, Rules: []sarif.Rule{},
	}
	// A build without a version is (devel), which is no semantic version.
	if v, ok := strings.CutPrefix(r.Version, "v"); ok {
		c.SemanticVersion = v
	}
	for _, rule := range r.Rules {
		c.Rules = append(c.Rules, sarif.Rule{
			ID:                   rule.Name,
			ShortDescription:     sarif.Text{Text: rule.Summary},
			FullDescription:      sarif.Text{Text: rule.About},
			Help:                 sarif.Text{Text: rule.PageText, Markdown: rule.Page},
			HelpURI:              rule.URL,
			DefaultConfiguration: sarif.Configuration{Level: rule.Severity.in(sarifLevels)},
		})
	}
	return c
}

func (r *Run) result(f *Finding, print string) sarif.Result {
	result := sarif.Result{
		RuleID:              f.Rule,
		RuleIndex:           slices.IndexFunc(r.Rules, func(rule Rule) bool { return rule.Name == f.Rule }),
		Level:               f.Severity.in(sarifLevels),
		Message:             sarif.NewMessage(f.Message),
		Locations:           []sarif.Location{{PhysicalLocation: r.physical(f.Span)}},
		PartialFingerprints: map[string]string{fingerprint: print},
		Suppressions:        []sarif.Suppression{},
	}
	switch {
	case f.Known:
		result.BaselineState = sarif.Unchanged
	case r.Compared:
		result.BaselineState = sarif.New
	}
	if s := f.Suppressed; s != nil {
		result.Suppressions = append(result.Suppressions, sarif.Suppression{Kind: "inSource", Justification: s.Reason})
	}
	var steps []Step // the schema wants each once
	for _, s := range f.Related {
		if !slices.Contains(steps, s) {
			steps = append(steps, s)
			message := sarif.NewMessage(s.Message)
			result.RelatedLocations = append(result.RelatedLocations,
				sarif.Location{PhysicalLocation: r.physical(s.Span), Message: &message})
		}
	}
	for _, fix := range f.Fixes {
		result.Fixes = append(result.Fixes, r.fix(fix))
	}
	return result
}

// fix groups the edits by file.
func (r *Run) fix(f Fix) sarif.Fix {
	fix := sarif.Fix{Description: sarif.NewMessage(f.Message)}
	for _, e := range f.Edits {
		at := r.artifact(e.Span.File)
		i := slices.IndexFunc(fix.Changes, func(c sarif.Change) bool { return c.ArtifactLocation == at })
		if i < 0 {
			i = len(fix.Changes)
			fix.Changes = append(fix.Changes, sarif.Change{ArtifactLocation: at})
		}
		rep := sarif.Replacement{DeletedRegion: region(e.Span)}
		if e.New != "" {
			rep.InsertedContent = &sarif.Content{Text: e.New}
		}
		fix.Changes[i].Replacements = append(fix.Changes[i].Replacements, rep)
	}
	return fix
}

func (r *Run) physical(s Span) sarif.PhysicalLocation {
	return sarif.PhysicalLocation{ArtifactLocation: r.artifact(s.File), Region: region(s)}
}

// artifact names a file by the first root that it lies below, and absolutely when there is none.
func (r *Run) artifact(file string) sarif.ArtifactLocation {
	for _, root := range r.Roots {
		if rel, ok := below(root.Dir, file); ok {
			return sarif.ArtifactLocation{URI: relativeURI(rel), URIBaseID: root.ID}
		}
	}
	if !filepath.IsAbs(file) { // what a //line comment of generated code says
		return sarif.ArtifactLocation{URI: relativeURI(filepath.ToSlash(file))}
	}
	return sarif.ArtifactLocation{URI: fileURI(filepath.ToSlash(file))}
}

// bases says where the roots are that results speak of.
func (r *Run) bases(results []sarif.Result) map[string]sarif.ArtifactLocation {
	used := map[string]bool{}
	for _, result := range results {
		for _, l := range slices.Concat(result.Locations, result.RelatedLocations) {
			used[l.PhysicalLocation.ArtifactLocation.URIBaseID] = true
		}
	}
	bases := map[string]sarif.ArtifactLocation{}
	for _, root := range r.Roots {
		if used[root.ID] {
			// 3.14.14 wants a slash at the end.
			bases[root.ID] = sarif.ArtifactLocation{URI: fileURI(strings.TrimSuffix(filepath.ToSlash(root.Dir), "/") + "/")}
		}
	}
	return bases
}

// region leaves out columns where one is not known: half of them would say something else.
func region(s Span) sarif.Region {
	out := sarif.Region{StartLine: s.Start.Line}
	if s.End.Line > s.Start.Line {
		out.EndLine = s.End.Line
	}
	switch {
	case s.End.Line == 0:
		out.StartColumn = s.Start.UTF16
	case s.Start.UTF16 > 0 && s.End.UTF16 > 0:
		out.StartColumn, out.EndColumn = s.Start.UTF16, s.End.UTF16
	}
	return out
}
