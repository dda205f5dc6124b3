package luatext

import (
	"fmt"
	"maps"
	"math"
	"strconv"

	"github.com/yuin/gopher-lua/ast"
)

func (r *run) eval(e ast.Expr, s *state, next func(*state, value)) {
	if !r.goOn() {
		return
	}
	switch e := e.(type) {
	case *ast.TrueExpr:
		next(s, truth(true))
	case *ast.FalseExpr:
		next(s, no)
	case *ast.NilExpr:
		next(s, nothing)
	case *ast.NumberExpr:
		next(s, parseNumber(e.Value))
	case *ast.StringExpr:
		next(s, str(e.Value))
	case *ast.IdentExpr:
		r.ident(e.Value, s, next)
	case *ast.AttrGetExpr:
		r.eval(e.Object, s, func(s *state, obj value) {
			r.eval(e.Key, s, func(s *state, key value) { r.index(s, obj, key, next) })
		})
	case *ast.FuncCallExpr:
		r.call(e, s, false, func(s *state, vs []value) { next(s, first(vs)) })
	case *ast.FunctionExpr:
		maps.Copy(r.upvalues, assigned(e.Stmts))
		next(s, value{kind: funcValue, fn: &closure{e, s.scope}})
	case *ast.TableExpr:
		r.table(e.Fields, table{}, s, func(s *state, t table) {
			s.heap = append(s.heap, t)
			next(s, value{kind: tableValue, table: len(s.heap) - 1})
		})
	default:
		r.operator(e, s, next)
	}
}

func (r *run) operator(e ast.Expr, s *state, next func(*state, value)) {
	switch e := e.(type) {
	case *ast.LogicalOpExpr:
		r.eval(e.Lhs, s, func(s *state, v value) {
			r.truth(s, v, func(s *state, yes bool) {
				if yes == (e.Operator == "and") {
					r.eval(e.Rhs, s, next)
				} else {
					next(s, settled(v, yes))
				}
			})
		})
	case *ast.RelationalOpExpr:
		r.evalList([]ast.Expr{e.Lhs, e.Rhs}, s, func(s *state, vs []value) {
			vs = append(vs, nothing, nothing)
			r.relation(s, e.Operator, vs[0], vs[1], func(s *state, yes bool) { next(s, truth(yes)) })
		})
	case *ast.UnaryNotOpExpr:
		r.cond(e.Expr, s, func(s *state, yes bool) { next(s, truth(!yes)) })
	case *ast.StringConcatOpExpr:
		r.pair(e.Lhs, e.Rhs, s, func(s *state, a, b value) { next(s, concat(a, b)) })
	case *ast.ArithmeticOpExpr:
		r.pair(e.Lhs, e.Rhs, s, func(s *state, a, b value) { next(s, arithmetic(e.Operator, a, b)) })
	case *ast.UnaryMinusOpExpr:
		r.eval(e.Expr, s, func(s *state, v value) { next(s, arithmetic("-", number(0), v)) })
	case *ast.UnaryLenOpExpr:
		r.eval(e.Expr, s, func(s *state, v value) { next(s, length(s, v)) })
	default:
		r.fail(fmt.Sprintf("an expression %T", e))
	}
}

// settled is v where its truth is known.
func settled(v value, yes bool) value {
	if yes && v.kind == symbolValue {
		v.present = true
	}
	if !yes && v.kind == symbolValue {
		return nothing
	}
	return v
}

func (r *run) pair(a, b ast.Expr, s *state, next func(s *state, a, b value)) {
	r.eval(a, s, func(s *state, x value) {
		r.eval(b, s, func(s *state, y value) { next(s, x, y) })
	})
}

// evalList evaluates es; a call at the end gives all its values.
func (r *run) evalList(es []ast.Expr, s *state, next func(*state, []value)) {
	var from func(s *state, i int, vs []value)
	from = func(s *state, i int, vs []value) {
		if i == len(es) {
			next(s, vs)
			return
		}
		vs = vs[:len(vs):len(vs)] // paths append to it apart
		if call, ok := es[i].(*ast.FuncCallExpr); ok && i == len(es)-1 {
			if r.goOn() {
				r.call(call, s, false, func(s *state, more []value) { next(s, append(vs, more...)) })
			}
			return
		}
		r.eval(es[i], s, func(s *state, v value) { from(s, i+1, append(vs, v)) })
	}
	from(s, 0, nil)
}

func (r *run) table(fields []*ast.Field, t table, s *state, next func(*state, table)) {
	if len(fields) == 0 {
		next(s, t)
		return
	}
	f := fields[0]
	switch {
	case f.Key != nil:
		r.pair(f.Key, f.Value, s, func(s *state, k, v value) { r.table(fields[1:], t.with(k, v), s, next) })
	case len(fields) == 1:
		r.evalList([]ast.Expr{f.Value}, s, func(s *state, vs []value) {
			t.list = append(t.list[:len(t.list):len(t.list)], vs...)
			next(s, t)
		})
	default:
		r.eval(f.Value, s, func(s *state, v value) {
			t.list = append(t.list[:len(t.list):len(t.list)], v)
			r.table(fields[1:], t, s, next)
		})
	}
}

