// Package htmltest opens the page of -format=html in Chromium and uses it as a person does.
package htmltest

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// patience is how long a browser may take for what one test does. It only ends tests that hang.
const patience = 2 * time.Minute

// browser is a Chromium of its own, without a profile and, but for what a page asks for, without a network.
type browser struct{ ctx context.Context }

func openBrowser() (browser, func(), error) {
	program, err := exec.LookPath("chromium")
	if err != nil {
		return browser{}, nil, fmt.Errorf("%w: scripts/install-servers.sh installs it", err)
	}
	profile, err := os.MkdirTemp("", "htmltest-")
	if err != nil {
		return browser{}, nil, err
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(program), chromedp.UserDataDir(profile), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.WSURLReadTimeout(patience),
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true))
	ctx, kill := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, closeAll := chromedp.NewContext(ctx)
	end := func() {
		closeAll()
		kill()
		os.RemoveAll(profile)
	}
	if err := chromedp.Do(ctx); err != nil { // starts it
		end()
		return browser{}, nil, err
	}
	return browser{ctx}, end, nil
}

// view is how a page is looked at.
type view struct {
	width, height int64
	dark          bool
	scripts       bool
}

func (v view) String() string {
	scheme, scripts := "light", ""
	if v.dark {
		scheme = "dark"
	}
	if !v.scripts {
		scripts = "-noscript"
	}
	return fmt.Sprintf("%d-%s%s", v.width, scheme, scripts)
}

// tab is a page that is open. What goes wrong in it fails the test at its end.
type tab struct {
	t    *testing.T
	ctx  context.Context
	file string

	mu       sync.Mutex
	requests []string
	problems []string
}

// open shows a file.
func (b browser) open(t *testing.T, file string, v view) *tab {
	t.Helper()
	ctx, stop := context.WithTimeout(b.ctx, patience)
	ctx, closeTab := chromedp.NewContext(ctx)
	cancel := func() { closeTab(); stop() }
	p := &tab{t: t, ctx: ctx, file: (&url.URL{Scheme: "file", Path: file}).String()}
	if err := chromedp.Listen(ctx, p.watch); err != nil {
		cancel()
		t.Fatal(err)
	}
	t.Cleanup(func() {
		defer cancel()
		p.quiet()
	})
	scheme := "light"
	if v.dark {
		scheme = "dark"
	}
	p.do(
		command(network.Enable, network.EnableParams{}),
		command(log.Enable, cdp.Empty{}),
		command(emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: !v.scripts}),
		command(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
		}),
		chromedp.EmulateViewport(v.width, v.height),
		chromedp.Navigate(p.file),
	)
	return p
}

// command makes an action of a command of the protocol.
func command[P, R any](c cdp.Command[P, R], params P) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, c, params)
		return err
	})
}

// watch notes what a page must not do.
func (p *tab) watch(event any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		p.requests = append(p.requests, e.Request.URL)
	case *log.EventEntryAdded: // what the browser says, a breach of the policy for one
		p.problems = append(p.problems, e.Entry.Text)
	case *runtime.EventConsoleAPICalled:
		said := "console." + string(e.Type)
		for _, a := range e.Args {
			said += " " + string(a.Value) + a.Description
		}
		p.problems = append(p.problems, said)
	case *runtime.EventExceptionThrown:
		p.problems = append(p.problems, e.ExceptionDetails.Text)
	}
}

// quiet fails the test when the page asked for anything but itself, or complained.
func (p *tab) quiet() {
	p.mu.Lock()
	defer p.mu.Unlock()
	itself := false
	for _, r := range p.requests {
		address, _, _ := strings.Cut(r, "#")
		itself = itself || address == p.file
		if address != p.file && !strings.HasPrefix(address, "data:") {
			p.t.Errorf("the page asks for %s", r)
		}
	}
	if !itself {
		p.t.Errorf("requests are not seen: %q", p.requests)
	}
	for _, problem := range p.problems {
		p.t.Errorf("the console has: %s", problem)
	}
}

// said gives what the console has, and takes it for expected.
func (p *tab) said() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	list := p.problems
	p.problems = nil
	return list
}

func (p *tab) do(steps ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	if err := chromedp.Do(p.ctx, steps...); err != nil {
		p.t.Fatal(err)
	}
}

// click clicks what a CSS selector finds, with the mouse.
func (p *tab) click(selector string) {
	p.t.Helper()
	p.do(chromedp.Click(chromedp.CSS(selector)))
}

// virtual are the codes of keys that type no text (Windows' virtual-key codes, which the protocol wants).
var virtual = map[string]int64{"Tab": 9, "Escape": 27}

// press presses a key and lets it go, as the keyboard does: what the key types is dropped when the page takes it.
func (p *tab) press(key string) {
	p.t.Helper()
	down := input.DispatchKeyEventParams{Type: input.DispatchKeyEventTypeKeyDown, Key: key, WindowsVirtualKeyCode: virtual[key]}
	if virtual[key] == 0 {
		down.Text = key
	}
	up := down
	up.Type, up.Text = input.DispatchKeyEventTypeKeyUp, ""
	p.do(command(input.DispatchKeyEvent, down), command(input.DispatchKeyEvent, up))
}

// write presses the keys of a text.
func (p *tab) write(text string) {
	p.t.Helper()
	for _, letter := range text {
		p.press(string(letter))
	}
}

// ask evaluates an expression in the page.
func ask[T any](p *tab, expression string) T {
	p.t.Helper()
	value, err := chromedp.Run(p.ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		p.t.Fatalf("%s: %v", expression, err)
	}
	return value
}

// shoot keeps a picture of the page where HTMLTEST_SHOTS names a folder, for people to look at.
func (p *tab) shoot(name string) {
	p.t.Helper()
	dir := os.Getenv("HTMLTEST_SHOTS")
	if dir == "" {
		return
	}
	png, err := chromedp.Run(p.ctx, chromedp.FullScreenshot(100))
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, name+".png"), png, 0o644)
	}
	if err != nil {
		p.t.Fatal(err)
	}
}
