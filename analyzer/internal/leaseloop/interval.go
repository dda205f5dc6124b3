package leaseloop

import (
	"go/constant"
	"go/token"
	"go/types"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/tools/go/ssa"

	"github.com/advisorylint/advisorylint/analyzer/internal/lockstate"
	"github.com/advisorylint/advisorylint/analyzer/internal/stores"
	"github.com/advisorylint/advisorylint/analyzer/internal/term"
)

// late finds the loops that wait between two renewals for as long as the lock lives, or longer, and gives
// the calls that make them wait.
func (p *Program) late(found []*lockstate.Finding) []*lockstate.Finding {
	var out []*lockstate.Finding
	told := map[*ssa.CallCommon]bool{}
	for _, fn := range p.fns {
		if !p.renewing[fn] {
			continue
		}
		for _, l := range loops(fn) {
			call, f := p.renewalIn(l)
			if f == nil {
				continue
			}
			for _, c := range p.tooLong(l, call, p.lives(l, found)) {
				if !told[c] {
					told[c] = true
					out = append(out, p.newFinding(c, f, lockstate.TooSlow))
				}
			}
		}
	}
	return out
}

// tooLong are the calls that make a loop wait for longer than its lock lives, when each round from a renewal
// to itself has such a wait.
func (p *Program) tooLong(l loop, renewal *ssa.Call, ttls []span) []*ssa.CallCommon {
	var out []*ssa.CallCommon
	long := map[ssa.Instruction]bool{}
	for _, w := range p.pauses(l) {
		slow := len(w.calls) > 0
		for _, c := range w.calls {
			slow = slow && p.slower(c.Args[0], ttls)
		}
		if slow {
			long[w.at] = true
			out = append(out, w.calls...)
		}
	}
	if roundWithout(renewal, long) {
		return nil
	}
	return out
}

// roundWithout reports whether a way leads from a call back to itself by none of some instructions.
func roundWithout(call *ssa.Call, bars map[ssa.Instruction]bool) bool {
	return walk(after(call), func(at place) (next []place, found bool) {
		for _, in := range at.b.Instrs[at.i:] {
			switch {
			case in == ssa.Instruction(call):
				return nil, true
			case bars[in]:
				return nil, false
			}
		}
		for _, s := range at.b.Succs {
			next = append(next, place{s, 0})
		}
		return next, false
	})
}

// pause is a point at which a loop waits, and the calls that say for how long; none when that is not known.
type pause struct {
	at    ssa.Instruction
	calls []*ssa.CallCommon
}

func (p *Program) pauses(l loop) []pause {
	var out []pause
	for _, b := range l.blocks {
		for _, in := range b.Instrs {
			switch in := in.(type) {
			case *ssa.Call:
				if calledName(&in.Call) == "time.Sleep" {
					out = append(out, pause{in, []*ssa.CallCommon{&in.Call}})
				}
			case *ssa.UnOp:
				if in.Op == token.ARROW {
					out = append(out, pause{in, known(p.timers(in.X, nil))})
				}
			case *ssa.Select:
				if in.Blocking {
					out = append(out, pause{in, p.cases(in, l)})
				}
			}
		}
	}
	return out
}

// cases are the calls that say after which time a select goes on with the loop.
func (p *Program) cases(s *ssa.Select, l loop) []*ssa.CallCommon {
	var out []*ssa.CallCommon
	for i, st := range s.States {
		to := caseBlock(s, i)
		if to != nil && !l.has[to] {
			continue // it ends the loop
		}
		ts := known(p.timers(st.Chan, nil))
		if ts == nil {
			return nil
		}
		out = append(out, ts...)
	}
	return out
}

// known gives the calls when all of them are.
func known(ts []*ssa.CallCommon) []*ssa.CallCommon {
	for _, t := range ts {
		if t == nil {
			return nil
		}
	}
	return ts
}

// span is a length of time: num times what a parameter or a field holds, or num nanoseconds.
type span struct {
	num *big.Rat
	of  string
}

// maxRatio tells a wait that is too long from two numbers in different units.
const maxRatio = 1000

