package client

import (
	"fmt"
	"go/types"
)

// Fits says what in a signature does not agree with m's argument numbers, nil when all of them
// point at parameters of a fitting type. It is what keeps a row away from an old version of its
// library with other parameters (pgx v3's Exec without a context).
func (m *Method) Fits(sig *types.Signature) error {
	for _, p := range [...]struct {
		role string
		arg  int
		fits func(types.Type) bool
	}{
		{"ctx", m.Ctx, isContext},
		{"sql", m.SQL, isText},
		{"args", m.Args, isMany},
		{"dest", m.Dest, isPlace},
		{"fn", m.Fn, isFunc},
		{"as", m.As, isString},
		{"handle", m.Handle, notBasic},
		{"stmt", m.Stmt, notBasic},
		{"batch", m.Batch, notBasic},
		{"opts", m.Opts, notBasic},
		{"dsn", m.DSN, isAnything},
	} {
		if p.arg == NoArg || p.role == "args" && m.Statement != "" { // the arguments of that one statement have their own types
			continue
		}
		if p.arg >= sig.Params().Len() {
			return fmt.Errorf("%s is argument %d of %d", p.role, p.arg, sig.Params().Len())
		}
		if t := sig.Params().At(p.arg).Type(); !p.fits(t) {
			return fmt.Errorf("%s, argument %d, has type %s", p.role, p.arg, t)
		}
	}
	return m.fitsFn(sig)
}

// fitsFn checks that a callback's function has the parameter that is the handle.
func (m *Method) fitsFn(sig *types.Signature) error {
	if m.Effect != Callback && m.Effect != End || m.Fn == NoArg {
		return nil
	}
	t := sig.Params().At(m.Fn).Type()
	if s, ok := t.(*types.Slice); ok {
		t = s.Elem()
	}
	fn, ok := t.Underlying().(*types.Signature)
	if !ok {
		return nil // any: what it holds is checked at run time
	}
	if m.FnArg >= fn.Params().Len() {
		return fmt.Errorf("function argument %d has no parameter %d", m.Fn, m.FnArg)
	}
	return nil
}

func isContext(t types.Type) bool {
	n, ok := types.Unalias(t).(*types.Named)
	return ok && n.Obj().Name() == "Context" && n.Obj().Pkg() != nil &&
		(n.Obj().Pkg().Path() == "context" || n.Obj().Pkg().Path() == "golang.org/x/net/context")
}

func isString(t types.Type) bool {
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Info()&types.IsString != 0
}

// isText holds for a string, for an interface (any, a builder such as sqlx's or squirrel's
// Sqlizer), for a pointer or struct that builds text, and for a list of one of these.
func isText(t types.Type) bool {
	switch u := t.Underlying().(type) {
	case *types.Slice:
		return isText(u.Elem())
	case *types.Basic:
		return u.Info()&types.IsString != 0
	case *types.Interface, *types.Pointer, *types.Struct:
		return !isContext(t)
	}
	return false
}

// isMany holds for a list, a map or a single value that may hold one.
func isMany(t types.Type) bool {
	switch t.Underlying().(type) {
	case *types.Slice, *types.Map, *types.Interface:
		return !isContext(t)
	}
	return false
}

// isPlace holds for what destination pointers are passed as: any, a list of any, a pointer.
func isPlace(t types.Type) bool {
	if _, ok := t.Underlying().(*types.Pointer); ok {
		return true
	}
	return isMany(t)
}

// isFunc holds for a function, a list of functions, and any.
func isFunc(t types.Type) bool {
	switch u := t.Underlying().(type) {
	case *types.Signature:
		return true
	case *types.Slice:
		return isFunc(u.Elem())
	case *types.Interface:
		return u.Empty()
	}
	return false
}

func notBasic(t types.Type) bool {
	_, basic := t.Underlying().(*types.Basic)
	return !basic && !isContext(t)
}

func isAnything(types.Type) bool { return true }
