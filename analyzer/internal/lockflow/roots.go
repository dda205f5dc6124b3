package lockflow

import (
	"cmp"
	"go/constant"
	"go/types"
	"strings"

	"golang.org/x/tools/go/ssa"

	"github.com/advisorylint/advisorylint/analyzer/internal/client"
	"github.com/advisorylint/advisorylint/analyzer/internal/gate"
	"github.com/advisorylint/advisorylint/analyzer/internal/lockstate"
	"github.com/advisorylint/advisorylint/analyzer/internal/stores"
	"github.com/advisorylint/advisorylint/analyzer/internal/summary"
	"github.com/advisorylint/advisorylint/analyzer/internal/symexec"
	"github.com/advisorylint/advisorylint/analyzer/internal/term"
)

// maxHelper is how many instructions a function may have to be followed for its result alone.
const maxHelper = 150

// roots are the declared functions that can send lock text, in source order: they hold a piece of
// it, load a variable or field that does, or call a function that does. What they call besides is
// followed when they need it.
func (w *world) roots() []*ssa.Function {
	w.active = map[*ssa.Function]bool{}
	names := map[string]bool{} // methods that are active, for calls through interfaces
	places := w.textPlaces()
	for _, fn := range w.fns {
		w.active[fn] = w.mentions(fn, places)
	}
	for changed := true; changed; {
		changed = false
		for _, fn := range w.fns {
			if !w.active[fn] && w.reaches(fn, names) {
				w.active[fn], changed = true, true
			}
			if !w.active[fn] {
				continue
			}
			if fn.Signature.Recv() != nil && !names[fn.Name()] {
				names[fn.Name()], changed = true, true
			}
			if p := fn.Parent(); p != nil && !w.active[p] {
				w.active[p], changed = true, true
			}
		}
	}
	var out []*ssa.Function
	for _, fn := range w.fns {
		if w.active[fn] && fn.Parent() == nil && fn.Synthetic == "" {
			out = append(out, fn)
		}
	}
	return out
}

// textPlaces are the fields and variables into which lock text is stored.
func (w *world) textPlaces() map[string]bool {
	out := w.stores.Holding(holdsText)
	for name := range w.textGlobals {
		out[name] = true
	}
	return out
}

func holdsText(t *term.Term) bool {
	return t.Has(func(x *term.Term) bool {
		s, ok := x.StrVal()
		return ok && gate.Text(s)
	})
}

func constText(c *ssa.Const) bool {
	return c.Value != nil && c.Value.Kind() == constant.String && gate.Text(constant.StringVal(c.Value))
}

// mentions reports whether fn holds a piece of lock text or loads a place that does. A package
// variable counts when it may hold text that is put together elsewhere.
func (w *world) mentions(fn *ssa.Function, places map[string]bool) bool {
	var ops []*ssa.Value
	for _, b := range fn.Blocks {
		for _, in := range b.Instrs {
			ops = in.Operands(ops[:0])
			for _, op := range ops {
				switch v := (*op).(type) {
				case *ssa.Const:
					if constText(v) {
						return true
					}
				case *ssa.Global:
					if places[stores.Place(v)] || v.Pkg != nil && v.Pkg != w.pkg && w.importedText(v) {
						return true
					}
				}
			}
			if fa, ok := in.(*ssa.FieldAddr); ok && places[stores.Place(fa)] {
				return true
			}
			if c, ok := in.(ssa.CallInstruction); ok && (commands(c.Common()) || leases(c.Common())) {
				return true
			}
		}
	}
	return false
}

// commands reports whether a call sends a command to Redis.
func commands(c *ssa.CallCommon) bool {
	var m *client.Command
	if c.IsInvoke() {
		m = cmp.Or(client.CommandOf(c.Method), client.CommandShape(c.Method.Name(), c.Signature()))
	} else if obj := stores.Called(c); obj != nil {
		m = client.CommandOf(obj)
	}
	return m != nil && m.Sends()
}

