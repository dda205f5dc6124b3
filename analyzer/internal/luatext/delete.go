package luatext

import "strings"

// Commands that delete a key, at once or after a time.

func (c *invocation) del() {
	if len(c.args) == 0 {
		c.arg(0)
		return
	}
	if len(c.args) == 1 {
		c.deleteOne(c.args[0].as(), c.next)
		return
	}
	all, some := true, false
	for _, x := range c.args {
		k := x.as()
		one := c.s.key(k).presence == there
		all, some = all && one, some || one
		if one {
			c.s.note(c.site, c.act(Delete, k), true)
		} else {
			c.s.noteLikely(c.site, c.act(Delete, k))
		}
		c.s.deleted(k)
	}
	if all {
		c.next(c.s, number(float64(len(c.args))))
		return
	}
	v := c.symbol("")
	v.number, v.present, v.positive = true, true, some
	c.next(c.s, v)
}

// deleteOne follows DEL of one key: it answers whether the key was there.
func (c *invocation) deleteOne(k Operand, next func(*state, value)) {
	a := c.act(Delete, k)
	if c.discard && c.s.key(k).presence == maybe {
		c.s.noteLikely(c.site, a)
		c.s.deleted(k)
		next(c.s, nothing)
		return
	}
	c.presence(c.s, k, func(s *state, yes bool) {
		s.note(c.site, a, yes)
		if c.args[0].spread || k.Text == anyKey && yes {
			v := derivedNumber("DEL(" + k.Text + ")")
			v.positive = yes
			s.deleted(k)
			next(s, v)
			return
		}
		s.deleted(k)
		next(s, count(yes))
	})
}

func (s *state) deleted(k Operand) {
	s.update(k, func(st *keyState) {
		st.presence, st.acquired, st.expires, st.value = absent, false, false, nil
		st.writes++
	})
}

func (c *invocation) getdel() {
	k, ok := c.key()
	if !ok {
		return
	}
	a := c.act(Delete, k)
	c.value(c.s, k, func(s *state, v value) {
		s.note(c.site, a, v.kind != boolValue)
		s.deleted(k)
		c.next(s, v)
	})
}

// hdel of a field that an argument names deletes that holder only; it is not known whether the
// field is a token or a lock's name.
func (c *invocation) hdel() {
	k, ok := c.key()
	f := c.arg(1)
	if !ok || c.r.why != "" {
		return
	}
	a := c.act(Delete, k)
	a.Field = f.as()
	if a.Field.Kind != Const && a.Guard < Examined {
		a.Guard = Examined
	}
	test := fieldTest(k, a.Field, c.s)
	c.r.fork(c.s, test, func(s *state, yes bool) {
		s.note(c.site, a, yes)
		s.update(k, func(st *keyState) {
			st.writes++
			if st.presence == there { // the last field's end is the key's
				st.presence = maybe
			}
		})
		c.next(s, count(yes))
	})
}

// delifeq is Valkey's DELIFEQ key value.
func (c *invocation) delifeq() {
	k, ok := c.key()
	with := c.arg(1)
	if ok && c.r.why == "" {
		c.deleteIf(k, with)
	}
}

// delex is Redis 8.4's DELEX key [IFEQ value | …].
func (c *invocation) delex() {
	k, ok := c.key()
	switch {
	case !ok:
	case len(c.args) == 1:
		c.deleteOne(k, c.next)
	case len(c.args) == 3 && c.args[1].kind == stringValue && strings.EqualFold(c.args[1].text, "IFEQ"):
		c.deleteIf(k, c.arg(2))
	default:
		c.r.fail("the options of DELEX")
	}
}

func (c *invocation) deleteIf(k Operand, with value) {
	c.r.split(c.s, func(s *state, yes bool) {
		if yes {
			s.learn([]dep{{k, whole}}, with.as(), false)
		}
		a := c.act(Delete, k)
		a.Guard, a.With = Compared, with.as()
		s.note(c.site, a, yes)
		if yes {
			s.deleted(k)
		}
		c.next(s, count(yes))
	})
}
