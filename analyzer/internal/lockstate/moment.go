package lockstate

import (
	"github.com/advisorylint/advisorylint/analyzer/internal/provenance"
	"github.com/advisorylint/advisorylint/analyzer/internal/summary"
	"github.com/advisorylint/advisorylint/analyzer/internal/term"
)

// Moment is when an effect is sent, as far as its context goes.
type Moment struct {
	Effect  *summary.Effect
	Cleanup Cleanup
	Done    []string       // keys of the contexts that are done
	Facts   []summary.Fact // what the path knows
	Locked  bool           // the function took a lock itself before
}

// Context says with which context the effect is sent, and why it is sent when its function ends.
func (m Moment) Context(r *provenance.Reader) (Cleanup, provenance.Context) {
	cl, e := m.Cleanup, m.Effect
	ctx := r.Context(e.Ctx, e.CleanupSite)
	for _, d := range m.Done {
		if cl == NoCleanup && ctx.Kind != provenance.ContextUnknown && ctx.Kind != provenance.Detached && provenance.From(e.Ctx, d) {
			cl, ctx.Kind, ctx.Why = AfterDone, provenance.Cancellable, "is done here"
		}
	}
	if ctx.Kind == provenance.FromCaller && cl != NoCleanup && m.owner() {
		ctx.Kind = provenance.Cancellable
	}
	if ctx.Kind == provenance.Cancellable && cl != AfterDone && m.alive() {
		ctx.Kind = provenance.ContextUnknown
	}
	return cl, ctx
}

// owner reports whether the function took a lock itself before: then its context is the one under
// which the lock's work ran, and the caller has no say in the release.
func (m Moment) owner() bool {
	if m.Effect.Cleanup == summary.InReturned {
		return m.Effect.Ctx.Op != term.Opaque
	}
	return m.Locked
}

// alive reports whether the path knows that the context's Err was nil.
func (m Moment) alive() bool {
	for _, f := range m.Facts {
		if f.Val && f.Cond.Op == term.Bin && f.Cond.Str == "==" && f.Cond.Args[1].IsNil() {
			if a := f.Cond.Args[0]; a.Op == term.Call && a.Str == "(context.Context).Err" && term.Equal(a.Args[0], m.Effect.Ctx) {
				return true
			}
		}
	}
	return false
}

// SentWith keeps what one path says of a finding's context. A path on which it may be cancelled when it
// is needed most is what counts.
func (f *Finding) SentWith(cl Cleanup, ctx provenance.Context) {
	if f.Context.Kind != provenance.Cancellable || f.Cleanup == NoCleanup {
		f.Cleanup, f.Context = cl, ctx
	}
}