func (w *world) importedText(g *ssa.Global) bool {
	t := w.Global(g.Pkg.Pkg.Path() + "." + g.Name())
	return t != nil && holdsText(t)
}

// reaches reports whether fn calls a function that is active, here or in another package.
func (w *world) reaches(fn *ssa.Function, names map[string]bool) bool {
	for _, b := range fn.Blocks {
		for _, in := range b.Instrs {
			if mc, ok := in.(*ssa.MakeClosure); ok && w.active[mc.Fn.(*ssa.Function)] {
				return true
			}
			c, ok := in.(ssa.CallInstruction)
			if !ok {
				continue
			}
			common := c.Common()
			if common.IsInvoke() {
				if name := common.Method.Name(); names[name] || w.importedMethod(common.Value.Type(), name) || w.locks(common.Method) {
					return true
				}
				continue
			}
			callee := common.StaticCallee()
			if callee == nil {
				continue
			}
			if o := callee.Origin(); o != nil {
				callee = o
			}
			if w.active[callee] {
				return true
			}
			if obj, ok := callee.Object().(*types.Func); ok && w.locks(obj) {
				return true
			}
		}
	}
	return false
}

// locks reports whether a function of another package is known to do something with locks.
func (w *world) locks(fn *types.Func) bool {
	return fn.Pkg() != w.pass.Pkg && w.Imported(fn) != nil && w.imported[fn.Origin()].Locks
}

// importedMethod reports whether an interface of the program has an implementation with a fact in
// an imported package.
func (w *world) importedMethod(iface types.Type, name string) bool {
	n, ok := types.Unalias(iface).(*types.Named)
	if !ok || n.Obj().Pkg() == nil || !w.program(n.Obj().Pkg()) {
		return false
	}
	return len(w.Implementers(iface, name)) > 0
}

// export writes the facts of the functions and variables that other packages can use.
func (w *world) export() {
	facts := map[*types.Func]*FuncFact{}
	locking := map[*types.TypeName]bool{} // types with a method that locks
	for _, fn := range w.fns {
		obj, ok := fn.Object().(*types.Func)
		if !ok || fn.Synthetic != "" || obj.Pkg() != w.pass.Pkg || !w.reachable(obj) {
			continue
		}
		s := w.summaries[fn]
		if s == nil && helpful(fn) {
			guard(w.pass, fn.String(), func() { s = w.Summary(fn) })
		}
		if s == nil {
			continue
		}
		s, locks := forOthers(s)
		if locks {
			if recv := obj.Signature().Recv(); recv != nil {
				locking[typeNameOf(recv.Type())] = true
			}
		}
		if w.telling(s) {
			facts[obj] = &FuncFact{Summary: s, Locks: locks, Closures: w.closuresOf(s)}
		}
	}
	for _, fn := range w.fns {
		obj, ok := fn.Object().(*types.Func)
		if !ok || facts[obj] == nil {
			continue
		}
		for r := range obj.Signature().Results().Variables() {
			if locking[typeNameOf(r.Type())] { // who makes such a value may call the method through an interface
				facts[obj].Locks = true
			}
		}
		w.pass.ExportObjectFact(obj, facts[obj])
	}
	w.exportInterfaces(facts)
	w.exportGlobals()
}

// exportInterfaces gives the methods of the package's interfaces what is known of the one type with locks
// that is behind them: who calls them matters, even if somebody else makes the value, and cannot see a
// type that is not exported. With several types only that they matter is known.
func (w *world) exportInterfaces(facts map[*types.Func]*FuncFact) {
	locking := map[string]bool{} // names of methods that lock
	for fn, f := range facts {
		if f.Locks && fn.Signature().Recv() != nil {
			locking[fn.Name()] = true
		}
	}
	if len(locking) == 0 {
		return
	}
	interfaces, others := declared(w.pass.Pkg)
	index := newTypeIndex(others)
	for _, n := range interfaces {
		it := n.Underlying().(*types.Interface)
		for m := range it.ExplicitMethods() {
			if !m.Exported() || !n.Obj().Exported() || !locking[m.Name()] {
				continue
			}
			if f := behind(index.implementing(it), m, facts); f != nil {
				w.pass.ExportObjectFact(m, f)
			}
		}
	}
}

