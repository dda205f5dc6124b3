package luatext

import (
	"maps"
	"slices"

	"github.com/yuin/gopher-lua/ast"
)

// binding is a local variable in scope; the list is never changed, so that paths and closures
// share it.
type binding struct {
	name   string
	id     int
	parent *binding
}

// presence says whether a key is known to exist.
type presence uint8

const (
	maybe presence = iota
	there
	absent
)

// keyState is what a path knows of one key.
type keyState struct {
	presence presence
	matched  bool // its value was found equal to with
	part     bool
	with     Operand
	examined bool
	glanced  bool // its expiry was looked at
	own      bool // written by this script
	value    *value
	acquired bool
	expires  bool
	writes   int // makes replies before and after a write differ
}

// table is a Lua table; it is replaced, never changed.
type table struct {
	list   []value
	fields map[string]value
	each   *value // any element of a list over KEYS
	open   bool   // has more than is known
}

// step is a command that a path ran.
type step struct {
	site      ast.Expr
	act       Act
	effective bool // it changed something
	maybe     bool // effective is only likely: whether the key was there is not known
}

// state is what a path knows.
type state struct {
	scope *binding
	vars  map[int]value
	heap  []table
	keys  map[string]keyState
	// decided has the outcomes of tests that the path took, so that it takes them alike again.
	decided map[string]bool
	steps   []step

	depth     int  // of calls
	murky     bool // a test that is not understood may have been a comparison
	argTested bool // an argument was tested
	argChosen bool // an argument was found equal to a constant
	matched   bool // some key was
}

func (s *state) clone() *state {
	c := *s
	c.vars = maps.Clone(s.vars)
	c.keys = maps.Clone(s.keys)
	c.decided = maps.Clone(s.decided)
	c.heap = slices.Clone(s.heap)
	c.steps = slices.Clone(s.steps)
	return &c
}

// anyKey is each key of a loop over KEYS; what holds of it holds of KEYS[1].
const anyKey = "KEYS[*]"

func (s *state) key(k Operand) keyState {
	st := s.keys[k.Text]
	if k.Kind != Key || k.Text == anyKey {
		return st
	}
	all := s.keys[anyKey]
	if !st.matched && all.matched {
		st.matched, st.part, st.with = true, all.part, all.with
	}
	if st.presence == maybe {
		st.presence = all.presence
	}
	st.examined = st.examined || all.examined
	st.glanced = st.glanced || all.glanced
	st.own = st.own || all.own
	return st
}

func (s *state) update(k Operand, change func(*keyState)) {
	st := s.keys[k.Text]
	change(&st)
	s.keys[k.Text] = st
}

// guard says what is known of k when a command of kind op runs on it.
func (s *state) guard(k Operand, op Op) Guard {
	st := s.key(k)
	switch {
	case st.presence == absent:
		return WhenAbsent
	case st.matched:
		return Compared
	case st.own:
		return Own
	case st.examined || s.murky || st.glanced && op != Expire:
		return Examined
	case s.argChosen:
		return Chosen
	case s.matched:
		return OtherKey
	}
	return Unguarded
}

// note records that a path runs act, whose guard is what was known before the command's own reply.
func (s *state) note(site ast.Expr, act Act, effective bool) {
	if act.Guard == Compared && act.With.Kind == None {
		st := s.key(act.Key)
		act.With, act.Part = st.with, st.part
	}
	act.Compared = act.Guard == Compared
	act.Absent = act.Guard == WhenAbsent
	if act.Absent && (act.Op == Delete || act.Op == Expire) {
		effective = false
	}
	s.steps = append(s.steps, step{site: site, act: act, effective: effective})
}

// noteLikely records an act whose reply nobody looks at, on a key that may not exist.
func (s *state) noteLikely(site ast.Expr, act Act) {
	s.note(site, act, true)
	s.steps[len(s.steps)-1].maybe = true
}