func (r *run) ident(name string, s *state, next func(*state, value)) {
	if id := r.lookup(s, name); id != 0 {
		if v, ok := s.vars[id]; ok {
			next(s, v)
			return
		}
	}
	switch {
	case name == "KEYS":
		next(s, value{kind: keysValue})
	case name == "ARGV":
		next(s, value{kind: argvValue})
	case libraries[name]:
		next(s, value{kind: libValue, text: name})
	default:
		r.fail("the variable " + name)
	}
}

// index is obj[key].
func (r *run) index(s *state, obj, key value, next func(*state, value)) {
	switch obj.kind {
	case keysValue, argvValue:
		next(s, r.argument(obj, key))
	case libValue:
		if key.kind != stringValue {
			r.fail("a computed function of " + obj.text)
			return
		}
		next(s, value{kind: libValue, text: libraryName(obj.text) + "." + key.text})
	case tableValue:
		next(s, s.heap[obj.table].at(obj, key))
	case statusValue:
		if key.kind == stringValue && key.text == "ok" {
			next(s, str(obj.text))
		} else {
			next(s, nothing)
		}
	case symbolValue:
		if key.kind == stringValue && (key.text == "err" || key.text == "ok") && obj.present {
			next(s, nothing) // the reply of pcall, which is taken to be no error
			return
		}
		next(s, derive(obj.form()+"["+key.form()+"]", obj, key))
	case numberValue, stringValue, errorValue:
		next(s, nothing)
	default:
		r.end(s, Reply{Kind: ErrorReply}) // nil and booleans cannot be indexed
	}
}

// argument is KEYS[key] or ARGV[key].
func (r *run) argument(list, key value) value {
	v := value{kind: symbolValue, text: list.form() + "[" + key.form() + "]"}
	v.operand = Operand{Kind: Arg, Text: v.text}
	if list.kind == keysValue {
		v.operand.Kind = Key
		v.present = true
	} else {
		v.args = true
	}
	const most = 1 << 20
	if key.kind == numberValue && key.num >= 1 && key.num < most && key.num == math.Trunc(key.num) {
		v.operand.Index = int(key.num)
	}
	if list.kind == keysValue {
		r.keys = max(r.keys, v.operand.Index)
		r.iterated = r.iterated || v.operand.Index == 0
	}
	if len(key.deps) > 0 || key.loose { // not always the same one
		v.operand.Kind = Unknown
	}
	return v
}

func (t table) at(obj, key value) value {
	switch {
	case t.open:
		return derive(obj.form() + "[" + key.form() + "]")
	case key.kind == stringValue:
		if v, ok := t.fields[key.text]; ok {
			return v
		}
		return nothing
	case t.each != nil:
		return *t.each
	case key.kind == numberValue:
		if i := key.num; i >= 1 && i <= float64(len(t.list)) && i == math.Trunc(i) {
			return t.list[int(i)-1]
		}
		return nothing
	case key.text == eachIndex && len(t.list) == 1: // what a loop over KEYS put there
		return t.list[0]
	}
	return derive(obj.form()+"["+key.form()+"]", append([]value{key}, t.list...)...)
}

func concat(a, b value) value {
	text := func(v value) (string, bool) {
		switch v.kind {
		case stringValue:
			return v.text, true
		case numberValue:
			return formatNumber(v.num), true
		}
		return "", false
	}
	x, ok := text(a)
	y, also := text(b)
	if ok && also && len(x)+len(y) <= MaxLen {
		return str(x + y)
	}
	return derivedString(a.form()+".."+b.form(), a, b)
}

func arithmetic(op string, a, b value) value {
	if a.kind == numberValue && b.kind == numberValue {
		switch op {
		case "+":
			return number(a.num + b.num)
		case "-":
			return number(a.num - b.num)
		case "*":
			return number(a.num * b.num)
		case "/":
			return number(a.num / b.num)
		case "%":
			return number(a.num - math.Floor(a.num/b.num)*b.num)
		case "^":
			return number(math.Pow(a.num, b.num))
		}
	}
	return derivedNumber("("+a.form()+op+b.form()+")", a, b)
}

func length(s *state, v value) value {
	switch v.kind {
	case stringValue:
		return number(float64(len(v.text)))
	case tableValue:
		if t := s.heap[v.table]; !t.open && t.each == nil {
			return number(float64(len(t.list)))
		}
	}
	n := derivedNumber("#"+v.form(), v)
	for i := range n.deps {
		if n.deps[i].kind == part {
			n.deps[i].kind = measure
		}
	}
	return n
}

func parseNumber(text string) value {
	if f, err := strconv.ParseFloat(text, 64); err == nil {
		return number(f)
	}
	if i, err := strconv.ParseInt(text, 0, 64); err == nil {
		return number(float64(i))
	}
	return derivedNumber("(number " + text + ")")
}
