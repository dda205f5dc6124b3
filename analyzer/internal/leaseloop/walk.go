package leaseloop

import "golang.org/x/tools/go/ssa"

// place is a point before an instruction.
type place struct {
	b *ssa.BasicBlock
	i int
}

func after(in ssa.Instruction) place {
	for i, x := range in.Block().Instrs {
		if x == in {
			return place{in.Block(), i + 1}
		}
	}
	return place{in.Block(), len(in.Block().Instrs)}
}

// walk visits a point and all that its visits lead to, each once, until one of them finds what is looked
// for. It reports whether one did.
func walk[P comparable](from P, visit func(P) (next []P, found bool)) bool {
	seen := map[P]bool{}
	list := []P{from}
	for len(list) > 0 {
		at := list[len(list)-1]
		list = list[:len(list)-1]
		if seen[at] {
			continue
		}
		seen[at] = true
		next, found := visit(at)
		if found {
			return true
		}
		list = append(list, next...)
	}
	return false
}
