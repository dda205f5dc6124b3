package main

import (
	"fmt"
	"os"
	"sync"
	"time"

	"golang.org/x/term"
)

// isTerminal reports whether a person reads f, on something that understands control sequences.
func isTerminal(f *os.File) bool {
	return term.IsTerminal(int(f.Fd())) && os.Getenv("TERM") != "dumb"
}

// width is how many columns f has; 80 when it cannot tell.
func width(f *os.File) int {
	if w, _, err := term.GetSize(int(f.Fd())); err == nil && w > 0 {
		return w
	}
	return 80
}

// palette colours text, or leaves it as it is: https://no-color.org/.
type palette struct{ on bool }

func paletteOf(f *os.File) palette {
	return palette{on: isTerminal(f) && os.Getenv("NO_COLOR") == ""}
}

func (p palette) place(s string) string { return p.wrap("1", s) }   // bold
func (p palette) rule(s string) string  { return p.wrap("36", s) }  // cyan
func (p palette) title(s string) string { return p.wrap("1;4", s) } // bold, underlined
func (p palette) code(s string) string  { return p.wrap("36", s) }

func (p palette) wrap(sgr, s string) string {
	if !p.on {
		return s
	}
	return "\x1b[" + sgr + "m" + s + "\x1b[0m"
}

// progress is one line that says what goes on and for how long. It is there on a terminal only.
type progress struct {
	f    *os.File // nil: nobody looks
	mu   sync.Mutex
	what func(now time.Time) string
	stop chan struct{}
	done chan struct{}
	once sync.Once
}

// quick is how long work takes before it is worth a line.
const quick = 400 * time.Millisecond

func startProgress(f *os.File, what string) *progress {
	p := &progress{stop: make(chan struct{}), done: make(chan struct{})}
	p.say(what)
	if !isTerminal(f) {
		close(p.done)
		return p
	}
	p.f = f
	go p.draw()
	return p
}

func (p *progress) draw() {
	defer close(p.done)
	start := time.Now()
	tick := time.NewTicker(quick)
	defer tick.Stop()
	drawn := false
	for {
		select {
		case <-p.stop:
			if drawn {
				fmt.Fprint(p.f, "\r\x1b[K")
			}
			return
		case now := <-tick.C:
			drawn = true
			p.mu.Lock()
			what := p.what
			p.mu.Unlock()
			text := []rune(fmt.Sprintf("%s… %ds", what(now), int(now.Sub(start).Seconds())))
			fmt.Fprintf(p.f, "\r\x1b[K%s", string(text[:min(len(text), width(p.f)-1)]))
		}
	}
}

func (p *progress) say(what string) { p.ask(func(time.Time) string { return what }) }

// ask makes the line say what a function says then.
func (p *progress) ask(what func(now time.Time) string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.what = what
}

// end takes the line away. It may be called twice.
func (p *progress) end() {
	p.once.Do(func() { close(p.stop) })
	<-p.done
}
