package provenance

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/advisorylint/advisorylint/analyzer/internal/client"
	"github.com/advisorylint/advisorylint/analyzer/internal/sqltext"
	"github.com/advisorylint/advisorylint/analyzer/internal/term"
)

const (
	dbType   = "database/sql.DB"
	connType = "database/sql.Conn"
	txType   = "database/sql.Tx"
	ctxType  = "context.Context"
)

// kept are stores by the key of the load that reads them; capped the keys of pools of one
// connection; files what may be embedded; parts the fields of values, by the key of the value and
// the name.
type kept struct {
	stores map[string][]*term.Term
	capped []string
	files  map[string]string
	parts  map[string]*term.Term
}

func (k kept) Stores(t *term.Term) ([]*term.Term, bool) {
	vals, ok := k.stores[t.Key()]
	return vals, ok
}

func (k kept) Capped(t *term.Term) bool { return slices.Contains(k.capped, t.Key()) }

func (k kept) Part(v *term.Term, name string) *term.Term { return k.parts[v.Key()+"."+name] }

func (k kept) Embedded(name string) (string, bool) {
	s, ok := k.files[name]
	return s, ok
}

// reader knows the stores given: a load, then what it can give.
func reader(load *term.Term, vals ...*term.Term) *Reader {
	k := kept{stores: map[string][]*term.Term{}}
	if load != nil {
		k.stores[load.Key()] = vals
	}
	return &Reader{Fields: k}
}

func param(n int, typ string) *term.Term { return term.New(term.Param, strconv.Itoa(n), "", typ) }

func field(name, typ string) *term.Term {
	return term.New(term.Load, "", "", typ, term.New(term.FieldPtr, name, "", "example.com/p.T", param(0, "example.com/p.T")))
}

func call(name, site, typ string, args ...*term.Term) *term.Term {
	return term.New(term.Call, name, site, typ, args...)
}

func made(kind client.Kind, site, typ string, from ...*term.Term) *term.Term {
	return call("make#"+strconv.Itoa(int(kind)), site, typ, from...)
}

func concat(parts ...*term.Term) *term.Term { return term.New(term.Concat, "", "", "string", parts...) }

func slot(name string, text *term.Term, args ...*term.Term) *term.Term {
	return term.New(term.Slot, name, "", "", append([]*term.Term{text}, args...)...)
}

func stmt(h *term.Term, slots ...*term.Term) *term.Term {
	return term.New(term.Stmt, "", "", "", append([]*term.Term{h}, slots...)...)
}

func oneOf(list ...*term.Term) *term.Term {
	var out *term.Term
	for _, t := range list {
		out = term.Join(out, t)
	}
	return out
}

