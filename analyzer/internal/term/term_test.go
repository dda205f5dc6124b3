package term

import (
	"bytes"
	"encoding/gob"
	"slices"
	"strconv"
	"testing"
)

func param(n int) *Term { return New(Param, strconv.Itoa(n), "", "") }

func field(base *Term, name string) *Term {
	return New(Load, "", "", "", New(FieldPtr, name, "", "pkg.T", base))
}

// tower is a term with n operators above a parameter.
func tower(n int) *Term {
	t := param(0)
	for range n {
		t = New(Not, "", "", "bool", t)
	}
	return t
}

func TestKeyTellsTermsApart(t *testing.T) {
	list := map[string]*Term{
		"text one":            Str("1"),
		"number one":          Int("1"),
		"true":                Bool(true),
		"false":               Bool(false),
		"nil":                 Nil(),
		"text nil":            Str("nil"),
		"first parameter":     param(0),
		"second parameter":    param(1),
		"first free variable": New(Free, "0", "", ""),
		"field a":             field(param(0), "a"),
		"field b":             field(param(0), "b"),
		"address of field a":  New(FieldPtr, "a", "", "pkg.T", param(0)),
		"call here":           New(Call, "f", "1.0", "", param(0)),
		"call there":          New(Call, "f", "2.0", "", param(0)),
		"pure call":           New(Call, "f", "", "", param(0)),
		"two arguments":       New(Call, "f", "", "", param(0), param(1)),
		"nested argument":     New(Call, "f", "", "", New(Call, "f", "", "", param(0), param(1))),
		"order":               New(Concat, "", "", "", param(1), param(0)),
		"other order":         New(Concat, "", "", "", param(0), param(1)),
	}
	seen := map[string]string{}
	for name, x := range list {
		if other, ok := seen[x.Key()]; ok {
			t.Errorf("%s and %s have the same key %s", name, other, x.Key())
		}
		seen[x.Key()] = name
	}
}

func TestKeyIgnoresTypesAndAssertions(t *testing.T) {
	a := New(Call, "f", "1.0", "pkg.A", param(0))
	for name, b := range map[string]*Term{
		"another type":     a.WithType("pkg.B"),
		"an assertion":     New(As, "", "", "pkg.B", a),
		"two assertions":   New(As, "", "", "pkg.C", New(As, "", "", "pkg.B", a)),
		"made once more":   New(Call, "f", "1.0", "", param(0)),
		"an assertion in":  New(Call, "f", "1.0", "", New(As, "", "", "pkg.B", param(0))),
		"a type beneath":   New(Call, "f", "1.0", "", param(0).WithType("string")),
		"no change at all": a,
	} {
		if !Equal(a, b) {
			t.Errorf("%s: key %s, want %s", name, b.Key(), a.Key())
		}
	}
	if Equal(a, nil) || Equal(nil, a) || !Equal(nil, nil) {
		t.Error("a nil term is equal to nil only")
	}
}

func TestConstantsGiveTheirValue(t *testing.T) {
	if s, ok := Str("s:x").StrVal(); !ok || s != "s:x" {
		t.Errorf("StrVal = %q, %t", s, ok)
	}
	if n, ok := Int("-7").IntVal(); !ok || n != "-7" {
		t.Errorf("IntVal = %q, %t", n, ok)
	}
	if _, ok := Int("7").StrVal(); ok {
		t.Error("a number is no text")
	}
	if _, ok := Str("7").IntVal(); ok {
		t.Error("a text is no number")
	}
	if !Nil().IsNil() || Str("nil").IsNil() || !Bool(true).IsBool(true) || Bool(true).IsBool(false) {
		t.Error("nil and booleans are not recognised as such")
	}
	if _, ok := param(3).StrVal(); ok {
		t.Error("a parameter is no text")
	}
	if param(3).Index() != 3 || Str("x").Index() != -1 {
		t.Error("Index is not the number that Str is")
	}
}

// permutations calls f with each order of list.
func permutations(list []*Term, f func([]*Term)) {
	if len(list) == 0 {
		f(nil)
		return
	}
	for i := range list {
		rest := slices.Delete(slices.Clone(list), i, i+1)
		permutations(rest, func(p []*Term) { f(append([]*Term{list[i]}, p...)) })
	}
}

