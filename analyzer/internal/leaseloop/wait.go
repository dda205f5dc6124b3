package leaseloop

import (
	"go/constant"
	"go/token"
	"go/types"
	"strings"

	"golang.org/x/tools/go/ssa"

	"github.com/advisorylint/advisorylint/analyzer/internal/client"
	"github.com/advisorylint/advisorylint/analyzer/internal/lockstate"
	"github.com/advisorylint/advisorylint/analyzer/internal/stores"
)

// wait is something that keeps the program from going on for a time.
type wait struct {
	at    ssa.Instruction
	fixed bool // a time that is always the same
}

// crossing is what lies on the ways from one point to another: free when one of them has no wait, and the
// waits of those that have.
type crossing struct {
	free  bool
	waits []wait
}

// bindings are the values that parameters have in one call.
type bindings map[*ssa.Parameter]ssa.Value

// call adds the arguments of a call of fn.
func (env bindings) call(fn *ssa.Function, args []ssa.Value) bindings {
	out := bindings{}
	for k, v := range env {
		out[k] = v
	}
	for i, p := range fn.Params {
		if i < len(args) {
			out[p] = args[i]
		}
	}
	return out
}

// crossed says what an instruction waits for. What an unknown function does counts as a wait.
func (p *Program) crossed(in ssa.Instruction, env bindings, depth int) crossing {
	switch in := in.(type) {
	case *ssa.UnOp:
		if in.Op == token.ARROW {
			return crossing{waits: []wait{{in, p.ticks(in.X, env)}}}
		}
	case *ssa.Select:
		if in.Blocking {
			return crossing{waits: p.selects(in, env)}
		}
	case *ssa.Send:
		return crossing{waits: []wait{{at: in}}}
	case *ssa.Call:
		return p.called(in, env, depth)
	}
	return crossing{free: true}
}

// selects is what a select in a helper waits for. A receive of nothing, as from a context's Done, leads to
// another result than the wait's.
func (p *Program) selects(s *ssa.Select, env bindings) []wait {
	var out []wait
	for _, st := range s.States {
		if st.Dir == types.RecvOnly && emptyStruct(st.Chan.Type()) {
			continue
		}
		out = append(out, wait{s, st.Dir == types.RecvOnly && p.ticks(st.Chan, env)})
	}
	if len(out) == 0 {
		out = append(out, wait{at: s})
	}
	return out
}

func emptyStruct(t types.Type) bool {
	c, ok := t.Underlying().(*types.Chan)
	if !ok {
		return false
	}
	st, ok := c.Elem().Underlying().(*types.Struct)
	return ok && st.NumFields() == 0
}

func (p *Program) called(c *ssa.Call, env bindings, depth int) crossing {
	name := calledName(&c.Call)
	if name == "time.Sleep" {
		if d, ok := p.constant(c.Call.Args[0], env); ok && d <= 0 {
			return crossing{free: true}
		} else {
			return crossing{waits: []wait{{c, ok}}}
		}
	}
	if fn := p.callee(&c.Call); fn != nil && depth <= maxDepth {
		out := p.through(place{fn.Blocks[0], 0}, env.call(fn, c.Call.Args), depth+1, nil)
		if len(out.waits) > 0 {
			out.free = false // it returns at once when the time is over, say, and what calls it sees that
		}
		return out
	}
	if p.quick(c, name) {
		return crossing{free: true}
	}
	return crossing{waits: []wait{{at: c}}}
}

// through is what is waited for from a point to the function's end.
func (p *Program) through(from place, env bindings, depth int, live func(edge) bool) crossing {
	var out crossing
	type state struct {
		at     place
		waited bool
	}
	walk(state{at: from}, func(s state) (next []state, found bool) {
		for _, in := range s.at.b.Instrs[s.at.i:] {
			if ends(in) {
				return nil, false
			}
			if _, ok := in.(*ssa.Return); ok {
				out.free = out.free || !s.waited
			}
			if c := p.crossed(in, env, depth); len(c.waits) > 0 {
				out.waits = append(out.waits, c.waits...)
				s.waited = s.waited || !c.free
			}
		}
		for _, to := range s.at.b.Succs {
			if live == nil || live(edge{s.at.b, to}) {
				next = append(next, state{place{to, 0}, s.waited})
			}
		}
		return next, false
	})
	return out
}

// quickPackages do not wait; of package time and sync some functions do.
var quickPackages = map[string]bool{
	"errors": true, "fmt": true, "log": true, "log/slog": true, "strings": true, "strconv": true, "bytes": true, "math": true, "slices": true,
	"maps": true, "sort": true, "unicode": true, "unicode/utf8": true, "context": true, "sync/atomic": true, "math/rand": true,
	"math/rand/v2": true, "crypto/rand": true, "encoding/hex": true, "encoding/base64": true, "encoding/json": true, "runtime": true,
	"time": true, "sync": true, "os": true, "path": true, "crypto/sha256": true, "hash/fnv": true, "runtime/debug": true,
	"github.com/google/uuid": true, "github.com/gofrs/uuid": true, "github.com/satori/go.uuid": true, "github.com/rs/xid": true,
	"github.com/oklog/ulid": true, "github.com/pkg/errors": true, "go.uber.org/zap": true, "github.com/sirupsen/logrus": true,
	"github.com/rs/zerolog": true, "github.com/rs/zerolog/log": true, "github.com/go-logr/logr": true, "k8s.io/klog": true,
	"github.com/golang/glog": true, "github.com/prometheus/client_golang/prometheus": true,
	"go.opentelemetry.io/otel/trace": true, "go.opentelemetry.io/otel/attribute": true,
}

