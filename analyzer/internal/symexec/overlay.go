package symexec

import (
	"iter"
	"maps"
)

// overlay is a map of which copies are cheap. They share what was written before, and each lays over it what
// it writes itself. The zero overlay is empty.
type overlay[K comparable, V any] struct {
	own  map[K]V // written since the last copy
	base *layer[K, V]
}

// layer is what was written between two copies. It does not change any more.
type layer[K comparable, V any] struct {
	vals map[K]V
	base *layer[K, V]
}

// copy gives another overlay with the same content.
func (m *overlay[K, V]) copy() overlay[K, V] {
	if len(m.own) > 0 {
		m.base, m.own = pile(m.base, m.own), nil
	}
	return overlay[K, V]{base: m.base}
}

// pile lays vals over base. A layer has at least twice the size of the one over it, so there are few of them,
// and a value is seldom moved.
func pile[K comparable, V any](base *layer[K, V], vals map[K]V) *layer[K, V] {
	for ; base != nil && len(base.vals) < 2*len(vals); base = base.base {
		lower := maps.Clone(base.vals)
		maps.Copy(lower, vals)
		vals = lower
	}
	return &layer[K, V]{vals, base}
}

func (m *overlay[K, V]) get(k K) (v V, ok bool) {
	if v, ok = m.own[k]; ok {
		return v, true
	}
	for l := m.base; l != nil; l = l.base {
		if v, ok = l.vals[k]; ok {
			return v, true
		}
	}
	return v, false
}

func (m *overlay[K, V]) set(k K, v V) {
	if m.own == nil {
		m.own = map[K]V{}
	}
	m.own[k] = v
}

func (m *overlay[K, V]) remove(keys []K) {
	if len(keys) == 0 {
		return
	}
	vals := m.all()
	for _, k := range keys {
		delete(vals, k)
	}
	*m = overlay[K, V]{own: vals}
}

// all is the whole content, in the map's own place where it shares nothing.
func (m *overlay[K, V]) all() map[K]V { return m.above(nil) }

// above is what was written over a layer.
func (m *overlay[K, V]) above(end *layer[K, V]) map[K]V {
	if m.base == end {
		return m.own
	}
	vals := map[K]V{}
	maps.Copy(vals, m.own)
	for l := m.base; l != end; l = l.base {
		for k, v := range l.vals {
			if _, hidden := vals[k]; !hidden {
				vals[k] = v
			}
		}
	}
	return vals
}

// apart gives each key once under which a and b may have different values. Both may be written meanwhile, but
// only under that key.
func apart[K comparable, V any](a, b *overlay[K, V]) iter.Seq[K] {
	end := shared(a, b)
	return func(yield func(K) bool) {
		inB := b.above(end)
		for k := range inB {
			if !yield(k) {
				return
			}
		}
		for k := range a.above(end) {
			if _, done := inB[k]; !done && !yield(k) {
				return
			}
		}
	}
}

// shared is the uppermost layer that two maps have in common, nil for none.
func shared[K comparable, V any](a, b *overlay[K, V]) *layer[K, V] {
	in := map[*layer[K, V]]bool{}
	for l := a.base; l != nil; l = l.base {
		in[l] = true
	}
	l := b.base
	for l != nil && !in[l] {
		l = l.base
	}
	return l
}