func TestJoinDoesNotDependOnOrder(t *testing.T) {
	alts := []*Term{Str("a"), Int("1"), param(0), field(param(1), "x"), New(Call, "f", "3.1", "")}
	want := ""
	permutations(alts, func(p []*Term) {
		left, right := (*Term)(nil), (*Term)(nil)
		for i := range p {
			left = Join(left, p[i])
			right = Join(p[len(p)-1-i], right)
		}
		both := Join(Join(p[0], p[1]), Join(Join(p[2], p[3]), p[4]))
		for _, x := range []*Term{left, right, both} {
			if want == "" {
				want = x.Key()
			}
			if x.Key() != want {
				t.Fatalf("join of %d alternatives is %s in one order, %s in another", len(p), want, x.Key())
			}
		}
	})
}

func TestJoinOfEqualTermsIsThatTerm(t *testing.T) {
	a, b := Str("a"), Str("b")
	ab := Join(a, b)
	for name, got := range map[string]*Term{
		"with itself":   Join(a, a),
		"with nil":      Join(a, nil),
		"nil with":      Join(nil, a),
		"its like":      Join(a, Str("a")),
		"an assertion":  Join(a, New(As, "", "", "pkg.T", a)),
		"its alternate": Join(a, Join(a, a)),
	} {
		if got.Key() != a.Key() {
			t.Errorf("join %s is %s", name, got.Key())
		}
	}
	if got := Join(ab, b); got.Key() != ab.Key() || len(got.Atoms()) != 2 {
		t.Errorf("joining an alternative again gives %s", got.Key())
	}
	if Join(nil, nil) != nil {
		t.Error("join of nothing is something")
	}
}

func TestJoinIsBounded(t *testing.T) {
	var out *Term
	for i := range MaxAtoms {
		out = Join(out, Int(strconv.Itoa(i)))
	}
	if out.Op != Phi || len(out.Atoms()) != MaxAtoms {
		t.Fatalf("%d alternatives give operator %d with %d", MaxAtoms, out.Op, len(out.Atoms()))
	}
	more := Join(out, Int("99"))
	if more.Op != Opaque {
		t.Errorf("%d alternatives are not unknown but operator %d", MaxAtoms+1, more.Op)
	}
	if again := Join(Int("99"), out); !Equal(more, again) {
		t.Errorf("too many alternatives give %s and %s", more.Key(), again.Key())
	}
}

func TestJoinKeepsACommonType(t *testing.T) {
	a, b := New(Call, "f", "1.0", "pkg.T"), New(Call, "g", "2.0", "pkg.T")
	if got := Join(a, b).Type; got != "pkg.T" {
		t.Errorf("common type became %q", got)
	}
	if got := Join(a, b.WithType("pkg.U")).Type; got != "" {
		t.Errorf("two types became %q", got)
	}
}

func TestRootLeadsThroughMemoryOnly(t *testing.T) {
	cell := New(Cell, "", "1.0", "")
	call := New(Call, "f", "2.0", "", param(0))
	for name, c := range map[string]struct{ of, want *Term }{
		"itself":                {param(0), param(0)},
		"a field of a field":    {field(field(param(0), "a"), "b"), param(0)},
		"an element":            {New(Load, "", "", "", New(ElemPtr, "i:0", "", "", cell)), cell},
		"an assertion":          {New(As, "", "", "pkg.T", field(cell, "a")), cell},
		"a conversion":          {New(Conv, "int32", "", "", param(1)), param(1)},
		"a context":             {New(WithCtx, "", "", "", param(0), param(1)), param(0)},
		"a field of a value":    {New(Field, "a", "", "", call), call},
		"a call, not its input": {call, call},
		"alternatives":          {Join(param(0), param(1)), Join(param(0), param(1))},
	} {
		if got := c.of.Root(); !Equal(got, c.want) {
			t.Errorf("%s: root %s, want %s", name, got.Key(), c.want.Key())
		}
	}
}

