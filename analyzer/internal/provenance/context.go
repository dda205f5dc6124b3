package provenance

import (
	"strings"

	"github.com/advisorylint/advisorylint/analyzer/internal/term"
)

// ContextKind says who can cancel a context.
type ContextKind uint8

const (
	ContextUnknown ContextKind = iota
	ContextNone
	Detached
	Cancellable
	FromCaller
)

// Context is what is known of a context.
type Context struct {
	Kind     ContextKind
	Deadline bool // has a deadline, or may have been given one by a caller
	Why      string
}

// Context reads t, the context of an effect that runs in the cleanup at site ("" for none).
func (r *Reader) Context(t *term.Term, site string) Context {
	if t == nil {
		return Context{Kind: ContextNone}
	}
	return r.context(t, site, 0)
}

// derived are the functions that make a cancellable context from another, with whether it has a
// deadline of its own.
var derived = map[string]bool{
	"context.WithCancel": false, "context.WithCancelCause": false, "context.WithTimeout": true,
	"context.WithDeadline": true, "context.WithTimeoutCause": true, "context.WithDeadlineCause": true,
	"os/signal.NotifyContext": false, "golang.org/x/sync/errgroup.WithContext": false,
}

// requests are contexts that somebody else cancels.
var requests = map[string]string{
	"(*net/http.Request).Context": "ends with the request",
	"(*testing.common).Context":   "is cancelled before cleanups run",
	"(testing.TB).Context":        "is cancelled before cleanups run",
	"(*testing.T).Context":        "is cancelled before cleanups run",
}

func (r *Reader) context(t *term.Term, site string, depth int) Context {
	if depth > maxDepth {
		return Context{}
	}
	switch t.Op {
	case term.As:
		return r.context(t.Args[0], site, depth)
	case term.Const:
		return Context{Kind: Detached}
	case term.Param, term.Free:
		if t.Type == "context.Context" {
			return Context{Kind: FromCaller, Deadline: true, Why: "is the caller's"}
		}
	case term.Opaque:
		if t.Type == "context.Context" && strings.HasPrefix(t.Site, "param:") {
			return Context{Kind: Cancellable, Deadline: true, Why: "was the constructor's"}
		}
	case term.Phi:
		return r.anyContext(t.Args, site, depth)
	case term.Result:
		if call := t.Args[0]; call.Op == term.Call {
			return r.made(call, site, depth)
		}
	case term.Call:
		return r.made(t, site, depth)
	case term.Load:
		if t.Args[0].Op == term.Free && t.Type == "context.Context" {
			return Context{Kind: FromCaller, Deadline: true, Why: "is the caller's"}
		}
		if vals, ok := r.stores(t); ok && len(vals) > 0 {
			return r.anyContext(vals, site, depth+1)
		}
	}
	return Context{}
}

func (r *Reader) made(call *term.Term, site string, depth int) Context {
	switch call.Str {
	case "context.Background", "context.TODO", "context.WithoutCancel":
		return Context{Kind: Detached}
	case "context.WithValue":
		return r.context(call.Args[0], site, depth)
	}
	if why, ok := requests[call.Str]; ok {
		return Context{Kind: Cancellable, Deadline: true, Why: why}
	}
	deadline, ok := derived[call.Str]
	if !ok || len(call.Args) == 0 {
		return Context{}
	}
	parent := r.context(call.Args[0], site, depth)
	parent.Deadline = parent.Deadline || deadline
	if site != "" && strings.HasPrefix(call.Site, site+"/") {
		return parent // made in the cleanup: as good as its parent
	}
	parent.Kind, parent.Why = Cancellable, "may be over by then"
	if strings.HasSuffix(call.Str, "errgroup.WithContext") {
		parent.Why = "is cancelled by the group's Wait"
	}
	return parent
}

// anyContext is what is known of one of several contexts. When some are detached and some are not
// the program chose between them, and why is not seen.
func (r *Reader) anyContext(vals []*term.Term, site string, depth int) Context {
	var out Context
	for i, v := range vals {
		c := r.context(v, site, depth)
		if i == 0 {
			out = c
			continue
		}
		out.Deadline = out.Deadline && c.Deadline
		if c.Kind != out.Kind {
			out.Kind = ContextUnknown
		}
	}
	return out
}

// From reports whether context t is, or was made from, the context with the given key.
func From(t *term.Term, key string) bool {
	for t != nil {
		if t.Key() == key {
			return true
		}
		switch {
		case t.Op == term.As:
			t = t.Args[0]
		case t.Op == term.Result && t.Args[0].Op == term.Call && len(t.Args[0].Args) > 0:
			if _, ok := derived[t.Args[0].Str]; !ok {
				return false
			}
			t = t.Args[0].Args[0]
		case t.Op == term.Call && t.Str == "context.WithValue":
			t = t.Args[0]
		default:
			return false
		}
	}
	return false
}
