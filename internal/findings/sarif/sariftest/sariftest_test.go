package sariftest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/advisorylint/advisorylint/internal/findings/sarif"
)

// sound is a log with nothing wrong, about a file of one line in dir.
func sound(t *testing.T) *sarif.Log {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a b.go"), []byte("å𝛼 := 1\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	at := sarif.ArtifactLocation{URI: "a%20b.go", URIBaseID: "%SRCROOT%"}
	region := sarif.Region{StartLine: 1, StartColumn: 2, EndColumn: 4}
	text := sarif.Text{Text: "x"}
	return &sarif.Log{Schema: sarif.Schema, Version: sarif.Version, Runs: []sarif.Run{{
		Tool: sarif.Tool{Driver: sarif.Component{Name: "x", InformationURI: "https://example.org", Rules: []sarif.Rule{{
			ID: "r", ShortDescription: text, FullDescription: text, Help: text, HelpURI: "https://example.org/r",
			DefaultConfiguration: sarif.Configuration{Level: "warning"},
		}}}},
		Invocations: []sarif.Invocation{{ExecutionSuccessful: true}},
		Bases:       map[string]sarif.ArtifactLocation{"%SRCROOT%": {URI: "file://" + dir + "/"}},
		ColumnKind:  sarif.UTF16,
		Results: []sarif.Result{{
			RuleID: "r", Level: "warning", Message: sarif.NewMessage("x"),
			Locations:           []sarif.Location{{PhysicalLocation: sarif.PhysicalLocation{ArtifactLocation: at, Region: region}}},
			PartialFingerprints: map[string]string{"p": "1"},
			Suppressions:        []sarif.Suppression{},
			Fixes: []sarif.Fix{{Description: sarif.NewMessage("x"), Changes: []sarif.Change{{
				ArtifactLocation: at,
				Replacements:     []sarif.Replacement{{DeletedRegion: region, InsertedContent: &sarif.Content{Text: "b"}}},
			}}}},
		}},
	}}}
}

func TestReadFindsNothingWrongWithASoundLog(t *testing.T) {
	log := sound(t)
	data, err := json.Marshal(log)
	if err != nil {
		t.Fatal(err)
	}
	if _, problems := Read(data); problems != nil {
		t.Fatal(problems)
	}
	run := &log.Runs[0]
	if text, err := Text(run, run.Results[0].Locations[0].PhysicalLocation); text != "𝛼" || err != nil {
		t.Errorf("text %q, error %v", text, err)
	}
	files, err := Fixed(run, run.Results[0].Fixes[0])
	for name, text := range files {
		if filepath.Base(name) != "a b.go" || text != "åb := 1\n" {
			t.Errorf("%s becomes %q", name, text)
		}
	}
	if len(files) != 1 || err != nil {
		t.Errorf("%d files, error %v", len(files), err)
	}
}

func TestReadSaysWhatIsWrong(t *testing.T) {
	for want, damage := range map[string]func(*sarif.Run){
		"'/runs/0/results/0/level': value must be one of": func(r *sarif.Run) { r.Results[0].Level = "info" },
		"is not valid uri":           func(r *sarif.Run) { r.Tool.Driver.InformationURI = "a b" },
		"is not valid uri-reference": func(r *sarif.Run) { r.Results[0].Locations[0].PhysicalLocation.ArtifactLocation.URI = `a\b.go` },
		"columnKind is":              func(r *sarif.Run) { r.ColumnKind = "unicodeCodePoints" },
		"rule r is there twice": func(r *sarif.Run) {
			r.Tool.Driver.Rules = append(r.Tool.Driver.Rules, r.Tool.Driver.Rules[0])
			r.Tool.Driver.Rules[0].HelpURI = "https://example.org"
		},
		"without a slash at its end": func(r *sarif.Run) { r.Bases["%X%"] = sarif.ArtifactLocation{URI: "file:///x"} },
		"has the fingerprint of another": func(r *sarif.Run) {
			r.Results = append(r.Results, r.Results[0])
			r.Results[1].Message.Text = "y"
		},
		"rule index 1 is not that of r":    func(r *sarif.Run) { r.Results[0].RuleIndex = 1 },
		"rule index 0 is not that of s":    func(r *sarif.Run) { r.Results[0].RuleID = "s" },
		"suppressions': got null":          func(r *sarif.Run) { r.Results[0].Suppressions = nil },
		"no fingerprint":                   func(r *sarif.Run) { clear(r.Results[0].PartialFingerprints) },
		"0 locations":                      func(r *sarif.Run) { r.Results[0].Locations = []sarif.Location{} },
		"there is no base %SRCROOT%":       func(r *sarif.Run) { r.Bases = nil },
		"is not a path below a base":       func(r *sarif.Run) { r.Results[0].Locations[0].PhysicalLocation.ArtifactLocation.URI = "../a.go" },
		"no such file":                     func(r *sarif.Run) { r.Results[0].Locations[0].PhysicalLocation.ArtifactLocation.URI = "b.go" },
		"has no base":                      func(r *sarif.Run) { r.Results[0].Locations[0].PhysicalLocation.ArtifactLocation.URIBaseID = "" },
		"lines 3 to 3 of 2":                func(r *sarif.Run) { r.Results[0].Locations[0].PhysicalLocation.Region.StartLine = 3 },
		"column 11 of line 1, which has 9": func(r *sarif.Run) { r.Results[0].Locations[0].PhysicalLocation.Region.EndColumn = 11 },
		"is within a character":            func(r *sarif.Run) { r.Results[0].Locations[0].PhysicalLocation.Region.EndColumn = 3 },
		"ends before it starts":            func(r *sarif.Run) { r.Results[0].Locations[0].PhysicalLocation.Region.EndColumn = 1 },
		"out of order": func(r *sarif.Run) {
			c := &r.Results[0].Fixes[0].Changes[0]
			c.Replacements = append(c.Replacements, c.Replacements[0])
		},
		"is changed twice": func(r *sarif.Run) {
			f := &r.Results[0].Fixes[0]
			f.Changes = append(f.Changes, f.Changes[0])
			f.Changes[1].Replacements = []sarif.Replacement{{DeletedRegion: sarif.Region{StartLine: 1}}}
		},
	} {
		log := sound(t)
		damage(&log.Runs[0])
		data, err := json.Marshal(log)
		if err != nil {
			t.Fatal(err)
		}
		if _, problems := Read(data); !strings.Contains(strings.Join(problems, "\n"), want) {
			t.Errorf("want %q, got %q", want, problems)
		}
	}
}
