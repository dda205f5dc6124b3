package htmltest

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/chromedp"
)

var desktop = view{width: 1280, height: 800, scripts: true}

// views are the ways in which a page must be readable.
var views = []view{
	desktop,
	{width: 1280, height: 800, scripts: true, dark: true},
	{width: 390, height: 844, scripts: true},
	{width: 390, height: 844, scripts: true, dark: true},
	{width: 1280, height: 800},
	{width: 390, height: 844, dark: true},
}

// unreadable gives the texts whose contrast with what is behind them is less than WCAG 2.2's 1.4.3 wants of
// text of any size (level AA).
const unreadable = `(() => {
	const colour = (text) => text.match(/[\d.]+/g).map(Number);
	const light = ([r, g, b]) => [r, g, b].map((c) => c / 255).map((c) => c <= .04045 ? c / 12.92 : ((c + .055) / 1.055) ** 2.4)
		.reduce((sum, c, i) => sum + c * [.2126, .7152, .0722][i], 0);
	const behind = (node) => {
		for (let n = node; n; n = n.parentElement) {
			const c = colour(getComputedStyle(n).backgroundColor);
			if (c.length < 4 || c[3] === 1) return c;
			if (c[3] > 0) throw new Error("a translucent background");
		}
		return [255, 255, 255];
	};
	const list = [];
	let seen = 0;
	const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
	while (walk.nextNode()) {
		const node = walk.currentNode.parentElement;
		if (!walk.currentNode.data.trim() || !node.checkVisibility()) continue;
		seen++;
		const [a, b] = [light(colour(getComputedStyle(node).color)), light(behind(node))].sort((x, y) => y - x);
		const ratio = (a + .05) / (b + .05);
		if (ratio < 4.5) list.push(ratio.toFixed(2) + " " + node.outerHTML.slice(0, 80));
	}
	return seen < 5 ? ["only " + seen + " texts are seen"] : list;
})()`

// beyond gives what reaches over the right edge of the window without a box of its own that scrolls.
const beyond = `(() => {
	const wide = document.documentElement.scrollWidth - document.documentElement.clientWidth;
	const list = wide > 0 ? ["the page, by " + wide + " pixels"] : [];
	for (const node of document.body.querySelectorAll("*")) {
		if (node.closest("pre, table, .unseen, .skip") || !node.checkVisibility()) continue;
		const box = node.getBoundingClientRect();
		if (box.right > innerWidth + .5 || box.left < -.5) list.push(node.outerHTML.slice(0, 80));
	}
	return list;
})()`

const openAll = `document.querySelectorAll("details").forEach((d) => { d.open = true })`

func TestPagesAreReadableInEachView(t *testing.T) {
	for name, file := range map[string]string{"shop": shopPage, "none": noneOne} {
		for _, v := range views {
			t.Run(name+"-"+v.String(), func(t *testing.T) {
				p := chromium.open(t, file, v)
				p.shoot(name + "-" + v.String())
				if got := ask[int64](p, `innerWidth`); got != v.width {
					t.Errorf("the window is %d wide", got)
				}
				if got := ask[bool](p, `matchMedia("(prefers-color-scheme: dark)").matches`); got != v.dark {
					t.Errorf("dark is %t", got)
				}
				ask[chromedp.Void](p, openAll)
				p.shoot(name + "-" + v.String() + "-open")
				if list := ask[[]string](p, beyond); len(list) > 0 {
					t.Errorf("over the edge: %s", strings.Join(list, "\n"))
				}
				if list := ask[[]string](p, unreadable); len(list) > 0 {
					t.Errorf("too little contrast:\n%s", strings.Join(list, "\n"))
				}
			})
		}
	}
}

// shown gives the places of the findings that are on the page, in its order, without their folders.
func (p *tab) shown() []string {
	p.t.Helper()
	return ask[[]string](p, `[...document.querySelectorAll(".finding")].filter((n) => n.checkVisibility())
		.map((n) => n.dataset.rule + " " + n.dataset.package.replace("example.org/shop/", "") + " " + n.querySelector("a.place").textContent.match(/:(\d+):/)[1])`)
}