// slower reports whether a wait is certainly no shorter than one of the times that a lock lives for. A
// parameter is compared as such, and as what the only caller gives.
func (p *Program) slower(wait ssa.Value, ttls []span) bool {
	for _, w := range p.spans(wait) {
		for _, t := range ttls {
			if t.of != w.of || t.num.Sign() <= 0 {
				continue
			}
			r := new(big.Rat).Quo(w.num, t.num)
			if r.Cmp(big.NewRat(1, 1)) >= 0 && r.Cmp(big.NewRat(maxRatio, 1)) < 0 {
				return true
			}
		}
	}
	return false
}

// lives are the times to which the renewals in a loop, and the acquires before them, set a key's expiry.
func (p *Program) lives(l loop, found []*lockstate.Finding) []span {
	var out []span
	for _, b := range l.blocks {
		for _, in := range b.Instrs {
			c, ok := in.(*ssa.Call)
			if !ok {
				continue
			}
			for _, f := range p.finds[c.Call.Pos()] {
				if f.Lease.Op == lockstate.LeaseRenew {
					out = append(out, p.livesOf(f, found)...)
					for _, step := range f.Effect.Steps {
						if p.local(step) {
							out = append(out, p.libraryLives(p.calls[step.Pos].Common())...)
						}
					}
				}
			}
		}
	}
	return out
}

// livesOf are those of one renewal. Where no acquire is in the renewal's function, those of the same key
// must agree.
func (p *Program) livesOf(f *lockstate.Finding, found []*lockstate.Finding) []span {
	var out []span
	if s, ok := p.life(f); ok {
		out = append(out, s)
	}
	if f.Other != nil {
		if s, ok := p.life(f.Other); ok {
			out = append(out, s)
		}
		return out
	}
	var same *span
	for _, g := range found {
		if g.Lease == nil || g.Lease.Op != lockstate.LeaseAcquire || !sameKey(f, g) {
			continue
		}
		s, ok := p.life(g)
		if !ok || same != nil && (same.of != s.of || same.num.Cmp(s.num) != 0) {
			return out
		}
		same = &s
	}
	if same != nil {
		out = append(out, *same)
	}
	return out
}

func (p *Program) life(f *lockstate.Finding) (span, bool) {
	if f.Effect.Cmd == nil || f.Effect.Cmd.TTL == nil || len(f.Effect.Steps) == 0 {
		return span{}, false
	}
	var root *ssa.Function // whose parameters the terms have
	if c := p.calls[f.Effect.Steps[0].Pos]; c != nil {
		for root = c.Parent(); root.Parent() != nil; {
			root = root.Parent()
		}
	}
	return termSpan(f.Effect.Cmd.TTL, root, 0)
}

// sameKey reports whether two findings' keys are written alike, with a constant part or in a field.
func sameKey(f, g *lockstate.Finding) bool {
	a, b := keyForm(f), keyForm(g)
	return a != "" && a == b
}

func keyForm(f *lockstate.Finding) string {
	if f.Effect.Cmd == nil || len(f.Effect.Cmd.Keys) == 0 {
		return ""
	}
	t := f.Effect.Cmd.Keys[0]
	for t.Op == term.As || t.Op == term.Conv {
		t = t.Args[0]
	}
	switch t.Op {
	case term.Const:
		return t.Str
	case term.Load, term.Field:
		if of, ok := symbol(t); ok {
			return of
		}
	case term.Concat:
		var b strings.Builder
		constant := false
		for _, a := range t.Args {
			s, ok := a.StrVal()
			constant = constant || ok
			if !ok {
				s = "\x00"
			}
			b.WriteString(s)
		}
		if constant {
			return b.String()
		}
	}
	return ""
}

// symbol names the field or variable that a term is.
func symbol(t *term.Term) (string, bool) {
	switch {
	case t.Op == term.Load && t.Args[0].Op == term.FieldPtr && t.Args[0].Type != "":
		return t.Args[0].Type + "." + t.Args[0].Str, true
	case t.Op == term.Load && t.Args[0].Op == term.Global:
		return t.Args[0].Str, true
	case t.Op == term.Field && t.Args[0].Type != "":
		return t.Args[0].Type + "." + t.Str, true
	}
	return "", false
}

