package lockflow

import (
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/ssa"

	"github.com/advisorylint/advisorylint/analyzer/internal/client"
	"github.com/advisorylint/advisorylint/analyzer/internal/gate"
	"github.com/advisorylint/advisorylint/analyzer/internal/stores"
	"github.com/advisorylint/advisorylint/analyzer/internal/summary"
	"github.com/advisorylint/advisorylint/analyzer/internal/symexec"
	"github.com/advisorylint/advisorylint/analyzer/internal/term"
)

type fnObject = *types.Func

// maxImplementers is how many types behind an interface are told apart; beyond it a call through
// the interface is unknown.
const maxImplementers = 3

// world is the program around the functions of one package, as symexec asks for it.
type world struct {
	pass      *analysis.Pass
	pkg       *ssa.Package
	fns       []*ssa.Function // source functions and literals, in source order
	byKey     map[string]*ssa.Function
	stores    *stores.Index
	summaries map[*ssa.Function]*summary.Summary
	busy      map[*ssa.Function]bool
	runs      map[*ssa.Function]*symexec.Run
	imported  map[*types.Func]*FuncFact
	closures  map[string]*summary.Summary
	externals map[string]*types.Func
	types     map[string]*types.Named
	index     *typeIndex               // of the program's types among them
	methods   map[callee][]*types.Func // what calls through interfaces can mean
	globals   map[string]*term.Term
	// textGlobals are the variables, by name, that hold lock text or a file.
	textGlobals map[string]bool
	active      map[*ssa.Function]bool
	poolerDSN   int8
	// timeout is 1 when a configuration in the package sets lock_timeout, -1 when none does.
	timeout int8
}

func newWorld(pass *analysis.Pass) *world {
	w := &world{pass: pass, byKey: map[string]*ssa.Function{}, summaries: map[*ssa.Function]*summary.Summary{},
		busy: map[*ssa.Function]bool{}, runs: map[*ssa.Function]*symexec.Run{}, imported: map[*types.Func]*FuncFact{},
		closures: map[string]*summary.Summary{}, externals: map[string]*types.Func{}, methods: map[callee][]*types.Func{}}
	w.build()
	w.stores = stores.New(pass.Pkg, w.fns)
	w.setGlobals()
	return w
}

// build makes the package's SSA form, and of what it imports the declarations only.
func (w *world) build() {
	prog := ssa.NewProgram(w.pass.Fset, ssa.BuilderMode(0))
	for _, p := range w.pass.Pkg.Imports() {
		prog.CreatePackage(p, nil, nil, true)
	}
	w.pkg = prog.CreatePackage(w.pass.Pkg, w.pass.Files, w.pass.TypesInfo, false)
	w.pkg.Build()
	w.fns = symexec.Functions(w.pkg, w.pass.Files, w.pass.TypesInfo)
	for _, fn := range w.fns {
		w.byKey[symexec.FuncKey(fn)] = fn
	}
}

// follow runs symexec over fn, once.
func (w *world) follow(fn *ssa.Function) *symexec.Run {
	if r, ok := w.runs[fn]; ok {
		return r
	}
	if w.busy[fn] || len(fn.Blocks) == 0 {
		return nil
	}
	w.busy[fn] = true
	defer delete(w.busy, fn)
	r := symexec.Follow(w, fn)
	w.runs[fn] = r
	return r
}

// Summary implements symexec.World. A function that is being followed already calls itself: what it
// does then is unknown.
func (w *world) Summary(fn *ssa.Function) *summary.Summary {
	if s, ok := w.summaries[fn]; ok {
		return s
	}
	if fn.Pkg != w.pkg && fn.Pkg != nil {
		return nil
	}
	r := w.follow(fn)
	if r == nil {
		return nil
	}
	s := symexec.Summarise(r)
	w.summaries[fn] = s
	return s
}

// Imported implements symexec.World.
func (w *world) Imported(fn *types.Func) *summary.Summary {
	fn = fn.Origin()
	f, ok := w.imported[fn]
	if !ok {
		got := new(FuncFact)
		if fn.Pkg() != w.pass.Pkg && w.pass.ImportObjectFact(fn, got) {
			f = got
			for _, c := range got.Closures {
				w.closures[c.Key] = c.Summary
			}
		}
		w.imported[fn] = f
		w.externals[fn.FullName()] = fn
	}
	if f == nil {
		return nil
	}
	return f.Summary
}

// Closure implements symexec.World.
func (w *world) Closure(key string) *summary.Summary {
	if fn := w.byKey[key]; fn != nil {
		return w.Summary(fn)
	}
	if s := w.closures[key]; s != nil {
		return s
	}
	if fn := w.externals[key]; fn != nil {
		return w.Imported(fn)
	}
	return nil
}

