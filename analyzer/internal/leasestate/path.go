package leasestate

import (
	"github.com/advisorylint/advisorylint/analyzer/internal/client"
	"github.com/advisorylint/advisorylint/analyzer/internal/summary"
	"github.com/advisorylint/advisorylint/analyzer/internal/symexec"
	"github.com/advisorylint/advisorylint/analyzer/internal/term"
)

type tri int8

const (
	unknown tri = iota
	no
	yes
)

// granted says what the path knows of an acquire's answer.
func (c *command) granted(facts []summary.Fact) tri {
	site := sent(c.e)
	for _, f := range facts {
		v := says(f, site, c.e.Cmd)
		if v != unknown {
			return v
		}
	}
	return unknown
}

// says reads one condition on the answer of the acquire at a site. One that refuses by an error refuses
// with redis.Nil; another error leaves open what happened.
func says(f summary.Fact, site string, cmd *summary.Cmd) tri {
	c := f.Cond
	switch {
	case c.Op == term.Answer && isSent(c.Args[0], site):
		return of(f.Val)
	case c.Op == term.Call && c.Str == "errors.Is" && len(c.Args) == 2 && failure(c.Args[0], site) && isNil(c.Args[1]):
		if f.Val {
			return no
		}
		return unknown
	case c.Op != term.Bin || len(c.Args) != 2:
		return unknown
	}
	a, b := c.Args[0], c.Args[1]
	switch {
	case c.Str == "==" && a.Op == term.Answer && isSent(a.Args[0], site):
		switch b.Str {
		case "i:1", "s:OK", "b:true":
			return of(f.Val)
		case "i:0", "b:false", "nil", "s:":
			return of(!f.Val)
		}
	case c.Str == "==" && a.Op == term.ErrOf && isSent(a.Args[0], site):
		if b.IsNil() && (cmd.ByError || cmd.NilReply && a.Str == symexec.OfReply) && f.Val {
			return yes
		}
		if isNil(b) && f.Val {
			return no
		}
	case (c.Str == "<" || c.Str == ">") && a.Op == term.Answer && isSent(a.Args[0], site):
		if b.Str == "i:0" && c.Str == ">" || b.Str == "i:1" && c.Str == "<" {
			return of(f.Val == (c.Str == ">"))
		}
	}
	return unknown
}

// converted reports whether t depends on the error of reading a reply as a value, which says when there is none.
func converted(t *term.Term, site string) bool {
	return t.Has(func(x *term.Term) bool {
		return x.Op == term.ErrOf && x.Str == symexec.OfReply && isSent(x.Args[0], site)
	})
}

// isNil reports whether t is the client's error that says that there is no value.
func isNil(t *term.Term) bool {
	return t.Has(func(x *term.Term) bool {
		if text, ok := x.StrVal(); ok {
			return text == "redis: nil" // go-redis has a constant
		}
		if x.Op != term.Global {
			return false
		}
		path, name := cut(x.Str)
		switch name {
		case "Nil", "ErrNil", "RedisNil":
			return client.RedisPath(path)
		}
		return false
	})
}

func cut(global string) (path, name string) {
	for i := len(global) - 1; i >= 0; i-- {
		if global[i] == '.' {
			return global[:i], global[i+1:]
		}
	}
	return "", global
}

func of(b bool) tri {
	if b {
		return yes
	}
	return no
}

// same reports whether two commands of one function are on one key.
func (c *command) same(o *command) bool {
	return c.key != nil && o.key != nil && (term.Equal(c.key, o.key) || c.class == o.class)
}

// looked gives the command before c that read its key, and whether the path compares what it gave with
// something of the caller's.
func (c *command) looked() (at *command, compared bool) {
	for i := len(c.before) - 1; i >= 0; i-- {
		b := c.before[i]
		if b.act != look || !b.same(c) {
			continue
		}
		at = b
		site := sent(b.e)
		for _, f := range c.facts {
			if compares(f.Cond, site) {
				return b, true
			}
		}
	}
	return at, false
}

// compares reports whether a condition holds a value that was read against another: not against nothing.
func compares(cond *term.Term, site string) bool {
	if !answers(cond, site) {
		return false
	}
	switch cond.Op {
	case term.Bin:
		a, b := cond.Args[0], cond.Args[1]
		if b.Op == term.Const && (b.IsNil() || b.Str == "s:" || b.Str == "i:0") {
			return a.Op == term.Call && a.Str == "strings.Compare" || a.Op == term.Call && a.Str == "bytes.Compare"
		}
		return cond.Str == "==" && !(a.Op == term.Call && a.Str == "len")
	case term.Call:
		return len(cond.Args) > 1 && cond.Str != "errors.Is" && cond.Str != "errors.As"
	}
	return false
}

// acquired gives the acquire of c's key before c.
func (c *command) acquired() *command {
	for i := len(c.before) - 1; i >= 0; i-- {
		if b := c.before[i]; b.act == acquire && b.same(c) {
			return b
		}
	}
	return nil
}
