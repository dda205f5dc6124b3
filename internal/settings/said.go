package settings

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// Said is what all who were heard in this process say of types and functions: the driver, and each
// configuration file that was read. What one says of a type holds wherever the type is used.
type Said struct {
	Clients  []Client
	Wrappers []Wrapper
}

var (
	saying  sync.Mutex
	sources = map[string]Said{} // by path of the file; "" is the driver
	said    atomic.Pointer[Said]
)

// Digest is a text that differs where what is said differs; nil says nothing.
func (s *Said) Digest() string {
	if s == nil {
		return ""
	}
	var lines []string
	for _, c := range s.Clients {
		lines = append(lines, fmt.Sprintf("client %s=%s\n", c.Type, c.Handle))
	}
	for _, w := range s.Wrappers {
		lines = append(lines, fmt.Sprintf("wrapper %s\n", w.text()))
	}
	slices.Sort(lines)
	return strings.Join(lines, "")
}

// AllSaid gives the same pointer until something new is said; nil when nothing is.
func AllSaid() *Said { return said.Load() }

// say takes what one source says in the place of what it said before.
func say(source string, s *Settings) {
	saying.Lock()
	defer saying.Unlock()
	before := sources[source]
	if slices.Equal(before.Clients, s.Clients) && slices.EqualFunc(before.Wrappers, s.Wrappers, sameWrapper) {
		return
	}
	sources[source] = Said{s.Clients, s.Wrappers}
	all := &Said{}
	for _, one := range sources {
		all.Clients = append(all.Clients, one.Clients...)
		all.Wrappers = append(all.Wrappers, one.Wrappers...)
	}
	said.Store(all)
}

func sameWrapper(a, b Wrapper) bool { return a.text() == b.text() }
