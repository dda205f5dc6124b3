// Package provenance reads the engine's terms: as the SQL text that a string is, as the kind of
// handle and the server session behind a value, as a context and who may cancel it, as a lock's
// key. What it cannot read it calls unknown.
package provenance

import "github.com/advisorylint/advisorylint/analyzer/internal/term"

// Fields answers what is stored in a struct's field or a package variable anywhere in the
// package: the join of all stores.
type Fields interface {
	// Stores are the values that t, a load, can have; ok is false when not all stores are in view.
	Stores(t *term.Term) (vals []*term.Term, ok bool)
	// Capped reports whether the pool that t is was limited to one connection somewhere.
	Capped(t *term.Term) bool
	// Part is field name of v, a value that a constructor made; nil when that is not known.
	Part(v *term.Term, name string) *term.Term
	// Embedded is the text of a file of the package that a go:embed directive may name.
	Embedded(name string) (string, bool)
}

// Reader reads terms in one package.
type Reader struct{ Fields Fields }

// maxDepth bounds how many fields lead from one to the next.
const maxDepth = 4

func (r *Reader) stores(t *term.Term) ([]*term.Term, bool) {
	if r == nil || r.Fields == nil || t.Op != term.Load {
		return nil, false
	}
	return r.Fields.Stores(t)
}
