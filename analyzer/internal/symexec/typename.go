package symexec

import (
	"go/types"

	"github.com/advisorylint/advisorylint/analyzer/internal/client"
)

var errorType = types.Universe.Lookup("error").Type()

// typeName is the name of a type as terms carry it: the catalogue's, or that of a basic type.
func typeName(t types.Type) string {
	if n := client.TypeName(t); n != "" {
		return n
	}
	if types.Identical(t, errorType) {
		return "error"
	}
	if b, ok := types.Unalias(t).(*types.Basic); ok {
		return b.Name()
	}
	return ""
}
