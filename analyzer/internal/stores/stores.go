// Package stores knows what a package puts into its structs' fields and its variables: every store
// anywhere in the package, with the stored value traced to where it comes from. It looks at no
// order and no conditions; that is symexec's business.
package stores

import (
	"go/token"
	"go/types"
	"slices"
	"strconv"

	"golang.org/x/tools/go/ssa"

	"github.com/advisorylint/advisorylint/analyzer/internal/client"
	"github.com/advisorylint/advisorylint/analyzer/internal/term"
)

// maxDepth bounds a trace.
const maxDepth = 8

// Index is what one package stores.
type Index struct {
	pkg     *types.Package
	fields  map[string][]ssa.Value // "Type.field" -> values
	globals map[string][]ssa.Value
	inits   map[string]bool // globals stored by init only
	calls   map[*ssa.Function][]*ssa.CallCommon
	capped  map[string]bool // fields and variables limited to one connection
	cappedV map[ssa.Value]bool
	closure map[*ssa.Function]*ssa.MakeClosure
	given   map[*ssa.Function][]*ssa.CallCommon // clients' calls that get a function literal
	memo    map[string][]*term.Term
	known   map[string]bool
}

// New indexes the functions of a package.
func New(pkg *types.Package, fns []*ssa.Function) *Index {
	ix := &Index{pkg: pkg, fields: map[string][]ssa.Value{}, globals: map[string][]ssa.Value{}, inits: map[string]bool{},
		calls: map[*ssa.Function][]*ssa.CallCommon{}, capped: map[string]bool{}, cappedV: map[ssa.Value]bool{},
		closure: map[*ssa.Function]*ssa.MakeClosure{}, given: map[*ssa.Function][]*ssa.CallCommon{}, memo: map[string][]*term.Term{}, known: map[string]bool{}}
	for _, fn := range fns {
		for _, b := range fn.Blocks {
			for _, in := range b.Instrs {
				ix.add(in)
			}
		}
	}
	return ix
}

func (ix *Index) add(in ssa.Instruction) {
	switch in := in.(type) {
	case *ssa.Store:
		if k := Place(in.Addr); k != "" {
			if _, global := in.Addr.(*ssa.Global); global {
				ix.globals[k] = append(ix.globals[k], in.Val)
			} else {
				ix.fields[k] = append(ix.fields[k], in.Val)
			}
		}
	case *ssa.MakeClosure:
		ix.closure[in.Fn.(*ssa.Function)] = in
	case ssa.CallInstruction:
		c := in.Common()
		fn := c.StaticCallee()
		if fn == nil {
			return
		}
		ix.calls[fn] = append(ix.calls[fn], c)
		for _, a := range c.Args {
			if lit, ok := a.(*ssa.Function); ok && rowOf(fn) != nil {
				ix.given[lit] = append(ix.given[lit], c)
			}
		}
		if m := rowOf(fn); m != nil && m.Effect == client.Cap && len(c.Args) == 2 {
			if n, ok := c.Args[1].(*ssa.Const); ok && n.Value != nil && n.Value.ExactString() == "1" {
				ix.cap(c.Args[0])
			}
		}
	}
}

func (ix *Index) cap(v ssa.Value) {
	ix.cappedV[v] = true
	if u, ok := v.(*ssa.UnOp); ok {
		if fa, ok := u.X.(*ssa.FieldAddr); ok {
			if row, lib := client.TypeOf(client.TypeName(fa.X.Type())); lib && row.Role == client.Handle {
				ix.cap(fa.X) // the *sql.DB in a library's own handle
				return
			}
		}
	}
	if u, ok := v.(*ssa.UnOp); ok && u.Op == token.MUL {
		if k := Place(u.X); k != "" {
			ix.capped[k] = true
		}
		if a, ok := u.X.(*ssa.Alloc); ok {
			ix.cappedV[a] = true
		}
	}
}

