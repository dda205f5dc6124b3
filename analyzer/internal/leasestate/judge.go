package leasestate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/advisorylint/advisorylint/analyzer/internal/client"
	"github.com/advisorylint/advisorylint/analyzer/internal/lockstate"
	"github.com/advisorylint/advisorylint/analyzer/internal/luatext"
	"github.com/advisorylint/advisorylint/analyzer/internal/summary"
	"github.com/advisorylint/advisorylint/analyzer/internal/symexec"
	"github.com/advisorylint/advisorylint/analyzer/internal/term"
)

// lock reports whether the evidence makes c's key a lock. What a parameter holds is for the callers to
// say, unless the function or its type is one for locks.
func (j *judge) lock(c *command) bool {
	if c.key == nil || !j.of(c).lock() {
		return false
	}
	if !strings.HasPrefix(c.class, "param ") || j.named(c) {
		return true
	}
	_, compared := c.looked() // all of the mistake is here
	return compared
}

// judge looks at one command on one path.
func (j *judge) judge(c *command) {
	if c.ofLibrary() {
		j.library(c)
		return
	}
	j.slots(c)
	j.made(c)
	if !j.lock(c) && (c.act != compareRelease && c.act != compareRenew || j.of(c).record()) {
		return
	}
	switch c.act {
	case acquire:
		j.acquire(c)
	case set:
		if j.unconditional(c) {
			j.finding(c, lockstate.LeaseAcquire).Verdicts |= lockstate.Unconditional
			j.token(c)
		}
	case release:
		j.release(c)
	case compareRelease:
		j.finding(c, lockstate.LeaseRelease)
	case renew:
		j.renew(c)
	case compareRenew:
		j.finding(c, lockstate.LeaseRenew)
	}
}

func (j *judge) acquire(c *command) {
	f := j.finding(c, lockstate.LeaseAcquire)
	switch {
	case c.script != nil:
		if !c.script.AcquireExpires() {
			f.Verdicts |= lockstate.NoExpiry
		}
	case j.forever(c.e.Cmd.TTL):
		switch d := j.expiryOf(c); {
		case d == nil:
			f.Verdicts |= lockstate.NoExpiry
		case !together(c, d):
			f.Verdicts |= lockstate.LaterExpiry
		}
	}
	j.token(c)
}

// expiryOf is the command on c's path that gives the key which c acquires its expiry.
func (j *judge) expiryOf(c *command) *command {
	for _, d := range j.in[c.fn] {
		if d.path == c.path && (d.act == renew || d.act == compareRenew) && d.acquired() == c {
			return d
		}
	}
	return nil
}

// together reports whether two commands go out in one MULTI.
func together(a, b *command) bool {
	g := a.e.Cmd.Group
	return symexec.Multi(g) && term.Equal(g, b.e.Cmd.Group) || a.inMulti() && b.inMulti() && term.Equal(a.e.Handle, b.e.Handle)
}

// inMulti reports whether MULTI went before on the same connection.
func (c *command) inMulti() bool {
	return slices.ContainsFunc(c.before, func(b *command) bool {
		return b.e.Cmd.Op == client.QueueMulti && term.Equal(b.e.Handle, c.e.Handle)
	})
}

func (j *judge) token(c *command) {
	if j.of(c).compared && j.shared(c.value()) && !j.freedBlindly(c) {
		j.finding(c, lockstate.LeaseAcquire).Verdicts |= lockstate.SharedToken
	}
}

// value is what a command writes, nil when that is not known.
func (c *command) value() *term.Term {
	if c.script == nil {
		return c.e.Cmd.Value
	}
	for _, a := range c.script.Acts {
		if (a.Op == luatext.SetNX || a.Op == luatext.Set) && a.Value.Kind == luatext.Arg && a.Value.Index > 0 && a.Value.Index <= len(c.e.Args) {
			return c.e.Args[a.Value.Index-1]
		}
	}
	return nil
}

// freedBlindly reports whether a path from c goes on to delete the key without a look: then that is the mistake.
func (j *judge) freedBlindly(c *command) bool {
	return slices.ContainsFunc(j.in[c.fn], func(d *command) bool {
		if d.act != release {
			return false
		}
		if a := d.acquired(); a == nil || symexec.Base(a.e.Site) != symexec.Base(c.e.Site) {
			return false
		}
		_, compared := d.looked()
		return !compared
	})
}

// unconditional reports whether a plain write takes the lock: after a look that found it free, or in a
// function that is there for taking it.
func (j *judge) unconditional(c *command) bool {
	if c.acquired() != nil || c.e.Cmd.Atomic || c.later {
		return false
	}
	if at, compared := c.looked(); at != nil {
		return !compared && c.absent(at)
	}
	if j.coveredByLook(c) || j.of(c).acquiredIn[by(c.fn)] {
		return false
	}
	return takes(c.fn.Name) || j.freed(c)
}

// freed reports whether the path that writes c's key goes on to release it.
func (j *judge) freed(c *command) bool {
	return slices.ContainsFunc(j.in[c.fn], func(d *command) bool {
		return d.path == c.path && (d.act == release || d.act == compareRelease) && slices.Contains(d.before, c) && d.same(c)
	})
}

