package leasestate

import (
	"slices"
	"strings"
	"unicode"

	"github.com/advisorylint/advisorylint/analyzer/internal/client"
	"github.com/advisorylint/advisorylint/analyzer/internal/lockstate"
	"github.com/advisorylint/advisorylint/analyzer/internal/summary"
	"github.com/advisorylint/advisorylint/analyzer/internal/symexec"
	"github.com/advisorylint/advisorylint/analyzer/internal/term"
)

// What a lock library is asked to do. Its locks need no evidence.
const (
	libTake act = other + 1 + iota
	libGiveBack
	libExtend
	libWatch
	libMake
	libSession
	libCancel
	libOther
)

var libraryActs = map[client.CommandOp]act{
	client.LeaseTake: libTake, client.LeaseGiveBack: libGiveBack, client.LeaseExtend: libExtend, client.LeaseWatch: libWatch,
	client.LeaseMake: libMake, client.LeaseSession: libSession, client.LeaseCancel: libCancel, client.LeaseEnd: libOther,
}

// ofLibrary reports whether a lock library is asked, not a server.
func (c *command) ofLibrary() bool { return c.act > other }

// library judges a call of a lock library, or one that ends a session's context.
func (j *judge) library(c *command) {
	switch c.act {
	case libTake:
		f := j.finding(c, lockstate.LeaseAcquire)
		f.Answer = j.taken(c)
		if j.unwatched(c) {
			f.Verdicts |= lockstate.Unwatched
		}
		j.lateUse(c)
	case libGiveBack:
		f := j.finding(c, lockstate.LeaseRelease)
		if c.e.Cmd.Tells && c.e.Inner == nil { // a helper's error for it may be dropped: that is not decided
			f.Answer = heeded(c.e.Cmd.Heed)
		}
	case libExtend:
		j.finding(c, lockstate.LeaseRenew)
	case libMake:
		if first := twin(c); first != nil {
			j.twins(first, c)
		}
	case libSession:
		if j.requestSession(c) {
			j.finding(c, lockstate.LeaseSession).Verdicts |= lockstate.ShortSession
		}
	case libCancel:
		j.cancelled(c)
	}
}

func heeded(h summary.Heed) lockstate.Answer {
	switch h {
	case summary.Heeded:
		return lockstate.AnswerRead
	case summary.Unheeded:
		return lockstate.AnswerUnread
	}
	return lockstate.AnswerUnknown
}

// taken says what becomes of the answer to an acquire.
func (j *judge) taken(c *command) lockstate.Answer {
	switch {
	case !c.e.Cmd.Tells:
		return lockstate.AnswerUnknown
	case c.e.Inner == nil:
		return heeded(c.e.Cmd.Heed)
	case j.dropped(c):
		return lockstate.AnswerUnread
	}
	return lockstate.AnswerRead
}

// dropped reports whether nobody heeds a helper's word for its acquire, and the helper leaves the lock to
// the caller: one that also releases has not run what it was given. The word for a release is not judged.
func (j *judge) dropped(c *command) bool {
	if !c.e.Dropped || c.e.Inner == nil {
		return false
	}
	at := c.e.Steps[0].Pos
	return !slices.ContainsFunc(j.in[c.fn], func(d *command) bool {
		return d.e.Inner != nil && d.e.Steps[0].Pos == at && (d.act == release || d.act == compareRelease || d.act == libGiveBack)
	})
}

// lock is the lock that c is about, or the one that it makes.
func (c *command) lock() *term.Term {
	if len(c.e.Args) > 0 {
		return c.e.Args[0]
	}
	return c.e.Handle
}

func (c *command) lockKey() *term.Term {
	if _, key, ok := symexec.LeaseLock(c.lock()); ok {
		return key
	}
	return nil
}

// session is what the lock ends with: a session of etcd, or itself.
func (c *command) session() *term.Term {
	l := c.lock()
	if s, _, ok := symexec.LeaseLock(l); ok && c.e.Cmd.System == "etcd" {
		return s
	}
	return l
}

// twin is the lock before c of the same key on the same session that may still be in use.
func twin(c *command) *command {
	if c.e.Cmd.System != "etcd" || c.later {
		return nil
	}
	for i := len(c.before) - 1; i >= 0; i-- {
		b := c.before[i]
		if b.act == libMake && b.e.Cmd.System == "etcd" && locks(b) && locks(c) && term.Equal(b.session(), c.session()) &&
			term.Equal(b.lockKey(), c.lockKey()) && b.inUse(c) {
			return b
		}
	}
	return nil
}

