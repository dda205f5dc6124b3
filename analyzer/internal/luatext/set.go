package luatext

import (
	"strings"
	"time"
)

// Commands that write a key's value or its expiry.

// setOptions are what stands after the value of SET.
type setOptions struct {
	nx, xx, get bool
	ttl         *value
	unit        time.Duration
	ifeq        *value
}

// options reads SET's options, which may come in any order. An option that is not constant is the
// expiry when the rest says that NX is set; else it could be NX.
func (c *invocation) options() (o setOptions, ok bool) {
	var open []value
	for i := 2; i < len(c.args); i++ {
		x := c.args[i]
		if x.kind != stringValue {
			open = append(open, x)
			continue
		}
		word := strings.ToUpper(x.text)
		switch word {
		case "NX":
			o.nx = true
		case "XX":
			o.xx = true
		case "GET":
			o.get = true
		case "KEEPTTL":
		case "EX", "PX", "EXAT", "PXAT":
			i++
			v := c.arg(i)
			o.ttl, o.unit = &v, units[word]
		case "IFEQ":
			i++
			v := c.arg(i)
			o.ifeq = &v
		default:
			return o, false
		}
	}
	if len(open) > 0 {
		if !o.nx && !o.xx || o.ttl != nil {
			return o, false
		}
		o.ttl = &open[len(open)-1]
	}
	return o, c.r.why == ""
}

func (c *invocation) set() {
	k, _ := c.key()
	v := c.arg(1)
	o, ok := c.options()
	if !ok {
		c.r.fail("the options of SET")
		return
	}
	a := c.act(Set, k)
	a.Value, a.Over = v.as(), o.xx
	if o.ttl != nil {
		a.TTL, a.Unit = o.ttl.as(), o.unit
	}
	switch {
	case o.nx:
		c.setIfAbsent(k, v, a, func(s *state, done bool, old value) {
			switch {
			case o.get:
				c.next(s, old)
			case done:
				c.next(s, status("OK"))
			default:
				c.next(s, no)
			}
		})
	case o.ifeq != nil:
		c.setIfEqual(k, v, a, *o.ifeq)
	case o.xx || o.get:
		c.setOver(k, v, a, o)
	default:
		c.overwrite(c.s, k, &v, a)
		c.next(c.s, status("OK"))
	}
}

// setIfAbsent follows an atomic write of a key that must not exist.
func (c *invocation) setIfAbsent(k Operand, v value, a Act, next func(s *state, done bool, old value)) {
	a.Op, a.Guard = SetNX, WhenAbsent
	c.value(c.s, k, func(s *state, old value) {
		taken := old.kind != boolValue
		s.note(c.site, a, !taken)
		if taken {
			next(s, false, old)
			return
		}
		s.wrote(k, &v)
		s.update(k, func(st *keyState) { st.acquired, st.expires = true, a.TTL.Kind != None })
		next(s, true, no)
	})
}

func (c *invocation) setIfEqual(k Operand, v value, a Act, with value) {
	c.r.split(c.s, func(s *state, yes bool) {
		a.Guard, a.With = Compared, with.as()
		s.note(c.site, a, yes)
		if !yes {
			c.next(s, no)
			return
		}
		s.learn([]dep{{k, whole}}, with.as(), false)
		s.wrote(k, &v)
		c.next(s, status("OK"))
	})
}

// setOver is SET with XX or GET, whose reply says whether the key was there.
func (c *invocation) setOver(k Operand, v value, a Act, o setOptions) {
	c.value(c.s, k, func(s *state, old value) {
		absent := old.kind == boolValue
		reply := status("OK")
		if o.get {
			reply = old
		}
		if o.xx && absent {
			s.note(c.site, a, false)
			c.next(s, no)
			return
		}
		c.overwrite(s, k, &v, a)
		c.next(s, reply)
	})
}

// overwrite is a write of k whatever it had.
func (c *invocation) overwrite(s *state, k Operand, v *value, a Act) {
	free := a.Guard == WhenAbsent
	s.note(c.site, a, true)
	s.wrote(k, v)
	s.update(k, func(st *keyState) {
		st.acquired = st.acquired || free
		st.expires = a.TTL.Kind != None
	})
}

func (c *invocation) setex() {
	k, _ := c.key()
	ttl, v := c.arg(1), c.arg(2)
	if c.r.why != "" {
		return
	}
	a := c.act(Set, k)
	a.Value, a.TTL, a.Unit = v.as(), ttl.as(), units[c.name]
	c.overwrite(c.s, k, &v, a)
	c.next(c.s, status("OK"))
}

