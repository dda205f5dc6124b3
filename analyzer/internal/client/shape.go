package client

import (
	"go/types"
	"strings"
	"sync"
)

// Programs put interfaces of their own before a client: sqlc's DBTX, a repository's Execer, the
// generated client of ent. Their methods keep the clients' names and parameters, which is what a
// shape is. Begin counts only where it gives a catalogued transaction, and Commit, Close, Next and
// Err have no shape: too many things that are no clients have them.

// shape is a row for methods of these names whose parameters are as one of the lists says. "dest..." is
// variadic.
type shape struct {
	names  string
	params []string
	effect Effect
	answer Answer
	read   Reading
	slot   string
	tx     bool // only when the first result is a catalogued transaction
}

var shapes = []shape{
	{names: "Exec ExecContext ExecCtx MustExec MustExecContext", effect: Send, answer: Tag,
		params: []string{"ctx sql args", "ctx sql", "sql args", "sql"}},
	{names: "Query QueryContext QueryCtx Queryx QueryxContext", effect: Send, answer: Rows,
		params: []string{"ctx sql args", "ctx sql", "sql args", "sql"}},
	{names: "QueryRow QueryRowContext QueryRowx QueryRowxContext", effect: Send, answer: Row,
		params: []string{"ctx sql args", "ctx sql", "sql args", "sql"}},
	{names: "NamedExec NamedExecContext", effect: Send, answer: Tag,
		params: []string{"ctx sql args", "sql args"}},
	{names: "NamedQuery NamedQueryContext", effect: Send, answer: Rows,
		params: []string{"ctx sql args", "sql args"}},
	{names: "Get GetContext Select SelectContext QueryRowCtx QueryRowsCtx QueryOne", effect: Send, answer: Dest,
		params: []string{"ctx dest sql args", "dest sql args"}},
	{names: "Raw", effect: Build, slot: "raw", params: []string{"ctx sql args", "sql args"}},
	{names: "NewRaw", effect: Build, slot: "raw", params: []string{"sql args"}},
	{names: "Prepare PrepareContext Preparex PreparexContext", effect: Build, params: []string{"ctx sql", "sql"}},
	{names: "Begin BeginTx Beginx BeginTxx", effect: Derive, tx: true,
		params: []string{"ctx opts", "ctx", ""}},
	{names: "SendBatch", effect: RunBatch, params: []string{"ctx batch"}},
	{names: "Scan", effect: Read, read: ReadScan, params: []string{"dest..."}},
	{names: "RowsAffected", effect: Read, read: ReadCount, params: []string{""}},
}

// fitted is a parameter list with the rows that its results choose between.
type fitted struct {
	words []string
	tx    bool
	row   *Method
	other map[Answer]*Method // by the answer that the results show instead of the row's own
}

var shapesByName = sync.OnceValue(func() map[string][]fitted {
	out := map[string][]fitted{}
	for _, s := range shapes {
		for _, name := range strings.Fields(s.names) {
			for _, params := range s.params {
				out[name] = append(out[name], s.fit(name, params))
			}
		}
	}
	return out
})

func (s *shape) fit(name, params string) fitted {
	m := row(name, s.effect, strings.ReplaceAll(params, "...", ""))
	m.Answer, m.Read, m.Slot = s.answer, s.read, s.slot
	if s.tx {
		m.To = Tx
	}
	f := fitted{words: strings.Fields(params), tx: s.tx, row: &m, other: map[Answer]*Method{}}
	for _, a := range []Answer{Lost, Chain, Value} {
		v := m
		v.Answer = a
		f.other[a] = &v
	}
	return f
}

// Shape gives a row for a method of an interface or type that has no rows, by its name and
// signature, nil when it does not look like a client's. The row has no receiver.
func Shape(name string, sig *types.Signature) *Method {
	for _, f := range shapesByName()[name] {
		if !f.matches(sig.Params(), sig.Variadic()) {
			continue
		}
		if f.tx && !givesTx(sig.Results()) {
			return nil
		}
		if f.row.Effect == Send {
			if m := f.other[answerOf(f.row.Answer, sig.Results())]; m != nil {
				return m
			}
		}
		return f.row
	}
	return nil
}

// matches reports whether the parameters are what the words say.
func (f *fitted) matches(params *types.Tuple, variadic bool) bool {
	n := params.Len()
	if n != len(f.words) {
		return false
	}
	for i, word := range f.words {
		t := params.At(i).Type()
		ok := false
		switch word {
		case "ctx":
			ok = isContext(t)
		case "sql":
			ok = isString(t)
		case "args":
			ok = isMany(t)
		case "dest":
			ok = isPlace(t) && (!variadic || i < n-1)
		case "dest...":
			ok = variadic && isMany(t)
		case "opts", "batch":
			ok = notBasic(t)
		}
		if !ok {
			return false
		}
	}
	return true
}

func givesTx(results *types.Tuple) bool {
	if results.Len() == 0 {
		return false
	}
	t, ok := TypeOf(TypeName(results.At(0).Type()))
	return ok && t.Role == Handle && t.Kind == Tx
}

// answerOf says in what shape results give the answer that would be want by the method's name.
// NoAnswer: as the name says.
func answerOf(want Answer, results *types.Tuple) Answer {
	if results.Len() == 0 || results.Len() == 1 && isError(results.At(0).Type()) {
		if want == Dest {
			return NoAnswer // written to the destination
		}
		return Lost
	}
	first := results.At(0).Type()
	if t, ok := TypeOf(TypeName(first)); ok && t.Role == Handle {
		return Chain
	}
	switch first.Underlying().(type) {
	case *types.Slice, *types.Map:
		return Value
	}
	return NoAnswer
}

func isError(t types.Type) bool { return types.Identical(t, types.Universe.Lookup("error").Type()) }