// coveredByLook reports whether a caller looks before it calls c's function.
func (j *judge) coveredByLook(c *command) bool {
	return slices.ContainsFunc(j.covered[c.e], func(o *command) bool { at, _ := o.looked(); return at != nil })
}

// absent reports whether the path knows that the key which was looked at was not there.
func (c *command) absent(at *command) bool {
	site := sent(at.e)
	for _, f := range c.facts {
		cond := f.Cond
		switch {
		case cond.Op == term.Call && cond.Str == "errors.Is" && failure(cond.Args[0], site) && isNil(cond.Args[1]):
			return f.Val
		case cond.Op == term.Answer && isSent(cond.Args[0], site) && at.e.Cmd.Op == client.ExistsCommand:
			return !f.Val
		case cond.Op != term.Bin || cond.Str != "==":
		case failure(cond.Args[0], site) && isNil(cond.Args[1]):
			return f.Val
		case failure(cond.Args[0], site) && cond.Args[1].IsNil() && at.e.Cmd.Op == client.GetCommand && !f.Val:
			return true // any error counts as free
		case answers(cond.Args[0], site) && (cond.Args[1].Str == "i:0" || cond.Args[1].Str == "s:" || cond.Args[1].IsNil()):
			return f.Val
		case answers(cond.Args[0], site) && cond.Args[1].Str == "i:1":
			return !f.Val
		}
	}
	for _, f := range c.facts {
		if cond := f.Cond; cond.Op == term.Bin && cond.Str == ">" && answers(cond.Args[0], site) && cond.Args[1].Str == "i:0" {
			return !f.Val
		}
	}
	return false
}

// takes reports whether a function's name says that it acquires.
func takes(name string) bool {
	take := false
	for _, w := range words(name) {
		switch w {
		case "unlock", "release", "extend", "renew", "refresh", "keep", "alive", "update", "free":
			return false
		case "lock", "trylock", "acquire", "obtain", "claim", "take":
			take = true
		}
	}
	return take
}

func (j *judge) release(c *command) {
	f := j.finding(c, lockstate.LeaseRelease)
	if c.e.Cmd.Atomic || c.watched() {
		return
	}
	if a := c.acquired(); a != nil && !c.later && a.granted(c.facts) == no && !c.guarded() {
		f.Verdicts |= lockstate.NotHeld
	}
	_, compared := c.looked()
	switch {
	case compared:
		f.Verdicts |= lockstate.GetThenDelete
	case forced(c):
	case j.covered[c.e] == nil || c.fn.Exported && !strings.HasPrefix(c.class, "param ") || slices.ContainsFunc(j.covered[c.e], func(o *command) bool {
		_, compared := o.looked()
		return !compared && !forced(o)
	}):
		f.Verdicts |= lockstate.BlindDelete
	}
}

// guarded reports whether the path depends on what an object remembers, which may be that it has the lock.
func (c *command) guarded() bool {
	return slices.ContainsFunc(c.facts, func(f summary.Fact) bool {
		return f.Cond.Op == term.Load && f.Cond.Args[0].Op == term.FieldPtr && f.Val
	})
}

// watched reports whether WATCH went before on the same connection.
func (c *command) watched() bool {
	return slices.ContainsFunc(c.before, func(b *command) bool {
		return b.e.Cmd.Op == client.WatchCommand && term.Equal(b.e.Handle, c.e.Handle)
	})
}

// forced reports whether the function says that it takes the lock from whoever holds it.
func forced(c *command) bool {
	names := []string{c.fn.Name}
	for in := c.e.Inner; in != nil; in = in.Inner {
		names = append(names, in.Steps[0].Name)
	}
	for _, s := range c.e.Steps {
		names = append(names, s.Name)
	}
	for _, n := range names {
		for _, w := range words(n) {
			switch w {
			case "force", "forced", "forcibly", "break", "breaks", "admin", "steal", "evict", "override":
				return true
			}
		}
	}
	return false
}

func (j *judge) renew(c *command) {
	if c.e.Cmd.Atomic || c.watched() {
		return
	}
	if a := c.acquired(); a != nil && j.forever(a.e.Cmd.TTL) {
		return // it completes the acquire, where the mistake is reported
	}
	if slices.ContainsFunc(j.covered[c.e], func(o *command) bool {
		a := o.acquired()
		return a != nil && j.forever(a.e.Cmd.TTL)
	}) {
		return
	}
	j.finding(c, lockstate.LeaseRenew).Verdicts |= lockstate.BlindRenewal
}

