// Package pages holds the pages about integrations to the files that they link to, and to the options
// that there are.
package pages

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/advisorylint/advisorylint/internal/driver"
	"github.com/advisorylint/advisorylint/internal/settings"
	"github.com/advisorylint/advisorylint/internal/settings/configfile"
)

const docs = "../../../docs"

func readPage(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestLinksLeadToPages(t *testing.T) {
	pages, err := filepath.Glob(docs + "/integrations/*.md")
	if err != nil {
		t.Fatal(err)
	}
	start := docs + "/integrations.md"
	for _, page := range append(pages, start) {
		for _, m := range regexp.MustCompile(`\]\(([^)#\s]+)(#[^)]*)?\)`).FindAllStringSubmatch(readPage(t, page), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			target := filepath.Join(filepath.Dir(page), m[1])
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s links to %s: %v", page, m[1], err)
			} else if m[2] != "" && !slices.Contains(anchors(readPage(t, target)), m[2]) {
				t.Errorf("%s links to %s of %s, which has no such heading", page, m[2], m[1])
			}
		}
	}
	for _, page := range pages {
		if link := "(integrations/" + filepath.Base(page) + ")"; !strings.Contains(readPage(t, start), link) {
			t.Errorf("%s does not lead to %s", start, page)
		}
	}
}

// anchors are those of a page's headings, as GitHub makes them of headings without punctuation.
func anchors(page string) []string {
	var list []string
	for _, m := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(page, -1) {
		list = append(list, "#"+strings.ReplaceAll(strings.ToLower(m[1]), " ", "-"))
	}
	return list
}

// Each option has a row, and the example gives each of them as the file takes it.
func TestOptionsAreThoseThatThereAre(t *testing.T) {
	page := readPage(t, docs+"/integrations.md")
	var rows []string
	for _, m := range regexp.MustCompile("(?m)^\\| `(\\w+)` \\|").FindAllStringSubmatch(page, -1) {
		rows = append(rows, m[1])
	}
	if !slices.Equal(rows, settings.Names) {
		t.Errorf("the page has the options %v, and there are %v", rows, settings.Names)
	}
	example := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindStringSubmatch(page)
	if example == nil {
		t.Fatal("the page has no example of a file")
	}
	file, err := configfile.Parse("integrations.md", []byte(example[1]), driver.Rules())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range settings.Names {
		if !file.Settings.Has(name) {
			t.Errorf("the example does not give %s", name)
		}
	}
}
