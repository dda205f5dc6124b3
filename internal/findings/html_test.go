package findings

import (
	"bytes"
	"fmt"
	"html"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func pageOf(t *testing.T, p *Page) string {
	t.Helper()
	var out bytes.Buffer
	if err := p.HTML(&out); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// What a program and its findings say stays text, wherever it stands on the page.
func TestHTMLTakesNoMarkupFromFindings(t *testing.T) {
	const hostile = `x"'><img src=x onerror=alert(1)><script>alert(2)</script>{{.Title}}`
	dir := t.TempDir()
	file := filepath.Join(dir, `a"><img src=x onerror=alert(1)>.go`)
	source := "package a\n\n// " + hostile + "\nvar A = `" + hostile + "`\n"
	if err := os.WriteFile(file, []byte(source), 0o644); err != nil {
		t.Fatal(err)
	}
	var s Sources
	at := find(t, &s, file, hostile, 2)
	p := &Page{
		Run: &Run{
			Version: hostile, Dir: filepath.Join(dir, hostile), Roots: []Root{{"%SRCROOT%", dir}}, Troubles: []string{hostile},
			Rules: []Rule{{
				Name: hostile, Summary: hostile, About: hostile, URL: "javascript:alert(3)",
				Page: "# " + hostile + "\n\n## Why\n\n" + hostile + " [a](javascript:alert(3))\n\n<iframe src=x></iframe>\n\n## " + hostile + "\n",
			}},
			Findings: []Finding{{
				Rule: hostile, Severity: hostile, Message: hostile + ": " + hostile, Span: at,
				Related:    []Step{{find(t, &s, file, hostile, 1), hostile}},
				Suppressed: &Suppression{hostile, hostile},
			}},
		},
		Looked: []string{hostile}, Sites: 1,
		More: []More{{hostile, []Patch{{hostile, []FilePatch{{file, "--- a\n+++ b\n@@ -1 +1 @@ " + hostile + "\n-" + hostile + "\n+" + hostile + "\n"}}}}}},
	}
	got := pageOf(t, p)
	tag := regexp.MustCompile(`(?i)<(script|img|iframe)|\son[a-z]+=["a-z]*alert\(1\)["]|href="javascript`)
	if tags := tag.FindAllString(got, -1); !slices.Equal(tags, []string{"<script"}) {
		t.Errorf("the page has %q, want only its own script", tags)
	}
	if n := strings.Count(got, "&lt;script&gt;alert(2)"); n < 20 {
		t.Errorf("the page shows the text %d times, want each", n)
	}
	// Each tag must end where it should: no attribute was left by a quote in its value.
	if loose := regexp.MustCompile(`<[a-z][^>"]*("[^"]*"[^>"]*)*\sonerror`).FindString(got); loose != "" {
		t.Errorf("an attribute got out: %q", loose)
	}
}

// A browser refuses the page's own style and script when a byte of them is not what the policy has the hash of.
func TestHTMLPolicyHasTheHashesOfWhatIsThere(t *testing.T) {
	got := pageOf(t, &Page{Run: shop(t)})
	part := func(name string) string {
		m := regexp.MustCompile("(?s)<"+name+">(.*?)</"+name+">").FindAllStringSubmatch(got, -1)
		if len(m) != 1 {
			t.Fatalf("%d parts <%s>, want one", len(m), name)
		}
		return m[0][1]
	}
	m := regexp.MustCompile(`Content-Security-Policy" content="([^"]*)"`).FindStringSubmatch(got)
	if m == nil {
		t.Fatal("there is no policy")
	}
	if have, want := html.UnescapeString(m[1]), policy(part("style"), part("script")); have != want {
		t.Errorf("the policy is\n%s\nwant\n%s", have, want)
	}
	if strings.Contains(got, " style=") {
		t.Error("there is a style that the policy does not allow")
	}
}

func TestHTMLGroupsCountsAndTrails(t *testing.T) {
	run := shop(t)
	known := run.Findings[0]
	known.Rule, known.Known = "getdel", true // neither counts nor makes a group
	run.Findings = append(run.Findings, known)
	p := &Page{Run: run, Looked: []string{"example.org/shop/odd", "example.org/shop/lager", "example.org/shop/bins"}, Sites: 7}
	for i := range run.Findings {
		p.More = append(p.More, More{Package: []string{"example.org/shop/lager", "example.org/shop/odd"}[i/2%2]})
	}
	page := htmlPage{Looked: p.Looked, Sites: p.Sites}
	if err := p.fill(&page); err != nil {
		t.Fatal(err)
	}
	if want := "4 findings in lager"; page.Title != want || page.Suppressed != 2 {
		t.Errorf("the title is %q, want %q; %d are suppressed, want 2", page.Title, want, page.Suppressed)
	}
	want := []htmlTally{{"packages with findings", "", 2}, {"packages looked at", "", 3}, {"lock sites seen", "", 7}, {"suppressed", "", 2}}
	if !slices.Equal(page.Sum, want) {
		t.Errorf("the sum is %v, want %v", page.Sum, want)
	}
	if want := []htmlTally{{"example.org/shop/lager", "lager", 2}, {"example.org/shop/odd", "odd", 2}}; !slices.Equal(page.Packages, want) {
		t.Errorf("packages are %v, want %v", page.Packages, want)
	}
	if want := []htmlTally{{"error", "", 1}, {"warning", "", 1}, {"info", "", 2}}; !slices.Equal(page.Severities, want) {
		t.Errorf("severities are %v, want %v", page.Severities, want)
	}
	if len(page.Rules) != 2 || page.Rules[0].Name != "poollock" || page.Rules[0].Count != 2 || len(page.Rules[0].Findings) != 3 {
		t.Fatalf("rules are %+v, want poollock first, with an error, two findings and one that is suppressed", page.Rules)
	}
	card := page.Rules[0].Findings[0]
	var trail []string
	for _, s := range card.Trail {
		trail = append(trail, filepath.Base(s.Place)+" "+s.Message)
	}
	// From the innermost helper to the finding, each step once.
	if want := []string{"outside.go:3:9 and here: {1}", "dep.go:3:9 pg_advisory_lock is sent here", "köln 1.go:7:39 "}; !slices.Equal(trail, want) {
		t.Errorf("the trail is %q, want %q", trail, want)
	}
	if want := "100% of {locks} run on handlers[i](ctx), a \"pool\":\tuse <pglock.Do> & wait"; card.Fact+card.Then != want {
		t.Errorf("the message is %q and %q, want %q", card.Fact, card.Then, want)
	}
}

// Findings that there are none of are not the same as nothing looked at.
func TestHTMLWithoutFindings(t *testing.T) {
	p := &Page{Run: &Run{Dir: "/src/shop"}, Looked: []string{"example.org/shop/b", "example.org/shop/a"}}
	for sites, want := range map[int]string{
		0: "There is no lock in the packages below.", 1: "1 lock site was seen in the packages below.", 3: "3 lock sites were seen in the packages below.",
	} {
		p.Sites = sites
		got := pageOf(t, p)
		for _, want := range []string{want, "Nothing was found.", "<li>example.org/shop/a</li><li>example.org/shop/b</li>", "<strong>2</strong> packages looked at", "No findings in shop"} {
			if !strings.Contains(got, want) {
				t.Errorf("%d sites: the page lacks %q", sites, want)
			}
		}
	}
	p.Troubles = []string{"odd.go:3:1: expected }"}
	if got := pageOf(t, p); !strings.Contains(got, "Nothing was found in what could be looked at.") || !strings.Contains(got, "<li>odd.go:3:1: expected }</li>") {
		t.Error("the page does not say that something was not looked at")
	}
}

// excerptText writes an excerpt with > before marked lines, [ ] round the span and the class before coloured words.
func excerptText(lines []htmlLine) []string {
	var list []string
	for _, l := range lines {
		text := fmt.Sprintf("%d ", l.Number)
		if l.Marked {
			text = ">" + text
		}
		for _, p := range l.Parts {
			piece := p.Text
			if p.Class != "" {
				piece = p.Class + "(" + piece + ")"
			}
			if p.Mark {
				piece = "[" + piece + "]"
			}
			text += piece
		}
		list = append(list, text)
	}
	return list
}

func TestExcerpts(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "a.go")
	source := "package a\r\n\r\nfunc F() {\r\n\t\tq := `SELECT\r\n\t\t\t1` // é\r\n\r\n\t\tuse(q, 31)\r\n}\r\n\r\nfunc G() {}\r\n"
	if err := os.WriteFile(file, []byte(source), 0o644); err != nil {
		t.Fatal(err)
	}
	var s Sources
	long := find(t, &s, file, "`SELECT\r\n\t\t\t1`", 1)
	for _, test := range []struct {
		name   string
		span   Span
		around int
		want   []string
	}{
		{"one line, blank lines at the ends left out", find(t, &s, file, "use(q, 31)", 1), 1, []string{
			">7 \t\t[use(q, ][literal(31)][)]", "8 }",
		}},
		{"nothing of other functions", find(t, &s, file, "use(q, 31)", 1), 9, []string{
			"3 keyword(func) F() {", "4 \t\tq := string(`SELECT)", "5 string(\t\t\t1`) comment(// é)", "6 ", ">7 \t\t[use(q, ][literal(31)][)]", "8 }",
		}},
		{"over two lines", long, 0, []string{">4 q := [string(`SELECT)]", ">5 string(\t)[string(1`)] comment(// é)"}},
		{"without an end", Span{File: file, Start: Position{Line: 3, Column: 1}}, 0, []string{">3 keyword(func) F() {"}},
		{"behind the end of a file that is shorter now", Span{File: file, Start: Position{Line: 30, Column: 1}}, 2, nil},
		{"a file that is gone", Span{File: filepath.Join(dir, "gone.go"), Start: Position{Line: 1, Column: 1}}, 2, nil},
		{"no line", Span{File: file}, 2, nil},
		{"a column behind the end of its line", Span{File: file, Start: Position{Line: 1, Column: 90}, End: Position{Line: 1, Column: 95}}, 0, []string{">1 keyword(package) a"}},
	} {
		if got := excerptText(excerpts{}.of(test.span, test.around)); !slices.Equal(got, test.want) {
			t.Errorf("%s: got %q, want %q", test.name, got, test.want)
		}
	}
}

// A deleted line of SQL that is a comment looks like a diff's header.
func TestDiffLines(t *testing.T) {
	got := diffLines("--- a/q.go\n+++ b/q.go\n@@ -1,3 +1,3 @@\n \t\tq(`\n-\t\t\t-- old\n+\t\t\t++ new\n\n\\ No newline at end of file\n")
	want := []htmlDiffLine{
		{"hunk", "", "@@ -1,3 +1,3 @@"}, {"", " ", "q(`"}, {"del", "-", "\t-- old"}, {"add", "+", "\t++ new"}, {"", " ", ""},
		{"hunk", "", "\\ No newline at end of file"},
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := diffLines(""); got != nil {
		t.Errorf("no difference gives %q", got)
	}
}

func TestPageHTMLTakesOutWhatTheServerDoes(t *testing.T) {
	why, whole, err := pageHTML("# rule\n\nFirst.\n\n## What it reports\n\nCalls.\n\n## Why\n\nThe *server* waits.\n\n### In short\n\nLong.\n\n## Known limits\n\n| a |\n|---|\n| b |\n")
	if err != nil {
		t.Fatal(err)
	}
	if want := "<p>The <em>server</em> waits.</p>\n<h4>In short</h4>\n<p>Long.</p>\n"; string(why) != want {
		t.Errorf("got %q, want %q", why, want)
	}
	for _, want := range []string{"<p>First.</p>\n<h3>What it reports</h3>", "<h3>Why</h3>\n<p>The <em>server</em>", "<td>b</td>"} {
		if !strings.Contains(string(whole), want) {
			t.Errorf("the page lacks %q: %s", want, whole)
		}
	}
}
