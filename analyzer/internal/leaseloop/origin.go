package leaseloop

import (
	"go/token"
	"go/types"
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/advisorylint/advisorylint/analyzer/internal/stores"
)

// origins are the values that v may be, traced through closures, variables, fields and the parameters that
// env or the callers give. A value that cannot be traced is its own origin.
func (p *Program) origins(v ssa.Value, env bindings) []ssa.Value {
	t := &trace{p: p, env: env, far: true, seen: map[ssa.Value]bool{}}
	t.visit(v, 0)
	return t.out
}

// originsIn are the values that v may be; without far, parameters are their own origins.
func (p *Program) originsIn(v ssa.Value, far bool) []ssa.Value {
	t := &trace{p: p, far: far, seen: map[ssa.Value]bool{}}
	t.visit(v, 0)
	return t.out
}

type trace struct {
	p    *Program
	env  bindings
	far  bool // on to the callers
	seen map[ssa.Value]bool
	out  []ssa.Value
}

const maxTrace = 12

func (t *trace) visit(v ssa.Value, depth int) {
	if t.seen[v] {
		return
	}
	t.seen[v] = true
	if depth > maxTrace || !t.step(v, depth+1) {
		t.out = append(t.out, v)
	}
}

// step goes on to what v comes from; false when it comes from itself.
func (t *trace) step(v ssa.Value, depth int) bool {
	switch v := v.(type) {
	case *ssa.Phi:
		for _, e := range v.Edges {
			t.visit(e, depth)
		}
	case *ssa.ChangeType:
		t.visit(v.X, depth)
	case *ssa.ChangeInterface:
		t.visit(v.X, depth)
	case *ssa.MakeInterface:
		t.visit(v.X, depth)
	case *ssa.FreeVar:
		b := t.p.binding(v)
		if b == nil {
			return false
		}
		t.visit(b, depth)
	case *ssa.Parameter:
		if x, ok := t.env[v]; ok {
			t.visit(x, depth)
			return true
		}
		return t.far && t.param(v, depth)
	case *ssa.UnOp:
		return v.Op == token.MUL && t.load(v.X, depth)
	case *ssa.Field:
		st, ok := v.X.Type().Underlying().(*types.Struct)
		return ok && !token.IsExported(st.Field(v.Field).Name()) && t.at(fieldPlace(v), depth)
	default:
		return false
	}
	return true
}

func (p *Program) binding(v *ssa.FreeVar) ssa.Value { return stores.Binding(p.makes, v) }

// captures are the free variables as which a closure has a value.
func captures(mc *ssa.MakeClosure, x ssa.Value) []ssa.Value {
	var out []ssa.Value
	for i, b := range mc.Bindings {
		if b == x {
			out = append(out, mc.Fn.(*ssa.Function).FreeVars[i])
		}
	}
	return out
}

// param goes on to the callers' arguments, when all callers are in view.
func (t *trace) param(v *ssa.Parameter, depth int) bool {
	fn := v.Parent()
	calls := t.p.callers[fn]
	if len(calls) == 0 || fn.Object() == nil || token.IsExported(fn.Name()) || asValue(fn) {
		return false
	}
	i := slices.Index(fn.Params, v)
	for _, c := range calls {
		if i >= len(c.Common().Args) {
			return false
		}
	}
	for _, c := range calls {
		t.visit(c.Common().Args[i], depth)
	}
	return true
}

// asValue reports whether a function is used other than by calling it.
func asValue(fn *ssa.Function) bool {
	refs := fn.Referrers()
	if refs == nil {
		return false
	}
	for _, r := range *refs {
		if c, ok := r.(ssa.CallInstruction); !ok || c.Common().Value != fn {
			return true
		}
	}
	return false
}

// load goes on to what is stored at an address.
func (t *trace) load(addr ssa.Value, depth int) bool {
	for {
		fv, ok := addr.(*ssa.FreeVar)
		if !ok {
			break
		}
		if addr = t.p.binding(fv); addr == nil {
			return false
		}
	}
	if x, ok := addr.(*ssa.Alloc); ok {
		vals := t.p.cell(x)
		for _, v := range vals {
			t.visit(v, depth)
		}
		return len(vals) > 0
	}
	return !t.p.public(addr) && t.at(stores.Place(addr), depth)
}

// at goes on to what is stored in a field or variable.
func (t *trace) at(place string, depth int) bool {
	if place == "" {
		return false
	}
	for _, v := range t.p.stored[place] {
		t.visit(v, depth)
	}
	return len(t.p.stored[place]) > 0
}

// cell are the values stored in a local variable, by its function and by closures; none when its address
// goes elsewhere.
func (p *Program) cell(x ssa.Value) []ssa.Value {
	var out []ssa.Value
	for _, r := range *x.Referrers() {
		switch r := r.(type) {
		case *ssa.Store:
			if r.Addr != x {
				return nil
			}
			out = append(out, r.Val)
		case *ssa.MakeClosure:
			for _, fv := range captures(r, x) {
				out = append(out, p.cell(fv)...)
			}
		case *ssa.UnOp, *ssa.DebugRef:
		default:
			return nil
		}
	}
	return out
}

// public reports whether other packages can store at an address.
func (p *Program) public(addr ssa.Value) bool {
	switch a := addr.(type) {
	case *ssa.Global:
		return token.IsExported(a.Name())
	case *ssa.FieldAddr:
		st, ok := a.X.Type().Underlying().(*types.Pointer).Elem().Underlying().(*types.Struct)
		return !ok || token.IsExported(st.Field(a.Field).Name())
	}
	return true
}
