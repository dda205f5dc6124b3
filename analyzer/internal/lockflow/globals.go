package lockflow

import (
	"go/ast"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/tools/go/ssa"

	"github.com/advisorylint/advisorylint/analyzer/internal/sqltext"
	"github.com/advisorylint/advisorylint/analyzer/internal/stores"
	"github.com/advisorylint/advisorylint/analyzer/internal/symexec"
	"github.com/advisorylint/advisorylint/analyzer/internal/term"
)

// maxInit is how many instructions of package initialisation are followed.
const maxInit = 20000

// setGlobals finds the package variables that are set once, by their declaration, and what they
// hold: text, maps and structs of text, embedded files.
func (w *world) setGlobals() {
	w.globals, w.textGlobals = map[string]*term.Term{}, map[string]bool{}
	changed := w.reassigned()
	init := w.pkg.Func("init")
	if init != nil && instructions(init) <= maxInit {
		if run := symexec.Follow(w, init); run != nil && len(run.Paths) > 0 {
			p := run.Paths[len(run.Paths)-1]
			vars := variables(p)
			for _, st := range p.Stores {
				name := vars.of(st.Loc)
				if name != "" && !changed[name] && worthKeeping(st.Val) {
					w.globals[placeKey(st.Loc, name)] = st.Val
					if holdsText(st.Val) {
						w.textGlobals[name] = true
					}
				}
			}
		}
	}
	w.runs = map[*ssa.Function]*symexec.Run{} // made before the globals were known
	clear(w.summaries)
	w.embedded()
	for name, t := range w.globals { // what was made of an embedded file, or of a variable declared later
		if t == nil {
			continue
		}
		w.globals[name] = t.Map(func(n *term.Term) *term.Term {
			if n.Op == term.Load && n.Args[0].Op == term.Global {
				if v := w.globals[n.Args[0].Str]; v != nil {
					return v
				}
			}
			return n
		})
	}
}

func instructions(fn *ssa.Function) int {
	n := 0
	for _, b := range fn.Blocks {
		n += len(b.Instrs)
	}
	return n
}

// worthKeeping reports whether a variable's value can be SQL text or a statement.
func worthKeeping(t *term.Term) bool {
	if _, ok := t.StrVal(); ok {
		return true
	}
	switch t.Op {
	case term.Concat, term.Stmt, term.Closure, term.Func:
		return true
	case term.Const:
		return !t.IsNil()
	}
	return symexec.ScriptText(t) != nil
}

// holders are the package variables, by the key of what they were given.
type holders map[string]string

func variables(p *symexec.Path) holders {
	vars := holders{}
	for _, st := range p.Stores {
		if k := st.Val.Key(); st.Loc.Op == term.Global && vars[k] == "" {
			vars[k] = st.Loc.Str
		}
	}
	return vars
}

// of names the variable that a location belongs to, "" for none: the variable itself, a field of it, or an
// element of the map or slice that it was given.
func (vars holders) of(loc *term.Term) string {
	root := loc.Root()
	if root.Op == term.Global {
		return root.Str
	}
	return vars[root.Key()]
}

// placeKey is the key under which symexec asks for a location.
func placeKey(loc *term.Term, name string) string {
	if loc.Op == term.Global {
		return name
	}
	root := loc.Root()
	if root.Op == term.Cell { // through the variable: the element of what it loads
		through := term.New(term.Load, "", "", "", term.New(term.Global, name, "", ""))
		loc = loc.Map(func(t *term.Term) *term.Term {
			if term.Equal(t, root) {
				return through
			}
			return t
		})
	}
	return loc.Key()
}

// reassigned are the variables that something other than the package's initialisation may change.
func (w *world) reassigned() map[string]bool {
	out := map[string]bool{}
	for _, fn := range w.fns {
		inInit := fn.Name() == "init" && fn.Synthetic != ""
		for _, b := range fn.Blocks {
			for _, in := range b.Instrs {
				for _, op := range in.Operands(nil) {
					g, ok := (*op).(*ssa.Global)
					if ok && !readsOnly(in, inInit) {
						out[g.Pkg.Pkg.Path()+"."+g.Name()] = true
					}
				}
			}
		}
	}
	return out
}

