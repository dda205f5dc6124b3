package symexec

import (
	"go/token"
	"go/types"
	"maps"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/tools/go/ssa"

	"github.com/advisorylint/advisorylint/analyzer/internal/client"
	"github.com/advisorylint/advisorylint/analyzer/internal/summary"
	"github.com/advisorylint/advisorylint/analyzer/internal/term"
)

// inOrder gives a map's values in the order of their keys.
func inOrder[V any](m map[string]V) []V {
	var out []V
	for _, k := range slices.Sorted(maps.Keys(m)) {
		out = append(out, m[k])
	}
	return out
}

// instr runs an instruction that neither branches nor calls.
func (x *exec) instr(s *state, in ssa.Instruction, site string) {
	switch in := in.(type) {
	case *ssa.Phi, *ssa.DebugRef: // phis are set on the edge
	case *ssa.Store:
		x.store(s, x.val(s, in.Addr), x.val(s, in.Val), site)
	case *ssa.MapUpdate:
		x.store(s, elemPtr(x.val(s, in.Map), x.val(s, in.Key)), x.val(s, in.Value), site)
	case *ssa.Defer:
		s.push(x.prepare(s, &in.Call, nil, site))
	case *ssa.Go:
		c := x.prepare(s, &in.Call, nil, site)
		x.consumeAll(s, c.args)
		x.escape(s, c, c.fn, c.args, summary.NoCleanup)
	case *ssa.Send:
		x.passed(s, &call{site: site, pos: in.Pos()}, x.val(s, in.X), false)
	case ssa.Value:
		s.regs.set(in, x.value(s, in, site))
	}
}

// value is the term of an instruction that computes a value.
func (x *exec) value(s *state, in ssa.Value, site string) *term.Term {
	typ := typeName(in.Type())
	switch in := in.(type) {
	case *ssa.Alloc, *ssa.MakeMap, *ssa.MakeSlice, *ssa.MakeChan:
		return term.New(term.Cell, "", site, typ)
	case *ssa.FieldAddr:
		return x.fieldPtr(x.val(s, in.X), fieldOf(in.X.Type(), in.Field), in.X.Type())
	case *ssa.Field:
		v := x.val(s, in.X)
		if embedsHandle(typeName(in.X.Type()), typ) {
			return term.New(term.As, "", "", typ, v)
		}
		return s.field(v, fieldOf(in.X.Type(), in.Field).Name(), typ)
	case *ssa.IndexAddr:
		return elemPtr(x.val(s, in.X), x.val(s, in.Index))
	case *ssa.Index:
		return x.part(s, elemPtr(x.val(s, in.X), x.val(s, in.Index)), typ)
	case *ssa.Lookup:
		return x.lookup(s, in, typ)
	case *ssa.UnOp:
		return x.unop(s, in, typ, site)
	case *ssa.BinOp:
		return x.binop(s, in, typ)
	case *ssa.ChangeType:
		return x.val(s, in.X)
	case *ssa.ChangeInterface:
		return x.val(s, in.X)
	case *ssa.MakeInterface:
		v := x.val(s, in.X)
		if n := typeName(in.X.Type()); n != "" {
			v = v.WithType(n)
		}
		return v
	case *ssa.Convert:
		return convert(x.val(s, in.X), in.X.Type(), in.Type(), typ)
	case *ssa.TypeAssert:
		return x.assert(s, in, typ)
	case *ssa.Extract:
		return x.extract(s, in, typ)
	case *ssa.MakeClosure:
		return x.closure(s, in)
	case *ssa.Slice:
		if b, ok := in.X.Type().Underlying().(*types.Basic); ok && b.Info()&types.IsString != 0 {
			return term.Unknown(site, typ)
		}
		return x.val(s, in.X)
	case *ssa.Range:
		return term.New(term.Range, "", site, "", x.val(s, in.X))
	case *ssa.Next:
		r := x.val(s, in.Iter)
		elem := term.Unknown(site+"v", "")
		if r.Op == term.Range && !in.IsString {
			elem = s.load(elemPtr(r.Args[0], nil), "", nil)
		}
		s.tuples.set(in, []*term.Term{term.Unknown(site+"ok", "bool"), term.Unknown(site+"k", ""), elem})
	case *ssa.Select:
		return x.selection(s, in, site)
	}
	return term.Unknown(site, typ)
}

