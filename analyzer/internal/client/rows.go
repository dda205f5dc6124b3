package client

import "strings"

// library is the rows of one package. Names in it are relative to path: receiver "DB", function
// "Open".
type library struct {
	path    string
	types   []Type
	funcs   []Method
	methods []Method
	// embedded lists the catalogued types that a type embeds: "DB Conn" of the same package, or full
	// names.
	embedded map[string]string
}

// embeds gives the full names of what a type embeds.
func (l *library) embeds(name string) []string {
	var out []string
	for _, e := range strings.Fields(l.embedded[name]) {
		if !strings.Contains(e, ".") {
			e = l.path + "." + e
		}
		out = append(out, e)
	}
	return out
}

// parameters names, per word of a parameter list in the tables, the field that gets the
// parameter's number. "_" is a parameter of no interest; the list may end early.
var parameters = map[string]func(*Method) *int{
	"handle": func(m *Method) *int { return &m.Handle },
	"sql":    func(m *Method) *int { return &m.SQL },
	"dsn":    func(m *Method) *int { return &m.DSN },
	"args":   func(m *Method) *int { return &m.Args },
	"ctx":    func(m *Method) *int { return &m.Ctx },
	"dest":   func(m *Method) *int { return &m.Dest },
	"stmt":   func(m *Method) *int { return &m.Stmt },
	"batch":  func(m *Method) *int { return &m.Batch },
	"as":     func(m *Method) *int { return &m.As },
	"opts":   func(m *Method) *int { return &m.Opts },
	"fn":     func(m *Method) *int { return &m.Fn },
	"fn1":    func(m *Method) *int { m.FnArg = 1; return &m.Fn }, // the handle is its second parameter
}

// row makes a Method from its parameter list, "ctx sql args".
func row(name string, effect Effect, params string) Method {
	m := Method{Name: name, Effect: effect, Handle: NoArg, SQL: NoArg, DSN: NoArg, Args: NoArg, Ctx: NoArg,
		Dest: NoArg, Stmt: NoArg, Batch: NoArg, As: NoArg, Fn: NoArg, Opts: NoArg}
	number(&m, parameters, name, params)
	return m
}

// number puts the numbers of the words of a parameter list into the fields that a table names for
// them. A word that is not in the table is a mistake, so it panics; every list is expanded in this
// package's tests.
func number[Row any](r *Row, fields map[string]func(*Row) *int, name, params string) {
	for i, word := range strings.Fields(params) {
		if word == "_" {
			continue
		}
		field, ok := fields[word]
		if !ok {
			panic("client: parameter " + word + " of " + name)
		}
		*field(r) = i
	}
}

func send(name, params string, a Answer) Method {
	m := row(name, Send, params)
	m.Answer = a
	return m
}

func run(name, params string, a Answer) Method {
	m := row(name, Run, params)
	m.Answer = a
	return m
}

func build(name, params string) Method { return row(name, Build, params) }

func clause(name, params, slot string) Method {
	m := row(name, Clause, params)
	m.Slot = slot
	return m
}

func derive(name, params string, to Kind) Method {
	m := row(name, Derive, params)
	m.To = to
	return m
}

func same(name, params string) Method { return row(name, Same, params) }

func callback(name, params string, to Kind, e Ending) Method {
	m := row(name, Callback, params)
	m.To, m.Ending = to, e
	return m
}

func end(name, params string, e Ending) Method {
	m := row(name, End, params)
	m.Ending = e
	return m
}

func limit(name string) Method { return row(name, Cap, "") }

func queue(name, params string) Method { return row(name, Queue, params) }

func runBatch(name, params string) Method { return row(name, RunBatch, params) }

func read(name, params string, r Reading) Method {
	m := row(name, Read, params)
	m.Read = r
	return m
}

// item is a read that gives the answer of one statement out of several.
func item(name string, a Answer) Method {
	m := read(name, "", ReadItem)
	m.Answer = a
	return m
}

func bind(name, params string) Method { return row(name, Bind, params) }

// nothing is a method that is known and does not matter: it neither reads nor ends anything.
func nothing(name string) Method { return row(name, None, "") }

// on gives rows to each of the receivers, "DB Conn Tx".
func on(recvs string, rows ...Method) []Method {
	var out []Method
	for _, recv := range strings.Fields(recvs) {
		for _, m := range rows {
			m.Recv = recv
			out = append(out, m)
		}
	}
	return out
}

// only marks rows that the newest version of the library no longer has.
func only(version string, rows ...Method) []Method {
	for i := range rows {
		rows[i].Only = version
	}
	return rows
}

// table joins groups of rows.
func table(groups ...[]Method) []Method {
	var out []Method
	for _, g := range groups {
		out = append(out, g...)
	}
	return out
}

// text gives SQL text as a value.
func text(name, params string) Method { return row(name, Text, params) }

// dests wraps destination pointers.
func dests(name string) Method { return row(name, Dests, "dest") }

// in puts the text of rows into a slot.
func in(slot string, rows ...Method) []Method {
	for i := range rows {
		rows[i].Slot = slot
	}
	return rows
}

// idents marks rows in which plain strings are names.
func idents(rows ...Method) []Method {
	for i := range rows {
		rows[i].Idents = true
	}
	return rows
}

// each gives one row for each of the names.
func each(names string, rowOf func(name string) Method) []Method {
	var out []Method
	for _, name := range strings.Fields(names) {
		out = append(out, rowOf(name))
	}
	return out
}

// typesOf gives a Type for each of the names.
func typesOf(names string, r Role, k Kind) []Type {
	var out []Type
	for _, name := range strings.Fields(names) {
		out = append(out, Type{Name: name, Role: r, Kind: k})
	}
	return out
}

// allTypes joins groups of types.
func allTypes(groups ...[]Type) []Type {
	var out []Type
	for _, g := range groups {
		out = append(out, g...)
	}
	return out
}

// listed marks a row whose list begins with the text and goes on with its arguments.
func listed(m Method) Method {
	m.Args = m.SQL
	return m
}
