package oracle

import (
	"github.com/sqlc-dev/oliphant/ast"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/advisorylint/advisorylint/analyzer/internal/sqltext"
)

// role is what a query is to the query around it.
type role int

const (
	other role = iota
	arm
	derived
	cte
)

// frame is a query of the tree. sel is nil for a data-changing statement.
type frame struct {
	sel     *ast.SelectStmt
	up      *frame
	role    role
	name    string // of a CTE
	lateral bool
	from    []*ast.Node // the items, out of their joins
	ctes    []*frame
}

// treeCall is a lock call of the tree.
type treeCall struct {
	fn    *sqltext.Func
	args  []*ast.Node
	at    int32
	frame *frame
}

// walker collects the queries and lock calls of one statement.
type walker struct {
	frames []*frame
	calls  []treeCall
	subs   map[*ast.SelectStmt]*frame
}

// runs reports whether a statement runs the query in it; the text of the rest is for later.
func runs(n *ast.Node) bool {
	switch s := n.Node.(type) {
	case *ast.Node_SelectStmt, *ast.Node_InsertStmt, *ast.Node_UpdateStmt, *ast.Node_DeleteStmt, *ast.Node_MergeStmt,
		*ast.Node_PrepareStmt, *ast.Node_ExecuteStmt, *ast.Node_CallStmt:
		return true
	case *ast.Node_DeclareCursorStmt:
		return true
	case *ast.Node_CopyStmt:
		return s.CopyStmt.Query != nil
	case *ast.Node_CreateTableAsStmt:
		return s.CreateTableAsStmt.Query.GetExecuteStmt() == nil && !s.CreateTableAsStmt.Into.SkipData
	case *ast.Node_ExplainStmt:
		for _, o := range s.ExplainStmt.Options {
			if d := o.GetDefElem(); d.GetDefname() == "analyze" {
				return d.Arg == nil || d.Arg.GetString_().GetSval() != "false" && d.Arg.GetString_().GetSval() != "off"
			}
		}
	}
	return false
}

func walk(n *ast.Node) *walker {
	w := &walker{subs: map[*ast.SelectStmt]*frame{}}
	if runs(n) {
		w.message(n.ProtoReflect(), &frame{})
	}
	return w
}

// message walks any node; queries and calls are told apart.
func (w *walker) message(m protoreflect.Message, f *frame) {
	switch n := m.Interface().(type) {
	case *ast.SelectStmt:
		if w.subs[n] != nil {
			return // SET (a, b) = (SELECT …) hangs one query on each column
		}
		w.query(n, &frame{up: f, role: other})
		return
	case *ast.InsertStmt, *ast.UpdateStmt, *ast.DeleteStmt, *ast.MergeStmt:
		inner := &frame{up: f, role: other}
		w.frames = append(w.frames, inner)
		w.fields(m, inner)
		return
	case *ast.FuncCall:
		w.call(n, f)
	}
	w.fields(m, f)
}

// fields walks the children of a node, its CTEs and its FROM first.
func (w *walker) fields(m protoreflect.Message, f *frame) {
	walkers := map[protoreflect.Name]func(*ast.Node, *frame){
		"from_clause": w.item, "using_clause": w.item, "ctes": w.cte,
	}
	m.Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		if fd.Kind() != protoreflect.MessageKind {
			return true
		}
		if !fd.IsList() {
			w.message(v.Message(), f)
			return true
		}
		visit := walkers[fd.Name()]
		for i := range v.List().Len() {
			child := v.List().Get(i).Message()
			if n, ok := child.Interface().(*ast.Node); ok && visit != nil {
				visit(n, f)
			} else {
				w.message(child, f)
			}
		}
		return true
	})
}

func (w *walker) query(s *ast.SelectStmt, f *frame) {
	f.sel = s
	w.frames = append(w.frames, f)
	w.subs[s] = f
	if s.Op == ast.SetOperation_SETOP_NONE {
		w.fields(s.ProtoReflect(), f)
		return
	}
	for _, a := range []*ast.SelectStmt{s.Larg, s.Rarg} {
		w.query(a, &frame{up: f, role: arm})
	}
	rest := &ast.SelectStmt{SortClause: s.SortClause, LimitCount: s.LimitCount, LimitOffset: s.LimitOffset, WithClause: s.WithClause}
	w.fields(rest.ProtoReflect(), f)
}