// fieldOf is field i of the struct that t is or points to.
func fieldOf(t types.Type, i int) *types.Var {
	if p, ok := t.Underlying().(*types.Pointer); ok {
		t = p.Elem()
	}
	return structOf(t).Field(i)
}

func structOf(t types.Type) *types.Struct {
	if st, ok := t.Underlying().(*types.Struct); ok {
		return st
	}
	// A type parameter with a core struct type.
	if tp, ok := t.(*types.TypeParam); ok {
		if st, ok := tp.Constraint().Underlying().(*types.Struct); ok {
			return st
		}
	}
	return types.NewStruct(nil, nil)
}

// fieldPtr is the address of a field. The handle embedded in a client library's own handle
// (sqlx.DB's *sql.DB) is that handle.
func (x *exec) fieldPtr(base *term.Term, f *types.Var, t types.Type) *term.Term {
	return term.New(term.FieldPtr, f.Name(), "", typeName(t), base)
}

func elemPtr(base, index *term.Term) *term.Term {
	str := ""
	if index != nil && index.Op == term.Const {
		str = index.Str
	}
	return term.New(term.ElemPtr, str, "", "", base)
}

func (x *exec) lookup(s *state, in *ssa.Lookup, typ string) *term.Term {
	ptr := elemPtr(x.val(s, in.X), x.val(s, in.Index))
	if in.CommaOk {
		s.tuples.set(in, []*term.Term{x.part(s, ptr, ""), term.Unknown("ok:"+ptr.Key(), "bool")})
		return term.Unknown(ptr.Key(), "")
	}
	return x.part(s, ptr, typ)
}

// part is what a place holds, that of a package variable which is set once included.
func (x *exec) part(s *state, ptr *term.Term, typ string) *term.Term {
	v := s.load(ptr, typ, nil)
	if v.Op == term.Load && v.Args[0] == ptr && ptr.Root().Op == term.Global {
		if g := x.globalPart(s, ptr, typ); g != nil {
			return g
		}
	}
	return v
}

// embedsHandle reports whether a field of type inner in a library's handle is that same handle: the
// *sql.DB in sqlx.DB.
func embedsHandle(outer, inner string) bool {
	o, ok := client.TypeOf(outer)
	i, ok2 := client.TypeOf(inner)
	if !ok || !ok2 || o.Role != i.Role {
		return false
	}
	return o.Role == client.Statement || o.Role == client.Handle && o.Kind != client.Unknown && i.Kind == o.Kind
}

func (x *exec) unop(s *state, in *ssa.UnOp, typ, site string) *term.Term {
	v := x.val(s, in.X)
	switch in.Op {
	case token.MUL:
		return x.deref(s, v, typ, in.Type())
	case token.NOT:
		return term.New(term.Not, "", "", "bool", v)
	case token.ARROW:
		x.received(s, v, site)
		got := term.Unknown(site, typ)
		if in.CommaOk {
			s.tuples.set(in, []*term.Term{got, term.Unknown(site+"ok", "bool")})
		}
		return got
	case token.SUB:
		if n, ok := v.IntVal(); ok {
			return term.Int(strings.TrimPrefix("-"+n, "--"))
		}
	}
	return term.New(term.Bin, in.Op.String(), "", typ, v, term.Int("0"))
}

func (x *exec) deref(s *state, ptr *term.Term, typ string, t types.Type) *term.Term {
	if ptr.Op == term.Global {
		if _, ok := s.mem.get(ptr.Key()); !ok {
			if g := x.w.Global(ptr.Str); g != nil {
				return g
			}
		}
	}
	if ptr.Op == term.FieldPtr && embedsHandle(ptr.Type, typ) {
		if e, ok := s.mem.get(ptr.Args[0].Key()); ok { // a handle that is a struct, in a variable
			return term.New(term.As, "", "", typ, e.Val)
		}
		return term.New(term.As, "", "", typ, ptr.Args[0])
	}
	if v := s.load(ptr, typ, zero(t)); v.Op != term.Load || v.Args[0] != ptr {
		return v
	}
	return x.part(s, ptr, typ)
}

