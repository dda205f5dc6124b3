package symexec

import (
	"go/types"
	"strconv"

	"golang.org/x/tools/go/ssa"

	"github.com/advisorylint/advisorylint/analyzer/internal/client"
	"github.com/advisorylint/advisorylint/analyzer/internal/summary"
	"github.com/advisorylint/advisorylint/analyzer/internal/term"
)

// Calls that make a lock library's handles.
const (
	leaseLock    = "lease lock"    // of a session or client, with a key
	leaseSession = "lease session" // of a client
	leaseContext = "lease context" // the option that gives a session a context
)

// LeaseLock gives the session or client and the key of the lock that t is.
func LeaseLock(t *term.Term) (session, key *term.Term, ok bool) {
	if c := made(t, leaseLock); c != nil {
		return c.Args[0], c.Args[1], true
	}
	return nil, nil, false
}

// LeaseSession reports whether t is a session that was made in view.
func LeaseSession(t *term.Term) bool { return made(t, leaseSession) != nil }

func made(t *term.Term, name string) *term.Term {
	for t != nil && t.Op == term.As {
		t = t.Args[0]
	}
	if t != nil && t.Op == term.Result && t.Str == "0" && t.Args[0].Op == term.Call && t.Args[0].Str == name {
		return t.Args[0]
	}
	return nil
}

// handle is a handle as the result of a call, which is noted when code that is not followed gets it.
func handle(name, site, typ string, args ...*term.Term) *term.Term {
	return term.New(term.Result, "0", "", typ, term.New(term.Call, name, site, "", args...))
}

// lease runs a call of a lock library.
func (x *exec) lease(s *state, c *call, m *client.Lease, obj *types.Func) []*state {
	o := x.operands(c, &client.Command{}, obj)
	if m.Op == client.LeaseOption {
		x.ret(s, c, []*term.Term{term.New(term.Call, leaseContext, "", x.resultType(c, 0), o.ctx)})
		return []*state{s}
	}
	subject := o.recv
	if t := o.at(m.Session); t != nil {
		subject = t
	}
	if subject == nil {
		subject = term.Unknown(c.site+"h", "")
	}
	sent := term.New(term.Sent, "", c.site, "")
	e := &summary.Effect{Op: summary.Command, Site: c.site, Steps: x.step(c), Ctx: o.ctx, Handle: subject, Made: sent,
		Cmd: &summary.Cmd{Name: m.Name, Op: m.Op, Library: m.Library.Path, System: m.Library.System, Heed: heed(c, x.signature(c), m), Tells: m.Tells, Tends: m.Tends}}
	var given *term.Term
	switch {
	case m.Key != client.NoArg && o.at(m.Key) != nil:
		e.Cmd.Keys = []*term.Term{o.at(m.Key)}
		given = handle(leaseLock, c.site, x.resultType(c, 0), subject, o.at(m.Key))
	case m.Op == client.LeaseSession:
		e.Ctx = x.sessionContext(s, o)
		given = handle(leaseSession, c.site, x.resultType(c, 0), subject)
	}
	if given != nil {
		e.Args = []*term.Term{given}
	}
	s.emit(e)
	x.leaseResults(s, c, obj, sent, given)
	return []*state{s}
}

// sessionContext is the context that an option gives a session, nil when none does.
func (x *exec) sessionContext(s *state, o *commandCall) *term.Term {
	for _, option := range x.statementArgs(s, o.list, 1) {
		if option.Op == term.Call && option.Str == leaseContext {
			return option.Args[0]
		}
	}
	return nil
}

func (x *exec) leaseResults(s *state, c *call, obj *types.Func, sent, given *term.Term) {
	r := x.signature(c).Results()
	opaque := term.New(term.Call, obj.FullName(), c.site, "")
	res := make([]*term.Term, r.Len())
	for i := range res {
		switch typ := typeName(r.At(i).Type()); {
		case typ == "error":
			res[i] = term.New(term.ErrOf, "", "", "error", sent)
		case i == 0 && given != nil:
			res[i] = given
		case r.At(i).Type() == types.Typ[types.Bool]:
			res[i] = term.New(term.Answer, "0", "", typ, sent)
		default:
			res[i] = term.New(term.Result, strconv.Itoa(i), "", typ, opaque)
		}
	}
	x.ret(s, c, res)
}