// locks reports whether c makes a mutex. Elections of one name on one session are one candidate by intent.
func locks(c *command) bool { return !strings.HasSuffix(c.e.Cmd.Name, "Election") }

// inUse reports whether the lock that b makes was not used yet, or is held, when c makes another.
func (b *command) inUse(c *command) bool {
	use := true
	for _, d := range c.before {
		if !term.Equal(d.e.Handle, b.lock()) {
			continue
		}
		switch d.act {
		case libTake:
			use = succeeded(d, c.facts)
		case libGiveBack:
			use = false
		}
	}
	return use
}

// succeeded reports whether the path knows that an acquire gave no error.
func succeeded(d *command, facts []summary.Fact) bool {
	return slices.ContainsFunc(facts, func(f summary.Fact) bool {
		c := f.Cond
		return f.Val && c.Op == term.Bin && c.Str == "==" && c.Args[1].IsNil() && c.Args[0].Op == term.ErrOf && term.Equal(c.Args[0].Args[0], d.e.Made)
	})
}

func (j *judge) twins(first, second *command) {
	f := j.finding(second, lockstate.LeaseSession)
	f.Verdicts |= lockstate.TwinMutex
	if o := j.finding(first, lockstate.LeaseSession); o != f {
		f.Other = o
	}
}

// twinMethods looks for methods of a type that each lock a mutex of their own, of one constant key on one
// session that the type keeps, with nothing in the process that keeps the methods apart.
func (j *judge) twinMethods() {
	first := map[string]*command{}
	for _, c := range j.commands {
		if c.act != libMake || c.e.Cmd.System != "etcd" || !locks(c) || c.e.Inner != nil || c.fn.Guarded || !j.takes(c) {
			continue
		}
		s, key := c.session(), c.lockKey()
		if key == nil || key.Op != term.Const || s.Op != term.Load || s.Args[0].Op != term.FieldPtr || s.Root().Op != term.Param || s.Root().Str != "0" {
			continue
		}
		k := c.fn.Recv + " " + s.Args[0].Key() + " " + key.Str
		switch b := first[k]; {
		case c.fn.Recv == "":
		case b == nil:
			first[k] = c
		case b.fn != c.fn:
			j.twins(b, c)
		}
	}
}

// takes reports whether the lock that c makes is acquired on c's path.
func (j *judge) takes(c *command) bool {
	return slices.ContainsFunc(j.in[c.fn], func(d *command) bool {
		return d.path == c.path && d.act == libTake && term.Equal(d.e.Handle, c.lock())
	})
}

// cancelled judges the sessions whose context ends at c, in the function that ends it.
func (j *judge) cancelled(c *command) {
	if c.later {
		return
	}
	for _, b := range c.before {
		if b.act == libSession && symexec.DerivedFrom(b.e.Ctx, c.e.Ctx) && leaves(c.path, b.lock()) {
			j.finding(b, lockstate.LeaseSession).Verdicts |= lockstate.ShortSession
		}
	}
}

// lateUse judges the session on which c acquires when its context has ended before.
func (j *judge) lateUse(c *command) {
	s := c.session()
	var made *command
	for _, b := range c.before {
		switch {
		case b.act == libSession && term.Equal(b.lock(), s):
			made = b
		case b.act == libCancel && !b.later && made != nil && symexec.DerivedFrom(made.e.Ctx, b.e.Ctx):
			j.finding(made, lockstate.LeaseSession).Verdicts |= lockstate.ShortSession
			return
		}
	}
}

// requestSession reports whether a session that is kept has the context of one request, or a deadline
// that nobody is given the means to end.
func (j *judge) requestSession(c *command) bool {
	for t := c.e.Ctx; t != nil; {
		switch {
		case t.Op == term.As:
			t = t.Args[0]
		case t.Op == term.Call && t.Str == "context.WithValue":
			t = t.Args[0]
		case t.Op == term.Call && t.Str == "(*net/http.Request).Context":
			return stored(c.path, c.lock())
		case t.Op == term.Result && t.Args[0].Op == term.Call && symexec.ContextMaker(t.Args[0].Str):
			stop := term.New(term.Result, "1", "", "", t.Args[0])
			if strings.HasPrefix(t.Args[0].Str, "context.WithTimeout") && leaves(c.path, c.lock()) && !leaves(c.path, stop) {
				return true
			}
			t = t.Args[0].Args[0]
		default:
			return false
		}
	}
	return false
}

