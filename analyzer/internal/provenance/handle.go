package provenance

import (
	"strings"

	"github.com/advisorylint/advisorylint/analyzer/internal/client"
	"github.com/advisorylint/advisorylint/analyzer/internal/symexec"
	"github.com/advisorylint/advisorylint/analyzer/internal/term"
)

// Kind is the kind of handle that t is.
func (r *Reader) Kind(t *term.Term) client.Kind { return r.kind(t, 0) }

func (r *Reader) kind(t *term.Term, depth int) client.Kind {
	if t == nil || depth > maxDepth {
		return client.Unknown
	}
	switch t.Op {
	case term.Phi:
		k := r.kind(t.Args[0], depth)
		for _, a := range t.Args[1:] {
			if r.kind(a, depth) != k {
				return client.Unknown
			}
		}
		return k
	case term.WithCtx, term.Stmt:
		return r.kind(t.Args[0], depth)
	case term.As:
		if k := r.kind(t.Args[0], depth); k != client.Unknown {
			return k
		}
		if _, lib := client.TypeOf(t.Args[0].Type); lib {
			return client.Unknown
		}
		return r.byType(t, depth)
	case term.Call:
		if k, ok := symexec.MadeKind(t); ok {
			if k == client.Unknown && len(t.Args) > 0 {
				return r.kind(t.Args[0], depth)
			}
			if k == client.Pool && r.capped(t) {
				return client.Unknown
			}
			return k
		}
	}
	return r.byType(t, depth)
}

// byType is the kind that t's type gives it, unless where it came from says otherwise.
func (r *Reader) byType(t *term.Term, depth int) client.Kind {
	row, ok := client.TypeOf(t.Type)
	if ok && row.Kind != client.Pool && row.Kind != client.Unknown && !row.Weak {
		return row.Kind
	}
	if t.Op != term.Load {
		if ok && row.Kind == client.Pool && !row.Weak && !r.capped(t) {
			return client.Pool
		}
		return client.Unknown
	}
	if r.capped(t) {
		return client.Unknown
	}
	ptr := t.Args[0]
	if ptr.Op == term.ElemPtr {
		return client.Unknown // which of several pools it is, and how each was made, is not seen
	}
	vals, known := r.stores(t)
	if ok && row.Kind == client.Pool && !row.Weak {
		for _, v := range vals {
			if v.Op == term.Load && v.Args[0].Op == term.ElemPtr || r.capped(v) {
				return client.Unknown
			}
		}
		return client.Pool
	}
	if ok && row.Weak {
		return r.weak(t, vals, depth)
	}
	if len(vals) == 0 || r.joined(vals, known, depth) == client.Unknown {
		if parts, ok := r.parts(ptr); ok {
			return r.joined(parts, true, depth)
		}
	}
	return r.joined(vals, known, depth)
}

// parts are what a field can hold of a struct that is itself in a field: what the constructors of
// that struct were given.
func (r *Reader) parts(ptr *term.Term) ([]*term.Term, bool) {
	if ptr.Op != term.FieldPtr || ptr.Args[0].Op != term.Load {
		return nil, false
	}
	outer, ok := r.stores(ptr.Args[0])
	if !ok {
		return nil, false
	}
	var out []*term.Term
	for _, v := range outer {
		part := r.Fields.Part(v, ptr.Str)
		if part == nil {
			return nil, false
		}
		out = append(out, part)
	}
	return out, len(out) > 0
}

// weak is the kind of a handle whose type is a pool unless a transaction or a connection flows
// into it. A parameter says nothing.
func (r *Reader) weak(t *term.Term, vals []*term.Term, depth int) client.Kind {
	switch t.Args[0].Op {
	case term.FieldPtr, term.Global:
	default:
		return client.Unknown
	}
	params := 0
	for _, v := range vals {
		if made, ok := madeKind(v); ok && made != client.Pool {
			return client.Unknown
		}
		switch k := r.kind(v, depth+1); k {
		case client.Pool:
		case client.Unknown:
			// One constructor's parameter, or what an unknown function made, is a pool; when several
			// functions store their own, one of them may be for transactions.
			if params++; params > 1 || v.Op == term.Phi || v.Op == term.Load {
				return client.Unknown
			}
		default:
			return client.Unknown
		}
	}
	return client.Pool
}

func madeKind(t *term.Term) (client.Kind, bool) {
	for t.Op == term.As || t.Op == term.WithCtx {
		t = t.Args[0]
	}
	return symexec.MadeKind(t)
}

// joined is the kind that all stores agree on.
func (r *Reader) joined(vals []*term.Term, known bool, depth int) client.Kind {
	if !known || len(vals) == 0 {
		return client.Unknown
	}
	out := client.Unknown
	for _, v := range vals {
		if v.IsNil() {
			continue
		}
		k := r.kind(v, depth+1)
		if k == client.Unknown || out != client.Unknown && k != out {
			return client.Unknown
		}
		out = k
	}
	return out
}

func (r *Reader) capped(t *term.Term) bool {
	return r != nil && r.Fields != nil && r.Fields.Capped(t)
}

// Session is what identifies the server session, or the pool, behind a handle: a transaction on a
// pinned connection has that connection's.
func (r *Reader) Session(t *term.Term) *term.Term {
	for {
		switch t.Op {
		case term.As, term.WithCtx, term.Stmt:
			t = t.Args[0]
			continue
		case term.Call:
			if k, ok := symexec.MadeKind(t); ok && len(t.Args) > 0 && (k == client.Tx || k == client.Unknown) {
				if base := r.Kind(t.Args[0]); base == client.Conn || base == client.Session || base == client.Tx {
					t = t.Args[0]
					continue
				}
			}
		case term.Load:
			// A prepared statement in a field runs on the handle it was made from.
			if row, ok := client.TypeOf(t.Type); ok && row.Role == client.Statement {
				if vals, ok := r.stores(t); ok && len(vals) == 1 && vals[0].Op == term.Stmt {
					t = vals[0].Args[0]
					continue
				}
			}
		}
		return t
	}
}

// Origin is the pool that a session's connection was taken from; nil when that is not seen.
func (r *Reader) Origin(session *term.Term) *term.Term {
	if _, ok := symexec.MadeKind(session); ok && len(session.Args) > 0 {
		base := session.Args[0]
		for base.Op == term.As || base.Op == term.WithCtx {
			base = base.Args[0]
		}
		return base
	}
	return nil
}

// Owned reports whether the session was opened in view: everything done on it is known.
func Owned(session *term.Term) bool {
	_, ok := symexec.MadeKind(session)
	return ok && !strings.HasPrefix(session.Site, Kept)
}

// Kept begins the sites of handles that were made elsewhere and found in a field.
const Kept = "kept:"
