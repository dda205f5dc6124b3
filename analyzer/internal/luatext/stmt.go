package luatext

import (
	"fmt"

	"github.com/yuin/gopher-lua/ast"
)

// flow is where a path goes on when it leaves a block early.
type flow struct {
	ret func(*state, []value)
	brk func(*state)
}

// block runs stmts in a scope of their own, then next.
func (r *run) block(stmts []ast.Stmt, s *state, next func(*state), f flow) {
	outer := s.scope
	r.stmts(stmts, s, func(s *state) {
		s.scope = outer
		next(s)
	}, f)
}

func (r *run) stmts(stmts []ast.Stmt, s *state, next func(*state), f flow) {
	if !r.goOn() {
		return
	}
	if len(stmts) == 0 {
		next(s)
		return
	}
	r.stmt(stmts[0], s, func(s *state) { r.stmts(stmts[1:], s, next, f) }, f)
}

func (r *run) stmt(st ast.Stmt, s *state, next func(*state), f flow) {
	switch st := st.(type) {
	case *ast.LocalAssignStmt:
		r.local(st, s, next)
	case *ast.AssignStmt:
		r.evalList(st.Rhs, s, func(s *state, vs []value) { r.assign(st.Lhs, vs, s, next) })
	case *ast.FuncCallStmt:
		call, ok := st.Expr.(*ast.FuncCallExpr)
		if !ok {
			r.fail("a statement that is no call")
			return
		}
		r.call(call, s, true, func(s *state, _ []value) { next(s) })
	case *ast.DoBlockStmt:
		r.block(st.Stmts, s, next, f)
	case *ast.IfStmt:
		r.cond(st.Condition, s, func(s *state, yes bool) {
			if yes {
				r.block(st.Then, s, next, f)
			} else {
				r.block(st.Else, s, next, f)
			}
		})
	case *ast.ReturnStmt:
		r.evalList(st.Exprs, s, f.ret)
	case *ast.BreakStmt:
		f.brk(s)
	case *ast.FuncDefStmt:
		r.define(st, s, next)
	case *ast.WhileStmt:
		r.while(st, s, next, f)
	case *ast.RepeatStmt:
		r.repeat(st, s, next, f)
	case *ast.NumberForStmt:
		r.numberFor(st, s, next, f)
	case *ast.GenericForStmt:
		r.genericFor(st, s, next, f)
	default:
		r.fail(fmt.Sprintf("a statement %T", st))
	}
}

func (r *run) local(st *ast.LocalAssignStmt, s *state, next func(*state)) {
	if len(st.Names) == 1 && len(st.Exprs) == 1 {
		if fn, ok := st.Exprs[0].(*ast.FunctionExpr); ok { // it may call itself
			r.declare(s, st.Names[0], nothing)
			s.vars[s.scope.id] = value{kind: funcValue, fn: &closure{fn, s.scope}}
			next(s)
			return
		}
	}
	r.evalList(st.Exprs, s, func(s *state, vs []value) {
		r.bind(st.Names, vs, s)
		next(s)
	})
}

func (r *run) define(st *ast.FuncDefStmt, s *state, next func(*state)) {
	if st.Name.Func == nil {
		r.fail("a method")
		return
	}
	fn := value{kind: funcValue, fn: &closure{st.Func, s.scope}}
	r.assign([]ast.Expr{st.Name.Func}, []value{fn}, s, next)
}

func (r *run) assign(lhs []ast.Expr, vs []value, s *state, next func(*state)) {
	if len(lhs) == 0 {
		next(s)
		return
	}
	v := first(vs)
	if len(vs) > 0 {
		vs = vs[1:]
	}
	rest := func(s *state) { r.assign(lhs[1:], vs, s, next) }
	switch l := lhs[0].(type) {
	case *ast.IdentExpr:
		id := r.lookup(s, l.Value)
		if id == 0 {
			r.variables++
			id = r.variables
			r.globals[l.Value] = id
		}
		s.vars[id] = v
		rest(s)
	case *ast.AttrGetExpr:
		r.eval(l.Object, s, func(s *state, obj value) {
			r.eval(l.Key, s, func(s *state, key value) {
				r.put(s, obj, key, v)
				rest(s)
			})
		})
	default:
		r.fail("an assignment")
	}
}

// put is obj[key] = v.
func (r *run) put(s *state, obj, key, v value) {
	switch obj.kind {
	case tableValue:
		s.heap[obj.table] = s.heap[obj.table].with(key, v)
	case symbolValue: // a table made of a reply: what is read from it stays a symbol
	default:
		r.fail("an assignment into " + obj.form())
	}
}

// maxList bounds what copying lists costs.
const maxList = 200

func (t table) with(key, v value) table {
	switch {
	case len(t.list) >= maxList:
		t.open = true
	case key.kind == stringValue:
		fields := map[string]value{key.text: v}
		for k, old := range t.fields {
			if k != key.text {
				fields[k] = old
			}
		}
		t.fields = fields
	case key.kind == numberValue && key.num == float64(len(t.list)+1) && v.kind != nilValue:
		t.list = append(t.list[:len(t.list):len(t.list)], v)
	case key.kind == numberValue && key.num >= 1 && key.num <= float64(len(t.list)) && key.num == float64(int(key.num)):
		t.list = append([]value(nil), t.list...)
		t.list[int(key.num)-1] = v
	case key.text == eachIndex:
		t.each = &v
	default:
		t.open = true
	}
	return t
}
