package findings

import (
	"cmp"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// Page is a run with what its HTML page has besides.
type Page struct {
	*Run
	Looked []string // import paths of the packages that were looked at
	Sites  int      // places in them at which locks are seen
	More   []More   // of each of the run's findings, in their order
}

// More is what a page says of a finding that other formats have no place for.
type More struct {
	Package string // import path
	Fixes   []Patch
}

// Patch is what a fix makes of the files that it edits, by itself.
type Patch struct {
	Message string
	Files   []FilePatch
}

// FilePatch is the difference in one file in unified form, with the two lines that name the file.
type FilePatch struct{ File, Unified string }

//go:embed html
var htmlFiles embed.FS

var htmlTemplate = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("page.tmpl").Funcs(template.FuncMap{"count": Count}).ParseFS(htmlFiles, "html/page.tmpl"))
})

// htmlPage is what the template is filled with.
type htmlPage struct {
	Title  string
	Policy string
	CSS    template.CSS
	JS     template.JS

	Version    string
	Sum        []htmlTally
	Suppressed int
	Troubles   []string
	Severities []htmlTally
	Rules      []htmlRule // those with findings
	Packages   []htmlTally
	Looked     []string
	Sites      int
}

// htmlTally is how many there are of something.
type htmlTally struct {
	Name  string
	Short string // of a package: what tells it from the others
	Count int
}

// htmlRule is a rule with its findings.
type htmlRule struct {
	Rule
	Count    int // of those that the source does not keep back
	Why      template.HTML
	Text     template.HTML // the whole page
	Findings []htmlFinding
	worst    int
}

// htmlFinding is a card of the page.
type htmlFinding struct {
	ID         string
	Order      int // by position
	Rule       string
	Summary    string // of the rule
	Severity   Severity
	Package    string
	Place      string
	Fact       string // what the message says first
	Then       string // what comes of it, and the way out; may be empty
	Suppressed *Suppression
	Trail      []htmlStep // from the innermost helper to the finding itself, which is the last
	Fixes      []htmlFix
}

// htmlStep is a place with its source.
type htmlStep struct {
	Place   string
	Message string
	Lines   []htmlLine // none when the file is gone
}

// HTML writes the run as one page that needs no other file and no network. It leaves out what a baseline knows.
func (p *Page) HTML(w io.Writer) error {
	page := htmlPage{
		Version: p.Version, Troubles: p.Troubles, Looked: slices.Sorted(slices.Values(p.Looked)), Sites: p.Sites,
	}
	for _, part := range []struct {
		file string
		set  func(string)
	}{
		{"html/page.css", func(s string) { page.CSS = template.CSS(s) }},
		{"html/page.js", func(s string) { page.JS = template.JS(s) }},
	} {
		text, err := htmlFiles.ReadFile(part.file)
		if err != nil {
			return err
		}
		part.set(string(text))
	}
	page.Policy = policy(string(page.CSS), string(page.JS))
	if err := p.fill(&page); err != nil {
		return err
	}
	return htmlTemplate().Execute(w, page)
}

