package luatext

import (
	"math"
	"strconv"
	"strings"

	"github.com/yuin/gopher-lua/ast"
)

// libraries are the globals of Redis's Lua, with what has no effect on keys.
var libraries = map[string]bool{
	"redis": true, "server": true, "string": true, "table": true, "math": true, "cjson": true,
	"cmsgpack": true, "bit": true, "struct": true, "os": true, "tonumber": true, "tostring": true,
	"type": true, "ipairs": true, "pairs": true, "next": true, "select": true, "unpack": true,
	"assert": true, "error": true, "pcall": true, "xpcall": true, "print": true,
}

// libraryName is one name for what Redis 8 and Valkey also call by another.
func libraryName(name string) string {
	if name == "server" {
		return "redis"
	}
	return name
}

// call runs a call; discard says that nobody looks at what it gives.
func (r *run) call(e *ast.FuncCallExpr, s *state, discard bool, next func(*state, []value)) {
	if e.Func == nil {
		r.method(e, s, next)
		return
	}
	r.eval(e.Func, s, func(s *state, fn value) {
		r.evalList(e.Args, s, func(s *state, args []value) { r.apply(e, fn, args, s, discard, next) })
	})
}

func (r *run) apply(e *ast.FuncCallExpr, fn value, args []value, s *state, discard bool, next func(*state, []value)) {
	if !r.goOn() {
		return
	}
	switch fn.kind {
	case funcValue:
		r.inline(fn.fn, args, s, next)
	case libValue:
		r.library(e, fn.text, args, s, discard, next)
	default:
		r.fail("a call of " + fn.form())
	}
}

// method is v:name(...), which only strings have.
func (r *run) method(e *ast.FuncCallExpr, s *state, next func(*state, []value)) {
	r.eval(e.Receiver, s, func(s *state, obj value) {
		r.evalList(e.Args, s, func(s *state, args []value) {
			if obj.kind != stringValue && obj.kind != symbolValue {
				r.fail("a method of " + obj.form())
				return
			}
			r.library(e, "string."+e.Method, append([]value{obj}, args...), s, false, next)
		})
	})
}

func (r *run) inline(fn *closure, args []value, s *state, next func(*state, []value)) {
	if s.depth >= maxCalls {
		r.fail("a function that calls itself")
		return
	}
	caller := s.scope
	back := func(s *state, vs []value) {
		s.scope = caller
		s.depth--
		next(s, vs)
	}
	s.depth++
	s.scope = fn.scope
	if fn.expr.ParList != nil {
		r.bind(fn.expr.ParList.Names, args, s)
	}
	r.stmts(fn.expr.Stmts, s, func(s *state) { back(s, nil) },
		flow{ret: back, brk: func(*state) { r.fail("break outside a loop") }})
}

// library runs a function of the library.
func (r *run) library(e *ast.FuncCallExpr, name string, args []value, s *state, discard bool, next func(*state, []value)) {
	one := func(v value) { next(s, []value{v}) }
	arg := func(i int) value {
		if i < len(args) {
			return args[i]
		}
		return nothing
	}
	switch name {
	case "redis.call", "redis.pcall":
		r.command(e, args, s, discard, func(s *state, v value) { next(s, []value{v}) })
	case "pcall":
		if len(args) == 0 {
			r.fail("pcall without a function")
			return
		}
		r.apply(e, args[0], args[1:], s, false, func(s *state, vs []value) { next(s, append([]value{truth(true)}, vs...)) })
	case "tonumber":
		one(toNumber(arg(0)))
	case "tostring":
		one(toString(arg(0)))
	case "type":
		one(typeOf(arg(0)))
	case "unpack", "table.unpack":
		next(s, r.unpack(s, arg(0)))
	case "error":
		r.end(s, Reply{Kind: ErrorReply})
	case "redis.error_reply":
		one(value{kind: errorValue})
	case "assert":
		r.truth(s, arg(0), func(s *state, yes bool) {
			if yes {
				next(s, args)
			} else {
				r.end(s, Reply{Kind: ErrorReply})
			}
		})
	case "redis.status_reply":
		one(status(arg(0).text))
	case "table.insert":
		r.insert(s, args)
		next(s, nil)
	case "table.remove", "table.sort":
		if t := arg(0); t.kind == tableValue {
			s.heap[t.table].open = true
		}
		r.pure(e, name, args, s, next)
	case "table.concat":
		one(r.join(s, arg(0), arg(1)))
	default:
		r.pure(e, name, args, s, next)
	}
}

// quiet are functions of redis without an effect on keys.
var quiet = map[string]bool{
	"redis.log": true, "redis.sha1hex": true, "redis.replicate_commands": true, "redis.set_repl": true,
	"redis.setresp": true, "redis.breakpoint": true, "redis.debug": true, "redis.acl_check_cmd": true,
	"os.clock": true, "next": true, "select": true, "print": true, "ipairs": true, "pairs": true,
}