// finding is what is said of c's command in its function.
func (j *judge) finding(c *command, op lockstate.LeaseOp) *lockstate.Finding {
	f := j.findings[findingKey(c, op)]
	if f == nil {
		f = &lockstate.Finding{Effect: c.e, Name: fmt.Sprintf("lease %d", op), Lease: c.lease(op), Handle: c.e.Handle}
		if c.ofLibrary() { // which says itself what becomes of the answer
			f.Key.Show = show(c.lockKey())
		} else {
			f.Key.Show, f.Answer = show(c.key), j.answer(c, op)
		}
		j.findings[findingKey(c, op)] = f
		j.order = append(j.order, f)
	}
	if !slices.Contains(j.effects[f], c.e) {
		j.effects[f] = append(j.effects[f], c.e)
	}
	f.SentWith(c.moment().Context(j.r))
	if a := c.opener(op); a != nil && f.Other == nil {
		f.Other = j.findings[findingKey(a, lockstate.LeaseAcquire)]
	}
	return f
}

func findingKey(c *command, op lockstate.LeaseOp) string {
	return fmt.Sprintf("%p %s %d", c.fn, symexec.Base(c.e.Site), op)
}

// lease is what a command does, for messages.
func (c *command) lease(op lockstate.LeaseOp) *lockstate.Lease {
	if c.ofLibrary() {
		return &lockstate.Lease{Op: op, System: c.e.Cmd.System, Command: c.e.Cmd.Name, Library: c.e.Cmd.Library}
	}
	return &lockstate.Lease{Op: op, System: "Redis", Command: commandName(c)}
}

// opener is the acquire before c to which a release or renewal belongs, nil when none is in view.
func (c *command) opener(op lockstate.LeaseOp) *command {
	if !c.ofLibrary() {
		if op == lockstate.LeaseAcquire {
			return nil
		}
		return c.acquired()
	}
	if op != lockstate.LeaseRelease && op != lockstate.LeaseRenew {
		return nil
	}
	for _, b := range slices.Backward(c.before) {
		if b.act == libTake && term.Equal(b.lock(), c.lock()) {
			return b
		}
	}
	return nil
}
func commandName(c *command) string {
	if c.script != nil {
		return "the script"
	}
	return c.e.Cmd.Name
}

// show is the key for a message, "" when it has no constant form.
func show(t *term.Term) string {
	if t == nil {
		return ""
	}
	if s, ok := t.StrVal(); ok {
		return s
	}
	if t.Op != term.Concat {
		return ""
	}
	var b strings.Builder
	for _, a := range t.Args {
		if s, ok := a.StrVal(); ok {
			b.WriteString(s)
		} else {
			b.WriteString("…")
		}
	}
	return b.String()
}

// moment is when a command is sent.
func (c *command) moment() lockstate.Moment {
	locked := slices.ContainsFunc(c.before, func(b *command) bool { return b.act == acquire || b.act == libTake })
	return lockstate.Moment{Effect: c.e, Cleanup: lockstate.Cleanup(c.e.Cleanup), Done: c.done, Facts: c.facts, Locked: locked}
}

// answer says what becomes of the answer to an acquire or to a release that compares.
func (j *judge) answer(c *command, op lockstate.LeaseOp) lockstate.Answer {
	if op == lockstate.LeaseRenew || c.act == release || c.act == set || c.e.Made == nil {
		return lockstate.AnswerUnknown
	}
	if c.script != nil && !c.script.Answer.Tells() {
		return lockstate.AnswerUnknown
	}
	site, run := sent(c.e), c.fn.Run
	reads := func(t *term.Term) bool {
		return answers(t, site) || (c.e.Cmd.ByError || c.e.Cmd.NilReply && converted(t, site)) && failure(t, site) || c.script != nil && c.script.Answer.NotIsNil() && failure(t, site)
	}
	whole := func(t *term.Term) bool { return isSent(t, site) }
	read := false
	for _, p := range run.Paths { // an error is looked at when a path depends on it
		for _, f := range p.Facts {
			read = read || reads(f.Cond)
		}
	}
	for _, t := range run.Consumed {
		if whole(t) {
			return lockstate.AnswerUnknown
		}
		read = read || reads(t)
	}
	if read {
		if op == lockstate.LeaseAcquire && j.dropped(c) {
			return lockstate.AnswerUnread // the helper's word for it is not heeded
		}
		return lockstate.AnswerRead
	}
	for _, p := range run.Paths {
		for _, r := range p.Results {
			if reads(r) || whole(r) {
				return lockstate.AnswerReturned
			}
		}
		for _, st := range p.Stores {
			if st.Loc.Root().Op != term.Cell && (reads(st.Val) || whole(st.Val)) {
				return lockstate.AnswerReturned
			}
		}
	}
	if run.Truncated {
		return lockstate.AnswerUnknown
	}
	return lockstate.AnswerUnread
}

// conclude leaves what was found on the effects, for callers in other functions and packages.
func (j *judge) conclude() {
	for _, f := range j.order {
		if f.Verdicts&lockstate.GetThenDelete != 0 {
			f.Verdicts &^= lockstate.BlindDelete
		}
		n := summary.Judgement{Name: f.Name, Kind: f.Kind, Context: uint8(f.Context.Kind), Answer: uint8(f.Answer),
			Cleanup: uint8(f.Cleanup), Verdicts: f.Verdicts}
		for _, e := range j.effects[f] {
			e.Judged = append(e.Judged, n)
		}
	}
}