// leaves reports whether t goes to the caller of a path's function, or to memory that was there before.
func leaves(p *symexec.Path, t *term.Term) bool {
	return reached(p, p.Results, t) || stored(p, t)
}

func stored(p *symexec.Path, t *term.Term) bool {
	var from []*term.Term
	for _, st := range p.Stores {
		if st.Loc.Root().Op != term.Cell {
			from = append(from, st.Val)
		}
	}
	return reached(p, from, t)
}

// reached reports whether t is among some values or in fresh memory that they lead to.
func reached(p *symexec.Path, from []*term.Term, t *term.Term) bool {
	seen := map[string]bool{}
	for len(from) > 0 {
		v := from[0]
		from = from[1:]
		if v.Has(func(x *term.Term) bool {
			if x.Op == term.Cell && !seen[x.Key()] {
				seen[x.Key()] = true
				for _, st := range p.Stores {
					if term.Equal(st.Loc.Root(), x) {
						from = append(from, st.Val)
					}
				}
			}
			return term.Equal(x, t)
		}) {
			return true
		}
	}
	return false
}

// unwatched reports whether nobody looks for the loss of the lock that c acquires. Only the library's own
// call is judged, and not where somebody out of sight has the means to look.
func (j *judge) unwatched(c *command) bool {
	if !c.e.Cmd.Tends || c.e.Inner != nil || c.e.Cmd.Heed == summary.Unheeded || !j.mine(c, c.lock()) || !j.mine(c, c.session()) {
		return false
	}
	within := inView(c.lock()) || j.givenBack(c)
	for _, d := range j.commands {
		if !watches(d) {
			continue
		}
		switch {
		case d.fn == c.fn, !within:
			return false
		case slices.ContainsFunc(j.covered[c.e], func(o *command) bool { return o.fn == d.fn }):
			return false // a caller does
		case !j.locksIn(d.fn) && !argument(d):
			return false // somebody whose work it is
		}
	}
	return true
}

// mine reports whether nobody outside the package can have the lock or session t, of which c is about.
func (j *judge) mine(c *command, t *term.Term) bool {
	switch r := t.Root(); {
	case inView(t):
		return c.fn.Run.Consumed[t.Key()] == nil && !slices.ContainsFunc(c.fn.Run.Paths, func(p *symexec.Path) bool { return leaves(p, t) })
	case t == r && r.Op == term.Param:
		return !c.fn.Exported
	case t.Op == term.Load && t.Args[0].Op == term.FieldPtr:
		return !unicode.IsUpper([]rune(t.Args[0].Str)[0]) && !j.handsOut()
	case t.Op == term.Load:
		return t.Args[0].Op == term.Global && !j.handsOut()
	}
	return false
}

// inView reports whether a lock or session was made in the function.
func inView(t *term.Term) bool {
	_, _, lock := symexec.LeaseLock(t)
	return lock || symexec.LeaseSession(t)
}

// handsOut reports whether a function of the package gives a kept lock or session to its callers.
func (j *judge) handsOut() bool {
	for _, fn := range j.fns {
		for _, p := range fn.Run.Paths {
			for _, r := range p.Results {
				if fn.Exported && r.Op == term.Load && client.LeaseType(r.Type) {
					return true
				}
			}
		}
	}
	return false
}

// watches reports whether d looks for the loss of a lock. To extend one is to look only with the answer.
func watches(d *command) bool {
	return d.act == libWatch || d.act == libExtend && d.e.Cmd.Heed != summary.Unheeded
}

// argument reports whether a function watches what its callers give it.
func argument(d *command) bool {
	r := d.e.Handle.Root()
	return r.Op == term.Param && (d.fn.Recv == "" || r.Str != "0")
}

func (j *judge) givenBack(c *command) bool {
	return slices.ContainsFunc(j.in[c.fn], func(d *command) bool {
		return d.act == libGiveBack && term.Equal(d.e.Handle, c.lock())
	})
}

func (j *judge) locksIn(fn *Function) bool {
	return slices.ContainsFunc(j.in[fn], func(d *command) bool { return d.act == libTake })
}