// globalPart reads a field or an element of a package variable that is set once.
func (x *exec) globalPart(s *state, ptr *term.Term, typ string) *term.Term {
	if ptr.Op != term.FieldPtr && ptr.Op != term.ElemPtr {
		return nil
	}
	if g := x.w.Global(ptr.Key()); g != nil {
		return g.WithType(orType(g.Type, typ))
	}
	return nil
}

func (x *exec) binop(s *state, in *ssa.BinOp, typ string) *term.Term {
	a, b := x.val(s, in.X), x.val(s, in.Y)
	if in.Op == token.ADD {
		if t, ok := in.X.Type().Underlying().(*types.Basic); ok && t.Info()&types.IsString != 0 {
			return concat(a, b)
		}
	}
	return term.New(term.Bin, in.Op.String(), "", typ, a, b)
}

func concat(parts ...*term.Term) *term.Term {
	var args []*term.Term
	for _, p := range parts {
		if p.Op == term.Concat {
			args = append(args, p.Args...)
		} else {
			args = append(args, p)
		}
	}
	// Neighbouring constants are one.
	out := args[:0:0]
	for _, a := range args {
		if v, ok := a.StrVal(); ok && len(out) > 0 {
			if w, ok := out[len(out)-1].StrVal(); ok {
				out[len(out)-1] = term.Str(w + v)
				continue
			}
		}
		out = append(out, a)
	}
	if len(out) == 1 {
		return out[0]
	}
	return term.New(term.Concat, "", "", "string", out...)
}

// convert keeps conversions that lose bits; others are the value itself.
func convert(v *term.Term, from, to types.Type, typ string) *term.Term {
	b, ok := to.Underlying().(*types.Basic)
	if ok && b.Info()&types.IsInteger != 0 {
		switch b.Kind() {
		case types.Int32, types.Uint32, types.Int16, types.Uint16, types.Int8, types.Uint8:
			if f, ok := from.Underlying().(*types.Basic); ok && wide(f.Kind()) && v.Op != term.Const {
				return term.New(term.Conv, b.Name(), "", typ, v)
			}
		}
	}
	return v
}

func wide(k types.BasicKind) bool {
	switch k {
	case types.Int, types.Uint, types.Int64, types.Uint64, types.Uintptr:
		return true
	}
	return false
}

func (x *exec) assert(s *state, in *ssa.TypeAssert, typ string) *term.Term {
	v := x.val(s, in.X)
	as := v
	_, toIface := in.AssertedType.Underlying().(*types.Interface)
	want := typeName(in.AssertedType)
	if !toIface {
		as = term.New(term.As, "", "", want, v)
	}
	if !in.CommaOk {
		return as
	}
	ok := term.New(term.Bin, "is "+want, "", "bool", v, term.Nil())
	if st := typeName(in.X.Type()); !toIface && v.Type != "" && v.Type != st && want != "" {
		ok = term.Bool(v.Type == want) // the dynamic type is known
	}
	s.tuples.set(in, []*term.Term{as, ok})
	return as
}

func (x *exec) extract(s *state, in *ssa.Extract, typ string) *term.Term {
	if t, ok := s.tuples.get(in.Tuple); ok && in.Index < len(t) {
		if v := t[in.Index]; v != nil {
			return v.WithType(orType(v.Type, typ))
		}
	}
	return term.New(term.Result, strconv.Itoa(in.Index), "", typ, x.val(s, in.Tuple))
}