func (c *invocation) getset() {
	k, _ := c.key()
	v := c.arg(1)
	if c.r.why != "" {
		return
	}
	a := c.act(Set, k)
	a.Value = v.as()
	c.setOver(k, v, a, setOptions{get: true})
}

// setnx is SETNX key value and HSETNX key field value, of which the latter is another's only when
// it has that field.
func (c *invocation) setnx() {
	k, _ := c.key()
	v := c.arg(1)
	a := c.act(SetNX, k)
	a.Guard = WhenAbsent
	if c.name == "HSETNX" {
		a.Field, v = v.as(), c.arg(2)
	}
	if c.r.why != "" {
		return
	}
	a.Value = v.as()
	if c.name == "SETNX" {
		c.setIfAbsent(k, v, a, func(s *state, done bool, _ value) { c.next(s, count(done)) })
		return
	}
	c.r.fork(c.s, fieldTest(k, a.Field, c.s), func(s *state, taken bool) {
		s.note(c.site, a, !taken)
		if !taken {
			s.wrote(k, nil)
			s.update(k, func(st *keyState) { st.acquired = true })
		}
		c.next(s, count(!taken))
	})
}

// pairs are the keys and values of MSET and MSETNX.
func (c *invocation) pairs() (keys []Operand, vs []value, ok bool) {
	for i := 0; i+1 < len(c.args); i += 2 {
		keys = append(keys, c.arg(i).as())
		vs = append(vs, c.arg(i+1))
	}
	if len(c.args)%2 == 1 || len(keys) == 0 {
		c.r.fail("the arguments of " + c.name)
	}
	return keys, vs, c.r.why == ""
}

func (c *invocation) mset() {
	keys, vs, ok := c.pairs()
	if !ok {
		return
	}
	for i, k := range keys {
		a := c.act(Set, k)
		a.Value = vs[i].as()
		c.overwrite(c.s, k, &vs[i], a)
	}
	c.next(c.s, status("OK"))
}

func (c *invocation) msetnx() {
	keys, vs, ok := c.pairs()
	if !ok {
		return
	}
	c.r.split(c.s, func(s *state, yes bool) {
		for i, k := range keys {
			a := c.act(SetNX, k)
			a.Guard, a.Value = WhenAbsent, vs[i].as()
			s.note(c.site, a, yes)
			if yes {
				s.wrote(k, &vs[i])
				s.update(k, func(st *keyState) { st.acquired, st.expires = true, false })
			}
		}
		c.next(s, count(yes))
	})
}

// expire is EXPIRE and its like; an expiry of 0 deletes.
func (c *invocation) expire() {
	k, _ := c.key()
	ttl := c.arg(1)
	if c.r.why != "" {
		return
	}
	a := c.act(Expire, k)
	a.TTL, a.Unit = ttl.as(), units[c.name]
	if ttl.kind == numberValue && ttl.num <= 0 || ttl.kind == stringValue && ttl.text == "0" {
		c.deleteOne(k, c.next)
		return
	}
	done := func(s *state, yes bool) {
		if yes {
			s.update(k, func(st *keyState) { st.expires = true })
		}
		c.next(s, count(yes))
	}
	if c.discard && c.s.key(k).presence == maybe {
		c.s.noteLikely(c.site, a)
		done(c.s, true)
		return
	}
	c.presence(c.s, k, func(s *state, yes bool) {
		if yes && len(c.args) > 2 { // NX, XX, GT and LT may refuse
			c.r.split(s, func(s *state, yes bool) {
				s.note(c.site, a, yes)
				done(s, yes)
			})
			return
		}
		s.note(c.site, a, yes)
		done(s, yes)
	})
}

func (c *invocation) getex() {
	k, _ := c.key()
	if len(c.args) != 3 || c.args[1].kind != stringValue {
		c.r.fail("the options of GETEX")
		return
	}
	a := c.act(Expire, k)
	a.TTL, a.Unit = c.arg(2).as(), units[strings.ToUpper(c.args[1].text)]
	c.value(c.s, k, func(s *state, v value) {
		yes := v.kind != boolValue
		s.note(c.site, a, yes)
		if yes {
			s.update(k, func(st *keyState) { st.expires = true })
		}
		c.next(s, v)
	})
}

func (c *invocation) persist() {
	k, ok := c.key()
	if !ok {
		return
	}
	c.s.note(c.site, c.act(Persist, k), true)
	c.s.update(k, func(st *keyState) { st.expires = false })
	v := c.symbol("")
	v.number, v.present = true, true
	c.next(c.s, v)
}