// Note implements symexec.World.
func (w *world) Note(fn *types.Func) { w.externals[fn.FullName()] = fn }

// External implements symexec.World.
func (w *world) External(name string) *types.Func { return w.externals[name] }

// Global implements symexec.World.
func (w *world) Global(name string) *term.Term {
	if t, ok := w.globals[name]; ok {
		return t
	}
	if strings.HasSuffix(name, ".init$guard") {
		return term.Bool(false) // initialisation runs once
	}
	i := strings.LastIndexByte(name, '.')
	if i < 0 {
		return nil
	}
	var out *term.Term
	for _, p := range w.pass.Pkg.Imports() {
		if p.Path() != name[:i] {
			continue
		}
		if v, ok := p.Scope().Lookup(name[i+1:]).(*types.Var); ok {
			f := new(VarFact)
			if w.pass.ImportObjectFact(v, f) {
				out = f.Value
			}
		}
	}
	w.globals[name] = out
	return out
}

// Method implements symexec.World.
func (w *world) Method(typeName, method string) *types.Func {
	n := w.named()[typeName]
	if n == nil {
		return nil
	}
	obj, _, _ := types.LookupFieldOrMethod(types.NewPointer(n), true, w.pass.Pkg, method)
	fn, _ := obj.(*types.Func)
	return fn
}

// named are the types of the package and of its direct imports by name.
func (w *world) named() map[string]*types.Named {
	if w.types != nil {
		return w.types
	}
	w.types = map[string]*types.Named{}
	for _, p := range append([]*types.Package{w.pass.Pkg}, w.pass.Pkg.Imports()...) {
		for _, name := range p.Scope().Names() {
			if tn, ok := p.Scope().Lookup(name).(*types.TypeName); ok && !tn.IsAlias() {
				if n, ok := tn.Type().(*types.Named); ok {
					w.types[client.TypeName(n)] = n
				}
			}
		}
	}
	return w.types
}

// Implementers implements symexec.World: the methods of the package's types, and of those that it
// imports, that a call through an interface of the program can mean and that do something with locks.
func (w *world) Implementers(iface types.Type, method string) []*types.Func {
	it, ok := iface.Underlying().(*types.Interface)
	if n, named := types.Unalias(iface).(*types.Named); !ok || named && (n.Obj().Pkg() == nil || !w.program(n.Obj().Pkg())) {
		return nil
	}
	var out []*types.Func
	for _, fn := range w.behindCall(callee{it, method}) {
		if !w.matters(fn) {
			continue
		}
		if out = append(out, fn); len(out) > maxImplementers {
			return nil
		}
	}
	return out
}

// callee is what a call through an interface names.
type callee struct {
	it     *types.Interface
	method string
}

// behindCall are the methods that a call through an interface can mean, in the order of their types' names.
func (w *world) behindCall(c callee) []*types.Func {
	if out, ok := w.methods[c]; ok {
		return out
	}
	var out []*types.Func
	for _, n := range w.typeIndex().implementing(c.it) {
		if fn := w.Method(client.TypeName(n), c.method); fn != nil {
			out = append(out, fn)
		}
	}
	w.methods[c] = out
	return out
}

// typeIndex is of the named types that a value of an interface of the program can have.
func (w *world) typeIndex() *typeIndex {
	if w.index == nil {
		var all []*types.Named
		named := w.named()
		for _, name := range slices.Sorted(maps.Keys(named)) {
			n := named[name]
			if n.TypeParams().Len() == 0 && !types.IsInterface(n) && w.program(n.Obj().Pkg()) {
				all = append(all, n)
			}
		}
		w.index = newTypeIndex(all)
	}
	return w.index
}

// Implemented implements symexec.World.
func (w *world) Implemented(iface types.Type) bool {
	it, ok := iface.Underlying().(*types.Interface)
	return ok && len(w.typeIndex().implementing(it)) > 0
}

func (w *world) program(p *types.Package) bool {
	return p == w.pass.Pkg || !gate.Standard(p.Path()) && !client.Library(client.Path(p.Path()))
}

// matters reports whether a method does something to a server.
func (w *world) matters(fn *types.Func) bool {
	var s *summary.Summary
	if f := w.Func(fn); f != nil {
		if !w.active[f] {
			return false
		}
		s = w.Summary(f)
	} else {
		s = w.Imported(fn)
	}
	if s == nil {
		return false
	}
	for _, o := range s.Outcomes {
		if len(o.Effects) > 0 {
			return true
		}
	}
	return false
}

// Capped implements symexec.World.
func (w *world) Capped(p *ssa.Parameter) bool { return w.stores.CappedParam(p) }

