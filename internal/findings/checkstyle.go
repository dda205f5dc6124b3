package findings

import (
	"encoding/xml"
	"io"
	"slices"
)

var checkstyleLevels = map[Severity]string{Error: "error", Warning: "warning", Info: "info"}

// checkstyleReport is Checkstyle's report (config/checkstyle-report-1.0.0.xsd of github.com/checkstyle/checkstyle).
type checkstyleReport struct {
	XMLName xml.Name         `xml:"checkstyle"`
	Version string           `xml:"version,attr"` // of the Checkstyle whose form this is
	Files   []checkstyleFile `xml:"file"`
}

type checkstyleFile struct {
	Name   string            `xml:"name,attr"`
	Errors []checkstyleError `xml:"error"`
}

type checkstyleError struct {
	Line     int    `xml:"line,attr"`
	Column   int    `xml:"column,attr,omitempty"`
	Severity string `xml:"severity,attr"`
	Message  string `xml:"message,attr"`
	Source   string `xml:"source,attr"`
}

// Checkstyle writes the run as Checkstyle's XML, file by file.
func (r *Run) Checkstyle(w io.Writer) error {
	report := checkstyleReport{Version: "10.0"}
	for _, f := range r.shown() {
		name := shortest(f.Span.File, r.Dir)
		i := slices.IndexFunc(report.Files, func(x checkstyleFile) bool { return x.Name == name })
		if i < 0 {
			i = len(report.Files)
			report.Files = append(report.Files, checkstyleFile{Name: name})
		}
		report.Files[i].Errors = append(report.Files[i].Errors, checkstyleError{
			Line: f.Span.Start.Line, Column: f.Span.Start.UTF16,
			Severity: f.Severity.in(checkstyleLevels), Message: f.Message, Source: "advisorylint." + f.Rule,
		})
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	e := xml.NewEncoder(w)
	e.Indent("", "\t")
	if err := e.Encode(report); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}