// declared are the types that a package declares, in the order of their names.
func declared(pkg *types.Package) (interfaces, others []*types.Named) {
	for _, name := range pkg.Scope().Names() {
		tn, ok := pkg.Scope().Lookup(name).(*types.TypeName)
		if !ok || tn.IsAlias() {
			continue
		}
		switch n, ok := tn.Type().(*types.Named); {
		case !ok:
		case types.IsInterface(n):
			interfaces = append(interfaces, n)
		default:
			others = append(others, n)
		}
	}
	return interfaces, others
}

// behind is what is known of a method of an interface by the types that implement it, nil when none of them
// locks.
func behind(implementing []*types.Named, method *types.Func, facts map[*types.Func]*FuncFact) *FuncFact {
	var out *FuncFact
	for _, n := range implementing {
		obj, _, _ := types.LookupFieldOrMethod(types.NewPointer(n), true, n.Obj().Pkg(), method.Name())
		fn, _ := obj.(*types.Func)
		f := facts[fn]
		if f == nil || !f.Locks {
			continue
		}
		if out != nil {
			return &FuncFact{Summary: &summary.Summary{}, Locks: true}
		}
		out = f
	}
	return out
}

// typeNameOf is the declared type behind t or what it points to; nil when it has none.
func typeNameOf(t types.Type) *types.TypeName {
	if p, ok := types.Unalias(t).(*types.Pointer); ok {
		t = p.Elem()
	}
	if n, ok := types.Unalias(t).(*types.Named); ok {
		return n.Obj()
	}
	return nil
}

// reachable reports whether another package can call a function, by its name or as a method, and is not the
// one that go test makes.
func (w *world) reachable(fn *types.Func) bool {
	if !fn.Exported() {
		return false
	}
	if !strings.HasSuffix(w.pass.Fset.Position(fn.Pos()).Filename, "_test.go") {
		return true
	}
	// Nothing imports an external test package.
	return !strings.HasSuffix(w.pass.Pkg.Name(), "_test") && !isTest(fn)
}

// isTest reports whether a function of a test file is one that go test calls.
func isTest(fn *types.Func) bool {
	p := fn.Signature().Params()
	if fn.Signature().Recv() != nil || p.Len() != 1 {
		return false
	}
	switch client.TypeName(p.At(0).Type()) {
	case "testing.T":
		return strings.HasPrefix(fn.Name(), "Test")
	case "testing.B":
		return strings.HasPrefix(fn.Name(), "Benchmark")
	case "testing.F":
		return strings.HasPrefix(fn.Name(), "Fuzz")
	}
	return false
}

// forOthers is a summary without what callers in other packages can make nothing of: statements
// whose text is known and has no lock in it.
func forOthers(s *summary.Summary) (out *summary.Summary, locks bool) {
	out = &summary.Summary{Consumes: s.Consumes, Truncated: s.Truncated}
	for _, o := range s.Outcomes {
		n := *o
		n.Effects = nil
		for _, e := range o.Effects {
			keep, lock := matters(e)
			locks = locks || lock
			if keep {
				n.Effects = append(n.Effects, e)
			}
		}
		out.Outcomes = append(out.Outcomes, &n)
	}
	return out, locks
}