func TestMapRebuildsWhatChanges(t *testing.T) {
	x := New(Concat, "", "", "string", Str("a"), field(param(0), "f"), param(1))
	before := x.Key()
	got := x.Map(func(n *Term) *Term {
		if n.Op == Param && n.Str == "0" {
			return New(Cell, "", "9.9", "")
		}
		return n
	})
	want := New(Concat, "", "", "string", Str("a"), field(New(Cell, "", "9.9", ""), "f"), param(1))
	if !Equal(got, want) {
		t.Errorf("mapped to %s, want %s", got.Key(), want.Key())
	}
	if x.Key() != before || (&Term{Op: x.Op, Args: x.Args}).Key() != before {
		t.Error("the term that was mapped changed")
	}
	if same := x.Map(func(n *Term) *Term { return n }); same != x {
		t.Error("mapping nothing made another term")
	}
}

func TestMapGoesBottomUp(t *testing.T) {
	var order []Op
	New(Not, "", "", "", New(Bin, "==", "", "", param(0), Nil())).Map(func(n *Term) *Term {
		order = append(order, n.Op)
		return n
	})
	if want := []Op{Param, Const, Bin, Not}; !slices.Equal(order, want) {
		t.Errorf("operators were met as %v, want %v", order, want)
	}
}

func TestSizeIsBounded(t *testing.T) {
	if got := tower(maxSize - 1); got.Op != Not || got.Size() != maxSize {
		t.Errorf("the largest term has operator %d and size %d", got.Op, got.Size())
	}
	got := tower(maxSize)
	if got.Op != Opaque || got.Size() != 1 {
		t.Errorf("a larger term has operator %d and size %d, want an unknown of size 1", got.Op, got.Size())
	}
	big := tower(maxSize - 1)
	a, b := New(Call, "f", "1.0", "", big), New(Call, "f", "2.0", "", big)
	if Equal(a, b) {
		t.Error("two unknowns made at different sites are equal")
	}
	grown := big.Map(func(n *Term) *Term {
		if n.Op == Param {
			return New(Concat, "", "", "", param(0), param(1))
		}
		return n
	})
	if grown.Size() > maxSize {
		t.Errorf("mapping grew a term to size %d", grown.Size())
	}
}

func TestUnderPrefixesSites(t *testing.T) {
	c := New(Call, "f", "1.0", "pkg.T", param(0))
	if got := c.Under("4.2"); got.Site != "4.2/1.0" || got.Type != "pkg.T" || c.Site != "1.0" {
		t.Errorf("site %q, type %q; the original's %q", got.Site, got.Type, c.Site)
	}
	if c.Under("") != c || param(0).Under("4.2").Site != "" {
		t.Error("what has no site, or no prefix, is not left alone")
	}
}

func TestHasStopsAtTheFirst(t *testing.T) {
	x := New(Concat, "", "", "", Str("a"), field(param(0), "f"))
	n := 0
	found := x.Has(func(t *Term) bool { n++; return t.Op == Const })
	if !found || n != 2 {
		t.Errorf("found %t after %d terms, want true after 2", found, n)
	}
	if x.Has(func(t *Term) bool { return t.Op == Closure }) {
		t.Error("found what is not there")
	}
}

func TestTermSurvivesGob(t *testing.T) {
	list := []*Term{
		Str("SELECT 1"), Nil(), Join(param(0), Int("4")), New(Stmt, "", "2.1", "database/sql.Stmt", param(0),
			New(Slot, "raw", "", "", Join(Str("a"), Str("b")), field(param(1), "key"))),
		New(Closure, "pkg.f$1", "", "", New(Cell, "", "0.0", "")), tower(60),
	}
	for _, want := range list {
		var buf bytes.Buffer
		if err := gob.NewEncoder(&buf).Encode(want); err != nil {
			t.Fatal(err)
		}
		got := new(Term)
		if err := gob.NewDecoder(&buf).Decode(got); err != nil {
			t.Fatal(err)
		}
		if got.Key() != want.Key() || got.Size() != want.Size() || got.Type != want.Type {
			t.Errorf("%s of size %d and type %s came back as %s, %d, %s", want.Key(), want.Size(), want.Type, got.Key(), got.Size(), got.Type)
		}
	}
}
