package analyzer

import (
	"go/ast"
	"go/token"
	"go/types"
	"reflect"

	"golang.org/x/tools/go/analysis"

	"github.com/advisorylint/advisorylint/analyzer/internal/client"
	"github.com/advisorylint/advisorylint/analyzer/internal/lockflow"
)

// Site is a place at which the engine sees a lock.
type Site struct {
	Pos    token.Pos
	What   string // pg_advisory_lock, SET, Mutex.Lock, or the function that was not followed to its end
	Scope  string // session-level, transaction-level, lease
	Handle string // what stands behind the handle: pool, pinned connection, session, transaction; "" when unknown
	Key    string // as messages have it; "" when unknown
	// Through: the call is of a function that sends it, directly or further on.
	Through bool
	// Missing is what is not known, and so what the rules are silent about.
	Missing []string
}

// Sites reports nothing. Its result, a []Site, is what a driver shows to tell a program without mistakes from
// one that the engine does not understand.
var Sites = &analysis.Analyzer{
	Name:       "locksites",
	Doc:        "list where locks are taken and released\n\nIt reports nothing.",
	URL:        lockflow.Analyzer.URL,
	Requires:   []*analysis.Analyzer{lockflow.Analyzer},
	ResultType: reflect.TypeFor[[]Site](),
	Run: func(pass *analysis.Pass) (any, error) {
		locks := pass.ResultOf[lockflow.Analyzer].(*lockflow.Result)
		var list []Site
		for _, e := range locks.Events {
			if e.Lock != nil || e.Lease != nil && e.Lease.Op != lockflow.LeaseScript {
				list = append(list, site(pass, e))
			}
		}
		for _, f := range locks.Unfollowed {
			list = append(list, Site{Pos: f.Pos, What: f.Name, Missing: []string{f.Why}})
		}
		return list, nil
	},
}

func site(pass *analysis.Pass, e *lockflow.Event) Site {
	s := Site{Pos: e.Pos, Key: e.Key, Through: e.Inner != nil}
	if e.Lease != nil {
		s.What, s.Scope = e.Lease.Command, "lease"
		if e.Key == "" && !s.Through {
			s.Missing = append(s.Missing, "the key")
		}
		return s
	}
	s.What, s.Scope = e.Lock.Func.Name, "transaction-level"
	if e.Lock.Func.Session() {
		s.Scope = "session-level"
	}
	if e.Handle.Kind == client.Unknown {
		s.Missing = append(s.Missing, "what stands behind "+behind(pass, e))
	} else {
		s.Handle = e.Handle.Kind.String()
	}
	if s.Key == "" && len(e.Send.Args) == 1 {
		s.Key = types.ExprString(e.Send.Args[0])
	}
	return s
}

// behind names an event's handle, and why it is not known what it is.
func behind(pass *analysis.Pass, e *lockflow.Event) string {
	switch x := e.Send.Handle.(type) {
	case *ast.Ident:
		if v, ok := pass.TypesInfo.Uses[x].(*types.Var); ok && v.Kind() == types.ParamVar {
			return x.Name + ", a parameter"
		}
		return x.Name
	case *ast.SelectorExpr:
		if v, ok := pass.TypesInfo.Uses[x.Sel].(*types.Var); ok && v.IsField() {
			return x.Sel.Name + ", a field"
		}
	}
	return "the handle"
}
