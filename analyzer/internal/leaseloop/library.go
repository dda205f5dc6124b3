package leaseloop

import (
	"math/big"
	"time"

	"golang.org/x/tools/go/ssa"
)

// libraryTTL is the argument, receiver first, by which a library's call says how long its lock lives.
var libraryTTL = map[string]int{
	"(*github.com/bsm/redislock.Client).Obtain": 3, "(*github.com/bsm/redislock.Client).ObtainMulti": 3,
	"github.com/bsm/redislock.Obtain": 3, "(*github.com/bsm/redislock.Lock).Refresh": 2,
}

// redsync's mutexes get their expiry when they are made.
const (
	redsyncMake   = "(*github.com/go-redsync/redsync/v4.Redsync).NewMutex"
	redsyncExpiry = "github.com/go-redsync/redsync/v4.WithExpiry"
	// redsyncDefault is the expiry of a mutex that is made without WithExpiry.
	redsyncDefault = 8 * time.Second
)

// libraryLives are the times that the lock of a library's renewal lives for: by the renewal, and by what
// made its receiver.
func (p *Program) libraryLives(c *ssa.CallCommon) []span {
	out := p.libraryLife(c)
	if fn := c.StaticCallee(); fn == nil || fn.Signature.Recv() == nil || len(c.Args) == 0 {
		return out
	}
	made := p.origins(c.Args[0], nil)
	if len(made) != 1 {
		return out
	}
	if x, ok := made[0].(*ssa.Extract); ok {
		made[0] = x.Tuple
	}
	if m, ok := made[0].(*ssa.Call); ok {
		out = append(out, p.libraryLife(&m.Call)...)
	}
	return out
}

func (p *Program) libraryLife(c *ssa.CallCommon) []span {
	name := calledName(c)
	if i, ok := libraryTTL[name]; ok && i < len(c.Args) {
		return p.spans(c.Args[i])
	}
	if name != redsyncMake {
		return nil
	}
	options, ok := elements(c.Args[len(c.Args)-1])
	if !ok {
		return nil
	}
	for _, o := range options {
		call, ok := o.(*ssa.Call)
		if !ok {
			return nil
		}
		if calledName(&call.Call) == redsyncExpiry {
			return p.spans(call.Call.Args[0])
		}
	}
	return []span{{num: new(big.Rat).SetInt64(int64(redsyncDefault))}}
}

// spans are what is known of a time, in its function and by its callers.
func (p *Program) spans(v ssa.Value) []span {
	var out []span
	for _, far := range []bool{false, true} {
		if s, ok := p.span(v, far, 0); ok {
			out = append(out, s)
		}
	}
	return out
}

// elements are those of a variadic argument, when they are written one by one.
func elements(v ssa.Value) ([]ssa.Value, bool) {
	if c, ok := v.(*ssa.Const); ok && c.IsNil() {
		return nil, true
	}
	s, ok := v.(*ssa.Slice)
	if !ok {
		return nil, false
	}
	array, ok := s.X.(*ssa.Alloc)
	if !ok {
		return nil, false
	}
	var out []ssa.Value
	for _, r := range *array.Referrers() {
		at, ok := r.(*ssa.IndexAddr)
		if !ok {
			continue
		}
		for _, r := range *at.Referrers() {
			if st, ok := r.(*ssa.Store); ok && st.Addr == at {
				out = append(out, st.Val)
			}
		}
	}
	return out, true
}
