package lockflow

import "go/types"

// typeIndex answers which of some types implement an interface. To ask types.Implements of each type for each
// interface is quadratic, which shows in generated code with hundreds of both.
type typeIndex struct {
	all      []*types.Named
	byMethod map[string][]*types.Named // by the Id of a method that a pointer to the type has
	known    map[*types.Interface][]*types.Named
}

func newTypeIndex(all []*types.Named) *typeIndex {
	x := &typeIndex{all: all, byMethod: map[string][]*types.Named{}, known: map[*types.Interface][]*types.Named{}}
	for _, n := range all {
		for m := range types.NewMethodSet(types.NewPointer(n)).Methods() {
			x.byMethod[m.Obj().Id()] = append(x.byMethod[m.Obj().Id()], n)
		}
	}
	return x
}

// implementing are the types a pointer to which implements an interface, in the order of the index. Only those
// that have the interface's rarest method are asked.
func (x *typeIndex) implementing(it *types.Interface) []*types.Named {
	if out, ok := x.known[it]; ok {
		return out
	}
	some := x.all
	for m := range it.Methods() {
		if have := x.byMethod[m.Id()]; len(have) < len(some) {
			some = have
		}
	}
	var out []*types.Named
	for _, n := range some {
		if types.Implements(types.NewPointer(n), it) {
			out = append(out, n)
		}
	}
	x.known[it] = out
	return out
}