func TestTexts(t *testing.T) {
	key, kind := param(1, "string"), param(2, "string")
	query := field("query", "string")
	for _, c := range []struct {
		name string
		r    *Reader
		of   *term.Term
		want []string
	}{
		{"a constant", nil, term.Str("SELECT 1"), []string{"SELECT 1"}},
		{"a number in text", nil, concat(term.Str("LIMIT "), term.Int("3")), []string{"LIMIT 3"}},
		{"a parameter", nil, key, []string{"⟨0⟩"}},
		{"a constant and a parameter", nil, concat(term.Str("lock("), key, term.Str(", "), kind, term.Str(")")), []string{"lock(⟨0⟩, ⟨1⟩)"}},
		{"alternatives", nil, oneOf(term.Str("a"), term.Str("b")), []string{"a", "b"}},
		{"alternatives within", nil, concat(term.Str("x"), oneOf(term.Str("a"), term.Str("b")), term.Str("y")), []string{"xay", "xby"}},
		{"alternatives twice", nil, concat(oneOf(term.Str("a"), term.Str("b")), oneOf(term.Str("c"), key)), []string{"ac", "a⟨0⟩", "bc", "b⟨0⟩"}},
		{"another type's text", nil, term.New(term.As, "", "", "example.com/p.Query", term.Str("a")), []string{"a"}},
		{"trimmed", nil, call("strings.TrimSpace", "", "string", concat(term.Str(" a "), key)), []string{" a ⟨0⟩"}},
		{"replaced", nil, call("strings.ReplaceAll", "", "string", term.Str("a:t b:t"), term.Str(":t"), term.Str("x")), []string{"ax bx"}},
		{"replaced by a parameter", nil, call("strings.Replace", "", "string", term.Str("FROM {t}"), term.Str("{t}"), key, term.Int("1")), []string{"FROM ⟨0⟩"}},
		{"an unknown function of text", nil, call("example.com/p.rebind", "", "string", term.Str("a")), []string{"⟨0⟩"}},
		{"a field with one store", reader(query, term.Str("a")), query, []string{"a"}},
		{"a field with two", reader(query, term.Str("a"), term.Str("b")), query, []string{"a", "b"}},
		{"a field that leads to itself", reader(query, concat(query, term.Str("x"))), query, []string{"⟨0⟩" + strings.Repeat("x", maxDepth)}},
		{"a field of which not all is known", reader(nil), query, []string{"⟨0⟩"}},
		{"a statement", nil, stmt(param(0, dbType), slot("raw", concat(term.Str("a "), key))), []string{"a ⟨0⟩"}},
		{"clauses in whatever order", nil, stmt(param(0, dbType), slot("limit", term.Str("1")), slot("where", term.Str("x")), slot("from", term.Str("t")),
			slot("where", term.Str("y")), slot("select", term.Str("c")), slot("order", term.Str("z"))),
			[]string{" SELECT c FROM t WHERE x AND y ORDER BY z LIMIT 1"}},
		{"a file", &Reader{Fields: kept{files: map[string]string{"take.sql": "a"}}},
			term.New(term.Result, "0", "", "", call("(embed.FS).ReadFile", "", "", term.New(term.Global, "fs", "", ""), term.Str("take.sql"))), []string{"a"}},
		{"a file that is not there", &Reader{Fields: kept{}},
			term.New(term.Result, "0", "", "", call("(embed.FS).ReadFile", "", "", term.New(term.Global, "fs", "", ""), term.Str("take.sql"))), []string{"⟨0⟩"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			for _, x := range c.r.Texts(c.of) {
				got = append(got, x.SQL.String())
				if x.SQL.Holes() != len(x.Holes) {
					t.Errorf("%s has %d holes, and %d terms for them", x.SQL, x.SQL.Holes(), len(x.Holes))
				}
			}
			slices.Sort(got)
			if want := slices.Sorted(slices.Values(c.want)); !slices.Equal(got, want) {
				t.Errorf("texts %q, want %q", got, want)
			}
		})
	}
}

func TestTextsAreBounded(t *testing.T) {
	two := func(n int) *term.Term { return oneOf(term.Str("a"+strconv.Itoa(n)), term.Str("b"+strconv.Itoa(n))) }
	var parts []*term.Term
	for i := range 12 {
		parts = append(parts, two(i))
	}
	for name, x := range map[string]*term.Term{
		"text":      concat(parts...),
		"statement": stmt(param(0, dbType), slot("select", parts[0]), slot("from", parts[1]), slot("where", parts[2]), slot("order", parts[3])),
	} {
		if n := len((*Reader)(nil).Texts(x)); n == 0 || n > term.MaxAtoms {
			t.Errorf("a %s has %d texts", name, n)
		}
	}
}

func TestArgumentsOfClausesFollowTheText(t *testing.T) {
	st := stmt(param(0, dbType), slot("where", term.Str("b = ?"), term.Int("2")), slot("select", term.Str("f(?)"), term.Int("1")),
		slot("from", term.Str("t")), slot("suffix", term.Str("x ?"), term.Int("3")))
	texts := (*Reader)(nil).Texts(st)
	var got []string
	for _, a := range texts[0].Args {
		n, _ := a.IntVal()
		got = append(got, n)
	}
	if want := []string{"1", "2", "3"}; len(texts) != 1 || !slices.Equal(got, want) {
		t.Errorf("%d texts, arguments %q, want %q", len(texts), got, want)
	}
}

