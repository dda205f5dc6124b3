package stores

import (
	"go/types"

	"golang.org/x/tools/go/ssa"
)

// Called is the function or method that a call calls, nil for a function value.
func Called(c *ssa.CallCommon) *types.Func {
	if c.IsInvoke() {
		return c.Method
	}
	if fn := c.StaticCallee(); fn != nil {
		obj, _ := fn.Object().(*types.Func)
		return obj
	}
	return nil
}
