package luatext

import (
	"github.com/yuin/gopher-lua/ast"
)

// run follows the paths of one script, each to its end before the next: what comes after an
// expression or a statement is a function that it calls once for each outcome.
type run struct {
	why   string // what was not understood, "" so far
	steps int
	paths []path

	ids       map[ast.Expr]int // names for values that are not followed
	globals   map[string]int   // variables by name
	variables int
	upvalues  map[string]bool // what functions of the script assign to
	keys      int
	iterated  bool
}

// path is a finished path.
type path struct {
	steps []step
	reply Reply
	bare  bool // a key acquired without expiry
}

func (r *run) fail(why string) {
	if r.why == "" {
		r.why = why
	}
}

// goOn counts a step and says whether there may be another.
func (r *run) goOn() bool {
	r.steps++
	if r.steps > maxSteps || len(r.paths) >= maxPaths {
		r.fail("too many paths")
	}
	return r.why == ""
}

func (r *run) script(chunk []ast.Stmt) {
	s := &state{vars: map[int]value{}, keys: map[string]keyState{}, decided: map[string]bool{}}
	end := func(s *state, vs []value) { r.end(s, replyOf(s, first(vs))) }
	r.block(chunk, s, func(s *state) { end(s, nil) }, flow{ret: end, brk: func(*state) { r.fail("break outside a loop") }})
}

func (r *run) end(s *state, answer Reply) {
	bare := false
	for _, k := range s.keys {
		bare = bare || k.acquired && !k.expires && !s.argTested
	}
	r.paths = append(r.paths, path{s.steps, answer, bare})
}

func first(vs []value) value {
	if len(vs) == 0 {
		return nothing
	}
	return vs[0]
}

// fork follows both outcomes of a test that the path cannot decide.
func (r *run) fork(s *state, test string, then func(s *state, yes bool)) {
	if yes, ok := s.decided[test]; ok {
		then(s, yes)
		return
	}
	c := s.clone()
	s.decided[test], c.decided[test] = true, false
	then(s, true)
	if r.why == "" {
		then(c, false)
	}
}

// split follows a command's two outcomes; unlike a test it may come out otherwise the next time.
func (r *run) split(s *state, then func(s *state, yes bool)) {
	c := s.clone()
	then(s, true)
	if r.why == "" {
		then(c, false)
	}
}

func (r *run) declare(s *state, name string, v value) {
	r.variables++
	s.scope = &binding{name, r.variables, s.scope}
	s.vars[r.variables] = v
}

// lookup is the variable that name means, 0 when none was ever set.
func (r *run) lookup(s *state, name string) int {
	for b := s.scope; b != nil; b = b.parent {
		if b.name == name {
			return b.id
		}
	}
	return r.globals[name]
}

func (r *run) id(e ast.Expr) int {
	if _, ok := r.ids[e]; !ok {
		r.ids[e] = len(r.ids) + 1
	}
	return r.ids[e]
}
