package findings

import (
	"bytes"
	"encoding/xml"
	"strings"
	"testing"
)

// printable is text as XML can have it: a character that it has no way of writing is U+FFFD
// (https://www.w3.org/TR/xml/#charsets).
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' && !strings.ContainsRune("\t\n\r", r) || r == 0xFFFE || r == 0xFFFF {
			return 0xFFFD
		}
		return r
	}, text) // which gives a byte that is not UTF-8 as U+FFFD
}

func FuzzCheckstyleSurvivesAParser(f *testing.F) {
	f.Add("stock/a.go", "the lock runs on a pool")
	f.Add("köln \"1\".go", "<a href='x'>&amp;]]></a>\t\r\n\x00\xff\uFFFE𝛼")
	f.Fuzz(func(t *testing.T, file, message string) {
		r := &Run{Findings: []Finding{
			{Rule: "poollock", Severity: Error, Message: message, Span: Span{file, Position{3, 5, 4}, Position{3, 9, 8}}},
			{Rule: "lockwait", Severity: Info, Message: message + message, Span: Span{file, Position{4, 0, 0}, Position{}}},
		}}
		var out bytes.Buffer
		if err := r.Checkstyle(&out); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(out.String(), `column="0"`) {
			t.Errorf("a column that is not known is written: %q", out.String())
		}
		var got checkstyleReport
		if err := xml.Unmarshal(out.Bytes(), &got); err != nil {
			t.Fatalf("%v in %q", err, out.String())
		}
		if len(got.Files) != 1 || got.Files[0].Name != printable(file) || len(got.Files[0].Errors) != 2 {
			t.Fatalf("%q reads as %+v", out.String(), got.Files)
		}
		want := []checkstyleError{
			{3, 4, "error", printable(message), "advisorylint.poollock"},
			{4, 0, "info", printable(message + message), "advisorylint.lockwait"},
		}
		for i, e := range got.Files[0].Errors {
			if e != want[i] {
				t.Errorf("%q: got %+v, want %+v", out.String(), e, want[i])
			}
		}
	})
}