// units are what conversions of a duration to a number of something divide by; the number is meant in it.
var units = map[string]bool{"(time.Duration).Milliseconds": true, "(time.Duration).Seconds": true, "(time.Duration).Nanoseconds": true}

// termSpan reads an expiry. A number of seconds or milliseconds that is made from a duration is taken for
// the duration.
func termSpan(t *term.Term, root *ssa.Function, depth int) (span, bool) {
	if depth > maxDepth {
		return span{}, false
	}
	switch t.Op {
	case term.As, term.Conv:
		return termSpan(t.Args[0], root, depth)
	case term.Const:
		if n, ok := strings.CutPrefix(t.Str, "i:"); ok {
			r, ok := new(big.Rat).SetString(n)
			return span{num: r}, ok
		}
	case term.Param:
		if root == nil {
			return span{}, false
		}
		return span{big.NewRat(1, 1), "parameter " + t.Str + " of " + root.String()}, true
	case term.Call:
		if units[t.Str] && len(t.Args) == 1 {
			return termSpan(t.Args[0], root, depth+1)
		}
	case term.Bin:
		if y := t.Args[1].Str; t.Str == "/" && (y == "i:1000000" || y == "i:1000000000") {
			return termSpan(t.Args[0], root, depth+1)
		}
		x, okX := termSpan(t.Args[0], root, depth+1)
		y, okY := termSpan(t.Args[1], root, depth+1)
		return combine(t.Str, x, y, okX && okY)
	}
	of, ok := symbol(t)
	return span{big.NewRat(1, 1), of}, ok
}

func combine(op string, x, y span, ok bool) (span, bool) {
	if !ok {
		return span{}, false
	}
	switch {
	case op == "+" && x.of == y.of:
		return span{new(big.Rat).Add(x.num, y.num), x.of}, true
	case op == "-" && x.of == y.of:
		return span{new(big.Rat).Sub(x.num, y.num), x.of}, true
	case op == "*" && (x.of == "" || y.of == ""):
		return span{new(big.Rat).Mul(x.num, y.num), x.of + y.of}, true
	case op == "/" && y.of == "" && y.num.Sign() > 0:
		return span{new(big.Rat).Quo(x.num, y.num), x.of}, true
	}
	return span{}, false
}

// span reads a wait; with far, parameters are what the callers give.
func (p *Program) span(v ssa.Value, far bool, depth int) (span, bool) {
	if depth > maxDepth {
		return span{}, false
	}
	switch v := v.(type) {
	case *ssa.Const:
		if v.Value == nil || v.Value.Kind() != constant.Int {
			return span{}, false
		}
		return span{num: new(big.Rat).SetInt64(v.Int64())}, true
	case *ssa.Convert:
		if b, ok := v.X.Type().Underlying().(*types.Basic); ok && b.Info()&types.IsInteger != 0 {
			return p.span(v.X, far, depth)
		}
		return span{}, false
	case *ssa.ChangeType:
		return p.span(v.X, far, depth)
	case *ssa.BinOp:
		x, okX := p.span(v.X, far, depth+1)
		y, okY := p.span(v.Y, far, depth+1)
		return combine(v.Op.String(), x, y, okX && okY)
	case *ssa.UnOp:
		if v.Op == token.MUL {
			if place := stores.Place(v.X); place != "" {
				return span{big.NewRat(1, 1), place}, true
			}
		}
	}
	o := p.originsIn(v, far)
	if len(o) != 1 || o[0] == v {
		return paramSpan(v)
	}
	return p.span(o[0], far, depth+1)
}

// paramSpan is a parameter of a declared function, by its number, as terms have it.
func paramSpan(v ssa.Value) (span, bool) {
	x, ok := v.(*ssa.Parameter)
	if !ok || x.Parent().Object() == nil {
		return span{}, false
	}
	i := slices.Index(x.Parent().Params, x)
	return span{big.NewRat(1, 1), "parameter " + strconv.Itoa(i) + " of " + x.Parent().String()}, true
}
