// Package leaseloop says what the loops of a package do to locks that it takes and renews: an acquire that
// is tried again without a wait (retry.go), a renewal that nothing ends (endless.go) or that comes too late
// (interval.go). The paths that package symexec follows go round a loop a few times and end; what makes a
// loop go on or end is in the control flow, which this package looks at.
package leaseloop

import (
	"go/token"
	"go/types"

	"golang.org/x/tools/go/ssa"

	"github.com/advisorylint/advisorylint/analyzer/internal/client"
	"github.com/advisorylint/advisorylint/analyzer/internal/lockstate"
	"github.com/advisorylint/advisorylint/analyzer/internal/stores"
	"github.com/advisorylint/advisorylint/analyzer/internal/summary"
)

// maxDepth is how many calls deep a loop's body is looked at.
const maxDepth = 4

// Program is a package's functions, with what ties them together.
type Program struct {
	posn    func(token.Pos) string
	fns     []*ssa.Function
	own     map[*ssa.Function]bool
	calls   map[token.Pos]ssa.CallInstruction // by the call's left parenthesis
	makes   map[*ssa.Function]*ssa.MakeClosure
	callers map[*ssa.Function][]ssa.CallInstruction
	stored  map[string][]ssa.Value             // into fields and variables, by place
	addrs   map[string][]ssa.Value             // addresses of fields, by place
	read    map[string][]ssa.Value             // fields of struct values, by place
	finds   map[token.Pos][]*lockstate.Finding // what is known of a call
	// renewing are the functions with a call that renews a lock.
	renewing map[*ssa.Function]bool
}

// New indexes the functions of a package; posn writes a position as summary.Step has it.
func New(fns []*ssa.Function, posn func(token.Pos) string) *Program {
	p := &Program{posn: posn, fns: fns, own: map[*ssa.Function]bool{}, calls: map[token.Pos]ssa.CallInstruction{},
		makes: map[*ssa.Function]*ssa.MakeClosure{}, callers: map[*ssa.Function][]ssa.CallInstruction{},
		stored: map[string][]ssa.Value{}, addrs: map[string][]ssa.Value{}, read: map[string][]ssa.Value{}, finds: map[token.Pos][]*lockstate.Finding{}, renewing: map[*ssa.Function]bool{}}
	for _, fn := range fns {
		p.own[fn] = true
		for _, b := range fn.Blocks {
			for _, in := range b.Instrs {
				p.add(in)
			}
		}
	}
	return p
}

func (p *Program) add(in ssa.Instruction) {
	switch in := in.(type) {
	case *ssa.FieldAddr:
		if place := stores.Place(in); place != "" {
			p.addrs[place] = append(p.addrs[place], in)
		}
	case *ssa.Field:
		if place := fieldPlace(in); place != "" {
			p.read[place] = append(p.read[place], in)
		}
	case *ssa.Store:
		if place := stores.Place(in.Addr); place != "" {
			p.stored[place] = append(p.stored[place], in.Val)
		}
	case *ssa.MakeClosure:
		p.makes[in.Fn.(*ssa.Function)] = in
	case ssa.CallInstruction:
		p.calls[in.Common().Pos()] = in
		if fn := in.Common().StaticCallee(); fn != nil {
			p.callers[fn] = append(p.callers[fn], in)
		}
	}
}

// fieldPlace names a struct value's field as stores.Place names one behind a pointer.
func fieldPlace(f *ssa.Field) string {
	st, ok := f.X.Type().Underlying().(*types.Struct)
	name := client.TypeName(f.X.Type())
	if !ok || name == "" {
		return ""
	}
	return name + "." + st.Field(f.Field).Name()
}

// Judge adds what loops do to the findings of a package's commands, and gives the findings that are about
// no command: of goroutines, tickers and sleeps.
func (p *Program) Judge(found []*lockstate.Finding) []*lockstate.Finding {
	for _, f := range found {
		if f.Lease == nil {
			continue
		}
		for _, s := range f.Effect.Steps {
			if p.local(s) {
				p.finds[s.Pos] = append(p.finds[s.Pos], f)
				if f.Lease.Op == lockstate.LeaseRenew {
					p.renewing[p.calls[s.Pos].Parent()] = true
				}
			}
		}
	}
	for _, f := range found {
		if f.Lease != nil && f.Lease.Op == lockstate.LeaseAcquire {
			p.retry(f)
		}
	}
	if len(p.renewing) == 0 { // no renewal that could be endless or late
		return nil
	}
	return append(p.endless(), p.late(found)...)
}

// local reports whether a step is in this package.
func (p *Program) local(s summary.Step) bool {
	return s.Pos.IsValid() && p.calls[s.Pos] != nil && p.posn(s.Pos) == s.Posn
}

// renews gives the finding of a renewal that goes through a call, nil when there is none.
func (p *Program) renews(c ssa.CallInstruction) *lockstate.Finding {
	for _, f := range p.finds[c.Common().Pos()] {
		if f.Lease.Op == lockstate.LeaseRenew {
			return f
		}
	}
	return nil
}

// newFinding is one about the call at c that has to do with the renewal f.
func (p *Program) newFinding(c *ssa.CallCommon, f *lockstate.Finding, v lockstate.Verdict) *lockstate.Finding {
	lease := *f.Lease
	step := summary.Step{Pos: c.Pos(), Posn: p.posn(c.Pos()), Name: c.Description()}
	return &lockstate.Finding{Effect: &summary.Effect{Op: summary.Command, Cmd: f.Effect.Cmd, Steps: []summary.Step{step}},
		Name: "loop", Lease: &lease, Key: f.Key, Verdicts: v}
}
