package luatext

import (
	"strconv"
	"strings"
	"time"

	"github.com/yuin/gopher-lua/ast"
)

// invocation is one redis.call on one path.
type invocation struct {
	r       *run
	s       *state
	site    ast.Expr
	name    string
	args    []value // without the name
	discard bool    // nobody looks at the reply
	next    func(*state, value)
}

// handlers run the commands whose reply or effect says something of a lock. Each is written after
// the command's page in Redis's manual.
var handlers map[string]func(*invocation)

func init() {
	handlers = map[string]func(*invocation){
		"GET": (*invocation).get, "MGET": (*invocation).mget, "EXISTS": (*invocation).exists,
		"HGET": (*invocation).member, "HEXISTS": (*invocation).member, "SISMEMBER": (*invocation).member, "ZSCORE": (*invocation).member,
		"DEL": (*invocation).del, "UNLINK": (*invocation).del, "GETDEL": (*invocation).getdel,
		"HDEL": (*invocation).hdel, "DELEX": (*invocation).delex, "DELIFEQ": (*invocation).delifeq,
		"EXPIRE": (*invocation).expire, "PEXPIRE": (*invocation).expire,
		"EXPIREAT": (*invocation).expire, "PEXPIREAT": (*invocation).expire, "PERSIST": (*invocation).persist,
		"SET": (*invocation).set, "SETEX": (*invocation).setex, "PSETEX": (*invocation).setex,
		"GETSET": (*invocation).getset, "GETEX": (*invocation).getex,
		"SETNX": (*invocation).setnx, "MSETNX": (*invocation).msetnx, "MSET": (*invocation).mset,
		"HSETNX": (*invocation).setnx,
	}
}

// reads are commands that read one key, and what their reply shows of it.
var reads = map[string]depKind{
	"GETRANGE": part, "SUBSTR": part, "HGETALL": part, "HMGET": part, "HVALS": part, "HKEYS": part,
	"LRANGE": part, "LINDEX": part, "LPOS": part, "SMEMBERS": part, "SRANDMEMBER": part, "SMISMEMBER": part,
	"ZRANGE": part, "ZRANGEBYSCORE": part, "ZREVRANGE": part, "ZREVRANGEBYSCORE": part, "ZRANK": part,
	"ZREVRANK": part, "ZMSCORE": part, "GETBIT": part, "XRANGE": part, "XREVRANGE": part, "DUMP": part,
	"HSCAN": part, "SSCAN": part, "ZSCAN": part,
	"STRLEN": measure, "HLEN": measure, "HSTRLEN": measure, "LLEN": measure, "SCARD": measure,
	"ZCARD": measure, "ZCOUNT": measure, "ZLEXCOUNT": measure, "XLEN": measure, "BITCOUNT": measure, "PFCOUNT": measure,
	"TTL": meta, "PTTL": meta, "EXPIRETIME": meta, "PEXPIRETIME": meta, "TYPE": meta,
}

// writes are commands that change one key, their first argument.
var writes = words(`HSET HMSET HINCRBY HINCRBYFLOAT HEXPIRE HPEXPIRE
	INCR INCRBY INCRBYFLOAT DECR DECRBY APPEND SETRANGE SETBIT
	SADD SREM SPOP ZADD ZREM ZINCRBY ZREMRANGEBYSCORE ZREMRANGEBYRANK ZREMRANGEBYLEX ZPOPMIN ZPOPMAX
	LPUSH RPUSH LPUSHX RPUSHX LPOP RPOP LREM LTRIM LSET LINSERT XADD XDEL XTRIM XACK PFADD GEOADD`)

// numbers are the commands among reads and writes that always answer a number.
var numbers = words(`HSET HINCRBY INCR INCRBY DECR DECRBY APPEND SETRANGE SETBIT GETBIT SADD SREM ZREM
	ZREMRANGEBYSCORE ZREMRANGEBYRANK ZREMRANGEBYLEX LPUSH RPUSH LPUSHX RPUSHX LREM LINSERT XDEL XTRIM XACK PFADD
	STRLEN HLEN HSTRLEN LLEN SCARD ZCARD ZCOUNT ZLEXCOUNT XLEN BITCOUNT PFCOUNT
	TTL PTTL EXPIRETIME PEXPIRETIME`)

