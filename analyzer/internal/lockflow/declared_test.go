package lockflow

import (
	"fmt"
	"slices"
	"testing"

	"github.com/advisorylint/advisorylint/analyzer/internal/client"
	"github.com/advisorylint/advisorylint/internal/settings"
)

// A library of which nothing is known: what it does is out of sight, as with a service behind it.
const ledger = `package ledger
import "context"
type DB struct{ addr string }
type Line struct{ id int }
type Answer struct{ ok bool }
func post(addr, text string, args []any) *Answer
func (d *DB) Exec(ctx context.Context, q string, args ...any) error { post(d.addr, q, args); return nil }
func (d *DB) Take(ctx context.Context) (*Line, error) { return &Line{}, nil }
func (d *DB) Ask(ctx context.Context, timeout int, q string, args ...any) (*Answer, error) { return post(d.addr, q, args), nil }
func (l *Line) Exec(ctx context.Context, q string, args ...any) error { return nil }
func (l *Line) Close() error { return nil }
func Run(ctx context.Context, shard string, q string, args ...any) error { post(shard, q, args); return nil }
func On(ctx context.Context, d *DB, dest any, q string, args ...any) error { post(d.addr, q, args); return nil }
`

// what runs a program that uses ledger and gives its lock events as "line function kind".
func what(t *testing.T, said settings.Settings, body string) []string {
	t.Helper()
	settings.Use(&settings.Choice{Given: settings.Given{Settings: said}})
	t.Cleanup(func() {
		if _, err := (&settings.Choice{}).In(""); err != nil { // says nothing, in the place of what was said
			t.Error(err)
		}
		settings.Use(nil)
	})
	pr := newProgram()
	pr.add(t, "example.com/ledger", ledger)
	p := pr.load(t, "example.com/app", "package app\nimport (\"context\"; \"example.com/ledger\")\n"+body+"\nvar _ context.Context; var _ ledger.DB\n")
	var got []string
	for _, e := range analyse(t, p.pass(pr.facts)) {
		if e.Lock != nil {
			got = append(got, fmt.Sprintf("%d %s %s", p.fset.Position(e.Pos).Line, e.Lock.Func.Name, e.Handle.Kind))
		}
	}
	return got
}

func number(n int) *int { return &n }

func TestUsersSayWhatTheLinterCannotSee(t *testing.T) {
	db := settings.Client{Type: "example.com/ledger.DB", Handle: "pool"}
	line := settings.Client{Type: "example.com/ledger.Line", Handle: "conn"}
	for _, test := range []struct {
		name string
		said settings.Settings
		body string
		want []string
	}{
		{"nothing is said", settings.Settings{},
			`func f(ctx context.Context, d *ledger.DB) { d.Exec(ctx, "SELECT pg_advisory_lock(1)") }`, nil},
		{"a client's methods send", settings.Settings{Clients: []settings.Client{db}},
			`func f(ctx context.Context, d *ledger.DB) { d.Exec(ctx, "SELECT pg_advisory_lock(1)") }`,
			[]string{"3 pg_advisory_lock pool"}},
		{"another client is another type", settings.Settings{Clients: []settings.Client{line}},
			`func f(ctx context.Context, d *ledger.DB) { d.Exec(ctx, "SELECT pg_advisory_lock(1)") }`, nil},
		{"a client gives out clients", settings.Settings{Clients: []settings.Client{db, line}},
			"func f(ctx context.Context, d *ledger.DB) error {\nl, err := d.Take(ctx)\nif err != nil { return err }\ndefer l.Close()\nreturn l.Exec(ctx, `SELECT pg_advisory_lock(1)`)\n}",
			[]string{"7 pg_advisory_lock pinned connection"}},
		{"a field of a client's type", settings.Settings{Clients: []settings.Client{db}},
			`type s struct { d *ledger.DB }
			func (s *s) f(ctx context.Context) { s.d.Exec(ctx, "SELECT pg_advisory_unlock(1)") }`,
			[]string{"4 pg_advisory_unlock pool"}},
		{"a wrapper sends its first string", settings.Settings{Wrappers: []settings.Wrapper{{Func: "example.com/ledger.DB.Ask", Handle: "pool"}}},
			`func f(ctx context.Context, d *ledger.DB) { d.Ask(ctx, 3, "SELECT pg_advisory_lock($1)", 9) }`,
			[]string{"3 pg_advisory_lock pool"}},
		{"a wrapper sends the string that is said", settings.Settings{Wrappers: []settings.Wrapper{{Func: "example.com/ledger.Run", Handle: "pool", SQL: number(2)}}},
			`func f(ctx context.Context) { ledger.Run(ctx, "GET_LOCK", "SELECT pg_advisory_lock($1)", 9) }`,
			[]string{"3 pg_advisory_lock pool"}},
		{"a wrapper whose number is no string says nothing", settings.Settings{Wrappers: []settings.Wrapper{{Func: "example.com/ledger.Run", Handle: "pool", SQL: number(0)}}},
			`func f(ctx context.Context) { ledger.Run(ctx, "a", "SELECT pg_advisory_lock($1)", 9) }`, nil},
		{"a wrapper's kind is its handle's", settings.Settings{Clients: []settings.Client{db}, Wrappers: []settings.Wrapper{{Func: "example.com/ledger.On"}}},
			`func f(ctx context.Context, d *ledger.DB) { var ok bool; ledger.On(ctx, d, &ok, "SELECT pg_try_advisory_lock($1)", 9); _ = ok }`,
			[]string{"3 pg_try_advisory_lock pool"}},
		{"an interface is a client", settings.Settings{Clients: []settings.Client{{Type: "example.com/app.Port", Handle: "session"}}},
			`type Port interface { Exec(ctx context.Context, q string, args ...any) error }
			func f(ctx context.Context, p Port) { p.Exec(ctx, "SELECT pg_advisory_lock(1)") }`,
			[]string{"4 pg_advisory_lock session"}},
		{"a method of an interface is a wrapper", settings.Settings{Wrappers: []settings.Wrapper{{Func: "example.com/app.Port.Send", Handle: "tx"}}},
			`type Port interface { Send(q string) error }
			func f(p Port) { p.Send("SELECT pg_advisory_xact_lock(1)") }`,
			[]string{"4 pg_advisory_xact_lock transaction"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := what(t, test.said, test.body); !slices.Equal(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// What is sent through one wrapper is sent on one handle, so that an acquire and its release belong together.
func TestWrappersOfOneHandleShareIt(t *testing.T) {
	settings.Use(&settings.Choice{Given: settings.Given{Settings: settings.Settings{
		Wrappers: []settings.Wrapper{{Func: "example.com/app.Line.Send", Handle: "conn"}}}}})
	t.Cleanup(func() { settings.Use(nil) })
	pr := newProgram()
	events := pr.add(t, "example.com/app", `package app
	type Line interface { Send(q string, args ...any) (bool, error) }
	func f(l Line, id int64) {
		l.Send("SELECT pg_advisory_lock($1)", id)
		l.Send("SELECT pg_advisory_unlock($1)", id+1)
	}`)
	if len(events) != 2 || !events[1].Has(Mismatched) || events[1].Handle.Kind != client.Conn {
		for _, e := range events {
			t.Error(e.describe())
		}
	}
}