// matters reports whether an effect means something to callers elsewhere, and whether it sends
// lock text.
func matters(e *summary.Effect) (keep, lock bool) {
	switch e.Op {
	case summary.Send:
		for _, q := range e.Batch {
			k, l := matters(q)
			keep, lock = keep || k, lock || l
		}
		lock = lock || e.Text.Has(func(t *term.Term) bool {
			s, ok := t.StrVal()
			return ok && gate.Text(s)
		})
		open := e.Text.Has(func(t *term.Term) bool { return t.Op == term.Param || t.Op == term.Free || t.Op == term.Load })
		return keep || lock || open, lock
	case summary.Escape:
		for _, alt := range e.Alts {
			for _, a := range alt.Effects {
				if _, l := matters(a); l {
					return true, true
				}
			}
		}
		return false, false
	case summary.Give:
		return false, false
	case summary.Command:
		return true, true
	}
	return true, false
}

func (w *world) exportGlobals() {
	scope := w.pass.Pkg.Scope()
	for _, name := range scope.Names() {
		v, ok := scope.Lookup(name).(*types.Var)
		if !ok || !v.Exported() {
			continue
		}
		if t := w.globals[v.Pkg().Path()+"."+name]; t != nil && (t.Op == term.Const || t.Op == term.Concat) {
			w.pass.ExportObjectFact(v, &VarFact{Value: t})
		}
	}
}

// helpful reports whether a function is worth following for its result: a small one that gives a
// text, a context, a function or a handle.
func helpful(fn *ssa.Function) bool {
	if len(fn.Blocks) == 0 || instructions(fn) > maxHelper {
		return false
	}
	if handles(fn) {
		return true
	}
	r := fn.Signature.Results()
	for v := range r.Variables() {
		switch t := v.Type().Underlying().(type) {
		case *types.Signature:
			return true
		case *types.Basic:
			if t.Info()&types.IsString != 0 {
				return true
			}
		case *types.Interface:
			if client.TypeName(v.Type()) == "context.Context" {
				return true
			}
			if _, ok := client.TypeOf(client.TypeName(v.Type())); ok {
				return true
			}
		case *types.Pointer, *types.Struct:
			if carriesHandle(v.Type(), 0) {
				return true
			}
		}
	}
	return false
}

// handles reports whether a function forwards text to a client, or opens or ends a handle.
func handles(fn *ssa.Function) bool {
	for _, b := range fn.Blocks {
		for _, in := range b.Instrs {
			c, ok := in.(ssa.CallInstruction)
			if !ok {
				continue
			}
			common := c.Common()
			var m *client.Method
			if common.IsInvoke() {
				if m = client.Of(common.Method); m == nil {
					m = client.Shape(common.Method.Name(), common.Signature())
				}
			} else if callee := common.StaticCallee(); callee != nil {
				if obj, ok := callee.Object().(*types.Func); ok {
					m = client.Of(obj)
				}
			}
			if m == nil {
				continue
			}
			switch m.Effect {
			case client.Derive, client.End, client.Callback, client.Same, client.Cap:
				return true
			case client.Send, client.Build, client.Queue, client.Run:
				i := m.SQL
				if !common.IsInvoke() && common.Signature().Recv() != nil {
					i++
				}
				if m.SQL >= 0 && i < len(common.Args) {
					if _, constant := common.Args[i].(*ssa.Const); !constant {
						return true
					}
				}
			}
		}
	}
	return false
}

// carriesHandle reports whether a type is a handle, or a struct with one or with an interface in it.
func carriesHandle(t types.Type, depth int) bool {
	if row, ok := client.TypeOf(client.TypeName(t)); ok && row.Kind != client.Unknown {
		return true
	}
	if p, ok := t.Underlying().(*types.Pointer); ok {
		t = p.Elem()
	}
	st, ok := t.Underlying().(*types.Struct)
	if !ok || depth > 1 {
		return false
	}
	for f := range st.Fields() {
		if types.IsInterface(f.Type()) || carriesHandle(f.Type(), depth+1) {
			return true
		}
	}
	return false
}

