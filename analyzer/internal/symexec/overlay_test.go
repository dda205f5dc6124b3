package symexec

import (
	"maps"
	"math/rand/v2"
	"testing"
)

// twin is an overlay and the plain map that it must be like.
type twin struct {
	o overlay[int, int]
	m map[int]int
}

// Copies that are written and copied again are each like a map of their own.
func TestOverlayIsLikeAMap(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	all := []*twin{{m: map[int]int{}}}
	for range 4000 {
		w := all[r.IntN(len(all))]
		switch k := r.IntN(200); r.IntN(12) {
		case 0:
			c := &twin{w.o.copy(), maps.Clone(w.m)}
			if len(all) < 12 {
				all = append(all, c)
			} else {
				all[r.IntN(len(all))] = c
			}
		case 1:
			w.o.remove([]int{k, k + 1})
			delete(w.m, k)
			delete(w.m, k+1)
		default:
			w.o.set(k, r.IntN(3))
			w.m[k], _ = w.o.get(k)
		}
	}
	for _, w := range all {
		if !maps.Equal(w.o.all(), w.m) {
			t.Fatalf("%v, want %v", w.o.all(), w.m)
		}
		for k := range 200 {
			v, ok := w.o.get(k)
			if have, in := w.m[k]; v != have || ok != in {
				t.Fatalf("at %d %d %t, want %d %t", k, v, ok, have, in)
			}
		}
	}
	for _, a := range all {
		for _, b := range all {
			seen := map[int]bool{}
			for k := range apart(&a.o, &b.o) {
				if seen[k] {
					t.Fatalf("%d twice", k)
				}
				seen[k] = true
			}
			for k := range 200 {
				v, inA := a.m[k]
				w, inB := b.m[k]
				if (v != w || inA != inB) && !seen[k] {
					t.Fatalf("different at %d, which is not told", k)
				}
			}
		}
	}
}

// What was written before a copy is not gone through when the copies are compared, and a copy takes no memory
// of its own for it.
func TestOverlayCopiesShare(t *testing.T) {
	var a overlay[int, int]
	for k := range 1000 {
		a.set(k, k)
	}
	b := a.copy()
	b.set(7, 8)
	a.set(9, 10)
	keys := map[int]bool{}
	for k := range apart(&a, &b) {
		keys[k] = true
	}
	if !maps.Equal(keys, map[int]bool{7: true, 9: true}) {
		t.Errorf("apart at %v", keys)
	}
	if n := testing.AllocsPerRun(100, func() { c := b.copy(); b = c.copy() }); n > 0 {
		t.Errorf("%v allocations for two copies of what has not changed", n)
	}
}

// Once all is removed, copies do not write to one another.
func TestOverlayCopiesOfWhatWasEmptied(t *testing.T) {
	var a overlay[int, int]
	a.set(1, 1)
	a.remove([]int{1})
	b := a.copy()
	a.set(2, 2)
	if _, ok := b.get(2); ok {
		t.Error("what was written to one is in the other")
	}
}