func (p *tab) want(what string, want ...string) {
	p.t.Helper()
	if got := p.shown(); !slices.Equal(got, want) {
		p.t.Errorf("%s: the page shows\n%s\nwant\n%s", what, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// until waits for an expression to be true.
func (p *tab) until(expression string) {
	p.t.Helper()
	for !ask[bool](p, expression) {
		select {
		case <-p.ctx.Done():
			p.t.Fatalf("%s: %v", expression, p.ctx.Err())
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func (p *tab) status() string {
	p.t.Helper()
	return ask[string](p, `document.querySelector(".status").textContent`)
}

// The findings of the shop, by the order of the rules.
const (
	pooled = "poollock stock 11"
	held   = "poollock stock 16"
	unread = "unlockresult stock 21"
	odd    = "unlockresult stock/deep 15"
	waits  = "lockwait stock/deep 11"
)

// counts gives what stands beside the choices of a filter.
func (p *tab) counts(filter string) string {
	p.t.Helper()
	return ask[string](p, `[...document.querySelectorAll("input[name=`+filter+`]")].map((n) => n.parentElement.innerText.replace(/\s+/g, " ").trim()).join(", ")`)
}

// headings gives those of the groups that are there.
func (p *tab) headings() string {
	p.t.Helper()
	return ask[string](p, `[...document.querySelectorAll(".group h2")].filter((n) => n.checkVisibility()).map((n) => n.innerText.replace(/\s+/g, " ").trim()).join(", ")`)
}

func (p *tab) same(what, got, want string) {
	p.t.Helper()
	if got != want {
		p.t.Errorf("%s: got %q, want %q", what, got, want)
	}
}

func TestFiltersNarrowDownAndCount(t *testing.T) {
	p := chromium.open(t, shopPage, desktop)
	p.want("at first", pooled, unread, odd, waits)
	p.same("status", p.status(), "4 findings")
	p.same("severities", p.counts("severity"), "error 1, warning 2, info 1")
	p.click("input[value=warning]")
	p.want("warnings", unread, odd)
	p.same("status", p.status(), "2 of 4 findings")
	p.same("rules of warnings", p.counts("rule"), "poollock 0, unlockresult 2, lockwait 0")
	p.same("severities stay", p.counts("severity"), "error 1, warning 2, info 1")
	p.same("headings", p.headings(), "unlockresult 2 findings")
	p.click("input[value=info]")
	p.want("warnings and infos", unread, odd, waits)
	p.click(`input[value="example.org/shop/stock/deep"]`)
	p.want("in a package", odd, waits)
	p.click("input[value=lockwait]")
	p.want("of a rule", waits)
	p.click("form .clear")
	p.want("cleared", pooled, unread, odd, waits)
}

func TestSuppressedFindingsAreShownWhenAskedFor(t *testing.T) {
	p := chromium.open(t, shopPage, desktop)
	p.click("input[name=suppressed]")
	p.want("with suppressed", pooled, held, unread, odd, waits)
	p.same("status", p.status(), "5 findings")
	p.same("headings", p.headings(), "poollock 2 findings, unlockresult 2 findings, lockwait 1 finding")
	p.click("input[name=suppressed]")
	p.want("without", pooled, unread, odd, waits)
}

func TestGroupsByPackageAndBack(t *testing.T) {
	p := chromium.open(t, shopPage, desktop)
	p.click("label:has(input[value=package])")
	p.want("by package", pooled, unread, waits, odd)
	p.same("headings", p.headings(), "example.org/shop/stock 2 findings, example.org/shop/stock/deep 2 findings")
	p.shoot("by-package")
	p.click("input[value=unlockresult]")
	p.want("by package, of a rule", unread, odd)
	p.click("form .clear")
	p.want("cleared, still by package", pooled, unread, waits, odd)
	p.click("label:has(input[value=rule])")
	p.want("by rule", pooled, unread, odd, waits)
}

func TestSearchByKeyboard(t *testing.T) {
	p := chromium.open(t, shopPage, desktop)
	p.press("/")
	p.same("focus", ask[string](p, `document.activeElement.id + document.activeElement.value`), "search")
	p.write("takefirst  RUNS")
	p.want("both words, one in the source of a helper", pooled)
	p.press("/")
	p.same("a slash in the search", ask[string](p, `document.activeElement.value`), "takefirst  RUNS/")
	p.want("no match")
	p.same("what is said", ask[string](p, `document.querySelector(".nothing").innerText`), "No finding matches. Clear all")
	p.same("status", p.status(), "0 of 4 findings")
	p.click(".nothing button")
	p.want("cleared", pooled, unread, odd, waits)
	p.write("lockwait")
	p.want("by a rule's name", waits)
	p.press("Escape")
	p.want("after Escape", pooled, unread, odd, waits)
	p.same("focus", ask[string](p, `document.activeElement.tagName`), "BODY")
}

func TestFindingsOneAfterTheOtherByKeyboard(t *testing.T) {
	p := chromium.open(t, shopPage, desktop)
	for _, step := range []struct{ key, want string }{
		{"j", pooled}, {"j", unread}, {"j", odd}, {"k", unread}, {"k", pooled}, {"k", pooled},
	} {
		p.press(step.key)
		got := ask[string](p, `(() => { const n = document.activeElement.closest(".finding"), top = n.getBoundingClientRect().top;
			return n.dataset.rule + " " + n.dataset.package.replace("example.org/shop/", "") + " " + n.querySelector("a.place").textContent.match(/:(\d+):/)[1]
				+ (top < 0 || top > innerHeight ? ", out of sight" : ""); })()`)
		p.same(step.key, got, step.want)
	}
}

func TestLinksLeadToWhatIsHidden(t *testing.T) {
	p := chromium.open(t, shopPage, desktop)
	p.click("label:has(input[value=package])")
	const open = `document.getElementById("rule-poollock").open`
	if ask[bool](p, open) {
		t.Error("the rule's page is open at first")
	}
	p.click(".finding[data-rule=poollock] a.to-rule")
	p.until(open)
	p.click("input[value=info]")
	p.want("filtered", waits)
	ask[chromedp.Void](p, `location.hash = document.querySelector(".finding[data-suppressed]").id`)
	p.until(`document.querySelector(".finding[data-suppressed]").checkVisibility()`)
	p.want("a link to a suppressed finding", pooled, held, unread, waits, odd)
}

func TestTrailsAndFixesAreShown(t *testing.T) {
	p := chromium.open(t, shopPage, desktop)
	trail := ask[[]string](p, `[...document.querySelectorAll(".finding[data-rule=poollock]:not([hidden]) .trail > li")].map((n) =>
		n.querySelector("p").innerText.replace(/\s+/g, " ") + "|" + n.querySelector(".marked").textContent.replace(/\s+/g, " ").trim())`)
	want := []string{
		"pg_advisory_lock is sent here locks/locks.go:15:26|15 _, err := db.ExecContext(ctx, `SELECT pg_advisory_lock($1)`, shelf)",
		"Take is called here locks/locks.go:21:13|21 return Take(ctx, db, 1)",
		"reported here stock/count.go:11:9|11 return locks.TakeFirst(ctx, db)",
	}
	if !slices.Equal(trail, want) {
		t.Errorf("the trail is\n%s\nwant\n%s", strings.Join(trail, "\n"), strings.Join(want, "\n"))
	}
	mark := ask[string](p, `[...document.querySelectorAll(".finding[data-rule=poollock]:not([hidden]) .here mark")].map((n) => n.textContent).join("")`)
	p.same("mark", mark, "locks.TakeFirst(ctx, db)")
	deleted := ask[string](p, `document.querySelector(".diff .del").textContent`)
	p.same("what the fix takes away", deleted, "-\t_, err := conn.ExecContext(ctx, \"SELECT pg_advisory_unlock(31)\")\n")
	if added := ask[string](p, `[...document.querySelectorAll(".diff .add")].map((n) => n.textContent).join("")`); !strings.Contains(added, "pg_advisory_unlock(31)") {
		t.Errorf("the fix puts in %q", added)
	}
}

// What a source says or a file is called stays text.
func TestNothingOfASourceBecomesMarkup(t *testing.T) {
	p := chromium.open(t, shopPage, desktop)
	if got := ask[string](p, `typeof pwned + [...document.querySelectorAll("script, img, iframe")].map((n) => n.tagName).join()`); got != "undefinedSCRIPT" {
		t.Errorf("got %s", got)
	}
	card := ask[string](p, `document.querySelector(".finding[data-rule=unlockresult][data-package$=deep]").textContent`)
	for _, text := range []string{hostile, "stock/deep/" + hostileFile + ":15:11"} {
		if !strings.Contains(card, text) {
			t.Errorf("the card lacks %q", text)
		}
	}
}

// The policy must hold even if something became markup: a script that is put in does not run.
func TestThePolicyStopsOtherScripts(t *testing.T) {
	p := chromium.open(t, shopPage, desktop)
	ask[chromedp.Void](p, `{ const s = document.createElement("script"); s.textContent = "pwned = 1"; document.body.append(s) }`)
	if got := ask[string](p, `typeof pwned`); got != "undefined" {
		t.Error("another script runs")
	}
	p.until(`true`)
	if said := p.said(); len(said) != 1 || !strings.Contains(said[0], "Content Security Policy") {
		t.Errorf("the console has %q, want the policy's refusal", said)
	}
}

func TestWithoutScriptsEverythingIsThere(t *testing.T) {
	p := chromium.open(t, shopPage, view{width: 1280, height: 800})
	p.want("without scripts", pooled, held, unread, odd, waits)
	p.same("headings", p.headings(), "poollock 2 findings, unlockresult 2 findings, lockwait 1 finding")
	if ask[bool](p, `document.querySelector(".filters").checkVisibility()`) {
		t.Error("there are filters that do nothing")
	}
}

// The page of no findings lists what was looked at, with nothing to open.
func TestNoFindings(t *testing.T) {
	p := chromium.open(t, noneOne, desktop)
	for _, text := range []string{"No findings in quiet", "1 lock site was seen in the packages below.", "1 package looked at", "example.org/quiet"} {
		if !strings.Contains(ask[string](p, `document.body.innerText`), text) {
			t.Errorf("the page lacks %q", text)
		}
	}
}

// roles are those of what a person uses, or is led by.
var roles = []string{"button", "checkbox", "radio", "searchbox", "link", "heading", "DisclosureTriangle", "group", "region"}

func TestWhatIsUsedHasAName(t *testing.T) {
	p := chromium.open(t, shopPage, desktop)
	tree, err := chromedp.Run(p.ctx, func(ctx context.Context, target *chromedp.Target) (accessibility.GetFullAXTreeResult, error) {
		return cdp.Call(ctx, target, accessibility.GetFullAXTree, accessibility.GetFullAXTreeParams{})
	})
	if err != nil {
		t.Fatal(err)
	}
	named := map[string][]string{}
	for _, n := range tree.Nodes {
		role := value(t, n.Role)
		if n.Ignored || !slices.Contains(roles, role) {
			continue
		}
		name := strings.TrimSpace(value(t, n.Name))
		named[role] = append(named[role], name)
		if name == "" && role != "group" {
			t.Errorf("a %s has no name", role)
		}
	}
	for role, want := range map[string][]string{
		"searchbox": {"Search"}, "radio": {"Rule", "Package"}, "button": {"Clear all"},
		"group": {"Group by", "Severity", "Rule", "Package", "Suppressed"},
	} {
		for _, name := range want {
			if !slices.Contains(named[role], name) {
				t.Errorf("no %s has the name %s: %q", role, name, named[role])
			}
		}
	}
	p.press("Tab")
	p.same("the first that Tab reaches", ask[string](p, `document.activeElement.innerText`), "Skip to the findings")
}

// value reads a property of the accessibility tree, "" when it is not there.
func value(t *testing.T, v *accessibility.Value) string {
	t.Helper()
	if v == nil || len(v.Value) == 0 {
		return ""
	}
	var text string
	if err := json.Unmarshal(v.Value, &text); err != nil {
		t.Fatal(err)
	}
	return text
}