// Place names the field or variable that an address is of; "" for others.
func Place(addr ssa.Value) string {
	switch a := addr.(type) {
	case *ssa.FieldAddr:
		st := a.X.Type().Underlying().(*types.Pointer).Elem()
		if s, ok := st.Underlying().(*types.Struct); ok {
			if n := client.TypeName(st); n != "" {
				return n + "." + s.Field(a.Field).Name()
			}
		}
	case *ssa.Global:
		return a.Pkg.Pkg.Path() + "." + a.Name()
	}
	return ""
}

// placeOf names the field or variable that a load reads.
func placeOf(t *term.Term) string {
	if t.Op != term.Load {
		return ""
	}
	switch p := t.Args[0]; p.Op {
	case term.FieldPtr:
		if p.Type != "" {
			return p.Type + "." + p.Str
		}
	case term.Global:
		return p.Str
	}
	return ""
}

// Stores are the values stored in the field or variable that t loads; ok is false when other
// packages may store there too, or nothing is stored in view.
func (ix *Index) Stores(t *term.Term) (vals []*term.Term, ok bool) {
	k := placeOf(t)
	if k == "" {
		return nil, false
	}
	if _, done := ix.known[k]; !done {
		ix.known[k] = false // a field that leads to itself
		seen := map[string]bool{}
		for _, v := range append(ix.fields[k], ix.globals[k]...) {
			x := ix.trace(v, 0)
			if !seen[x.Key()] {
				seen[x.Key()] = true
				ix.memo[k] = append(ix.memo[k], x)
			}
		}
		ix.known[k] = len(ix.memo[k]) > 0 && len(ix.memo[k]) <= term.MaxAtoms && !token.IsExported(lastName(k))
	}
	return ix.memo[k], ix.known[k]
}

func lastName(k string) string {
	for i := len(k) - 1; i >= 0; i-- {
		if k[i] == '.' {
			return k[i+1:]
		}
	}
	return k
}

// Capped reports whether the pool t was limited to one connection where it was made or kept.
func (ix *Index) Capped(t *term.Term) bool {
	if t.Op == term.Call && t.Str == "capped" {
		return true
	}
	k := placeOf(t)
	if k == "" {
		return false
	}
	if ix.capped[k] {
		return true
	}
	vals, _ := ix.Stores(t)
	for _, v := range vals {
		if v.Op == term.Call && v.Str == "capped" {
			return true
		}
	}
	return false
}

// CappedParam reports whether a parameter only ever gets pools of one connection.
func (ix *Index) CappedParam(p *ssa.Parameter) bool {
	fn := p.Parent()
	if fn.Object() == nil || token.IsExported(fn.Object().Name()) {
		return false
	}
	if row, ok := client.TypeOf(client.TypeName(p.Type())); !ok || row.Kind != client.Pool {
		return false
	}
	calls := ix.calls[fn]
	for _, c := range calls {
		for i, q := range fn.Params {
			if q == p && (i >= len(c.Args) || !ix.isCapped(c.Args[i])) {
				return false
			}
		}
	}
	return len(calls) > 0
}

func (ix *Index) isCapped(v ssa.Value) bool {
	t := ix.trace(v, 0)
	return t.Op == term.Call && t.Str == "capped" || ix.Capped(t)
}

// Holding are the fields and variables into which a value is stored of which holds is true.
func (ix *Index) Holding(holds func(*term.Term) bool) map[string]bool {
	out := map[string]bool{}
	for _, places := range []map[string][]ssa.Value{ix.fields, ix.globals} {
		for k, vals := range places {
			for _, v := range vals {
				if textual(v.Type()) && holds(ix.trace(v, 0)) {
					out[k] = true
				}
			}
		}
	}
	return out
}

// textual reports whether values of a type can be text or statements.
func textual(t types.Type) bool {
	if b, ok := t.Underlying().(*types.Basic); ok {
		return b.Info()&types.IsString != 0
	}
	row, ok := client.TypeOf(client.TypeName(t))
	return ok && (row.Role == client.Statement || row.Role == client.Builder)
}

