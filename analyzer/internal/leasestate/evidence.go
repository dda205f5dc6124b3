package leasestate

import (
	"maps"
	"path"
	"slices"
	"strings"
	"unicode"

	"github.com/advisorylint/advisorylint/analyzer/internal/summary"
	"github.com/advisorylint/advisorylint/analyzer/internal/term"
)

// evidence is what the package shows of a key: of all keys that are written alike.
type evidence struct {
	named    bool // a name says lock
	acquired bool // by an NX
	stored   bool // by a plain write
	released bool
	compared bool // its value, by a script or a condition
	scripted bool // a script releases or renews it where its value is equal
	paired   bool // a path that acquired it goes on to release it, and none goes on without
	unpaired bool // a path that acquired it does not release it

	acquiredIn map[string]bool // by an NX, in the methods of a type or in a function
	written    map[string]bool // what the acquires write, as form has it
	against    map[string]bool // what the value is compared with
}

// own reports whether the value is compared with what the acquire wrote, out of the same place. Of parameters
// that can't be said.
func (e *evidence) own() bool {
	for v := range e.written {
		if e.against[v] {
			return true
		}
	}
	return false
}

// lock reports whether the key is a lock: a name says so and something releases it or looks at whose it
// is; or it is acquired, and a script compares its value; or who acquires it releases it, and what is between
// is work. A value that is read and compared says less: one-time codes are.
func (e *evidence) lock() bool {
	if e.record() {
		return false
	}
	return e.named && (e.released || e.compared) || e.acquired && (e.scripted || e.own()) || e.acquired && e.paired && !e.unpaired
}

// record reports whether the key keeps a state: it is made by an NX and then overwritten with other values.
func (e *evidence) record() bool { return e.acquired && e.stored && !e.named }

func (e *evidence) add(o *evidence) {
	e.named = e.named || o.named
	e.acquired = e.acquired || o.acquired
	e.stored = e.stored || o.stored
	e.released = e.released || o.released
	e.compared = e.compared || o.compared
	e.scripted = e.scripted || o.scripted
	e.paired = e.paired || o.paired
	e.unpaired = e.unpaired || o.unpaired
	maps.Copy(e.acquiredIn, o.acquiredIn)
	maps.Copy(e.written, o.written)
	maps.Copy(e.against, o.against)
}

// mark remembers the place out of which a value comes.
func mark(set map[string]bool, t *term.Term, fn *Function) {
	if t != nil {
		if f := form(t, fn); strings.HasPrefix(f, "field ") {
			set[f] = true
		}
	}
}

// by is the type whose methods belong together, or the function.
func by(fn *Function) string {
	if fn.Recv != "" {
		return fn.Recv
	}
	return fn.Name
}

// form is how a key is written in a function, equal for keys that are written alike: constants and holes; a
// field of a type, which its methods share; a parameter, which the methods of a type or the functions of a
// package share.
func form(t *term.Term, fn *Function) string {
	if t == nil {
		return ""
	}
	switch t.Op {
	case term.As, term.Conv:
		return form(t.Args[0], fn)
	case term.Const:
		return t.Str
	case term.Concat:
		var b strings.Builder
		b.WriteString("s:")
		for _, a := range t.Args {
			if s, ok := a.StrVal(); ok {
				b.WriteString(s)
			} else {
				b.WriteString("\x00")
			}
		}
		return b.String()
	case term.Load:
		switch p := t.Args[0]; p.Op {
		case term.FieldPtr:
			return "field " + p.Type + "." + p.Str
		case term.Global:
			return "variable " + p.Str
		case term.Free:
			return "param " + owner(fn)
		}
	case term.Field:
		return "field " + t.Args[0].Type + "." + t.Str
	case term.Param, term.Free:
		return "param " + owner(fn)
	case term.Call:
		return "call " + t.Str
	}
	return "value " + t.Key()
}

// owner is what the functions that share their parameters' meaning belong to.
func owner(fn *Function) string {
	if fn.Recv != "" {
		return fn.Recv
	}
	return fn.Pkg
}

// gather collects the evidence of every key, and joins that of the keys which meet in one helper.
func (j *judge) gather() {
	for _, c := range j.commands {
		if j.forms[c.fn] == nil {
			j.forms[c.fn] = map[string]bool{}
		}
		j.forms[c.fn][c.class] = true
	}
	for _, c := range j.commands {
		e := j.of(c)
		e.named = e.named || j.named(c)
		switch c.act {
		case acquire:
			e.acquired = true
			e.acquiredIn[by(c.fn)] = true
			mark(e.written, c.value(), c.fn)
		case set:
			e.stored = true
		case release:
			e.released = true
		case look:
			site := sent(c.e)
			for _, f := range c.facts {
				if !compares(f.Cond, site) {
					continue
				}
				e.compared = true
				for _, t := range f.Cond.Args {
					mark(e.against, t, c.fn)
				}
			}
		case compareRelease:
			e.released, e.compared, e.scripted = true, true, true
		case compareRenew:
			e.compared, e.scripted = true, true
		}
	}
	j.pair()
	for _, c := range j.commands { // a helper's key is what its callers give it
		for in := c.e.Inner; in != nil; in = in.Inner {
			for _, o := range j.byEffect[in] {
				if strings.HasPrefix(o.class, "param ") {
					j.of(o).add(j.of(c))
				}
			}
		}
	}
}

