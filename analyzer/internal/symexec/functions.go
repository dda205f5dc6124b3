package symexec

import (
	"go/ast"
	"go/types"

	"golang.org/x/tools/go/ssa"
)

// Functions gives the functions that the files of a package declare, in source order, each before the function
// literals in it, and after them the package's initialisation.
func Functions(pkg *ssa.Package, files []*ast.File, info *types.Info) []*ssa.Function {
	var fns []*ssa.Function
	var add func(*ssa.Function)
	add = func(fn *ssa.Function) {
		if fn == nil {
			return
		}
		fns = append(fns, fn)
		for _, lit := range fn.AnonFuncs {
			add(lit)
		}
	}
	for _, f := range files {
		for _, d := range f.Decls {
			if d, ok := d.(*ast.FuncDecl); ok {
				if obj, ok := info.Defs[d.Name].(*types.Func); ok {
					add(pkg.Prog.FuncValue(obj))
				}
			}
		}
	}
	add(pkg.Func("init"))
	return fns
}