// readsOnly reports whether an instruction with a variable's address as operand leaves it alone.
func readsOnly(in ssa.Instruction, inInit bool) bool {
	switch in := in.(type) {
	case *ssa.UnOp:
		if in.Op != token.MUL {
			return false
		}
		if inInit || in.Referrers() == nil {
			return true
		}
		for _, r := range *in.Referrers() {
			if _, ok := r.(*ssa.MapUpdate); ok {
				return false
			}
		}
		return true
	case *ssa.FieldAddr, *ssa.IndexAddr:
		if inInit {
			return true
		}
		if refs := in.(ssa.Value).Referrers(); refs != nil {
			for _, r := range *refs {
				if _, ok := r.(*ssa.Store); ok {
					return false
				}
			}
		}
		return true
	case *ssa.Store:
		return inInit
	case *ssa.DebugRef:
		return true
	}
	return inInit
}

// embedded reads the files of go:embed variables that are strings or bytes.
func (w *world) embedded() {
	for _, f := range w.pass.Files {
		dir := filepath.Dir(w.pass.Fset.Position(f.Package).Filename)
		for _, d := range f.Decls {
			gen, ok := d.(*ast.GenDecl)
			if !ok || gen.Tok != token.VAR {
				continue
			}
			for _, s := range gen.Specs {
				vs := s.(*ast.ValueSpec)
				doc := vs.Doc
				if doc == nil {
					doc = gen.Doc
				}
				if name := embedName(doc); name != "" && len(vs.Names) == 1 {
					w.embed(vs.Names[0], filepath.Join(dir, name))
				}
			}
		}
	}
}

func embedName(doc *ast.CommentGroup) string {
	if doc == nil {
		return ""
	}
	for _, c := range doc.List {
		if arg, ok := strings.CutPrefix(c.Text, "//go:embed "); ok {
			arg = strings.TrimSpace(arg)
			return strings.Trim(arg, "\"`")
		}
	}
	return ""
}

func (w *world) embed(id *ast.Ident, file string) {
	v, ok := w.pass.TypesInfo.Defs[id].(*types.Var)
	if !ok || w.pass.ReadFile == nil {
		return
	}
	if _, ok := v.Type().Underlying().(*types.Struct); ok { // embed.FS
		w.textGlobals[v.Pkg().Path()+"."+v.Name()] = true
		return
	}
	data, err := w.pass.ReadFile(file)
	if err != nil { // drivers give the files that the go command calls Go's or others, not embedded ones
		data, err = os.ReadFile(file)
	}
	if err == nil && len(data) <= sqltext.MaxLen {
		name := v.Pkg().Path() + "." + v.Name()
		w.globals[name], w.textGlobals[name] = term.Str(string(data)), true
	}
}

// fields answers provenance's questions: the stores of the package, and its embedded files.
type fields struct {
	*stores.Index
	w   *world
	dir string
}

// Embedded implements provenance.Fields: only files below the package's folder can be embedded.
func (f fields) Embedded(name string) (string, bool) {
	if f.dir == "" || !filepath.IsLocal(name) {
		return "", false
	}
	data, err := os.ReadFile(filepath.Join(f.dir, name))
	if err != nil || len(data) > sqltext.MaxLen {
		return "", false
	}
	return string(data), true
}

// Part implements provenance.Fields: what the constructor stored in the field, filled in with its
// arguments.
func (f fields) Part(v *term.Term, name string) *term.Term {
	i := 0
	if v.Op == term.Result {
		i, v = v.Index(), v.Args[0]
	}
	if v.Op != term.Call {
		return nil
	}
	s := f.w.Closure(v.Str)
	if s == nil {
		return nil
	}
	var out *term.Term
	for _, o := range s.Outcomes {
		if i >= len(o.Results) || o.Results[i].Op != term.Cell {
			continue
		}
		for _, st := range o.Stores {
			if st.Loc.Op == term.FieldPtr && st.Loc.Str == name && term.Equal(st.Loc.Args[0], o.Results[i]) {
				out = term.Join(out, st.Val.Map(func(t *term.Term) *term.Term {
					if n := t.Index(); t.Op == term.Param && n >= 0 && n < len(v.Args) {
						return v.Args[n]
					}
					return t
				}))
			}
		}
	}
	return out
}

func (w *world) fields() fields {
	f := fields{Index: w.stores, w: w}
	if len(w.pass.Files) > 0 {
		f.dir = filepath.Dir(w.pass.Fset.Position(w.pass.Files[0].Package).Filename)
	}
	return f
}
