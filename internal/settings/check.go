package settings

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// Fault is a value of an option that cannot be. Item is the number of the item in the option's list
// (of Severity, its rule's name), for those who can point at it.
type Fault struct {
	Option string
	Item   int    // -1: the option as a whole
	Key    string // the item's key that is at fault, or the rule whose severity it is; may be empty
	Text   string
}

func (f *Fault) Error() string {
	return f.Option + ": " + f.Text
}

// kinds and levels are the words that options take.
var (
	poolers = []string{"transaction", "session", "none"}
	kinds   = []string{"pool", "conn", "session", "tx"}
	levels  = []string{"error", "warning", "info"}
)

// Check finds the first value in s that cannot be; names are those of all rules.
func (s *Settings) Check(names []string) *Fault {
	for _, check := range []func([]string) *Fault{
		s.checkRules, s.checkPooler, s.checkClients, s.checkWrappers, s.checkExclude, s.checkSeverity,
	} {
		if f := check(names); f != nil {
			return f
		}
	}
	return nil
}

func (s *Settings) checkRules(names []string) *Fault {
	for i, item := range s.Rules {
		name := strings.TrimPrefix(item, "-")
		if name != "default" && name != "all" && !slices.Contains(names, name) {
			return &Fault{Rules, i, "", NoRule(name, names)}
		}
	}
	return nil
}

func (s *Settings) checkPooler([]string) *Fault {
	if s.Pooler != "" && !slices.Contains(poolers, s.Pooler) {
		return &Fault{Pooler, -1, "", oneOf(s.Pooler, poolers)}
	}
	return nil
}

func (s *Settings) checkClients([]string) *Fault {
	for i, c := range s.Clients {
		switch {
		case !qualified(c.Type):
			return &Fault{Clients, i, "type", fmt.Sprintf("%q is not a type with its import path: want example.com/store.DB", c.Type)}
		case !slices.Contains(kinds, c.Handle):
			return &Fault{Clients, i, "handle", oneOf(c.Handle, kinds)}
		}
	}
	return nil
}

func (s *Settings) checkWrappers([]string) *Fault {
	for i, w := range s.Wrappers {
		switch {
		case !qualified(w.Func):
			return &Fault{Wrappers, i, "func", fmt.Sprintf("%q is not a function with its import path: want example.com/store.Run or example.com/store.DB.Run", w.Func)}
		case w.Handle != "" && !slices.Contains(kinds, w.Handle):
			return &Fault{Wrappers, i, "handle", oneOf(w.Handle, kinds)}
		case w.SQL != nil && *w.SQL < 0:
			return &Fault{Wrappers, i, "sql", "arguments are counted from 0"}
		}
	}
	return nil
}

func (s *Settings) checkExclude([]string) *Fault {
	for i, pattern := range s.Exclude {
		if !doublestar.ValidatePattern(pattern) {
			return &Fault{Exclude, i, "", fmt.Sprintf("%q is no pattern: want something like internal/gen/**", pattern)}
		}
	}
	return nil
}

func (s *Settings) checkSeverity(names []string) *Fault {
	for _, rule := range sortedKeys(s.Severity) {
		switch level := s.Severity[rule]; {
		case !slices.Contains(names, rule):
			return &Fault{Severity, -1, rule, NoRule(rule, names)}
		case !slices.Contains(levels, level):
			return &Fault{Severity, -1, rule, oneOf(level, levels)}
		}
	}
	return nil
}

func sortedKeys(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }

func oneOf(got string, want []string) string {
	return fmt.Sprintf("%q is not one of %s", got, strings.Join(want, ", "))
}

// qualified reports whether a name has an import path and a name behind a dot.
func qualified(name string) bool {
	name = name[strings.LastIndexByte(name, '/')+1:]
	pkg, rest, ok := strings.Cut(name, ".")
	return ok && pkg != "" && rest != "" && !strings.HasSuffix(rest, ".") && !strings.ContainsAny(name, "()* \t")
}

// NoRule says that there is no rule of that name, and which may have been meant.
func NoRule(name string, names []string) string {
	for _, n := range names {
		if distance(name, n) <= 2 {
			return fmt.Sprintf("there is no rule %q; is it %s? ('advisorylint rules' lists them)", name, n)
		}
	}
	return fmt.Sprintf("there is no rule %q ('advisorylint rules' lists them)", name)
}

// distance is how many letters must be put in, taken out or changed to make b of a.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}
