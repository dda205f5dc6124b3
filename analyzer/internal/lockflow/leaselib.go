package lockflow

import (
	"slices"

	"golang.org/x/tools/go/ssa"

	"github.com/advisorylint/advisorylint/analyzer/internal/client"
	"github.com/advisorylint/advisorylint/analyzer/internal/stores"
)

// guarded reports whether a function takes a lock of the process, which keeps its goroutines apart.
func guarded(fn *ssa.Function) bool {
	for _, b := range fn.Blocks {
		for _, in := range b.Instrs {
			c, ok := in.(ssa.CallInstruction)
			if !ok {
				continue
			}
			if obj := stores.Called(c.Common()); obj != nil {
				switch obj.FullName() {
				case "(*sync.Mutex).Lock", "(*sync.RWMutex).Lock", "(*sync.Mutex).TryLock", "(*sync.RWMutex).TryLock", "(sync.Locker).Lock":
					return true
				}
			}
		}
	}
	return slices.ContainsFunc(fn.AnonFuncs, guarded)
}

// leases reports whether a call asks a lock library for something.
func leases(c *ssa.CallCommon) bool {
	obj := stores.Called(c)
	return obj != nil && client.LeaseOf(obj) != nil
}

// leaseSyntax names the context of a lock library's call. Fixes are for SQL: they get no operands.
func leaseSyntax(e *Event, fn fnObject) {
	params := fn.Signature().Params()
	if client.LeaseOf(fn) != nil && params.Len() > 0 && len(e.Call.Args) > 0 && client.TypeName(params.At(0).Type()) == "context.Context" {
		e.Context.Name = exprName(e.Call.Args[0])
	}
}