// policy allows the page its own style and script, by their hashes (Content Security Policy Level 3, section
// 2.3.1), and nothing else: no request, no script that a finding's text might bring.
func policy(css, js string) string {
	hash := func(text string) string {
		sum := sha256.Sum256([]byte(text))
		return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	return "default-src 'none'; img-src data:; base-uri 'none'; form-action 'none'; style-src " + hash(css) + "; script-src " + hash(js)
}

// fill sorts the findings into the page.
func (p *Page) fill(page *htmlPage) error {
	prints := p.fingerprints()
	x := excerpts{}
	rules, packages, severities, fixable := map[string]*htmlRule{}, map[string]int{}, map[string]int{}, 0
	for i, f := range p.Findings {
		if f.Known {
			continue
		}
		rule := rules[f.Rule]
		if rule == nil {
			var err error
			if rule, err = p.rule(f.Rule); err != nil {
				return err
			}
			rules[f.Rule] = rule
		}
		card := p.card(f, x)
		card.ID, card.Order, card.Summary = prints[i], i, rule.Summary
		if i < len(p.More) {
			card.Package, card.Fixes = p.More[i].Package, p.patches(p.More[i].Fixes)
		}
		rule.Findings = append(rule.Findings, card)
		rule.worst = max(rule.worst, severityRank[card.Severity])
		packages[card.Package] += 0 // a package whose findings are all kept back has its place too
		severities[string(card.Severity)] += 0
		if f.Suppressed != nil {
			page.Suppressed++
			continue
		}
		rule.Count++
		packages[card.Package]++
		severities[string(card.Severity)]++
		fixable += min(1, len(card.Fixes))
	}
	for _, rule := range rules {
		page.Rules = append(page.Rules, *rule)
	}
	slices.SortFunc(page.Rules, func(a, b htmlRule) int {
		return cmp.Or(cmp.Compare(b.worst, a.worst), cmp.Compare(b.Count, a.Count), cmp.Compare(a.Name, b.Name))
	})
	page.Packages = tallies(packages, strings.Compare)
	shorten(page.Packages)
	page.Severities = tallies(severities, func(a, b string) int {
		return cmp.Compare(severityRank[Severity(b)], severityRank[Severity(a)])
	})
	p.sum(page, fixable)
	return nil
}

var severityRank = map[Severity]int{Info: 1, Warning: 2, Error: 3}

func tallies(counts map[string]int, order func(a, b string) int) []htmlTally {
	var list []htmlTally
	for name, n := range counts {
		list = append(list, htmlTally{Name: name, Count: n})
	}
	slices.SortFunc(list, func(a, b htmlTally) int { return order(a.Name, b.Name) })
	return list
}

// shorten leaves out of packages' paths the folders that all of them are below.
func shorten(packages []htmlTally) {
	if len(packages) == 0 {
		return
	}
	common := path.Dir(packages[0].Name)
	for _, p := range packages {
		for common != "." && common != "/" && !strings.HasPrefix(p.Name, common+"/") {
			common = path.Dir(common)
		}
	}
	for i, p := range packages {
		packages[i].Short = strings.TrimPrefix(p.Name, common+"/")
	}
}

// sum says in figures what the page has.
func (p *Page) sum(page *htmlPage, fixable int) {
	found, in := 0, 0
	for _, t := range page.Packages {
		found += t.Count
		in += min(1, t.Count)
	}
	page.Sum = []htmlTally{
		{Name: noun(in, "package") + " with findings", Count: in},
		{Name: noun(len(page.Looked), "package") + " looked at", Count: len(page.Looked)},
		{Name: noun(page.Sites, "lock site") + " seen", Count: page.Sites},
		{Name: noun(fixable, "finding") + " with a fix", Count: fixable},
		{Name: "suppressed", Count: page.Suppressed},
	}
	page.Sum = slices.DeleteFunc(page.Sum, func(t htmlTally) bool { return t.Count == 0 })
	title := "No findings"
	if found > 0 {
		title = Count(found, "finding")
	}
	page.Title = fmt.Sprintf("%s in %s", title, path.Base(filepath.ToSlash(p.Dir)))
}

// noun gives a noun its form beside a number: finding, findings, fixes.
func noun(n int, noun string) string {
	switch {
	case n == 1:
		return noun
	case strings.HasSuffix(noun, "x"):
		return noun + "es"
	}
	return noun + "s"
}

// Count writes a number with its noun: "1 finding", "0 findings".
func Count(n int, what string) string { return fmt.Sprintf("%d %s", n, noun(n, what)) }

// rule finds a rule's documentation. One that did not run as such, which no finding should name, has none.
func (p *Page) rule(name string) (*htmlRule, error) {
	rule := &htmlRule{Rule: Rule{Name: name}}
	if i := slices.IndexFunc(p.Rules, func(r Rule) bool { return r.Name == name }); i >= 0 {
		rule.Rule = p.Rules[i]
	}
	var err error
	rule.Why, rule.Text, err = pageHTML(rule.Page)
	return rule, err
}

// card takes a finding and the way to it, from the innermost helper on.
func (p *Page) card(f Finding, x excerpts) htmlFinding {
	card := htmlFinding{
		Rule: f.Rule, Severity: cmp.Or(f.Severity, Warning), Place: p.place(f.Span), Suppressed: f.Suppressed,
	}
	card.Fact, card.Then, _ = strings.Cut(f.Message, ": ")
	for i, s := range slices.Backward(f.Related) {
		if slices.Contains(f.Related[:i], s) {
			continue
		}
		step := htmlStep{Message: s.Message}
		if s.Span != f.Span { // without a place of its own it says where it is
			step.Place, step.Lines = p.place(s.Span), x.of(s.Span, 1)
		}
		card.Trail = append(card.Trail, step)
	}
	card.Trail = append(card.Trail, htmlStep{Place: card.Place, Lines: x.of(f.Span, 3)})
	return card
}

// place names a position by the first root that its file lies below.
func (p *Page) place(s Span) string {
	name := filepath.ToSlash(s.File)
	for _, root := range p.Roots {
		if rel, ok := below(root.Dir, s.File); ok {
			name = rel
			break
		}
	}
	if s.Start.Line > 0 {
		name += fmt.Sprintf(":%d", s.Start.Line)
	}
	if s.Start.Column > 0 {
		name += fmt.Sprintf(":%d", s.Start.Column)
	}
	return name
}