// telling reports whether a summary says something that decides about locks: what is sent, opened or
// closed, a text, a context, a function or a handle that is given back.
func (w *world) telling(s *summary.Summary) bool {
	for _, o := range s.Outcomes {
		if len(o.Effects) > 0 {
			return true
		}
		for _, t := range o.Results {
			if w.tellingValue(t) {
				return true
			}
		}
		for _, st := range o.Stores {
			if w.tellingValue(st.Val) {
				return true
			}
		}
	}
	return false
}

func (w *world) tellingValue(t *term.Term) bool {
	return t.Has(func(x *term.Term) bool {
		switch x.Op {
		case term.Const:
			s, ok := x.StrVal()
			return ok && gate.Text(s)
		case term.Param, term.Load:
			return w.isHandle(x.Type)
		case term.Closure, term.Bound, term.Stmt:
			return true
		case term.Call:
			_, made := symexec.MadeKind(x)
			return made || strings.HasPrefix(x.Str, "context.With") || x.Str == "context.Background" || x.Str == "context.TODO" || x.Str == "context.WithoutCancel"
		}
		return false
	})
}

// isHandle reports whether a type, by its name, is a handle or an interface of the program behind
// which one may stand: one with a method of a client's shape.
func (w *world) isHandle(typ string) bool {
	if row, ok := client.TypeOf(typ); ok {
		return row.Role == client.Handle || row.Role == client.Statement
	}
	n := w.named()[typ]
	if n == nil {
		return false
	}
	it, ok := n.Underlying().(*types.Interface)
	if !ok {
		return false
	}
	for m := range it.Methods() {
		if client.Shape(m.Name(), m.Signature()) != nil {
			return true
		}
	}
	return false
}

// closuresOf are the summaries of the function literals that a summary mentions, and of those that
// they mention.
func (w *world) closuresOf(s *summary.Summary) []NamedSummary {
	var out []NamedSummary
	seen := map[string]bool{}
	var visit func(*summary.Summary)
	look := func(t *term.Term) {
		if t == nil {
			return
		}
		t.Walk(func(x *term.Term) bool {
			if (x.Op == term.Closure || x.Op == term.Func || x.Op == term.Bound) && !seen[x.Str] {
				seen[x.Str] = true
				if c := w.Closure(x.Str); c != nil && len(out) < 8 {
					out = append(out, NamedSummary{x.Str, c})
					visit(c)
				}
			}
			return true
		})
	}
	visit = func(s *summary.Summary) {
		for _, o := range s.Outcomes {
			for _, r := range o.Results {
				look(r)
			}
			for _, st := range o.Stores {
				look(st.Val)
			}
		}
	}
	visit(s)
	return out
}

// otherPlaces is what the functions that send no lock text do with connections that types keep: the
// Close of a handle that forgets to unlock.
func (w *world) otherPlaces() *lockstate.Places {
	at := &lockstate.Places{Pooled: map[string]bool{}, Given: map[string]bool{}}
	for _, fn := range w.fns {
		if w.active[fn] {
			continue
		}
		for _, b := range fn.Blocks {
			for _, in := range b.Instrs {
				if load, ok := in.(*ssa.UnOp); ok {
					if place := stores.Place(load.X); place != "" {
						uses(at, place, load)
					}
				}
			}
		}
	}
	return at
}

// uses notes how the value loaded from a place is used.
func uses(at *lockstate.Places, place string, v ssa.Value) {
	if v.Referrers() == nil {
		return
	}
	for _, r := range *v.Referrers() {
		switch r := r.(type) {
		case ssa.CallInstruction:
			obj := stores.Called(r.Common())
			m := (*client.Method)(nil)
			if obj != nil {
				m = client.Of(obj)
			}
			switch {
			case m == nil:
				at.Given[place] = true
			case m.Effect == client.End && m.Ending == client.Return:
				at.Pooled[place] = true
			case m.Effect == client.End:
				at.Given[place] = true
			}
		case *ssa.BinOp, *ssa.DebugRef:
		default:
			at.Given[place] = true
		}
	}
}
