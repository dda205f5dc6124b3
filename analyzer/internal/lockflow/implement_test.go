package lockflow

import (
	"go/types"
	"slices"
	"testing"
)

// The index gives what types.Implements gives when each type is asked for each interface: for exported and
// unexported methods, embedded types, methods of values and of pointers, and interfaces without methods.
func TestTypeIndexGivesAllImplementers(t *testing.T) {
	var interfaces, others []*types.Named
	for _, path := range []string{"io", "fmt", "net", "net/http", "go/ast", "go/types", "database/sql", "database/sql/driver", "testing"} {
		pkg, err := stdlib.Import(path)
		if err != nil {
			t.Fatal(err)
		}
		i, o := declared(pkg)
		interfaces, others = append(interfaces, i...), append(others, o...)
	}
	index, pairs := newTypeIndex(others), 0
	for _, n := range interfaces {
		it := n.Underlying().(*types.Interface)
		var want []*types.Named
		for _, o := range others {
			if types.Implements(types.NewPointer(o), it) {
				want = append(want, o)
			}
		}
		pairs += len(want)
		for range 2 { // what is kept is the same
			if got := index.implementing(it); !slices.Equal(got, want) {
				t.Errorf("%v: %v, want %v", n, got, want)
			}
		}
	}
	if len(interfaces) < 50 || pairs < 200 {
		t.Errorf("only %d interfaces with %d implementers", len(interfaces), pairs)
	}
}