// pure makes a symbol of a call without an effect.
func (r *run) pure(e *ast.FuncCallExpr, name string, args []value, s *state, next func(*state, []value)) {
	lib, fn, _ := strings.Cut(name, ".")
	switch lib {
	case "string", "math", "cjson", "cmsgpack", "bit", "struct", "table":
	default:
		if !quiet[name] {
			r.fail("the function " + name)
			return
		}
	}
	text := name + "(" + forms(args) + ")"
	for _, a := range args {
		switch a.kind {
		case funcValue: // called out of sight
			r.fail("a function handed to " + name)
			return
		case tableValue:
			args = append(args, s.heap[a.table].list...)
		}
	}
	if c, ok := fold(name, args); ok {
		next(s, []value{c})
		return
	}
	v := derive(text, args...)
	switch {
	case lib == "math" || lib == "bit" || fn == "len":
		v.present, v.number = true, true
	case lib == "string" && fn != "find" && fn != "match", fn == "encode", fn == "pack", fn == "sha1hex", fn == "format":
		v.present = true
	case name == "redis.replicate_commands", name == "redis.setresp":
		v.present = true
	}
	if name == "os.clock" || name == "math.random" {
		v.loose = true
		v.text += strconv.Itoa(r.id(e))
	}
	next(s, []value{v})
}

// fold computes what command names and TTLs are made with.
func fold(name string, args []value) (value, bool) {
	if len(args) != 1 {
		return value{}, false
	}
	a := args[0]
	switch {
	case name == "string.upper" && a.kind == stringValue:
		return str(strings.ToUpper(a.text)), true
	case name == "string.lower" && a.kind == stringValue:
		return str(strings.ToLower(a.text)), true
	case name == "string.len" && a.kind == stringValue:
		return number(float64(len(a.text))), true
	case name == "math.floor" && a.kind == numberValue:
		return number(math.Floor(a.num)), true
	case name == "math.ceil" && a.kind == numberValue:
		return number(math.Ceil(a.num)), true
	}
	return value{}, false
}

func toNumber(v value) value {
	switch v.kind {
	case numberValue, symbolValue: // a reply or an argument is taken to be a number
		return v
	case stringValue:
		if f, err := strconv.ParseFloat(strings.TrimSpace(v.text), 64); err == nil {
			return number(f)
		}
	}
	return nothing
}

func toString(v value) value {
	switch v.kind {
	case stringValue, symbolValue:
		return v
	case numberValue:
		return str(formatNumber(v.num))
	case nilValue, boolValue:
		return str(v.form())
	}
	return derivedString("tostring(" + v.form() + ")")
}

func typeOf(v value) value {
	switch v.kind {
	case nilValue:
		return str("nil")
	case boolValue:
		return str("boolean")
	case numberValue:
		return str("number")
	case stringValue:
		return str("string")
	case funcValue, libValue:
		return str("function")
	case symbolValue:
		switch {
		case v.number:
			return str("number")
		case v.operand.Kind == Key, v.isText:
			return str("string")
		}
		return derivedString("type("+v.form()+")", v)
	}
	return str("table")
}

func (r *run) unpack(s *state, v value) []value {
	switch v.kind {
	case keysValue, argvValue:
		x := r.argument(v, derivedNumber(eachIndex))
		x.spread = v.kind == argvValue
		return []value{x}
	case tableValue:
		t := s.heap[v.table]
		if !t.open && t.each == nil {
			return t.list
		}
	}
	x := derive("unpack("+v.form()+")", v)
	x.spread = true
	return []value{x}
}

func (r *run) insert(s *state, args []value) {
	if len(args) < 2 || args[0].kind != tableValue {
		if len(args) > 0 && args[0].kind == symbolValue {
			return // a table made of a reply
		}
		r.fail("table.insert")
		return
	}
	t := s.heap[args[0].table]
	if len(args) == 2 && len(t.list) < maxList {
		t.list = append(t.list[:len(t.list):len(t.list)], args[1])
	} else {
		t.open = true
	}
	s.heap[args[0].table] = t
}

func (r *run) join(s *state, v, sep value) value {
	if v.kind != tableValue || s.heap[v.table].open || s.heap[v.table].each != nil {
		return derivedString("table.concat("+v.form()+")", v)
	}
	out := str("")
	for i, x := range s.heap[v.table].list {
		if i > 0 && sep.kind != nilValue {
			out = concat(out, sep)
		}
		if i == 0 {
			out = x
		} else {
			out = concat(out, x)
		}
	}
	return out
}
