package fix

import (
	"go/ast"
	"go/constant"
	"go/types"
	"strconv"

	"github.com/advisorylint/advisorylint/analyzer/internal/sqltext"
)

// An argument writes what a lock function is given as an expression of one type. It is a literal of
// the SQL text, or x, which a placeholder stands for; ok is false where the server would not get
// the same from it.
type argument func(s *site, a sqltext.Arg, x ast.Expr) (expr string, ok bool)

// integer is an int64. An unsigned number of 64 bits may not fit one.
func integer(s *site, a sqltext.Arg, x ast.Expr) (string, bool) {
	if x == nil {
		n, err := strconv.ParseInt(a.Text, 10, 64)
		return strconv.FormatInt(n, 10), !a.Str && err == nil
	}
	t, ok := s.plain(x)
	if !ok {
		return "", false
	}
	switch t.Kind() {
	case types.Int, types.Int8, types.Int16, types.Int32, types.Int64, types.Uint8, types.Uint16, types.Uint32:
		return s.as(x, types.Typ[types.Int64])
	}
	return "", false
}

// text is a string.
func text(s *site, a sqltext.Arg, x ast.Expr) (string, bool) {
	if x == nil {
		return strconv.Quote(a.Text), a.Str
	}
	t, ok := s.plain(x)
	if !ok || t.Kind() != types.String {
		return "", false
	}
	return s.as(x, types.Typ[types.String])
}

// plain is the basic type below that of x. A type that tells drivers its value itself is not plain.
func (s *site) plain(x ast.Expr) (*types.Basic, bool) {
	t := s.pass.TypesInfo.TypeOf(x)
	if t == nil {
		return nil, false
	}
	if _, ok := types.Unalias(t).(*types.TypeParam); ok {
		return nil, false
	}
	for _, method := range []string{"Value", "Int64Value", "TextValue"} {
		if obj, _, _ := types.LookupFieldOrMethod(t, true, s.pass.Pkg, method); obj != nil {
			return nil, false
		}
	}
	basic, ok := t.Underlying().(*types.Basic)
	return basic, ok
}

// as is x as a value of type t, converted where Go does not do that by itself.
func (s *site) as(x ast.Expr, t *types.Basic) (string, bool) {
	if types.Identical(s.pass.TypesInfo.TypeOf(x), t) || s.untyped(x) {
		return s.node(x), true
	}
	return t.Name() + "(" + s.node(x) + ")", s.lookup(t.Name(), x.Pos()) == types.Universe.Lookup(t.Name())
}

// untyped reports whether x is a constant that takes the type of what it is given to.
func (s *site) untyped(x ast.Expr) bool {
	if v := s.pass.TypesInfo.Types[x].Value; v == nil || v.Kind() != constant.Int && v.Kind() != constant.String {
		return false
	}
	switch x := x.(type) {
	case *ast.BasicLit:
		return true
	case *ast.ParenExpr:
		return s.untyped(x.X)
	case *ast.UnaryExpr:
		return s.untyped(x.X)
	case *ast.BinaryExpr:
		return s.untyped(x.X) && s.untyped(x.Y)
	case *ast.Ident:
		return s.untypedConst(x)
	case *ast.SelectorExpr:
		return s.untypedConst(x.Sel)
	}
	return false
}

func (s *site) untypedConst(id *ast.Ident) bool {
	c, ok := s.pass.TypesInfo.Uses[id].(*types.Const)
	if !ok {
		return false
	}
	b, ok := c.Type().(*types.Basic)
	return ok && b.Info()&types.IsUntyped != 0
}