func TestKind(t *testing.T) {
	db, conn, tx := param(0, dbType), param(0, connType), param(0, txType)
	pool := made(client.Pool, "1.0", dbType)
	any1 := field("h", "example.com/p.Runner")
	pools := term.New(term.Load, "", "", dbType, term.New(term.ElemPtr, "", "", "", param(0, "")))
	gorm := field("db", "gorm.io/gorm.DB")
	store := field("store", "example.com/q.Store")
	within := term.New(term.Load, "", "", "example.com/q.Runner", term.New(term.FieldPtr, "runner", "", "example.com/q.Store", store))
	newStore := call("example.com/q.New", "", "example.com/q.Store", pool)
	constructed := func(runner *term.Term) *Reader {
		return &Reader{Fields: kept{stores: map[string][]*term.Term{store.Key(): {newStore}}, parts: map[string]*term.Term{newStore.Key() + ".runner": runner}}}
	}
	for _, c := range []struct {
		name string
		r    *Reader
		of   *term.Term
		want client.Kind
	}{
		{"nothing", nil, nil, client.Unknown},
		{"by its type a pool", nil, db, client.Pool},
		{"by its type a connection", nil, conn, client.Conn},
		{"by its type a transaction", nil, tx, client.Tx},
		{"of no known type", nil, param(0, "example.com/p.Runner"), client.Unknown},
		{"made as a pool", nil, pool, client.Pool},
		{"made as a connection", nil, made(client.Conn, "1.0", connType, db), client.Conn},
		{"made with its maker's kind", nil, made(client.Unknown, "1.0", "", tx), client.Tx},
		{"with a context", nil, term.New(term.WithCtx, "", "", dbType, db, param(1, ctxType)), client.Pool},
		{"behind a statement", nil, stmt(conn, slot("raw", term.Str("a"))), client.Conn},
		{"behind an interface", nil, db.WithType(dbType), client.Pool},
		{"asserted to be one", nil, term.New(term.As, "", "", connType, param(0, "any")), client.Conn},
		{"alternatives of one kind", nil, oneOf(param(0, connType), param(1, connType)), client.Conn},
		{"alternatives of two kinds", nil, oneOf(param(0, connType), param(1, txType)), client.Unknown},
		{"in a field of its type", reader(nil), field("db", dbType), client.Pool},
		{"one of several pools", reader(nil), pools, client.Unknown},
		{"in a field of an interface", reader(any1, pool), any1, client.Pool},
		{"in a field of an interface with two stores alike", reader(any1, pool, made(client.Pool, "2.0", dbType)), any1, client.Pool},
		{"in a field of an interface with unlike stores", reader(any1, pool, tx), any1, client.Unknown},
		{"in a field of an interface nobody knows", reader(nil), any1, client.Unknown},
		{"in a field that is sometimes nil", reader(any1, pool, term.Nil()), any1, client.Pool},
		{"in a field of what a constructor gave a pool", constructed(pool), within, client.Pool},
		{"in a field of what a constructor gave a transaction", constructed(tx), within, client.Tx},
		{"in a field of what an unknown constructor made", constructed(nil), within, client.Unknown},
		{"limited to one connection where it is made", &Reader{Fields: kept{capped: []string{pool.Key()}}}, pool, client.Unknown},
		{"limited to one connection in its field", &Reader{Fields: kept{capped: []string{field("db", dbType).Key()}}}, field("db", dbType), client.Unknown},
		{"weak, a parameter", nil, param(0, "gorm.io/gorm.DB"), client.Unknown},
		{"weak, in a field that gets a pool", reader(gorm, made(client.Pool, "1.0", "gorm.io/gorm.DB")), gorm, client.Pool},
		{"weak, in a field that gets a transaction", reader(gorm, made(client.Tx, "1.0", "gorm.io/gorm.DB")), gorm, client.Unknown},
		{"weak, in a field that gets both", reader(gorm, made(client.Pool, "1.0", ""), made(client.Tx, "2.0", "")), gorm, client.Unknown},
	} {
		if got := c.r.Kind(c.of); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

func TestSession(t *testing.T) {
	db, conn := param(0, dbType), param(0, connType)
	taken := made(client.Conn, "1.0", connType, db)
	onConn := made(client.Tx, "2.0", txType, taken)
	onPool := made(client.Tx, "2.0", txType, db)
	st := stmt(taken, slot("raw", term.Str("a")))
	inField := field("st", "database/sql.Stmt")
	for _, c := range []struct {
		name     string
		r        *Reader
		of, want *term.Term
	}{
		{"a pool is itself", nil, db, db},
		{"a connection is itself", nil, taken, taken},
		{"a transaction on a connection is the connection", nil, onConn, taken},
		{"a transaction on a given connection is that", nil, made(client.Tx, "2.0", txType, conn), conn},
		{"a transaction on a pool is itself", nil, onPool, onPool},
		{"a transaction in a transaction is the outer one", nil, made(client.Tx, "3.0", txType, onPool), onPool},
		{"a statement is its handle", nil, st, taken},
		{"an assertion is what is asserted", nil, term.New(term.As, "", "", connType, taken), taken},
		{"a context changes nothing", nil, term.New(term.WithCtx, "", "", connType, taken, param(1, ctxType)), taken},
		{"a statement in a field is its handle", reader(inField, st), inField, taken},
		{"a statement in a field with two stores is itself", reader(inField, st, stmt(db, slot("raw", term.Str("a")))), inField, inField},
	} {
		if got := c.r.Session(c.of); !term.Equal(got, c.want) {
			t.Errorf("%s: %s, want %s", c.name, got.Key(), c.want.Key())
		}
	}
}

func TestOriginAndOwner(t *testing.T) {
	db := param(0, dbType)
	taken := made(client.Conn, "1.0", connType, term.New(term.As, "", "", dbType, db))
	if o := (*Reader)(nil).Origin(taken); !term.Equal(o, db) {
		t.Errorf("the connection comes from %v", o)
	}
	if o := (*Reader)(nil).Origin(param(0, connType)); o != nil {
		t.Errorf("a parameter comes from %s", o.Key())
	}
	if !Owned(taken) || Owned(param(0, connType)) || Owned(made(client.Conn, Kept+"1.0", connType, db)) {
		t.Error("a connection is owned just where it was taken")
	}
}

func TestContext(t *testing.T) {
	const cleanup = "7.0"
	ctx := param(0, ctxType)
	background := call("context.Background", "", ctxType)
	with := func(name, site string, parent *term.Term) *term.Term {
		return term.New(term.Result, "0", "", ctxType, call(name, site, "", parent))
	}
	inside, before := cleanup+"/0.1", "1.4"
	stored := field("ctx", ctxType)
	for _, c := range []struct {
		name string
		r    *Reader
		of   *term.Term
		want Context // without Why
	}{
		{"none", nil, nil, Context{Kind: ContextNone}},
		{"a parameter", nil, ctx, Context{Kind: FromCaller, Deadline: true}},
		{"a variable of the function around", nil, term.New(term.Free, "0", "", ctxType), Context{Kind: FromCaller, Deadline: true}},
		{"a parameter of another type", nil, param(0, "example.com/p.Env"), Context{}},
		{"Background", nil, background, Context{Kind: Detached}},
		{"TODO", nil, call("context.TODO", "", ctxType), Context{Kind: Detached}},
		{"WithoutCancel", nil, call("context.WithoutCancel", "", ctxType, ctx), Context{Kind: Detached}},
		{"nil", nil, term.Nil(), Context{Kind: Detached}},
		{"a value added to a parameter", nil, call("context.WithValue", "", ctxType, ctx, term.Int("1"), term.Int("2")), Context{Kind: FromCaller, Deadline: true}},
		{"a value added to Background", nil, call("context.WithValue", "", ctxType, background, term.Int("1"), term.Int("2")), Context{Kind: Detached}},
		{"cancellable, made before the cleanup", nil, with("context.WithCancel", before, background), Context{Kind: Cancellable}},
		{"with a timeout, made before the cleanup", nil, with("context.WithTimeout", before, background), Context{Kind: Cancellable, Deadline: true}},
		{"with a timeout from Background, made in the cleanup", nil, with("context.WithTimeout", inside, background), Context{Kind: Detached, Deadline: true}},
		{"with a timeout from a parameter, made in the cleanup", nil, with("context.WithTimeout", inside, ctx), Context{Kind: FromCaller, Deadline: true}},
		{"cancellable, made in another cleanup", nil, with("context.WithCancel", "7.01/0.1", background), Context{Kind: Cancellable}},
		{"two layers, both in the cleanup", nil, with("context.WithCancel", inside, with("context.WithDeadline", inside, background)), Context{Kind: Detached, Deadline: true}},
		{"two layers, the lower one before", nil, with("context.WithTimeout", inside, with("context.WithCancel", before, background)), Context{Kind: Cancellable, Deadline: true}},
		{"a request's", nil, call("(*net/http.Request).Context", "", ctxType, param(1, "net/http.Request")), Context{Kind: Cancellable, Deadline: true}},
		{"a test's", nil, call("(*testing.common).Context", "", ctxType, param(1, "testing.T")), Context{Kind: Cancellable, Deadline: true}},
		{"a group's", nil, term.New(term.Result, "1", "", ctxType, call("golang.org/x/sync/errgroup.WithContext", before, "", background)), Context{Kind: Cancellable}},
		{"another function's", nil, call("example.com/p.ctx", "1.0", ctxType, ctx), Context{}},
		{"one of two alike", nil, oneOf(background, call("context.TODO", "", ctxType)), Context{Kind: Detached}},
		{"one of two unlike", nil, oneOf(background, ctx), Context{}},
		{"in a field that gets Background", reader(stored, background), stored, Context{Kind: Detached}},
		{"in a field that gets a constructor's parameter", reader(stored, term.Unknown("param:example.com/p.New.ctx", ctxType)), stored, Context{Kind: Cancellable, Deadline: true}},
		{"in a field nobody knows", reader(nil), stored, Context{}},
		{"in a field that leads to itself", reader(stored, call("context.WithValue", "", ctxType, stored, term.Int("1"), term.Int("2"))), stored, Context{}},
	} {
		got := c.r.Context(c.of, cleanup)
		if got.Kind == Cancellable && got.Why == "" {
			t.Errorf("%s: cancellable, and no reason given", c.name)
		}
		if got.Why = ""; got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}

func TestFrom(t *testing.T) {
	ctx := param(0, ctxType)
	child := term.New(term.Result, "0", "", ctxType, call("context.WithTimeout", "1.0", "", ctx))
	for _, c := range []struct {
		name string
		of   *term.Term
		want bool
	}{
		{"itself", ctx, true},
		{"with a timeout", child, true},
		{"with a value", call("context.WithValue", "", ctxType, child, term.Int("1"), term.Int("2")), true},
		{"without the cancellation", call("context.WithoutCancel", "", ctxType, ctx), false},
		{"another one", param(1, ctxType), false},
		{"another function's", term.New(term.Result, "0", "", ctxType, call("example.com/p.ctx", "1.0", "", ctx)), false},
	} {
		if got := From(c.of, ctx.Key()); got != c.want {
			t.Errorf("%s: from it %t", c.name, got)
		}
	}
	if From(ctx, child.Key()) {
		t.Error("a parent does not come from its child")
	}
}

// keyOf is the key of the first lock call in a text.
func keyOf(t *testing.T, r *Reader, text *term.Term, args ...*term.Term) Key {
	t.Helper()
	texts := r.Texts(text)
	script := sqltext.Parse(texts[0].SQL)
	if len(texts) != 1 || len(script.Stmts) == 0 || len(script.Stmts[0].Calls) == 0 {
		t.Fatalf("no lock call in %s", text.Key())
	}
	return r.KeyOf(&script.Stmts[0].Calls[0], texts[0], args)
}

func TestKeyOf(t *testing.T) {
	id := param(1, "int64")
	fresh := call("rand.Int", "2.0", "int64")
	inField := field("key", "int64")
	for _, c := range []struct {
		name                 string
		r                    *Reader
		text                 *term.Term
		args                 []*term.Term
		parts                string
		constant, comparable bool
	}{
		{"a literal", nil, term.Str("SELECT pg_advisory_lock(42)"), nil, "=42", true, true},
		{"two literals", nil, term.Str("SELECT pg_advisory_lock(4, 2)"), nil, "=4 =2", true, true},
		{"a constant argument", nil, term.Str("SELECT pg_advisory_lock($1)"), []*term.Term{term.Int("42")}, "=42", true, true},
		{"a parameter", nil, term.Str("SELECT pg_advisory_lock($1)"), []*term.Term{id}, id.Key(), false, true},
		{"arguments by number", nil, term.Str("SELECT pg_advisory_lock($2, $1)"), []*term.Term{term.Int("1"), term.Int("2")}, "=2 =1", true, true},
		{"an argument by name", nil, term.Str("SELECT pg_advisory_lock(@room)"), []*term.Term{slot("desk", term.Int("1")), slot("room", term.Int("2"))}, "=2", true, true},
		{"an argument that is not there", nil, term.Str("SELECT pg_advisory_lock($2)"), []*term.Term{id}, "?", false, false},
		{"a new value each time", nil, term.Str("SELECT pg_advisory_lock($1)"), []*term.Term{fresh}, fresh.Key(), false, false},
		{"one of two values", nil, term.Str("SELECT pg_advisory_lock($1)"), []*term.Term{oneOf(id, term.Int("3"))}, oneOf(id, term.Int("3")).Key(), false, false},
		{"a field", reader(nil), term.Str("SELECT pg_advisory_lock($1)"), []*term.Term{inField}, inField.Key(), false, true},
		{"a field that is always the same", reader(inField, term.Int("5")), term.Str("SELECT pg_advisory_lock($1)"), []*term.Term{inField}, "=5", true, true},
		{"a hole", nil, concat(term.Str("SELECT pg_advisory_lock("), id, term.Str(")")), nil, id.Key(), false, true},
		{"a constant put in", nil, concat(term.Str("SELECT pg_advisory_lock("), term.Int("6"), term.Str(")")), nil, "=6", true, true},
		{"an expression", nil, term.Str("SELECT pg_advisory_lock(hashtext($1))"), []*term.Term{id}, "hashtext ( $1 )|" + id.Key(), false, true},
		{"a name", nil, term.Str("SELECT GET_LOCK('Nightly', 1)"), nil, "=nightly", true, true},
		{"a statement's own argument", nil, stmt(param(0, dbType), slot("raw", term.Str("SELECT pg_advisory_lock(?)"), term.Int("8"))), nil, "=8", true, true},
	} {
		k := keyOf(t, c.r, c.text, c.args...)
		if got := strings.Join(k.Parts, " "); got != c.parts || k.Constant != c.constant || k.Comparable != c.comparable {
			t.Errorf("%s: %q, constant %t, comparable %t, want %q, %t, %t", c.name, got, k.Constant, k.Comparable, c.parts, c.constant, c.comparable)
		}
	}
}

func TestKeyFaults(t *testing.T) {
	id, name := param(1, "int64"), param(2, "string")
	long := strings.Repeat("x", maxNameLen)
	for _, c := range []struct {
		name string
		text string
		arg  *term.Term
		want string
	}{
		{"sound", "SELECT pg_advisory_lock($1)", id, ""},
		{"hashed by the server", "SELECT pg_advisory_lock(hashtext($1))", name, "hash32"},
		{"hashed by the server to 64 bits", "SELECT pg_advisory_lock(hashtextextended($1, 0))", name, ""},
		{"a CRC", "SELECT pg_advisory_lock($1)", call("hash/crc32.ChecksumIEEE", "", "uint32", name), "hash32"},
		{"a sum of 32 bits", "SELECT pg_advisory_lock($1)", call("(hash.Hash32).Sum32", "3.0", "uint32"), "hash32"},
		{"a sum of 64 bits", "SELECT pg_advisory_lock($1)", call("(hash.Hash64).Sum64", "3.0", "uint64"), ""},
		{"narrowed", "SELECT pg_advisory_lock($1)", term.New(term.Conv, "int32", "", "int32", id), "narrowed"},
		{"narrowed without a sign", "SELECT pg_advisory_lock($1)", term.New(term.Conv, "uint32", "", "", id), "narrowed"},
		{"widened", "SELECT pg_advisory_lock($1)", term.New(term.Conv, "int64", "", "int64", id), ""},
		{"the longest name", "SELECT GET_LOCK(?, 1)", term.Str(long), ""},
		{"a longer name", "SELECT GET_LOCK(?, 1)", term.Str(long + "y"), "long"},
		{"a longer literal", "SELECT GET_LOCK('" + long + "y', 1)", id, "long"},
		{"a name of wide characters", "SELECT GET_LOCK(?, 1)", term.Str(strings.Repeat("ä", maxNameLen)), ""},
		{"a prefix that is long enough", "SELECT GET_LOCK(?, 1)", concat(term.Str(long+"y"), name), "long"},
		{"a prefix that leaves room", "SELECT GET_LOCK(?, 1)", concat(term.Str("job:"), name), ""},
		{"one of two names too long", "SELECT GET_LOCK(?, 1)", oneOf(term.Str(long+"y"), term.Str("a")), ""},
		{"a long text for PostgreSQL", "SELECT pg_advisory_lock(hashtextextended('" + long + "yy', 0))", id, ""},
	} {
		k := keyOf(t, nil, term.Str(c.text), c.arg)
		var got []string
		for word, on := range map[string]bool{"hash32": k.Hash32, "narrowed": k.Narrowed, "long": k.TooLong} {
			if on {
				got = append(got, word)
			}
		}
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("%s: %q, want %q", c.name, s, c.want)
		}
	}
}

func TestIntArg(t *testing.T) {
	for _, c := range []struct {
		text string
		args []*term.Term
		want int
		ok   bool
	}{
		{"SELECT GET_LOCK('a', 5)", nil, 5, true},
		{"SELECT GET_LOCK('a', -1)", nil, -1, true},
		{"SELECT GET_LOCK(?, ?)", []*term.Term{term.Str("a"), term.Int("7")}, 7, true},
		{"SELECT GET_LOCK(?, ?)", []*term.Term{term.Str("a"), param(1, "int")}, 0, false},
		{"SELECT GET_LOCK(?, ?)", []*term.Term{term.Str("a")}, 0, false},
	} {
		text := (*Reader)(nil).Texts(term.Str(c.text))[0]
		got := sqltext.Parse(text.SQL).Stmts[0].Calls[0]
		if n, ok := IntArg(got.Timeout, text, c.args); n != c.want || ok != c.ok {
			t.Errorf("%s with %d arguments: %d, %t, want %d, %t", c.text, len(c.args), n, ok, c.want, c.ok)
		}
	}
}