func (j *judge) of(c *command) *evidence {
	k := c.class
	if strings.HasPrefix(k, "param ") {
		if c.fn.Recv == "" && !locking(c.fn) {
			k += "|" + c.fn.Name // until callers say what it is, a parameter is its function's
		}
	}
	e := j.keys[k]
	if e == nil {
		e = &evidence{acquiredIn: map[string]bool{}, written: map[string]bool{}, against: map[string]bool{}}
		j.keys[k] = e
	}
	return e
}

// locking reports whether a function's name, or its package's, says that it is one of those for locks.
func locking(fn *Function) bool {
	return saysLock(fn.Name) || saysLock(path.Base(fn.Pkg))
}

// pair looks, on each path that acquires a key, for its release.
func (j *judge) pair() {
	type way struct {
		fn   *Function
		path any
		e    *summary.Effect
	}
	released := map[way]bool{}
	for _, c := range j.commands {
		if c.act == release || c.act == compareRelease {
			if a := c.acquired(); a != nil && !sameCall(a, c) {
				released[way{c.fn, c.path, a.e}] = true
			}
		}
	}
	for _, c := range j.commands {
		if c.act != acquire || c.granted(c.facts) != yes {
			continue
		}
		if released[way{c.fn, c.path, c.e}] {
			j.of(c).paired = true
		} else if !returnsYes(c) {
			j.of(c).unpaired = true
		}
	}
}

// sameCall reports whether one call of a helper sends both commands: then the helper itself is what shows
// how they belong together.
func sameCall(a, b *command) bool {
	return a.e.Inner != nil && b.e.Inner != nil && a.e.Steps[0].Pos == b.e.Steps[0].Pos
}

// returnsYes reports whether the path hands the lock to its caller: the function is an acquire itself.
func returnsYes(c *command) bool {
	for _, r := range c.path.Results {
		if r.IsBool(true) || answers(r, sent(c.e)) {
			return true
		}
	}
	return false
}

// named reports whether a name says that a command's key is a lock: the key's own text, the function that
// sends the command, its type.
func (j *judge) named(c *command) bool {
	if j.textNames(c.key, 0) {
		return true
	}
	if strings.HasPrefix(c.class, "s:") && len(j.forms[c.fn]) > 1 {
		return false // the name may speak of another of the function's keys
	}
	if locking(c.fn) {
		return true
	}
	if _, name := cut(c.fn.Recv); saysLock(name) {
		return true
	}
	return slices.ContainsFunc(c.e.Steps, func(s summary.Step) bool { return saysLock(s.Name) })
}

func (j *judge) textNames(t *term.Term, depth int) bool {
	if t == nil || depth > 3 {
		return false
	}
	for _, v := range j.values(t) {
		found := v.Has(func(x *term.Term) bool {
			switch x.Op {
			case term.Const:
				s, ok := x.StrVal()
				return ok && saysLock(s)
			case term.FieldPtr, term.Field:
				return saysLock(x.Str)
			case term.Global:
				_, name := cut(x.Str)
				return saysLock(name)
			case term.Call:
				_, name := cut(x.Str)
				return saysLock(name)
			case term.Load:
				return x != t && depth < 3 && j.textNames(x, depth+1)
			}
			return false
		})
		if found {
			return true
		}
	}
	return false
}

// lockWords are the words of a name that say lock.
var lockWords = map[string]bool{
	"lock": true, "locks": true, "locker": true, "lockers": true, "unlock": true, "relock": true, "trylock": true,
	"mutex": true, "mutexes": true, "mtx": true, "lease": true, "leases": true, "leader": true, "leadership": true, "election": true,
}

// noLocks end in lock, and are none.
var noLocks = map[string]bool{
	"block": true, "clock": true, "stock": true, "flock": true, "padlock": true, "gridlock": true, "deadlock": true, "livestock": true,
	"unblock": true, "restock": true, "instock": true, "oclock": true, "interlock": true, "wedlock": true, "headlock": true,
	"codeblock": true, "subblock": true, "superblock": true, "genlock": true, "datablock": true, "timeblock": true, "adblock": true,
}

// saysLock reports whether a name or text has a word that says lock.
func saysLock(s string) bool {
	for _, w := range words(s) {
		if lockWords[w] || strings.HasSuffix(w, "lock") && !noLocks[w] && len(w) > 4 || strings.HasSuffix(w, "mutex") {
			return true
		}
	}
	return false
}

// words cuts a name at what is no letter, and at the humps of camel case.
func words(s string) []string {
	var out []string
	var cur []rune
	flush := func() {
		if len(cur) > 0 {
			out = append(out, strings.ToLower(string(cur)))
			cur = nil
		}
	}
	rs := []rune(s)
	for i, r := range rs {
		switch {
		case !unicode.IsLetter(r):
			flush()
			continue
		case unicode.IsUpper(r) && i > 0 && (unicode.IsLower(rs[i-1]) || i+1 < len(rs) && unicode.IsLower(rs[i+1]) && unicode.IsUpper(rs[i-1])):
			flush()
		}
		cur = append(cur, r)
	}
	flush()
	return out
}