// trace is where an SSA value comes from.
func (ix *Index) trace(v ssa.Value, depth int) *term.Term {
	t := ix.origin(v, depth)
	if ix.cappedV[v] {
		return term.New(term.Call, "capped", "", t.Type, t)
	}
	return t
}

func (ix *Index) origin(v ssa.Value, depth int) *term.Term {
	typ := client.TypeName(v.Type())
	opaque := term.Unknown("v", typ)
	if depth > maxDepth {
		return opaque
	}
	switch v := v.(type) {
	case *ssa.Const:
		return constant(v, typ)
	case *ssa.Parameter:
		return ix.parameter(v, depth, typ)
	case *ssa.FreeVar:
		if b := ix.binding(v); b != nil {
			return ix.trace(b, depth+1)
		}
	case *ssa.MakeInterface:
		return ix.trace(v.X, depth+1).WithType(client.TypeName(v.X.Type()))
	case *ssa.ChangeType:
		return ix.trace(v.X, depth+1)
	case *ssa.ChangeInterface:
		return ix.trace(v.X, depth+1)
	case *ssa.Convert:
		return ix.trace(v.X, depth+1)
	case *ssa.TypeAssert:
		return term.New(term.As, "", "", typ, ix.trace(v.X, depth+1))
	case *ssa.Phi:
		var out *term.Term
		for _, e := range v.Edges {
			if e != ssa.Value(v) {
				out = term.Join(out, ix.trace(e, depth+2))
			}
		}
		return out
	case *ssa.UnOp:
		if v.Op == token.MUL {
			return ix.loaded(v, depth, typ)
		}
	case *ssa.Alloc:
		return term.New(term.Cell, "", v.Name(), typ)
	case *ssa.Index, *ssa.Lookup:
		return term.New(term.Load, "", "", typ, term.New(term.ElemPtr, "", "", "", opaque))
	case *ssa.Extract:
		if c, ok := v.Tuple.(*ssa.Call); ok {
			return ix.called(c, v.Index, depth, typ)
		}
	case *ssa.Call:
		return ix.called(v, 0, depth, typ)
	case *ssa.BinOp:
		if v.Op == token.ADD {
			return term.New(term.Concat, "", "", "string", ix.trace(v.X, depth+1), ix.trace(v.Y, depth+1))
		}
	}
	return opaque
}

func constant(c *ssa.Const, typ string) *term.Term {
	if c.Value == nil {
		return term.Nil()
	}
	switch s := c.Value.ExactString(); s[0] {
	case '"', '`':
		if u, err := strconv.Unquote(s); err == nil {
			return term.Str(u)
		}
	case 't', 'f':
		return term.Bool(s == "true")
	default:
		if _, err := strconv.ParseInt(s, 10, 64); err == nil {
			return term.Int(s)
		}
	}
	return term.Unknown("c", typ)
}

// parameter is what the package's own callers pass, or the parameter itself when none is in view.
func (ix *Index) parameter(p *ssa.Parameter, depth int, typ string) *term.Term {
	fn := p.Parent()
	self := term.Unknown("param:"+fn.String()+"."+p.Name(), typ)
	if mc := ix.closure[fn]; mc != nil || fn.Parent() != nil {
		return ix.callbackHandle(p, mc, self)
	}
	i := -1
	for n, q := range fn.Params {
		if q == p {
			i = n
		}
	}
	out := (*term.Term)(nil)
	for _, c := range ix.calls[fn] {
		if i < len(c.Args) && depth < maxDepth/2 {
			out = term.Join(out, ix.trace(c.Args[i], depth+2))
		}
	}
	if out == nil || fn.Object() != nil && token.IsExported(fn.Object().Name()) {
		return term.Join(out, self)
	}
	return out
}

// callbackHandle is the handle that a library passes to a function literal.
func (ix *Index) callbackHandle(p *ssa.Parameter, mc *ssa.MakeClosure, self *term.Term) *term.Term {
	fn := p.Parent()
	var uses []ssa.Instruction
	if mc != nil && mc.Referrers() != nil {
		uses = *mc.Referrers()
	}
	var out *term.Term
	for _, c := range ix.given[fn] {
		out = term.Join(out, ix.handed(c, p, self))
	}
	for _, u := range uses {
		if c, ok := u.(ssa.CallInstruction); ok {
			out = term.Join(out, ix.handed(c.Common(), p, self))
		}
	}
	if out == nil {
		return self
	}
	return out
}

