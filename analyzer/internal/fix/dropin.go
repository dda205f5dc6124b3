package fix

import (
	"fmt"
	"go/ast"

	"golang.org/x/tools/go/analysis"

	"github.com/advisorylint/advisorylint/analyzer/internal/sqltext"
)

// A dropIn is a runtime function func(ctx, handle, key) error that does what a release with one key does,
// and makes a no an error.
type dropIn struct {
	lock       string // "pg_advisory_unlock"
	handle     string // type of the handle, "*sql.Conn"
	importPath string
	name       string
}

// dropIns are the runtime's. A release for which there is none gets the longer fix.
var dropIns []dropIn

// dropIn replaces "_, err := conn.Exec(ctx, release, key)" by a call of the runtime.
func (s *site) dropIn() (edits, imports []analysis.TextEdit, ok bool) {
	sel, sends := s.sends()
	assign, assigns := s.parent(s.e.Call).(*ast.AssignStmt)
	if !sends || !assigns || s.e.Lock == nil || s.e.Lock.Func.Op != sqltext.Release || s.e.Send.Ctx == nil || len(s.e.Send.Args) != 1 {
		return nil, nil, false
	}
	if queries[sel.Sel.Name] == "" || len(assign.Lhs) != 2 || !isBlank(assign.Lhs[0]) || isBlank(assign.Lhs[1]) ||
		len(s.e.Lock.Args) != 1 || s.e.Lock.Args[0].Kind != sqltext.Placeholder {
		return nil, nil, false
	}
	for _, d := range dropIns {
		if d.lock != s.e.Lock.Func.Name || d.handle != s.e.Handle.Type {
			continue
		}
		pkg, imports, ok := s.imported(d.importPath, s.e.Call.Pos())
		call := fmt.Sprintf("%s.%s(%s, %s, %s)", pkg, d.name, s.node(s.e.Send.Ctx), s.node(sel.X), s.node(s.e.Send.Args[0]))
		return []analysis.TextEdit{cut(assign.Lhs[0].Pos(), assign.Lhs[1].Pos()), replace(s.e.Call, call)}, imports, ok
	}
	return nil, nil, false
}
