package pgadvisory

import (
	"sync"

	"github.com/advisorylint/advisorylint/runtime/lock"
)

// holds finds what a Backend holds by the key's value: of several, which are shared, the last.
type holds struct {
	mu sync.Mutex
	of map[int64]*hold
}

func (s *holds) add(h *hold) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.of == nil {
		s.of = map[int64]*hold{}
	}
	for _, key := range h.request.Keys {
		s.of[key.Int64()] = h
	}
}

func (s *holds) remove(h *hold) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, key := range h.request.Keys {
		if s.of[key.Int64()] == h {
			delete(s.of, key.Int64())
		}
	}
}

// get gives nil when key is not held.
func (s *holds) get(key lock.Key) *hold {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.of[key.Int64()]
}
