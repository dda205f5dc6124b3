package provenance

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/advisorylint/advisorylint/analyzer/internal/sqltext"
	"github.com/advisorylint/advisorylint/analyzer/internal/term"
)

// Key is a lock's key.
type Key struct {
	Parts      []string // one for each argument, in a canonical form
	Constant   bool     // all parts are constants
	Comparable bool     // equal forms mean equal keys, and unequal paths are meant to differ
	Show       string   // for messages
	Hash32     bool
	Narrowed   bool
	TooLong    bool

	mysql bool
}

// maxNameLen is the longest lock name that MySQL 8 takes, in characters.
const maxNameLen = 64

// KeyOf is the key of a lock call.
func (r *Reader) KeyOf(c *sqltext.Call, t Text, args []*term.Term) Key {
	k := Key{Constant: true, Comparable: true, Hash32: c.HashesKey != "", mysql: c.Func.System == sqltext.MySQL}
	all := append(append([]*term.Term(nil), t.Args...), args...)
	var shows []string
	for _, a := range c.Args {
		p := r.part(a, t, all, &k)
		k.Parts = append(k.Parts, p)
		shows = append(shows, show(a))
		if c.Func.System == sqltext.MySQL && r.length(a, t, all) > maxNameLen {
			k.TooLong = true
		}
	}
	k.Show = strings.Join(shows, ", ")
	return k
}

func show(a sqltext.Arg) string {
	if a.Kind == sqltext.Literal || a.Kind == sqltext.Expr {
		return a.Text
	}
	return ""
}

// operand is the term that a placeholder or a hole stands for.
func operand(a sqltext.Arg, t Text, args []*term.Term) *term.Term {
	switch {
	case a.Kind == sqltext.Hole && a.Index < len(t.Holes):
		return t.Holes[a.Index]
	case a.Kind == sqltext.Placeholder && a.Name != "":
		for _, x := range args {
			if x.Op == term.Slot && x.Str == a.Name {
				return x.Args[0]
			}
		}
	case a.Kind == sqltext.Placeholder && a.Index < len(args):
		if x := args[a.Index]; x.Op != term.Slot {
			return x
		}
	}
	return nil
}

func (r *Reader) part(a sqltext.Arg, t Text, args []*term.Term, k *Key) string {
	fold := func(s string) string { return s }
	if k.mysql { // names of locks are not case-sensitive there
		fold = strings.ToLower
	}
	switch a.Kind {
	case sqltext.Literal:
		return "=" + fold(a.Text)
	case sqltext.Placeholder, sqltext.Hole:
		v := operand(a, t, args)
		if v == nil {
			k.Constant, k.Comparable = false, false
			return "?"
		}
		if vals, ok := r.stores(v); ok && len(vals) == 1 && vals[0].Op == term.Const {
			v = vals[0]
		}
		k.faults(v)
		if s, ok := constText(v); ok {
			return "=" + fold(s)
		}
		k.Constant = false
		if !path(v) {
			k.Comparable = false
		}
		return v.Key()
	case sqltext.Expr:
		k.Constant = false
		out := a.Text
		for _, p := range a.Parts {
			out += "|" + r.part(p, t, args, k)
		}
		return out
	}
	k.Constant, k.Comparable = false, false
	return "?"
}

func constText(v *term.Term) (string, bool) {
	if s, ok := v.StrVal(); ok {
		return s, true
	}
	return v.IntVal()
}

// path reports whether v is made of parameters, fields and pure calls only, so that two terms are
// equal just when the program means the same thing.
func path(v *term.Term) bool {
	return !v.Has(func(t *term.Term) bool {
		return t.Site != "" || t.Op == term.Opaque || t.Op == term.Phi || t.Op == term.Answer
	})
}

// hashes32 are calls that give 32 bits.
var hashes32 = []string{"hash/crc32.", "hash/adler32.", "hash/fnv.New32", "(hash.Hash32).Sum32", "github.com/spaolacci/murmur3.Sum32",
	"github.com/twmb/murmur3.Sum32", "github.com/OneOfOne/xxhash.Checksum32"}

func (k *Key) faults(v *term.Term) {
	v.Walk(func(t *term.Term) bool {
		if t.Op == term.Conv && strings.HasSuffix(t.Str, "int32") {
			k.Narrowed = true
		}
		if t.Op == term.Call {
			for _, h := range hashes32 {
				if strings.HasPrefix(t.Str, h) {
					k.Hash32 = true
				}
			}
		}
		return true
	})
}

// length is the least number of characters that a MySQL lock name has.
func (r *Reader) length(a sqltext.Arg, t Text, args []*term.Term) int {
	if a.Kind == sqltext.Literal && a.Str {
		return utf8.RuneCountInString(a.Text)
	}
	v := operand(a, t, args)
	if v == nil {
		return 0
	}
	least := -1
	for _, alt := range r.Texts(v) {
		n := 0
		for _, l := range alt.SQL.Lits {
			n += utf8.RuneCountInString(l)
		}
		if least < 0 || n < least {
			least = n
		}
	}
	return max(least, 0)
}

// IntArg is the integer that an argument is, if it is a constant one.
func IntArg(a sqltext.Arg, t Text, args []*term.Term) (int, bool) {
	s := a.Text
	if a.Kind != sqltext.Literal {
		v := operand(a, t, append(append([]*term.Term(nil), t.Args...), args...))
		if v == nil {
			return 0, false
		}
		n, ok := v.IntVal()
		if !ok {
			return 0, false
		}
		s = n
	}
	n, err := strconv.Atoi(strings.ReplaceAll(s, " ", ""))
	return n, err == nil
}

// Operand is the term that an argument of a call stands for, nil when that is not known.
func Operand(a sqltext.Arg, t Text, args []*term.Term) *term.Term {
	return operand(a, t, append(append([]*term.Term(nil), t.Args...), args...))
}