// solid are those that answer a string or a list, empty at worst.
var solid = words("GETRANGE SUBSTR HGETALL HMGET HVALS HKEYS LRANGE SMEMBERS ZRANGE ZRANGEBYSCORE ZREVRANGE ZREVRANGEBYSCORE")

// keyless are commands that change no key.
var keyless = words("PUBLISH SPUBLISH TIME PING ECHO KEYS SCAN DBSIZE RANDOMKEY SELECT INFO OBJECT TOUCH DEBUG LOLWUT")

func words(s string) map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(s) {
		m[w] = true
	}
	return m
}

func (r *run) command(site ast.Expr, args []value, s *state, discard bool, next func(*state, value)) {
	if len(args) == 0 || args[0].kind != stringValue {
		r.fail("a command whose name is not constant")
		return
	}
	c := &invocation{r, s, site, strings.ToUpper(args[0].text), args[1:], discard, next}
	if run, ok := handlers[c.name]; ok {
		run(c)
		return
	}
	if kind, ok := reads[c.name]; ok {
		c.read(kind)
		return
	}
	switch {
	case writes[c.name]:
		c.write()
	case keyless[c.name]:
		s.note(site, Act{Op: Other, Command: c.name}, false) // no key, so no guard
		next(s, c.symbol(""))
	default:
		r.fail("the command " + c.name)
	}
}

// arg is argument i; it fails when there is none, or it is any number of them.
func (c *invocation) arg(i int) value {
	for j := 0; j <= i && j < len(c.args); j++ {
		if c.args[j].spread {
			c.r.fail("arguments of " + c.name + " from a list")
			return nothing
		}
	}
	if i >= len(c.args) {
		c.r.fail("too few arguments of " + c.name)
		return nothing
	}
	return c.args[i]
}

// key is the command's key; false when it is not understood.
func (c *invocation) key() (Operand, bool) {
	k := c.arg(0).as()
	return k, c.r.why == ""
}

// act is what the command does to key, guarded by what is known now.
func (c *invocation) act(op Op, key Operand) Act {
	return Act{Op: op, Command: c.name, Key: key, Guard: c.s.guard(key, op)}
}

// symbol is a reply that is not known; the same command on the same unwritten key has the same.
func (c *invocation) symbol(key string) value {
	v := derive(c.name+"("+forms(c.args)+")", c.args...)
	v.with, v.args, v.deps = Operand{}, false, nil
	if key == "" {
		v.text += "#" + strconv.Itoa(c.r.id(c.site))
	} else {
		v.text += "@" + strconv.Itoa(c.s.keys[key].writes+c.s.keys[anyKey].writes)
	}
	v.number = numbers[c.name]
	v.present = v.number
	return v
}

func (c *invocation) read(kind depKind) {
	k, ok := c.key()
	if !ok {
		return
	}
	op := Other
	if kind == part {
		op = Get
	}
	c.s.note(c.site, c.act(op, k), false)
	v := c.symbol(k.Text)
	v.deps = []dep{{k, kind}}
	v.present = v.present || solid[c.name]
	c.next(c.s, v)
}

func (c *invocation) write() {
	k, ok := c.key()
	if !ok {
		return
	}
	a := c.act(Write, k)
	if strings.HasPrefix(c.name, "H") && len(c.args) > 1 {
		a.Field = c.args[1].as()
		if len(c.args) > 2 {
			a.Value = c.args[2].as()
		}
	}
	c.s.note(c.site, a, true)
	v := c.symbol(k.Text)
	c.s.wrote(k, nil)
	if a.Guard == WhenAbsent && a.Field.Kind != None {
		c.s.update(k, func(st *keyState) { st.acquired = true })
	}
	c.next(c.s, v)
}

// wrote notes that this script wrote k, so that it exists.
func (s *state) wrote(k Operand, v *value) {
	s.update(k, func(st *keyState) {
		st.presence, st.own, st.value = there, true, v
		st.writes++
	})
}

func (c *invocation) get() {
	k, ok := c.key()
	if !ok {
		return
	}
	c.s.note(c.site, c.act(Get, k), false)
	c.value(c.s, k, c.next)
}