// heed says what the caller does with the answer. An error and a boolean say the same, so one of them is
// enough; and a handle that is nil when the lock was refused may be asked for that.
func heed(c *call, sig *types.Signature, m *client.Lease) summary.Heed {
	if !m.Tells && m.Op != client.LeaseTake && m.Op != client.LeaseExtend {
		return summary.HeedUnknown
	}
	out, results := summary.Unheeded, sig.Results()
	for i := range results.Len() {
		if !used(c.value, i, results.Len()) {
			continue
		}
		if typ := results.At(i).Type(); typeName(typ) == "error" || typ == types.Typ[types.Bool] {
			return summary.Heeded
		}
		if !onlyCalled(c.value, i, results.Len()) {
			out = summary.HeedUnknown
		}
	}
	return out
}

// onlyCalled reports whether result i of n is used as a call's operand only.
func onlyCalled(v ssa.Value, i, n int) bool {
	if n > 1 {
		for _, r := range *v.Referrers() {
			if e, ok := r.(*ssa.Extract); ok && e.Index == i && !onlyCalled(e, 0, 1) {
				return false
			}
		}
		return true
	}
	for _, r := range *v.Referrers() {
		switch r.(type) {
		case ssa.CallInstruction, *ssa.DebugRef:
		default:
			return false
		}
	}
	return true
}

// leaseValue runs a lock library's method that is used as a value, and a context's cancel function when a
// session on the path was made with that context; nil for what is neither.
func (x *exec) leaseValue(s *state, c *call, fn *term.Term, args []*term.Term) []*state {
	if fn.Op == term.Bound {
		if obj := x.w.External(fn.Str); obj != nil {
			if m := client.LeaseOf(obj); m != nil {
				d := *c
				d.args = append([]*term.Term{fn.Args[0]}, args...)
				return x.lease(s, &d, m, obj)
			}
		}
		return nil
	}
	if fn.Op != term.Result || fn.Str != "1" || fn.Args[0].Op != term.Call || !ContextMaker(fn.Args[0].Str) {
		return nil
	}
	ctx := term.New(term.Result, "0", "", "context.Context", fn.Args[0])
	for n := s.trace; n != nil; n = n.parent {
		if e := n.effect; e.Op == summary.Command && e.Cmd.Op == client.LeaseSession && DerivedFrom(e.Ctx, ctx) {
			s.emit(&summary.Effect{Op: summary.Command, Site: c.site, Steps: x.step(c), Ctx: ctx, Made: term.New(term.Sent, "", c.site, ""),
				Cmd: &summary.Cmd{Name: "cancel", Op: client.LeaseCancel}})
			return []*state{s}
		}
	}
	return nil
}

// contextMakers are the functions that make a context and what cancels it.
var contextMakers = map[string]bool{
	"context.WithCancel": true, "context.WithCancelCause": true, "context.WithTimeout": true, "context.WithDeadline": true,
	"context.WithTimeoutCause": true, "context.WithDeadlineCause": true, "os/signal.NotifyContext": true,
}

// ContextMaker reports whether the function makes a context and, as its second result, what cancels it.
func ContextMaker(name string) bool { return contextMakers[name] }

// DerivedFrom reports whether a context is from, or was made from it.
func DerivedFrom(t, from *term.Term) bool {
	for t != nil {
		switch {
		case term.Equal(t, from):
			return true
		case t.Op == term.As:
			t = t.Args[0]
		case t.Op == term.Result && t.Args[0].Op == term.Call && contextMakers[t.Args[0].Str]:
			t = t.Args[0].Args[0]
		case t.Op == term.Call && t.Str == "context.WithValue":
			t = t.Args[0]
		default:
			return false
		}
	}
	return false
}