// senders are methods by which a type of the program passes statements on.
var senders = []string{"ExecContext", "Exec", "QueryRowContext", "QueryRow", "QueryContext", "Query", "GetContext", "Get"}

// Inner implements symexec.World.
func (w *world) Inner(typeName string) (field, fieldType string, ok bool) {
	n := w.named()[typeName]
	if n == nil {
		return "", "", false
	}
	st, isStruct := n.Underlying().(*types.Struct)
	if !isStruct {
		return "", "", false
	}
	for _, name := range senders {
		obj, index, _ := types.LookupFieldOrMethod(types.NewPointer(n), true, n.Obj().Pkg(), name)
		fn, isFunc := obj.(*types.Func)
		if !isFunc {
			continue
		}
		if len(index) > 1 { // promoted from an embedded field
			f := st.Field(index[0])
			return f.Name(), client.TypeName(f.Type()), true
		}
		if f := w.forwarded(fn); f != nil {
			return f.Str, "", true
		}
	}
	return "", "", false
}

// forwarded is the address of the receiver's field on which a method sends what it is given.
func (w *world) forwarded(fn *types.Func) *term.Term {
	var s *summary.Summary
	if f := w.Func(fn); f != nil {
		s = w.Summary(f)
	} else {
		s = w.Imported(fn)
	}
	if s == nil {
		return nil
	}
	for _, o := range s.Outcomes {
		for _, e := range o.Effects {
			h := e.Handle
			if e.Op != summary.Send || h == nil {
				continue
			}
			if h.Op == term.Load {
				h = h.Args[0]
			}
			if (h.Op == term.FieldPtr || h.Op == term.Field) && h.Args[0].Op == term.Param && h.Args[0].Str == "0" {
				return h
			}
		}
	}
	return nil
}

// Func implements symexec.World.
func (w *world) Func(fn *types.Func) *ssa.Function {
	if fn.Pkg() != w.pass.Pkg {
		return nil
	}
	return w.pkg.Prog.FuncValue(fn.Origin())
}

// Posn implements symexec.World.
func (w *world) Posn(pos token.Pos) string {
	if !pos.IsValid() {
		return ""
	}
	p := w.pass.Fset.Position(pos)
	return filepath.Base(p.Filename) + ":" + strconv.Itoa(p.Line)
}

// pooler reports whether a handle comes from a data source that names a transaction pooler. A
// handle whose source is not in view belongs to the only kind of source that the package names.
func (w *world) pooler(origin *term.Term) bool {
	if origin != nil {
		if t := dsnOf(origin); t != nil {
			if s, ok := t.StrVal(); ok {
				return poolerDSN(s)
			}
		}
	}
	if w.poolerDSN == 0 {
		w.poolerDSN = -1
		for _, f := range w.pass.Files {
			ast.Inspect(f, func(n ast.Node) bool {
				if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING && poolerDSN(lit.Value) {
					w.poolerDSN = 1
				}
				return true
			})
		}
	}
	return w.poolerDSN > 0
}

func dsnOf(t *term.Term) *term.Term {
	for t.Op == term.As || t.Op == term.WithCtx || t.Op == term.Call && len(t.Args) > 0 || t.Op == term.Result {
		t = t.Args[len(t.Args)-1]
	}
	return t
}

// bounded reports whether the server is told a lock_timeout where connections are configured.
func (w *world) bounded(origin *term.Term) bool {
	if origin != nil {
		if s, ok := dsnOf(origin).StrVal(); ok && strings.Contains(s, "lock_timeout") {
			return true
		}
	}
	if origin == nil || !strings.Contains(origin.Str, "Config") && !strings.Contains(origin.Str, "OpenDB") {
		return false
	}
	if w.timeout == 0 {
		w.timeout = -1
		for _, f := range w.pass.Files {
			ast.Inspect(f, func(n ast.Node) bool {
				if ix, ok := n.(*ast.IndexExpr); ok {
					if lit, ok := ix.Index.(*ast.BasicLit); ok && strings.Trim(lit.Value, "\"`") == "lock_timeout" {
						w.timeout = 1 // RuntimeParams["lock_timeout"] = …
					}
				}
				return true
			})
		}
	}
	return w.timeout > 0
}

// poolerSigns are parts of connection strings that name a transaction pooler.
var poolerSigns = []string{"pgbouncer=true", ".pooler.supabase.com:6543", "pool_mode=transaction", "statement_cache_mode=describe&pgbouncer",
	"-pooler.", "pgbouncer:", "port=6432", ":6432/"}

func poolerDSN(s string) bool {
	if !strings.Contains(s, "://") && !strings.Contains(s, "host=") {
		return false
	}
	for _, p := range poolerSigns {
		if strings.Contains(s, p) {
			return true
		}
	}
	return false
}
