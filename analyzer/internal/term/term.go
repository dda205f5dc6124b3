// Package term has the symbolic values of the engine: what is known of a Go value in terms of
// constants, parameters, memory and calls. A term is immutable, comparable by Key, and can be
// written into a fact. How a term reads as SQL text, as a handle, as a context or as a key is
// other packages' business.
package term

import (
	"slices"
	"strconv"
	"strings"
)

// Op is a term's operator. In the comments p is a pointer, v a value.
type Op uint8

const (
	Opaque   Op = iota // nothing known; Site tells one from another
	Const              // Str: "s:text", "i:42", "b:true", "nil", "o:…" (other exact constants)
	Param              // parameter number Str, receiver first
	Free               // free variable number Str of a closure
	Global             // address of package variable Str
	Cell               // address of memory made at Site
	FieldPtr           // address of field Str of the struct at Args[0]; Type is the struct's type
	ElemPtr            // address of element Str (a constant's Str, "" unknown) of Args[0]
	Load               // what Args[0] points at
	Field              // field Str of struct value Args[0]
	Concat             // strings Args joined
	Phi                // one of Args
	Bin                // Args[0] Str Args[1]
	Not                // boolean negation
	Conv               // conversion to basic type Str
	As                 // Args[0] with the asserted type Type
	Call               // result of calling Str with Args at Site ("" when the call is pure)
	Result             // result number Str of the call Args[0]
	Func               // the function Str
	Closure            // the function Str with Args as its free variables
	Bound              // method Str bound to receiver Args[0]
	Stmt               // a statement for handle Args[0], put together from the Slots Args[1:]
	Slot               // clause Str of a Stmt: text Args[0], arguments Args[1:]
	WithCtx            // handle Args[0] with context Args[1] attached
	Batch              // statements Args
	Sent               // what sending a statement at Site gave: a row, rows, a tag, a chain
	Answer             // column Str (-1 any) of the answer of Args[0]
	Count              // rows affected of Args[0]
	HasRow             // Next of Args[0]
	ErrOf              // the error of Args[0]
	Range              // iteration over Args[0]
)

// Term is a symbolic value. Fields are exported for encoding only; make terms with New and do
// not change them.
type Term struct {
	Op   Op
	size int16
	Str  string
	Site string // where a fresh thing was made, unique within a function; longer when inlined
	Type string // "path.Name" of the static or dynamic type without stars, "" when unnamed
	Args []*Term

	key string
}

// maxSize bounds a term; a larger one becomes Opaque.
const maxSize = 120

// MaxAtoms bounds the alternatives of a Phi; more is Opaque.
const MaxAtoms = 8

// New makes a term.
func New(op Op, str, site, typ string, args ...*Term) *Term {
	size := 1
	for _, a := range args {
		size += a.Size()
	}
	if size > maxSize {
		if site == "" {
			site = "big:" + str
		}
		return &Term{Op: Opaque, Site: site, Type: typ, size: 1}
	}
	return &Term{Op: op, Str: str, Site: site, Type: typ, Args: args, size: int16(size)}
}

// Size is the number of operators in t.
func (t *Term) Size() int {
	if t.size == 0 {
		t.size = 1
		for _, a := range t.Args {
			t.size += int16(a.Size())
		}
	}
	return int(t.size)
}

// Key identifies t: equal keys, equal terms. Types do not count.
func (t *Term) Key() string {
	if t.key == "" {
		var short [256]byte // most keys fit, and are then copied once
		t.key = string(t.appendKey(short[:0]))
	}
	return t.key
}

func (t *Term) appendKey(b []byte) []byte {
	if t.key != "" {
		return append(b, t.key...)
	}
	if t.Op == As { // an assertion gives the same thing another static type
		return t.Args[0].appendKey(b)
	}
	b = strconv.AppendInt(b, int64(t.Op), 10)
	if t.Str != "" {
		b = append(b, '"')
		b = append(b, t.Str...)
		b = append(b, '"')
	}
	if t.Site != "" {
		b = append(b, '@')
		b = append(b, t.Site...)
	}
	if len(t.Args) == 0 {
		return b
	}
	b = append(b, '(')
	for i, a := range t.Args {
		if i > 0 {
			b = append(b, ',')
		}
		b = a.appendKey(b)
	}
	return append(b, ')')
}

// Equal reports whether a and b are the same value.
func Equal(a, b *Term) bool { return a == b || a != nil && b != nil && a.Key() == b.Key() }