var slow = map[string]bool{
	"(*sync.WaitGroup).Wait": true, "(*sync.Cond).Wait": true, "fmt.Scan": true, "fmt.Scanln": true, "fmt.Scanf": true,
	"fmt.Fscan": true, "fmt.Fscanln": true, "fmt.Fscanf": true,
}

// logs are methods of loggers and counters, whatever their type is.
var logs = map[string]bool{
	"Debug": true, "Debugf": true, "Debugw": true, "Info": true, "Infof": true, "Infow": true, "Warn": true, "Warnf": true, "Warnw": true,
	"Warning": true, "Warningf": true, "Error": true, "Errorf": true, "Errorw": true, "Print": true, "Printf": true, "Println": true,
	"Log": true, "Logf": true, "Trace": true, "Tracef": true, "Inc": true, "Add": true, "Observe": true, "WithError": true,
	"WithField": true, "WithFields": true, "String": true,
}

// quick reports whether a call out of the package is known not to wait, or only for the server's answer.
func (p *Program) quick(c *ssa.Call, name string) bool {
	if _, builtin := c.Call.Value.(*ssa.Builtin); builtin {
		return true
	}
	for _, f := range p.finds[c.Call.Pos()] {
		if f.Lease.Op <= lockstate.LeaseRenew && !waitsItself(&c.Call) {
			return true
		}
	}
	obj := stores.Called(&c.Call)
	if obj == nil || slow[name] {
		return false
	}
	if obj.Pkg() == nil || quickPackages[client.Path(obj.Pkg().Path())] {
		return true
	}
	if m := client.CommandOf(obj); m != nil {
		return m.Op != client.WatchCommand && m.Op != client.QueueMulti && m.Op != client.QueuePlain
	}
	sig := obj.Signature()
	return sig.Recv() != nil && logs[obj.Name()] || client.CommandShape(obj.Name(), sig) != nil || strings.HasSuffix(name, "rueidis.IsRedisNil")
}

// ticks reports whether a channel gives a value after a constant time.
func (p *Program) ticks(ch ssa.Value, env bindings) bool {
	ts := p.timers(ch, env)
	for _, t := range ts {
		if t == nil {
			return false
		}
		if _, ok := p.constant(t.Args[0], env); !ok {
			return false
		}
	}
	return len(ts) > 0
}

// makers make a channel, or what has one, that gives a value after a time.
var makers = map[string]bool{"time.After": true, "time.Tick": true, "time.NewTicker": true, "time.NewTimer": true}

// timers are the calls that make the timer or ticker whose channel ch is; nil stands for what is none.
func (p *Program) timers(ch ssa.Value, env bindings) []*ssa.CallCommon {
	var out []*ssa.CallCommon
	for _, o := range p.origins(ch, env) {
		if u, ok := o.(*ssa.UnOp); ok && u.Op == token.MUL {
			if f, ok := u.X.(*ssa.FieldAddr); ok && timerType(f.X.Type()) {
				for _, t := range p.origins(f.X, env) {
					out = append(out, maker(t))
				}
				continue
			}
		}
		out = append(out, maker(o))
	}
	return out
}

func timerType(t types.Type) bool {
	s := t.String()
	return s == "*time.Ticker" || s == "*time.Timer"
}

func maker(v ssa.Value) *ssa.CallCommon {
	if c, ok := v.(*ssa.Call); ok && makers[calledName(&c.Call)] && !reset(c) {
		return &c.Call
	}
	return nil
}

// reset reports whether a timer is given another time later on.
func reset(v ssa.Value) bool {
	for _, r := range *v.Referrers() {
		if c, ok := r.(ssa.CallInstruction); ok && strings.HasSuffix(calledName(c.Common()), ").Reset") {
			if len(c.Common().Args) == 2 && c.Common().Args[1] == v.(*ssa.Call).Call.Args[0] {
				continue
			}
			return true
		}
	}
	return false
}

// constant is the time that v always is, in nanoseconds.
func (p *Program) constant(v ssa.Value, env bindings) (int64, bool) {
	switch v := v.(type) {
	case *ssa.Const:
		if v.Value != nil && v.Value.Kind() == constant.Int {
			return v.Int64(), true
		}
	case *ssa.Convert:
		return p.constant(v.X, env)
	case *ssa.ChangeType:
		return p.constant(v.X, env)
	case *ssa.Parameter:
		if x, ok := env[v]; ok {
			return p.constant(x, nil)
		}
	case *ssa.UnOp:
		if g, ok := v.X.(*ssa.Global); ok && v.Op == token.MUL {
			vals := p.stored[stores.Place(g)]
			if len(vals) == 1 {
				return p.constant(vals[0], nil)
			}
		}
	case *ssa.BinOp:
		x, okX := p.constant(v.X, env)
		y, okY := p.constant(v.Y, env)
		if !okX || !okY {
			return 0, false
		}
		switch v.Op {
		case token.MUL:
			return x * y, true
		case token.ADD:
			return x + y, true
		case token.SUB:
			return x - y, true
		case token.QUO:
			if y != 0 {
				return x / y, true
			}
		}
	}
	return 0, false
}