// value follows what GET of k answers: false without the key, else its value.
func (c *invocation) value(s *state, k Operand, next func(*state, value)) {
	c.presence(s, k, func(s *state, yes bool) {
		if !yes {
			next(s, no)
			return
		}
		if own := s.key(k).value; own != nil {
			next(s, toString(*own))
			return
		}
		v := value{kind: symbolValue, isText: true, present: true, deps: []dep{{k, whole}}}
		v.text = "GET(" + k.Text + ")@" + strconv.Itoa(s.keys[k.Text].writes+s.keys[anyKey].writes)
		next(s, v)
	})
}

// presence follows both answers to whether k exists, where that is not known.
func (c *invocation) presence(s *state, k Operand, next func(*state, bool)) {
	if p := s.key(k).presence; p != maybe {
		next(s, p == there)
		return
	}
	c.r.split(s, func(s *state, yes bool) {
		s.update(k, func(st *keyState) {
			st.presence = absent
			if yes {
				st.presence = there
			}
		})
		next(s, yes)
	})
}

// mget answers a list with a value for each key.
func (c *invocation) mget() {
	var list []value
	var from func(s *state, i int)
	from = func(s *state, i int) {
		if i == len(c.args) || c.r.why != "" {
			t := table{list: list[:i:i]}
			if i == 1 && c.args[0].as().Text == anyKey {
				v := list[0]
				t = table{each: &v}
			}
			s.heap = append(s.heap, t)
			c.next(s, value{kind: tableValue, table: len(s.heap) - 1})
			return
		}
		k := c.args[i].as()
		s.note(c.site, Act{Op: Get, Command: c.name, Key: k, Guard: s.guard(k, Get)}, false)
		c.value(s, k, func(s *state, v value) {
			list = append(list[:i:i], v)
			from(s, i+1)
		})
	}
	from(c.s, 0)
}

func (c *invocation) exists() {
	if len(c.args) != 1 {
		for _, k := range c.args {
			c.s.note(c.site, c.act(Exists, k.as()), false)
		}
		c.next(c.s, c.symbol(""))
		return
	}
	k, ok := c.key()
	if !ok {
		return
	}
	c.s.note(c.site, c.act(Exists, k), false)
	c.presence(c.s, k, func(s *state, yes bool) { c.next(s, count(yes)) })
}

func count(yes bool) value {
	if yes {
		return number(1)
	}
	return number(0)
}

// member looks for a field or member. Finding one that an argument names says that the key is that
// argument's: so do re-entrant locks keep their holders.
func (c *invocation) member() {
	k, ok := c.key()
	f := c.arg(1)
	if !ok || c.r.why != "" {
		return
	}
	a := c.act(Get, k)
	if c.name != "HGET" && c.name != "ZSCORE" {
		a.Op = Exists
	}
	a.Field = f.as()
	c.s.note(c.site, a, false)
	found := func(s *state, yes bool) {
		if yes {
			if a.Field.Kind != Const {
				s.learn([]dep{{k, part}}, a.Field, true)
			}
			s.update(k, func(st *keyState) { st.presence = there })
		}
		if a.Op == Exists {
			c.next(s, count(yes))
			return
		}
		v := no
		if yes {
			v = derivedString(c.name + "(" + forms(c.args) + ")@" + strconv.Itoa(s.keys[k.Text].writes))
			v.deps = []dep{{k, part}}
		}
		c.next(s, v)
	}
	if c.s.key(k).presence == absent {
		found(c.s, false)
		return
	}
	c.r.fork(c.s, fieldTest(k, a.Field, c.s), found)
}

func fieldTest(k, f Operand, s *state) string {
	return "field " + k.Text + " " + f.Text + "@" + strconv.Itoa(s.keys[k.Text].writes)
}

// seconds and milliseconds of the commands that set an expiry; a point in time is no unit.
var units = map[string]time.Duration{
	"EXPIRE": time.Second, "PEXPIRE": time.Millisecond, "SETEX": time.Second, "PSETEX": time.Millisecond,
	"EX": time.Second, "PX": time.Millisecond,
}