func (ix *Index) handed(c *ssa.CallCommon, p *ssa.Parameter, self *term.Term) *term.Term {
	callee := c.StaticCallee()
	if callee == nil {
		return self
	}
	m := rowOf(callee)
	if m == nil || m.Effect != client.Callback || p.Parent().Params[min(m.FnArg, len(p.Parent().Params)-1)] != p {
		return self
	}
	return term.New(term.Call, callee.String()+"#"+strconv.Itoa(int(m.To)), "cb", self.Type)
}

func (ix *Index) binding(v *ssa.FreeVar) ssa.Value { return Binding(ix.closure, v) }

// Binding is what a closure's free variable is where the closure is made; nil when that is not in made.
func Binding(made map[*ssa.Function]*ssa.MakeClosure, v *ssa.FreeVar) ssa.Value {
	mc := made[v.Parent()]
	if mc == nil {
		return nil
	}
	return mc.Bindings[slices.Index(v.Parent().FreeVars, v)]
}

func (ix *Index) loaded(v *ssa.UnOp, depth int, typ string) *term.Term {
	switch a := v.X.(type) {
	case *ssa.FieldAddr:
		if p := Place(a); p != "" {
			f := a.X.Type().Underlying().(*types.Pointer).Elem().Underlying().(*types.Struct).Field(a.Field).Name()
			t := client.TypeName(a.X.Type())
			return term.New(term.Load, "", "", typ, term.New(term.FieldPtr, f, "", t, term.Unknown("self", t)))
		}
	case *ssa.Global:
		return term.New(term.Load, "", "", typ, term.New(term.Global, Place(a), "", ""))
	case *ssa.IndexAddr:
		return term.New(term.Load, "", "", typ, term.New(term.ElemPtr, "", "", "", term.Unknown("arr", "")))
	case *ssa.Alloc:
		return ix.allocated(a, depth, typ)
	case *ssa.FreeVar:
		if b := ix.binding(a); b != nil {
			if al, ok := b.(*ssa.Alloc); ok {
				return ix.allocated(al, depth, typ)
			}
		}
	}
	return term.Unknown("load", typ)
}

// allocated is what a local variable can hold.
func (ix *Index) allocated(a *ssa.Alloc, depth int, typ string) *term.Term {
	var out *term.Term
	if refs := a.Referrers(); refs != nil {
		for _, r := range *refs {
			if st, ok := r.(*ssa.Store); ok && st.Addr == ssa.Value(a) {
				out = term.Join(out, ix.trace(st.Val, depth+2))
			}
		}
	}
	if out == nil {
		return term.Unknown("alloc", typ)
	}
	if ix.cappedV[a] {
		return term.New(term.Call, "capped", "", out.Type, out)
	}
	return out
}

func rowOf(fn *ssa.Function) *client.Method {
	obj, ok := fn.Object().(*types.Func)
	if !ok {
		return nil
	}
	return client.Of(obj)
}

// oneConn reports whether a pool's configuration is given MaxConns 1.
func oneConn(cfg ssa.Value) bool {
	if cfg.Referrers() == nil {
		return false
	}
	for _, r := range *cfg.Referrers() {
		fa, ok := r.(*ssa.FieldAddr)
		if !ok || fa.X.Type().Underlying().(*types.Pointer).Elem().Underlying().(*types.Struct).Field(fa.Field).Name() != "MaxConns" {
			continue
		}
		for _, u := range *fa.Referrers() {
			if st, ok := u.(*ssa.Store); ok {
				if k, ok := st.Val.(*ssa.Const); ok && k.Value != nil && k.Value.ExactString() == "1" {
					return true
				}
			}
		}
	}
	return false
}