// Str, Int, Bool and Nil make constants.
func Str(s string) *Term { return New(Const, "s:"+s, "", "string") }
func Int(s string) *Term { return New(Const, "i:"+s, "", "") }
func Bool(b bool) *Term  { return New(Const, "b:"+strconv.FormatBool(b), "", "") }
func Nil() *Term         { return New(Const, "nil", "", "") }

// Unknown is an opaque value made at site.
func Unknown(site, typ string) *Term { return New(Opaque, "", site, typ) }

// StrVal is the string that t is, if it is a constant one.
func (t *Term) StrVal() (string, bool) {
	if t.Op == Const {
		return strings.CutPrefix(t.Str, "s:")
	}
	return "", false
}

// IntVal is the decimal integer that t is.
func (t *Term) IntVal() (string, bool) {
	if t.Op == Const {
		return strings.CutPrefix(t.Str, "i:")
	}
	return "", false
}

// IsNil reports whether t is the constant nil.
func (t *Term) IsNil() bool { return t.Op == Const && t.Str == "nil" }

// IsBool reports whether t is the boolean constant b.
func (t *Term) IsBool(b bool) bool {
	return t.Op == Const && t.Str == "b:"+strconv.FormatBool(b)
}

// Index is Str as a number: of a Param, Free, Result.
func (t *Term) Index() int {
	n, err := strconv.Atoi(t.Str)
	if err != nil {
		return -1
	}
	return n
}

// Join is one of a and b.
func Join(a, b *Term) *Term {
	if a == nil {
		return b
	}
	if b == nil || Equal(a, b) {
		return a
	}
	var atoms []*Term
	seen := map[string]bool{}
	for _, t := range []*Term{a, b} {
		for _, x := range t.Atoms() {
			if !seen[x.Key()] {
				seen[x.Key()] = true
				atoms = append(atoms, x)
			}
		}
	}
	typ := a.Type
	if b.Type != typ {
		typ = ""
	}
	if len(atoms) > MaxAtoms {
		return Unknown("phi", typ)
	}
	slices.SortFunc(atoms, func(a, b *Term) int { return strings.Compare(a.Key(), b.Key()) })
	return New(Phi, "", "", typ, atoms...)
}

// Atoms are the alternatives of t: t itself unless it is a Phi.
func (t *Term) Atoms() []*Term {
	if t.Op == Phi {
		return t.Args
	}
	return []*Term{t}
}

// Walk calls f for t and its subterms until f returns false for one.
func (t *Term) Walk(f func(*Term) bool) bool {
	if !f(t) {
		return false
	}
	for _, a := range t.Args {
		if !a.Walk(f) {
			return false
		}
	}
	return true
}

// Has reports whether f holds for t or a subterm.
func (t *Term) Has(f func(*Term) bool) bool {
	return !t.Walk(func(x *Term) bool { return !f(x) })
}

// Root is the parameter, free variable, global, cell or call at the bottom of a path of fields,
// elements, loads and assertions.
func (t *Term) Root() *Term {
	for {
		switch t.Op {
		case FieldPtr, ElemPtr, Load, Field, As, Conv, WithCtx:
			t = t.Args[0]
		default:
			return t
		}
	}
}

// Map rebuilds t bottom up with f applied to each operator; f gets the term with its new
// arguments and returns what stands for it.
func (t *Term) Map(f func(*Term) *Term) *Term {
	args := t.Args
	for i, a := range t.Args {
		if n := a.Map(f); n != a {
			if &args[0] == &t.Args[0] {
				args = append([]*Term(nil), t.Args...)
			}
			args[i] = n
		}
	}
	if len(args) > 0 && &args[0] != &t.Args[0] {
		t = New(t.Op, t.Str, t.Site, t.Type, args...)
	}
	return f(t)
}

// Under prefixes the site of t: the thing was made inside the call at prefix.
func (t *Term) Under(prefix string) *Term {
	if t.Site == "" || prefix == "" {
		return t
	}
	return New(t.Op, t.Str, prefix+"/"+t.Site, t.Type, t.Args...)
}

// WithType is t with another type.
func (t *Term) WithType(typ string) *Term {
	if t.Type == typ || typ == "" {
		return t
	}
	return &Term{Op: t.Op, Str: t.Str, Site: t.Site, Type: typ, Args: t.Args, key: t.key, size: t.size}
}
