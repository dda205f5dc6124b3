package symexec

import (
	"bytes"
	"encoding/gob"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/advisorylint/advisorylint/analyzer/internal/client"
	"github.com/advisorylint/advisorylint/analyzer/internal/summary"
	"github.com/advisorylint/advisorylint/analyzer/internal/term"
)

func summarise(t *testing.T, body string) *summary.Summary {
	t.Helper()
	w := build(t, body)
	return w.Summary(w.pkg.Func("f"))
}

// value shows a term as an expression, for tests.
func value(t *term.Term) string {
	var args []string
	for _, a := range t.Args {
		args = append(args, value(a))
	}
	list := strings.Join(args, ", ")
	switch t.Op {
	case term.Const:
		return strings.TrimPrefix(strings.TrimPrefix(strings.TrimPrefix(t.Str, "s:"), "i:"), "b:")
	case term.Param:
		return "p" + t.Str
	case term.Load:
		return "*" + list
	case term.FieldPtr:
		return list + "." + t.Str
	case term.Sent:
		return "sent"
	case term.ErrOf:
		return "err(" + list + ")"
	case term.Answer:
		return "answer" + t.Str + "(" + list + ")"
	case term.Cell:
		return "cell"
	case term.Bin:
		return args[0] + t.Str + args[1]
	case term.Phi:
		slices.Sort(args)
		return "{" + strings.Join(args, "|") + "}"
	case term.Call:
		if k, ok := MadeKind(t); ok {
			return fmt.Sprintf("made(%s)", k)
		}
		return t.Str + "(" + list + ")"
	case term.WithCtx:
		return args[0]
	case term.Closure:
		return "closure(" + list + ")"
	}
	return "?"
}

// outcome is an outcome on one line: what it does, what it presupposes, what it gives.
func outcome(o *summary.Outcome) string {
	s := tell(o.Effects)
	for _, f := range o.Facts {
		s += fmt.Sprintf(" if %s is %t", value(f.Cond), f.Val)
	}
	for i, r := range o.Results {
		if i == 0 {
			s += " gives"
		}
		s += " " + value(r)
	}
	for _, st := range o.Stores {
		s += " sets " + value(st.Loc) + "=" + value(st.Val)
	}
	if o.Exits {
		s += " !"
	}
	return strings.TrimSpace(s)
}

