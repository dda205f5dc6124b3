// Package leasestate says what a package's commands do to locks in Redis: which keys are locks, which
// commands acquire, release and renew them, and what is wrong with that. A key is a lock only on
// evidence (evidence.go), which is gathered in the whole package; what a command is judged by is the
// path on which it stands (path.go).
package leasestate

import (
	"github.com/advisorylint/advisorylint/analyzer/internal/client"
	"github.com/advisorylint/advisorylint/analyzer/internal/lockstate"
	"github.com/advisorylint/advisorylint/analyzer/internal/luatext"
	"github.com/advisorylint/advisorylint/analyzer/internal/provenance"
	"github.com/advisorylint/advisorylint/analyzer/internal/summary"
	"github.com/advisorylint/advisorylint/analyzer/internal/symexec"
	"github.com/advisorylint/advisorylint/analyzer/internal/term"
)

// A Function is one that was followed.
type Function struct {
	Name string // "Unlock"
	Recv string // the receiver's type, "path.Mutex"; "" for a function
	Pkg  string
	// Exported: others than the functions that were followed may call it.
	Exported bool
	Run      *symexec.Run
	// Guarded: it takes a lock of the process, a sync.Mutex.
	Guarded bool
}

// act is what a command does to a lock, if its key is one.
type act uint8

const (
	look    act = iota // reads whether the key is there, or its value
	acquire            // writes the key only when it is free
	set                // writes the key
	release            // deletes the key, whoever holds it
	renew              // sets the key's expiry, whoever holds it
	compareRelease
	compareRenew
	other
)

// command is one command on one path of a function, with those before it.
type command struct {
	fn     *Function
	path   *symexec.Path
	e      *summary.Effect
	key    *term.Term
	class  string // form of the key, "" without one
	act    act
	script *luatext.Script // nil for a plain command
	before []*command
	facts  []summary.Fact
	done   []string // keys of contexts that are done
	later  bool     // in a function value that runs at another time
}

// judge has what is known of the package.
type judge struct {
	r        *provenance.Reader
	fns      []*Function
	commands []*command
	in       map[*Function][]*command // commands of each function
	byEffect map[*summary.Effect][]*command
	scripts  map[string]*luatext.Script
	keys     map[string]*evidence
	forms    map[*Function]map[string]bool // the keys of a function
	findings map[string]*lockstate.Finding
	order    []*lockstate.Finding
	effects  map[*lockstate.Finding][]*summary.Effect
	covered  map[*summary.Effect][]*command
}

// Judge looks at the commands of all functions of a package. loops adds to what was found what it says of
// the loops in which the commands stand, before callers see it, and gives the findings of its own.
func Judge(r *provenance.Reader, fns []*Function, loops func([]*lockstate.Finding) []*lockstate.Finding) []*lockstate.Finding {
	j := &judge{r: r, fns: fns, in: map[*Function][]*command{}, byEffect: map[*summary.Effect][]*command{}, scripts: map[string]*luatext.Script{},
		keys: map[string]*evidence{}, forms: map[*Function]map[string]bool{}, findings: map[string]*lockstate.Finding{}, effects: map[*lockstate.Finding][]*summary.Effect{},
		covered: map[*summary.Effect][]*command{}}
	for _, fn := range fns {
		for _, p := range fn.Run.Paths {
			j.walk(fn, p)
		}
	}
	if len(j.commands) == 0 {
		return nil
	}
	j.gather()
	for _, c := range j.commands {
		j.judge(c)
	}
	j.twinMethods()
	var own []*lockstate.Finding
	if len(j.order) > 0 { // what loops do to other keys is nobody's business
		own = loops(j.order)
	}
	j.conclude()
	return append(j.order, own...)
}

// walk lists the commands of a path in order; those of a function value that runs later come after what
// went before it was handed out.
func (j *judge) walk(fn *Function, p *symexec.Path) {
	all := j.replay(fn, p, p.Effects, p.Facts, nil, nil, false)
	for _, alt := range p.Returned {
		j.replay(fn, p, alt.Effects, append(p.Facts[:len(p.Facts):len(p.Facts)], alt.Facts...), all, nil, true)
	}
}