func (w *walker) cte(n *ast.Node, f *frame) {
	c := n.GetCommonTableExpr()
	if s := c.Ctequery.GetSelectStmt(); s != nil {
		inner := &frame{up: f, role: cte, name: c.Ctename}
		f.ctes = append(f.ctes, inner)
		w.query(s, inner)
		return
	}
	w.message(c.Ctequery.ProtoReflect(), f)
}

// item walks an entry of FROM.
func (w *walker) item(n *ast.Node, f *frame) {
	switch x := n.Node.(type) {
	case *ast.Node_JoinExpr:
		w.item(x.JoinExpr.Larg, f)
		w.item(x.JoinExpr.Rarg, f)
		if x.JoinExpr.Quals != nil {
			w.message(x.JoinExpr.Quals.ProtoReflect(), f)
		}
		return
	case *ast.Node_RangeSubselect:
		f.from = append(f.from, n)
		w.query(x.RangeSubselect.Subquery.GetSelectStmt(), &frame{up: f, role: derived, lateral: x.RangeSubselect.Lateral})
		return
	}
	f.from = append(f.from, n)
	w.message(n.ProtoReflect(), f)
}

func (w *walker) call(c *ast.FuncCall, f *frame) {
	if fn := lockFunc(c); fn != nil {
		w.calls = append(w.calls, treeCall{fn, c.Args, c.Location, f})
	}
}

func lockFunc(c *ast.FuncCall) *sqltext.Func {
	name := c.Funcname[len(c.Funcname)-1].GetString_().GetSval()
	if len(c.Funcname) > 1 && c.Funcname[0].GetString_().GetSval() != "pg_catalog" {
		return nil
	}
	if fn := sqltext.Lookup(name); fn != nil && fn.Name == name && fn.System == sqltext.Postgres {
		return fn
	}
	return nil
}

// limits reports whether a query has a LIMIT other than ALL and NULL.
func limits(s *ast.SelectStmt) bool {
	n := s.GetLimitCount()
	for n.GetTypeCast() != nil {
		n = n.GetTypeCast().Arg
	}
	return n != nil && !n.GetAConst().GetIsnull()
}

// limit is the oracle's answer to sqltext.Call.Limit.
func (w *walker) limit(c treeCall) sqltext.Tri {
	f := c.frame
	rows, sifts, crossed := w.many(f), true, false
	for f.sel != nil {
		sifts = sifts || f.sel.SortClause != nil || f.sel.WhereClause != nil || f.sel.HavingClause != nil
		if limits(f.sel) && rows && sifts {
			return sqltext.Yes
		}
		up := f.up
		switch f.role {
		case arm:
			rows = true
		case derived:
			rows = rows || f.lateral && w.manyBeside(up, f)
		case cte:
			if up = w.reader(f); up == nil {
				return sqltext.No
			}
		default:
			return sqltext.No
		}
		if f.role != arm && !crossed {
			crossed, sifts = true, false
		}
		f = up
	}
	return sqltext.No
}

func (w *walker) many(f *frame) bool {
	if f.sel.GetOp() > ast.SetOperation_SETOP_NONE || len(f.sel.GetValuesLists()) > 1 {
		return true
	}
	return w.manyBeside(f, nil)
}

// manyBeside is many without the item that is the query skip.
func (w *walker) manyBeside(f, skip *frame) bool {
	for _, n := range f.from {
		switch x := n.Node.(type) {
		case *ast.Node_RangeSubselect:
			if sub := w.subs[x.RangeSubselect.Subquery.GetSelectStmt()]; sub != skip && w.many(sub) {
				return true
			}
		case *ast.Node_RangeVar:
			if sub := named(f, x.RangeVar); sub == nil || w.many(sub) {
				return true
			}
		case *ast.Node_RangeFunction:
			for _, part := range x.RangeFunction.Functions {
				fc := part.GetList().Items[0].GetFuncCall()
				if fc == nil || lockFunc(fc) == nil {
					return true
				}
			}
		default:
			return true
		}
	}
	return false
}

// named returns the CTE that a table name means.
func named(f *frame, v *ast.RangeVar) *frame {
	if v.Schemaname != "" {
		return nil
	}
	for up := f; up != nil; up = up.up {
		for _, c := range up.ctes {
			if c.name != v.Relname {
				continue
			}
			for in := f; in != nil; in = in.up {
				if in == c {
					return nil // recursive
				}
			}
			return c
		}
	}
	return nil
}

func (w *walker) reader(c *frame) *frame {
	for _, f := range w.frames {
		for _, n := range f.from {
			if v := n.GetRangeVar(); v != nil && named(f, v) == c {
				return f
			}
		}
	}
	return nil
}