func TestOutcomes(t *testing.T) {
	for _, c := range []struct {
		name, body string
		want       []string
	}{
		{"the error of what was sent", `
			func f(db *sql.DB) error { _, err := db.Exec("a"); return err }`,
			[]string{"send:a gives err(sent)"}},
		{"what each way out presupposes", `
			func f(db *sql.DB) error { if _, err := db.Exec("a"); err != nil { return err }; return nil }`,
			[]string{"send:a if err(sent)==nil is false gives err(sent)", "send:a if err(sent)==nil is true gives nil"}},
		{"an answer that is given back", `
			func f(db *sql.DB) (ok bool) { db.QueryRow("a").Scan(&ok); return }`,
			[]string{"send:a gives answer0(sent)"}},
		{"a condition on a parameter", `
			func f(db *sql.DB, on bool) { if on { db.Exec("a") } }`,
			[]string{"send:a if p1 is true", "if p1 is false"}},
		{"a handle that was made", `
			func f(ctx context.Context, db *sql.DB) (*sql.Conn, error) { return db.Conn(ctx) }`,
			[]string{"take gives made(pinned connection) err(made(pinned connection))"}},
		{"a field of a parameter", `
			type T struct{ q string }
			func f(t *T) string { return t.q }`, []string{"gives *p0.q"}},
		{"a field that is set", `
			type T struct{ c *sql.Conn }
			func f(t *T, c *sql.Conn) { t.c = c }`, []string{"sets p0.c=p1"}},
		{"fresh memory with what it holds", `
			type T struct{ q string }
			func f(q string) *T { return &T{q} }`, []string{"gives cell sets cell.q=p0"}},
		{"a function literal with what it catches", `
			func f(db *sql.DB) func() { return func() { db.Exec("a") } }`, []string{"gives closure(cell) sets cell=p0"}},
		{"quiet ways out are one", `
			func f(n int) string {
				switch {
				case n > 4: return "a"
				case n > 3: return "b"
				case n > 2: return "c"
				case n > 1: return "d"
				}
				return "e"
			}`, []string{"gives {a|b|c|d|e}"}},
		{"memory of its own is not told", `
			type T struct{ q string }
			func f() string { t := &T{"a"}; return t.q }`, []string{"gives a"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			for _, o := range summarise(t, c.body).Outcomes {
				got = append(got, outcome(o))
			}
			slices.Sort(got)
			want := slices.Sorted(slices.Values(c.want))
			if !slices.Equal(got, want) {
				t.Errorf("outcomes are\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
			}
		})
	}
}

func TestFilesAndHelpersAreSteps(t *testing.T) {
	w := build(t, `
		func f(db *sql.DB) { outer(db) }
		func outer(db *sql.DB) { inner(db) }
		func inner(db *sql.DB) { db.Exec("a") }`)
	s := w.Summary(w.pkg.Func("f"))
	e := s.Outcomes[0].Effects[0]
	var names []string
	for _, st := range e.Steps {
		names = append(names, st.Name)
		if st.Posn == "" || !st.Pos.IsValid() {
			t.Errorf("step %s has no position", st.Name)
		}
	}
	if want := []string{"outer", "inner", "Exec"}; !slices.Equal(names, want) {
		t.Errorf("steps are %q, want %q", names, want)
	}
	depth := 0
	for in := e.Inner; in != nil; in = in.Inner {
		depth++
	}
	if depth != 2 {
		t.Errorf("the effect was %d times another function's, want 2", depth)
	}
}

func TestEffectsFromTooDeepAreLeftOut(t *testing.T) {
	var b strings.Builder
	const deep = summary.MaxDepth + 3
	fmt.Fprintf(&b, "func f(db *sql.DB) { h0(db) }\n")
	for i := range deep {
		fmt.Fprintf(&b, "func h%d(db *sql.DB) { h%d(db) }\n", i, i+1)
	}
	fmt.Fprintf(&b, "func h%d(db *sql.DB) { db.Exec(\"a\") }\n", deep)
	w := build(t, b.String())
	for i := range deep {
		sends := len(w.Summary(w.pkg.Func(fmt.Sprintf("h%d", i))).Outcomes[0].Effects)
		above := deep - i // helpers between it and the one that sends
		if want := above < summary.MaxDepth; (sends == 1) != want {
			t.Errorf("with %d helpers between there are %d effects", above, sends)
		}
	}
}

func TestDroppedResultsAreNoted(t *testing.T) {
	for _, c := range []struct {
		call string
		want bool
	}{
		{"try(db)", true},
		{"_, _ = try(db)", true},
		{"defer try(db)", true},
		{"ok, _ := try(db); fmt.Println(ok)", false},
		{"_, err := try(db); fmt.Println(err)", false},
		{"if ok, _ := try(db); ok { return }", false},
	} {
		s := summarise(t, `
			func try(db *sql.DB) (ok bool, err error) { err = db.QueryRow("a").Scan(&ok); return }
			func f(db *sql.DB) { `+c.call+` }`)
		for _, o := range s.Outcomes {
			if got := o.Effects[0].Dropped; got != c.want {
				t.Errorf("%s: dropped %t, want %t", c.call, got, c.want)
			}
		}
	}
}

func TestConsumedAnswers(t *testing.T) {
	for _, c := range []struct {
		name, body string
		want       bool
	}{
		{"in a condition", `var ok bool; db.QueryRow("a").Scan(&ok); if ok { println() }`, true},
		{"printed", `var ok bool; db.QueryRow("a").Scan(&ok); fmt.Println(ok)`, true},
		{"scanned and left", `var ok bool; db.QueryRow("a").Scan(&ok)`, false},
		{"not scanned", `db.QueryRow("a")`, false},
		{"the error only", `var ok bool; if err := db.QueryRow("a").Scan(&ok); err != nil { println() }`, false},
		{"another column", `var ok, other bool; db.QueryRow("a").Scan(&other, &ok); if other { println() }`, true},
	} {
		run := follow(t, `func f(db *sql.DB) { `+c.body+` }`)
		got := false
		for _, x := range run.Consumed {
			got = got || x.Op == term.Answer && x.Str == "0"
		}
		if got != c.want {
			t.Errorf("%s: the answer is looked at %t, want %t", c.name, got, c.want)
		}
	}
}

func TestSummarySurvivesGob(t *testing.T) {
	want := summarise(t, `
		type T struct{ c *sql.Conn; undo func() }
		func f(ctx context.Context, db *sql.DB, t *T, key int64) (bool, error) {
			c, err := db.Conn(ctx)
			if err != nil { return false, err }
			var ok bool
			if err := c.QueryRowContext(ctx, "try $1", key).Scan(&ok); err != nil || !ok {
				c.Close()
				return false, err
			}
			t.c, t.undo = c, func() { c.Close() }
			go func() { db.Exec("later") }()
			return true, nil
		}`)
	raw := encode(t, want)
	got := new(summary.Summary)
	if err := gob.NewDecoder(bytes.NewReader(raw)).Decode(got); err != nil {
		t.Fatal(err)
	}
	if len(got.Outcomes) < 3 || len(got.Outcomes) != len(want.Outcomes) {
		t.Fatalf("%d outcomes came back, %d went in", len(got.Outcomes), len(want.Outcomes))
	}
	if g, w := keys(got), keys(want); g != w {
		t.Errorf("came back as\n%s\nwent in as\n%s", g, w)
	}
	if again := encode(t, got); !bytes.Equal(raw, again) {
		t.Error("what came back is encoded in another way")
	}
}

func encode(t *testing.T, s *summary.Summary) []byte {
	t.Helper()
	var buf bytes.Buffer
	if err := gob.NewEncoder(&buf).Encode(s); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// keys write down all of a summary that a caller can meet.
func keys(s *summary.Summary) string {
	var b strings.Builder
	for _, o := range s.Outcomes {
		b.WriteString("outcome")
		writeEffects(&b, o.Effects)
		for _, r := range o.Results {
			b.WriteString(" result " + r.Key())
		}
		for _, f := range o.Facts {
			fmt.Fprintf(&b, " fact %s %t", f.Cond.Key(), f.Val)
		}
		for _, st := range o.Stores {
			b.WriteString(" store " + st.Loc.Key() + " " + st.Val.Key())
		}
		fmt.Fprintf(&b, " exits %t\n", o.Exits)
	}
	for _, c := range s.Consumes {
		b.WriteString("consumes " + c.Key() + "\n")
	}
	fmt.Fprintf(&b, "truncated %t", s.Truncated)
	return b.String()
}

func writeEffects(b *strings.Builder, effects []*summary.Effect) {
	for _, e := range effects {
		fmt.Fprintf(b, " %d@%s in %d@%s", e.Op, e.Site, e.Cleanup, e.CleanupSite)
		for _, st := range e.Steps { // their positions are of one process only
			fmt.Fprintf(b, " %s %s", st.Posn, st.Name)
		}
		for _, x := range append([]*term.Term{e.Handle, e.Text, e.Ctx, e.Made, e.Fn}, e.Args...) {
			if x != nil {
				b.WriteString(" " + x.Key())
			}
		}
		for _, a := range e.Alts {
			b.WriteString(" alt")
			writeEffects(b, a.Effects)
		}
	}
}

func TestMadeKind(t *testing.T) {
	for str, want := range map[string]struct {
		kind client.Kind
		ok   bool
	}{
		"(*database/sql.DB).Conn#2": {client.Conn, true},
		"database/sql.Open#1":       {client.Pool, true},
		"database/sql.Open":         {client.Unknown, false},
		"f#":                        {client.Unknown, false},
		"f#x":                       {client.Unknown, false},
	} {
		if k, ok := MadeKind(term.New(term.Call, str, "1.0", "")); ok != want.ok || ok && k != want.kind {
			t.Errorf("%s is a %s, %t, want %s, %t", str, k, ok, want.kind, want.ok)
		}
	}
	if _, ok := MadeKind(term.Str("f#2")); ok {
		t.Error("a constant was made by a call")
	}
}