func (j *judge) replay(fn *Function, p *symexec.Path, effects []*summary.Effect, facts []summary.Fact, before []*command, done []string, later bool) []*command {
	for _, e := range effects {
		switch e.Op {
		case summary.Done:
			done = append(done[:len(done):len(done)], e.Ctx.Key())
		case summary.Command:
			for _, c := range j.read(e) {
				c.fn, c.path, c.facts, c.before, c.done, c.later = fn, p, facts, before, done, later
				c.class = form(c.key, fn)
				j.commands = append(j.commands, c)
				j.in[fn] = append(j.in[fn], c)
				j.byEffect[e] = append(j.byEffect[e], c)
				for in := e.Inner; in != nil; in = in.Inner {
					j.covered[in] = append(j.covered[in], c)
				}
				before = append(before[:len(before):len(before)], c)
			}
		case summary.Escape:
			for _, alt := range e.Alts {
				j.replay(fn, p, alt.Effects, append(facts[:len(facts):len(facts)], alt.Facts...), before, done, true)
			}
		}
	}
	return before
}

// read gives what an effect does to each of its keys.
func (j *judge) read(e *summary.Effect) []*command {
	if a, ok := libraryActs[e.Cmd.Op]; ok {
		return []*command{{e: e, act: a}}
	}
	var out []*command
	add := func(a act, key *term.Term, s *luatext.Script) {
		out = append(out, &command{e: e, key: key, act: a, script: s})
	}
	switch e.Cmd.Op {
	case client.EvalCommand, client.ScriptCommand:
		s := j.script(e)
		if len(e.Cmd.Keys) == 0 { // they may be in the text
			add(scriptAct(s), nil, s)
		}
		for i, key := range e.Cmd.Keys {
			if i > 0 && !s.Several() {
				break
			}
			add(scriptAct(s), key, s)
		}
		return out
	}
	a := other
	switch e.Cmd.Op {
	case client.QueueMulti:
		add(other, nil, nil)
		return out
	case client.GetCommand, client.ExistsCommand:
		a = look
	case client.SetNXCommand:
		a = acquire
	case client.SetCommand:
		a = set
	case client.DelCommand:
		a = release
	case client.ExpireCommand:
		a = renew
	case client.CompareDelete:
		a = compareRelease
	}
	for _, key := range e.Cmd.Keys {
		add(a, key, nil)
	}
	return out
}

// script parses the text that an effect runs; one that is not known is not understood.
func (j *judge) script(e *summary.Effect) *luatext.Script {
	text := j.text(e.Text)
	s := j.scripts[text]
	if s == nil {
		s = luatext.Parse(text)
		j.scripts[text] = s
	}
	return s
}

// text is a script's text, "" when it is not known to be one; what is put in at run time is a word.
func (j *judge) text(t *term.Term) string {
	if t == nil {
		return ""
	}
	for _, v := range j.values(t) {
		if in := symexec.ScriptText(v); in != nil {
			return j.text(in)
		}
	}
	texts := j.r.Texts(t)
	if len(texts) != 1 {
		return ""
	}
	return filled(texts[0].SQL.Lits)
}

// values are what a field may hold, or t itself.
func (j *judge) values(t *term.Term) []*term.Term {
	for t.Op == term.As || t.Op == term.Conv {
		t = t.Args[0]
	}
	if t.Op == term.Load && j.r.Fields != nil {
		if vals, ok := j.r.Fields.Stores(t); ok && len(vals) > 0 {
			return vals
		}
	}
	return t.Atoms()
}

func scriptAct(s *luatext.Script) act {
	switch {
	case !s.Known:
		return other
	case s.Releases():
		return compareRelease
	case s.Acquires():
		return acquire
	case s.Renews():
		return compareRenew
	case s.BlindDeletes():
		return release
	case s.BlindExpires():
		return renew
	}
	return other
}

// sent is the site of a command without the rounds of the loops around it.
func sent(e *summary.Effect) string {
	if e.Made == nil {
		return ""
	}
	return symexec.Base(e.Made.Site)
}

// answers reports whether t depends on the answer of the command at a site.
func answers(t *term.Term, site string) bool {
	return t.Has(func(x *term.Term) bool {
		return (x.Op == term.Answer || x.Op == term.Count) && len(x.Args) > 0 && isSent(x.Args[0], site)
	})
}

func isSent(t *term.Term, site string) bool { return t.Op == term.Sent && symexec.Base(t.Site) == site }

func failure(t *term.Term, site string) bool {
	return t.Has(func(x *term.Term) bool { return x.Op == term.ErrOf && isSent(x.Args[0], site) })
}
