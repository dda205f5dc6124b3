package luatext

import (
	"github.com/yuin/gopher-lua/ast"
)

func (r *run) cond(e ast.Expr, s *state, next func(*state, bool)) {
	r.eval(e, s, func(s *state, v value) { r.truth(s, v, next) })
}

// truth follows what v is as a condition.
func (r *run) truth(s *state, v value, next func(*state, bool)) {
	switch {
	case v.known():
		next(s, v.kind != nilValue && (v.kind != boolValue || v.yes))
	case v.present:
		next(s, true)
	default:
		r.fork(s, v.text, func(s *state, yes bool) {
			s.tested(v)
			if yes && v.with.Kind != None && len(v.deps) > 0 { // string.find(value, ARGV[1])
				s.learn(v.deps, v.with, true)
			}
			next(s, yes)
		})
	}
}

// tested notes that v had a say in where the path goes.
func (s *state) tested(v value) {
	s.argTested = s.argTested || v.args && len(v.deps) == 0
	s.murky = s.murky || v.loose
	for _, d := range v.deps {
		s.update(d.key, func(k *keyState) {
			if d.kind == meta {
				k.glanced = true
			} else {
				k.examined = true
			}
		})
	}
}

func (r *run) relation(s *state, op string, a, b value, next func(*state, bool)) {
	switch op {
	case "==":
		r.equal(s, a, b, next)
	case "~=":
		r.equal(s, a, b, func(s *state, yes bool) { next(s, !yes) })
	case "<":
		r.less(s, a, b, next)
	case ">":
		r.less(s, b, a, next)
	case ">=":
		r.less(s, a, b, func(s *state, yes bool) { next(s, !yes) })
	case "<=":
		r.less(s, b, a, func(s *state, yes bool) { next(s, !yes) })
	default:
		r.fail("the operator " + op)
	}
}

// less follows a < b. With numbers that may be none, not(a < b) is b <= a all the same.
func (r *run) less(s *state, a, b value, next func(*state, bool)) {
	switch {
	case a.kind == numberValue && b.kind == numberValue:
		next(s, a.num < b.num)
	case a.kind == stringValue && b.kind == stringValue:
		next(s, a.text < b.text)
	case a.known() && b.known():
		r.end(s, Reply{Kind: ErrorReply})
	default:
		r.fork(s, a.form()+" < "+b.form(), func(s *state, yes bool) {
			s.tested(a)
			s.tested(b)
			next(s, yes)
		})
	}
}

func (r *run) equal(s *state, a, b value, next func(*state, bool)) {
	if a.form() > b.form() {
		a, b = b, a // one test whichever side it is written on
	}
	switch {
	case a.known() && b.known():
		next(s, same(a, b))
	case a.kind == b.kind && a.text == b.text && !a.loose:
		next(s, true)
	case never(a, b) || never(b, a):
		next(s, false)
	default:
		r.fork(s, a.form()+" == "+b.form(), func(s *state, yes bool) {
			s.compared(a, b, yes)
			s.compared(b, a, yes)
			next(s, yes)
		})
	}
}

// never reports whether the symbol a can never be the known value b.
func never(a, b value) bool {
	if a.known() || !b.known() {
		return false
	}
	switch b.kind {
	case nilValue:
		return a.present
	case boolValue: // keys and arguments are strings
		return a.operand.Kind != None || a.number || a.isText
	case stringValue, numberValue:
		return false // tonumber and tostring are not told apart
	}
	return true
}

// compared notes that a was compared with b.
func (s *state) compared(a, b value, equal bool) {
	switch {
	case len(a.deps) == 0:
		if a.args && len(b.deps) == 0 {
			s.argTested = true
			s.argChosen = s.argChosen || equal && (b.kind == stringValue || b.kind == numberValue)
		}
		s.murky = s.murky || a.loose
		return
	case b.kind == nilValue || b.kind == boolValue || sharesKey(a, b):
		s.tested(a)
		return
	}
	if !equal {
		s.differs(a)
		return
	}
	s.learn(a.deps, b.as(), false)
	if b.kind == numberValue && a.deps[0].kind == meta {
		// TTL says -1 without expiry, -2 without the key
		s.update(a.deps[0].key, func(k *keyState) {
			k.examined = true
			if b.num == -2 {
				k.presence = absent
			}
		})
	}
}

// differs notes that a is not what it was compared with. For a whole value that says nothing: a
// command that runs then runs on another's key. A part may have meant anything.
func (s *state) differs(a value) {
	for _, d := range a.deps {
		if d.kind != whole {
			s.tested(value{deps: []dep{d}})
		}
	}
	s.murky = s.murky || a.loose
}

// learn notes that what deps show was found equal to with.
func (s *state) learn(deps []dep, with Operand, inside bool) {
	for _, d := range deps {
		s.update(d.key, func(k *keyState) {
			switch d.kind {
			case whole, part:
				if !k.matched || k.part {
					k.matched, k.part, k.with = true, inside || d.kind == part, with
				}
				k.presence = there
				s.matched = true
			case measure:
				k.examined = true
			case meta:
				k.glanced = true
			}
		})
	}
}

func sharesKey(a, b value) bool {
	for _, d := range a.deps {
		for _, e := range b.deps {
			if d.key == e.key {
				return true
			}
		}
	}
	return false
}
