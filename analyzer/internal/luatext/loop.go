package luatext

import (
	"maps"
	"slices"
	"strings"

	"github.com/yuin/gopher-lua/ast"
)

// A loop whose iterations are not known by number is followed once, with the index eachIndex, as
// the iteration for any element: what holds after it holds for each. Numbers and strings that the
// body changes are not known in it and after it.

const (
	eachIndex = "*"
	maxUnroll = 8
)

// enter forgets what a loop's body changes, and gives how a path leaves the loop: by next, with what the
// body changed on it forgotten again.
func (r *run) enter(s *state, body []ast.Stmt, next func(*state)) (leave func(*state)) {
	changed := r.forget(s, body, nil)
	outer := s.scope
	return func(s *state) {
		s.scope = outer
		r.forget(s, body, changed)
		next(s)
	}
}

func (r *run) while(st *ast.WhileStmt, s *state, next func(*state), f flow) {
	leave := r.enter(s, st.Stmts, next)
	_, always := st.Condition.(*ast.TrueExpr)
	r.cond(st.Condition, s, func(s *state, yes bool) {
		if !yes {
			next(s)
			return
		}
		again := leave
		if always { // only a break or return ends it
			again = func(*state) {}
		}
		r.block(st.Stmts, s, again, flow{f.ret, leave})
	})
}

func (r *run) repeat(st *ast.RepeatStmt, s *state, next func(*state), f flow) {
	leave := r.enter(s, st.Stmts, next)
	r.stmts(st.Stmts, s, func(s *state) { // the condition sees the body's variables
		r.cond(st.Condition, s, func(s *state, yes bool) {
			if yes {
				leave(s)
			}
		})
	}, flow{f.ret, leave})
}

func (r *run) numberFor(st *ast.NumberForStmt, s *state, next func(*state), f flow) {
	bounds := []ast.Expr{st.Init, st.Limit}
	if st.Step != nil {
		bounds = append(bounds, st.Step)
	}
	r.evalList(bounds, s, func(s *state, vs []value) {
		if len(vs) < 2 {
			r.fail("the bounds of a loop")
			return
		}
		from, to := vs[0], vs[1]
		if st.Step == nil && from.kind == numberValue && to.kind == numberValue && to.num-from.num < maxUnroll {
			var items [][]value
			for i := from.num; i <= to.num; i++ {
				items = append(items, []value{number(i)})
			}
			r.unroll([]string{st.Name}, items, st.Stmts, s, next, f)
			return
		}
		i := derivedNumber("(loop "+from.form()+" "+to.form()+")", vs...)
		if st.Step == nil && from.kind == numberValue && from.num == 1 {
			i.text = eachIndex
		}
		surely := to.text == "#KEYS" || to.text == "#ARGV"
		r.once([]string{st.Name}, []value{i}, st.Stmts, s, surely, next, f)
	})
}

func (r *run) genericFor(st *ast.GenericForStmt, s *state, next func(*state), f flow) {
	if len(st.Exprs) == 1 {
		if call, ok := st.Exprs[0].(*ast.FuncCallExpr); ok && call.Func != nil && len(call.Args) == 1 {
			r.eval(call.Func, s, func(s *state, fn value) {
				if fn.kind == libValue && (fn.text == "ipairs" || fn.text == "pairs") {
					r.eval(call.Args[0], s, func(s *state, v value) { r.over(st, v, s, next, f) })
				} else {
					r.iterate(st, s, next, f)
				}
			})
			return
		}
	}
	r.iterate(st, s, next, f)
}

// over runs the loop over ipairs(v).
func (r *run) over(st *ast.GenericForStmt, v value, s *state, next func(*state), f flow) {
	index := derivedNumber(eachIndex)
	if v.kind == tableValue {
		t := s.heap[v.table]
		if t.each == nil && !t.open && len(t.fields) == 0 && len(t.list) <= maxUnroll {
			var items [][]value
			for i, x := range t.list {
				items = append(items, []value{number(float64(i + 1)), x})
			}
			r.unroll(st.Names, items, st.Stmts, s, next, f)
			return
		}
	}
	surely := v.kind == keysValue || v.kind == argvValue
	if v.kind == symbolValue || v.kind == tableValue && s.heap[v.table].each == nil {
		index = derivedNumber("(in "+v.form()+")", v)
	}
	r.index(s, v, index, func(s *state, x value) {
		r.once(st.Names, []value{index, x}, st.Stmts, s, surely, next, f)
	})
}

// iterate runs a loop over anything else: string.gmatch, next.
func (r *run) iterate(st *ast.GenericForStmt, s *state, next func(*state), f flow) {
	r.evalList(st.Exprs, s, func(s *state, vs []value) {
		var items []value
		for _, name := range st.Names {
			v := derive("(each "+name+" in "+forms(vs)+")", vs...)
			v.present = true
			items = append(items, v)
		}
		r.once(st.Names, items, st.Stmts, s, false, next, f)
	})
}

func forms(vs []value) string {
	var parts []string
	for _, v := range vs {
		parts = append(parts, v.form())
	}
	return strings.Join(parts, ",")
}

// once follows a loop's body for any element; surely says that there is one.
func (r *run) once(names []string, vs []value, body []ast.Stmt, s *state, surely bool, next func(*state), f flow) {
	leave := r.enter(s, body, next)
	run := func(s *state) {
		r.bind(names, vs, s)
		r.block(body, s, leave, flow{f.ret, leave})
	}
	if surely {
		run(s)
		return
	}
	r.split(s, func(s *state, yes bool) {
		if yes {
			run(s)
		} else {
			next(s)
		}
	})
}

func (r *run) unroll(names []string, items [][]value, body []ast.Stmt, s *state, next func(*state), f flow) {
	if !r.goOn() {
		return
	}
	if len(items) == 0 {
		next(s)
		return
	}
	outer := s.scope
	out := func(then func(*state)) func(*state) {
		return func(s *state) {
			s.scope = outer
			then(s)
		}
	}
	r.bind(names, items[0], s)
	r.block(body, s, out(func(s *state) { r.unroll(names, items[1:], body, s, next, f) }), flow{f.ret, out(next)})
}

func (r *run) bind(names []string, vs []value, s *state) {
	for i, name := range names {
		v := nothing
		if i < len(vs) {
			v = vs[i]
		}
		r.declare(s, name, v)
	}
}

// forget makes the numbers and strings unknown that body assigns to variables from outside. With
// before it forgets only those that are no longer as they were. It returns what they are then.
func (r *run) forget(s *state, body []ast.Stmt, before map[int]value) map[int]value {
	after := map[int]value{}
	names := assigned(body)
	maps.Copy(names, r.upvalues)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		id := r.lookup(s, name)
		v, ok := s.vars[id]
		if !ok || v.kind != numberValue && v.kind != stringValue && !v.number {
			continue
		}
		if old, ok := before[id]; ok && old.form() == v.form() {
			continue
		}
		r.variables++
		v = derivedNumber("(changing "+name+" "+formatNumber(float64(r.variables))+")", v)
		v.loose = true
		s.vars[id], after[id] = v, v
	}
	return after
}
