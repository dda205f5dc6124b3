package check

import (
	"fmt"
	"go/types"
	"reflect"
	"sync"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/packages"
)

// table is what one analyzer told of one package's objects.
type table struct {
	mu   sync.RWMutex
	list map[factKey]analysis.Fact
}

type factKey struct {
	name string
	typ  reflect.Type
}

// place is where the facts of an analyzer on a package are.
type place struct {
	pkg *types.Package
	a   *analysis.Analyzer
}

// table makes the table of an analyzer on a package.
func (r *run) table(p *packages.Package, a *analysis.Analyzer) *table {
	t := &table{list: map[factKey]analysis.Fact{}}
	if len(a.FactTypes) > 0 {
		r.mu.Lock()
		r.tables[place{p.Types, a}] = t
		r.mu.Unlock()
	}
	return t
}

// factsOf gives the facts on a unit's objects in the form that is kept; not ok when they cannot be.
func (r *run) factsOf(u *unit) (e factsEntry, ok bool) {
	for _, a := range r.facts {
		r.mu.Lock()
		t := r.tables[place{u.pkg.Types, a}]
		r.mu.Unlock()
		if t == nil {
			continue
		}
		for k, f := range t.list {
			e.Facts = append(e.Facts, factEntry{a.Name, k.name, f})
		}
	}
	return e, r.note(&e.At, e.Facts)
}

// takeFacts puts facts that were kept in their place.
func (r *run) takeFacts(u *unit, e factsEntry) {
	for _, a := range r.facts {
		t := r.table(u.pkg, a)
		for _, f := range e.Facts {
			if f.Analyzer == a.Name {
				t.list[factKey{f.Object, reflect.TypeOf(f.Fact)}] = f.Fact
			}
		}
	}
}

// connect lets a pass tell and hear facts. The facts of a package are complete when another hears them.
func (r *run) connect(pass *analysis.Pass, own *table) {
	find := func(pkg *types.Package) *table {
		if pkg == pass.Pkg {
			return own
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		return r.tables[place{pkg, pass.Analyzer}]
	}
	get := func(pkg *types.Package, name string, ptr analysis.Fact) bool {
		t := find(pkg)
		if t == nil || name == "" {
			return false
		}
		t.mu.RLock()
		defer t.mu.RUnlock()
		f, ok := t.list[factKey{name, reflect.TypeOf(ptr)}]
		if ok {
			reflect.ValueOf(ptr).Elem().Set(reflect.ValueOf(f).Elem())
		}
		return ok
	}
	set := func(name string, f analysis.Fact) {
		own.mu.Lock()
		defer own.mu.Unlock()
		own.list[factKey{name, reflect.TypeOf(f)}] = f
	}
	pass.ImportObjectFact = func(obj types.Object, ptr analysis.Fact) bool {
		return obj.Pkg() != nil && get(obj.Pkg(), objectName(obj), ptr)
	}
	pass.ExportObjectFact = func(obj types.Object, f analysis.Fact) {
		if obj.Pkg() != pass.Pkg {
			panic(fmt.Sprintf("%s tells a fact of %s in package %s", pass.Analyzer.Name, obj, pass.Pkg.Path()))
		}
		if name := objectName(obj); name != "" {
			set(name, f)
		}
	}
	pass.ImportPackageFact = func(pkg *types.Package, ptr analysis.Fact) bool { return get(pkg, ".", ptr) }
	pass.ExportPackageFact = func(f analysis.Fact) { set(".", f) }
	pass.AllObjectFacts = func() []analysis.ObjectFact { return nil }
	pass.AllPackageFacts = func() []analysis.PackageFact { return nil }
}

// objectName names an object that other packages can see within its package; "" for others, of which
// nobody can ask.
func objectName(obj types.Object) string {
	switch obj := obj.(type) {
	case *types.Func:
		obj = obj.Origin()
		recv := obj.Signature().Recv()
		if recv == nil {
			if obj.Parent() != obj.Pkg().Scope() {
				return ""
			}
			return obj.Name()
		}
		t := types.Unalias(recv.Type())
		if p, ok := t.(*types.Pointer); ok {
			t = types.Unalias(p.Elem())
		}
		if n, ok := t.(*types.Named); ok && n.Obj().Parent() == obj.Pkg().Scope() {
			return n.Obj().Name() + "." + obj.Name()
		}
		return ""
	case *types.Var, *types.Const, *types.TypeName:
		if obj.Parent() == obj.Pkg().Scope() {
			return obj.Name()
		}
	}
	return ""
}