func (x *exec) closure(s *state, in *ssa.MakeClosure) *term.Term {
	fn := in.Fn.(*ssa.Function)
	binds := make([]*term.Term, len(in.Bindings))
	for i, b := range in.Bindings {
		binds[i] = x.val(s, b)
	}
	if fn.Parent() == nil && len(binds) == 1 && fn.Object() != nil { // x.Method as a value
		if m, ok := fn.Object().(*types.Func); ok {
			x.w.Note(m)
			if binds[0].Op == term.Sent { // row.Scan as a value: who calls it reads the answer
				x.consume(s, binds[0])
			}
			return term.New(term.Bound, m.FullName(), "", "", binds[0])
		}
	}
	return term.New(term.Closure, FuncKey(fn), "", "", binds...)
}

func (x *exec) selection(s *state, in *ssa.Select, site string) *term.Term {
	chans := make([]*term.Term, len(in.States))
	tuple := []*term.Term{term.Unknown("select "+site, "int"), term.Unknown(site+"ok", "bool")}
	for i, st := range in.States {
		if st.Dir == types.RecvOnly {
			chans[i] = x.val(s, st.Chan)
			tuple = append(tuple, term.Unknown(site+"r"+strconv.Itoa(i), ""))
		} else {
			x.passed(s, &call{site: site, pos: in.Pos()}, x.val(s, st.Send), false)
		}
	}
	x.sels["select "+site] = chans
	s.tuples.set(in, tuple)
	return term.Unknown(site, "")
}

// store puts val at ptr; what leaves the function that way has been looked at or handed out.
func (x *exec) store(s *state, ptr, val *term.Term, site string) {
	x.left(s, ptr, val, site)
	s.store(ptr, val)
}

// left notes what follows from val being at ptr.
func (x *exec) left(s *state, ptr, val *term.Term, site string) {
	if ptr.Root().Op != term.Cell {
		x.consume(s, val)
	}
	if ptr.Op == term.FieldPtr || ptr.Op == term.ElemPtr && ptr.Args[0].Op != term.Cell || ptr.Op == term.Global {
		x.kept(s, val, site)
	}
}

// kept notes function values that are put where something else will find and call them.
func (x *exec) kept(s *state, val *term.Term, site string) {
	if val.Op == term.Closure || val.Op == term.Bound {
		x.escape(s, &call{site: site}, val, nil, summary.InReturned)
		return
	}
	parts := val.Args
	if val.Op == term.Cell {
		parts, _ = elementsOf(s, val)
	} else if val.Op != term.Call || val.Str != "append" {
		return
	}
	if x.nested >= maxNested { // a list can hold itself
		return
	}
	x.nested++
	for i, p := range parts {
		x.kept(s, p, site+"."+strconv.Itoa(i))
	}
	x.nested--
}

// consume notes that the program looks at v.
func (x *exec) consume(s *state, v *term.Term) {
	v.Walk(func(t *term.Term) bool {
		switch t.Op {
		case term.Answer, term.Count, term.HasRow, term.Field:
			if aboutAnswer(t) || symbolic(t) {
				x.run.Consumed[t.Key()] = t
			}
			return false
		case term.Bin:
			if t.Args[1].IsNil() && (aboutAnswer(t.Args[0]) || symbolic(t.Args[0])) && t.Args[0].Op != term.ErrOf {
				x.run.Consumed[t.Key()] = t // only whether it is nil
				return false
			}
		case term.Load:
			if symbolic(t) || aboutAnswer(t) {
				x.run.Consumed[t.Key()] = t
			}
		case term.Param, term.Result, term.Sent:
			x.run.Consumed[t.Key()] = t
		case term.ErrOf:
			return false
		}
		return true
	})
}

func (x *exec) consumeAll(s *state, vs []*term.Term) {
	for _, v := range vs {
		x.consume(s, v)
	}
}

// symbolic reports whether t can become an answer when a caller fills it in.
func symbolic(t *term.Term) bool {
	r := t.Root()
	for answersOf(r) {
		r = r.Args[0].Root()
	}
	return r.Op == term.Param || r.Op == term.Free
}

// answersOf reports whether t is read off an answer.
func answersOf(t *term.Term) bool {
	return t.Op == term.Answer || t.Op == term.Count || t.Op == term.HasRow
}