// called is result i of a call.
// listed are the values of a variadic parameter's list, which the call itself makes.
func listed(v ssa.Value) (list []ssa.Value, ok bool) {
	slice, ok := v.(*ssa.Slice)
	if !ok {
		return nil, false
	}
	array, ok := slice.X.(*ssa.Alloc)
	if !ok || array.Comment != "varargs" || array.Referrers() == nil {
		return nil, false
	}
	for _, r := range *array.Referrers() {
		at, ok := r.(*ssa.IndexAddr)
		if !ok || at.Referrers() == nil {
			continue
		}
		for _, r := range *at.Referrers() {
			if st, ok := r.(*ssa.Store); ok && st.Addr == ssa.Value(at) {
				list = append(list, st.Val)
			}
		}
	}
	return list, true
}

func (ix *Index) called(c *ssa.Call, i, depth int, typ string) *term.Term {
	opaque := term.Unknown("call", typ)
	fn := c.Call.StaticCallee()
	if fn == nil {
		return opaque
	}
	if m := rowOf(fn); m != nil {
		return ix.catalogued(c, m, fn, depth, typ)
	}
	if fn.Pkg != nil && fn.Pkg.Pkg == ix.pkg && len(fn.Blocks) > 0 {
		var out *term.Term
		for _, b := range fn.Blocks {
			if r, ok := b.Instrs[len(b.Instrs)-1].(*ssa.Return); ok && i < len(r.Results) {
				if x := ix.trace(r.Results[i], depth+2); !x.IsNil() {
					out = term.Join(out, x)
				}
			}
		}
		if out == nil {
			return opaque
		}
		if out.Op != term.Cell {
			return out
		}
	}
	if obj, ok := fn.Object().(*types.Func); ok && obj.Pkg() != nil {
		var args []*term.Term
		for _, a := range c.Call.Args {
			if list, ok := listed(a); ok {
				for _, v := range list {
					args = append(args, ix.trace(v, depth+2))
				}
				continue
			}
			args = append(args, ix.trace(a, depth+2))
		}
		call := term.New(term.Call, obj.FullName(), "init", typ, args...)
		if fn.Signature.Results().Len() > 1 {
			return term.New(term.Result, strconv.Itoa(i), "", typ, call)
		}
		return call
	}
	return opaque
}

func (ix *Index) catalogued(c *ssa.Call, m *client.Method, fn *ssa.Function, depth int, typ string) *term.Term {
	args := c.Call.Args
	var recv *term.Term
	if fn.Signature.Recv() != nil && len(args) > 0 {
		recv, args = ix.trace(args[0], depth+1), args[1:]
	}
	at := func(n int) *term.Term {
		if n >= 0 && n < len(args) {
			return ix.trace(args[n], depth+1)
		}
		return nil
	}
	if recv == nil {
		if recv = at(m.Handle); recv == nil {
			recv = at(m.DSN)
		}
	}
	switch m.Effect {
	case client.Same:
		if recv != nil {
			return recv
		}
	case client.Derive:
		name := fn.Object().(*types.Func).FullName() + "#" + strconv.Itoa(int(m.To))
		if recv == nil {
			return term.New(term.Call, name, "kept:"+c.Name(), typ)
		}
		made := term.New(term.Call, name, "kept:"+c.Name(), typ, recv)
		if m.To == client.Pool && m.DSN >= 0 && m.DSN < len(args) && oneConn(args[m.DSN]) {
			return term.New(term.Call, "capped", "", typ, made)
		}
		return made
	case client.Bind: // a builder that runs on this handle
		if h := at(max(m.Handle, 0)); h != nil {
			var slots []*term.Term
			if recv != nil && recv.Op == term.Stmt {
				slots = recv.Args[1:]
			}
			return term.New(term.Stmt, "", "", typ, append([]*term.Term{h}, slots...)...)
		}
	case client.Build:
		if text := at(m.SQL); text != nil && recv != nil {
			return term.New(term.Stmt, "", "", typ, recv, term.New(term.Slot, "raw", "", "", text))
		}
	}
	return term.Unknown("call", typ)
}
