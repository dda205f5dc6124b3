package symexec

import (
	"cmp"
	"go/types"
	"slices"
	"strconv"
	"strings"

	"github.com/advisorylint/advisorylint/analyzer/internal/client"
	"github.com/advisorylint/advisorylint/analyzer/internal/sqltext"
	"github.com/advisorylint/advisorylint/analyzer/internal/summary"
	"github.com/advisorylint/advisorylint/analyzer/internal/term"
)

// maxPlain is how many plain statements in a row on one handle a trace keeps.
const maxPlain = 8

// batchElem is where a batch keeps its statements.
const batchElem = "batch"

// operands are a catalogued call's operands by what they are.
type operands struct {
	m    *client.Method
	recv *term.Term
	args []*term.Term // without the receiver
}

func (o *operands) at(i int) *term.Term {
	if i >= 0 && i < len(o.args) {
		return o.args[i]
	}
	return nil
}

// handle is the handle, without a context that was attached to it.
func (o *operands) handle() (handle, ctx *term.Term) {
	h := o.recv
	if o.m.Handle != client.NoArg {
		h = o.at(o.m.Handle)
	}
	return detach(h)
}

func detach(h *term.Term) (handle, ctx *term.Term) {
	for h != nil && (h.Op == term.WithCtx || h.Op == term.As) {
		if h.Op == term.As {
			inner, c := detach(h.Args[0])
			if c == nil {
				return h, nil
			}
			return term.New(term.As, "", "", h.Type, inner), c
		}
		if ctx == nil {
			ctx = h.Args[1]
		}
		h = h.Args[0]
	}
	return h, ctx
}

// row runs a call that the catalogue knows.
func (x *exec) row(s *state, c *call, m *client.Method, obj *types.Func) []*state {
	o := &operands{m: m, args: c.args}
	if obj.Signature().Recv() != nil && len(c.args) > 0 {
		o.recv, o.args = c.args[0], c.args[1:]
	}
	switch m.Effect {
	case client.Send, client.Run:
		x.send(s, c, o)
	case client.Build, client.Clause, client.Bind:
		x.build(s, c, o)
	case client.Derive:
		x.derive(s, c, o, obj)
	case client.Same:
		h := o.recv
		if h == nil {
			h, _ = o.handle()
		}
		if ctx := o.at(m.Ctx); ctx != nil {
			h = term.New(term.WithCtx, "", "", h.Type, h, ctx)
		}
		x.results1(s, c, h)
	case client.Callback:
		return x.scoped(s, c, o, obj)
	case client.End:
		return x.ending(s, c, o)
	case client.Cap:
		if n := o.at(0); n != nil && n.Str == "i:1" {
			s.emit(&summary.Effect{Op: summary.Cap, Site: c.site, Steps: x.step(c), Handle: o.recv})
		}
		x.results1(s, c, o.recv)
	case client.Queue:
		x.queue(s, c, o)
	case client.RunBatch:
		x.runBatch(s, c, o)
	case client.Read:
		return x.read(s, c, o)
	case client.Text:
		x.fragment(s, c, o)
	case client.Dests:
		x.dests(s, c, o)
	default:
		x.fresh(s, c, obj.FullName(), o.recv)
	}
	return []*state{s}
}

// results1 gives the first result that is not an error the value v; errors are unknown.
func (x *exec) results1(s *state, c *call, v *term.Term) {
	r := x.signature(c).Results()
	res := make([]*term.Term, r.Len())
	failed := term.Unknown(c.site, "")
	if v != nil {
		if h, _ := detach(v); isMade(h) {
			failed = h // there is a handle just when there is no error
		}
	}
	for i := range res {
		typ := typeName(r.At(i).Type())
		switch {
		case typ == "error":
			res[i] = term.New(term.ErrOf, "", "", "error", failed)
		case v != nil:
			res[i] = v
			if typ != "" && v.Type != typ && v.Op != term.Stmt && v.Op != term.Cell && !types.IsInterface(r.At(i).Type()) {
				res[i] = term.New(term.As, "", "", typ, v)
			}
			v = nil
		default:
			res[i] = term.Unknown(c.site+"r"+strconv.Itoa(i), typ)
		}
	}
	x.ret(s, c, res)
}

func (x *exec) fresh(s *state, c *call, name string, args ...*term.Term) {
	if len(args) == 1 && args[0] == nil {
		args = nil
	}
	x.results1(s, c, term.New(term.Call, name, c.site, x.resultType(c, 0), args...))
}

// statementArgs are the arguments from number i on, those of a variadic or slice one by one.
func (x *exec) statementArgs(s *state, args []*term.Term, i int) []*term.Term {
	if i < 0 || i >= len(args) {
		return nil
	}
	var out []*term.Term
	for _, a := range args[i:] {
		if elems, known := elementsOf(s, a); known && a.Op == term.Cell {
			if len(elems) == 0 && keyed(s, a) {
				out = append(out, a) // a map of named arguments
				continue
			}
			out = append(out, elems...)
			continue
		}
		if a.IsNil() {
			continue
		}
		if a.Op == term.Call && a.Str == "append" && len(a.Args) > 0 { // a list of which the beginning is known
			elems, _ := elementsOf(s, a.Args[0])
			out = append(out, elems...)
			break
		}
		out = append(out, a)
	}
	out = slices.DeleteFunc(out, func(a *term.Term) bool {
		row, ok := client.TypeOf(a.Type)
		return ok && row.Role == client.SendOption
	})
	return x.named(s, out)
}

func keyed(s *state, m *term.Term) bool { return len(s.mem.parts(m, term.ElemPtr)) > 0 }

// named replaces a map of named arguments by its entries, as Slots named for the key.
func (x *exec) named(s *state, args []*term.Term) []*term.Term {
	out := args[:0:0]
	for _, a := range args {
		if a.Op != term.Cell {
			out = append(out, a)
			continue
		}
		found := false
		for _, e := range s.mem.parts(a, term.ElemPtr) {
			if name, ok := strings.CutPrefix(e.Loc.Str, "s:"); ok {
				out = append(out, term.New(term.Slot, name, "", "", e.Val))
				found = true
			}
		}
		if !found {
			out = append(out, a)
		}
	}
	return out
}

// texts are the texts that a call is given for its slot, each a Slot with its arguments.
func (x *exec) texts(s *state, c *call, o *operands) []*term.Term {
	name := cmp.Or(o.m.Slot, "raw")
	text := o.at(o.m.SQL)
	if o.m.Statement != "" {
		text = term.Str(o.m.Statement)
	}
	if text != nil && text.IsNil() {
		return []*term.Term{} // Select() without columns
	}
	if text == nil {
		if o.m.Effect == client.Clause && name == "limit" {
			return []*term.Term{term.New(term.Slot, name, "", "", term.Str("1"))}
		}
		return nil
	}
	if o.m.SQL == o.m.Args { // a list: the text, then its arguments
		list := x.statementArgs(s, o.args, o.m.SQL)
		if len(list) == 0 {
			return nil
		}
		return []*term.Term{term.New(term.Slot, name, "", "", append([]*term.Term{x.ident(o, list[0])}, list[1:]...)...)}
	}
	if elems, known := elementsOf(s, text); known && text.Op == term.Cell {
		var out []*term.Term
		for _, e := range elems { // Select("a", "b"): texts one by one
			out = append(out, term.New(term.Slot, name, "", "", x.ident(o, e)))
		}
		return out
	}
	args := x.statementArgs(s, o.args, o.m.Args)
	if o.m.Slot == "call" {
		text = concat(text, term.Str("("+strings.TrimSuffix(strings.Repeat("?, ", len(args)), ", ")+")"))
		name = "raw"
	}
	return []*term.Term{term.New(term.Slot, name, "", "", append([]*term.Term{x.ident(o, text)}, args...)...)}
}

// ident quotes a plain string where the library takes it for a name.
func (x *exec) ident(o *operands, text *term.Term) *term.Term {
	if o.m.Idents && text.Op != term.Stmt {
		if n, ok := text.StrVal(); ok {
			return term.Str(`"` + n + `"`)
		}
	}
	return text
}

// fragment makes a piece of text a value: a Stmt without a handle.
func (x *exec) fragment(s *state, c *call, o *operands) {
	v := o.recv
	if slots := x.texts(s, c, o); len(slots) > 0 {
		v = term.New(term.Stmt, "", "", "", append([]*term.Term{term.Nil()}, slots...)...)
	}
	x.results1(s, c, v)
}

// dests wraps destination pointers into one value.
func (x *exec) dests(s *state, c *call, o *operands) {
	list := term.New(term.Cell, "", c.site, "")
	for i, d := range x.statementArgs(s, o.args, max(o.m.Dest, 0)) {
		s.store(elemPtr(list, term.Int(strconv.Itoa(i))), d)
	}
	x.results1(s, c, list)
}

// send sends a text, or runs a statement that was built before.
func (x *exec) send(s *state, c *call, o *operands) {
	handle, ctx := o.handle()
	if o.m.To != client.Unknown {
		handle = told(handle, o.m.To)
	}
	e := &summary.Effect{Op: summary.Send, Site: c.site, Steps: x.step(c), Handle: handle, Answer: o.m.Answer, Ctx: ctx}
	if a := o.at(o.m.Ctx); a != nil {
		e.Ctx = a
	}
	slots := x.texts(s, c, o)
	switch {
	case o.m.Effect == client.Run:
		e.Text = handle // a Stmt, or what a caller shows to be one
		if st := o.at(o.m.Stmt); st != nil {
			e.Text = st
		}
		if len(slots) > 0 {
			e.Text = extend(e.Text, slots)
		}
		if o.m.SQL != o.m.Args {
			e.Args = x.statementArgs(s, o.args, o.m.Args)
		}
	case len(slots) == 1 && slots[0].Str == "raw":
		e.Text, e.Args = loose(slots[0].Args[0]), slots[0].Args[1:]
	case len(slots) > 0:
		e.Text = extend(term.Nil(), slots)
	default:
		e.Text = term.Unknown(c.site+"q", "")
	}
	if e.Text.Op == term.Stmt && e.Ctx == nil {
		_, e.Ctx = detach(e.Text.Args[0])
	}
	if name, ok := e.Text.StrVal(); ok { // the name of a statement that was prepared on this handle
		if p, ok := s.mem.get(prepared(handle, name).Key()); ok {
			e.Text = loose(p.Val)
		}
	}
	sent := term.New(term.Sent, "", c.site, "")
	e.Made = sent
	if !plain(e) || s.plainOn(handle) < maxPlain {
		s.emit(e)
	}
	x.answer(s, c, o, sent)
}

// told is a handle of which only the user's word says what it is: the same one for all that is sent so on
// base, nil for a function without a handle.
func told(base *term.Term, kind client.Kind) *term.Term {
	if base == nil {
		return term.New(term.Call, madeName("told", kind), "", "")
	}
	return term.New(term.Call, madeName("told", kind), "", base.Type, base)
}

// plain reports whether a statement has nothing to do with locks, settings or transactions: its text
// is known and says none of it.
func plain(e *summary.Effect) bool {
	text, ok := e.Text.StrVal()
	if !ok || e.Handle == nil || sqltext.Mentions(text) {
		return false
	}
	verb, _, _ := strings.Cut(strings.ToLower(strings.TrimSpace(text)), " ")
	return slices.Contains([]string{"select", "insert", "update", "delete", "with"}, verb)
}

// prepared is where a handle keeps the statement prepared under a name.
func prepared(handle *term.Term, name string) *term.Term {
	for handle != nil && handle.Op == term.As {
		handle = handle.Args[0]
	}
	if handle == nil {
		handle = term.Nil()
	}
	return term.New(term.ElemPtr, "prepared "+name, "", "", handle)
}

// extend adds clauses to a statement, or begins one on a handle.
func extend(base *term.Term, slots []*term.Term) *term.Term {
	if base.Op == term.Stmt {
		return term.New(term.Stmt, "", base.Site, base.Type, append(append([]*term.Term(nil), base.Args...), slots...)...)
	}
	return term.New(term.Stmt, "", "", "", append([]*term.Term{base}, slots...)...)
}

// loose is a text without the handle that its builder may have had: another sends it.
func loose(text *term.Term) *term.Term {
	if text.Op == term.Stmt && !text.Args[0].IsNil() {
		return term.New(term.Stmt, "", text.Site, text.Type, append([]*term.Term{term.Nil()}, text.Args[1:]...)...)
	}
	return text
}

// answer gives a sending call its results and writes its destinations.
func (x *exec) answer(s *state, c *call, o *operands, sent *term.Term) {
	if o.m.Dest >= 0 {
		x.scan(s, c, o.args, o.m.Dest, sent)
	}
	r := x.signature(c).Results()
	res := make([]*term.Term, r.Len())
	for i := range res {
		typ := typeName(r.At(i).Type())
		switch {
		case typ == "error":
			res[i] = term.New(term.ErrOf, "", "", "error", sent)
		case o.m.Answer == client.Dest && typ == "bool": // xorm's (has bool, err error)
			res[i] = term.New(term.HasRow, "", "", "bool", sent)
		case o.m.Answer == client.Value:
			res[i] = term.New(term.Answer, "-1", "", typ, sent)
		default:
			res[i] = sent.WithType(typ)
		}
	}
	x.ret(s, c, res)
}

// scan writes the answer's columns to the pointers from argument i on.
func (x *exec) scan(s *state, c *call, args []*term.Term, i int, sent *term.Term) {
	col := 0
	for _, a := range args[min(i, len(args)):] {
		dests := []*term.Term{a}
		if elems, known := elementsOf(s, a); known && (len(elems) > 0 || a.IsNil()) {
			dests = elems
		}
		for _, d := range dests {
			ans := term.New(term.Answer, strconv.Itoa(col), "", "", sent)
			col++
			if d.Op == term.Opaque || d.IsNil() {
				x.run.Consumed[ans.Key()] = ans // where it goes is not seen
				continue
			}
			// What is kept outside may be looked at there. A captured variable is followed.
			if d.Root().Op != term.Cell && d.Op != term.Free {
				x.run.Consumed[ans.Key()] = ans
			}
			s.store(d, ans)
		}
	}
}

// build makes or extends a statement.
func (x *exec) build(s *state, c *call, o *operands) {
	base := o.recv
	if base == nil {
		base, _ = o.handle()
	}
	if base == nil {
		base = term.Unknown(c.site+"h", "")
	}
	slots := x.texts(s, c, o)
	switch {
	case o.m.Effect == client.Bind:
		if h := o.at(max(o.m.Handle, 0)); h != nil {
			if base.Op == term.Stmt {
				slots = base.Args[1:]
			}
			base = h
		}
	case o.m.Stmt >= 0:
		slots = []*term.Term{term.New(term.Slot, "raw", "", "", term.Unknown(c.site+"q", ""))}
		if st := o.at(o.m.Stmt); st != nil && st.Op == term.Stmt {
			slots = st.Args[1:]
		}
	case slots == nil && o.m.Slot != "":
		slots = []*term.Term{term.New(term.Slot, o.m.Slot, "", "", term.Unknown(c.site+"q", ""))}
	}
	if ctx := o.at(o.m.Ctx); ctx != nil && o.m.Effect == client.Clause && base.Op != term.Stmt {
		base = term.New(term.WithCtx, "", "", base.Type, base, ctx)
	}
	st := extend(base, slots)
	if as := o.at(o.m.As); as != nil {
		if name, ok := as.StrVal(); ok {
			loc := prepared(base, name)
			s.mem.put(summary.Store{Loc: loc, Val: st})
		}
	}
	x.results1(s, c, term.New(term.Stmt, "", c.site, x.resultType(c, 0), st.Args...))
}

// madeName names the call that made a handle of a kind; MadeKind reads it.
func madeName(name string, k client.Kind) string {
	return name + "#" + strconv.Itoa(int(k))
}

// MadeKind is the kind of handle that a term says a catalogued call made; ok is false for other
// terms. Unknown stands for the kind of the handle it was made from, its first argument.
func MadeKind(t *term.Term) (k client.Kind, ok bool) {
	i := strings.LastIndexByte(t.Str, '#')
	if t.Op != term.Call || i < 0 {
		return client.Unknown, false
	}
	n, err := strconv.Atoi(t.Str[i+1:])
	return client.Kind(n), err == nil
}

func isMade(t *term.Term) bool {
	_, ok := MadeKind(t)
	return ok
}

// derive makes a handle from another.
func (x *exec) derive(s *state, c *call, o *operands, obj *types.Func) {
	base, ctx := o.handle()
	if o.m.DSN != client.NoArg && base == nil {
		base = o.at(o.m.DSN)
	}
	var from []*term.Term
	if base != nil {
		from = append(from, base)
	}
	made := term.New(term.Call, madeName(obj.FullName(), o.m.To), c.site, x.resultType(c, 0), from...)
	if a := o.at(o.m.Ctx); a != nil {
		ctx = a
	}
	if o.m.To == client.Pool && base != nil && single(s, base) {
		defer s.emit(&summary.Effect{Op: summary.Cap, Site: c.site + "c", Steps: x.step(c), Handle: made})
	}
	if base != nil && !x.givesHandle(c) { // the receiver itself changes: xorm's Session.Begin
		made = base
	}
	x.opened(s, c, o, base, made, ctx)
	if ctx != nil && o.m.To == client.Tx { // what the transaction sends without a context of its own ends with this one
		x.results1(s, c, term.New(term.WithCtx, "", "", made.Type, made, ctx))
		return
	}
	x.results1(s, c, made)
}

// single reports whether a pool's configuration allows it one connection: pgxpool's MaxConns.
func single(s *state, dsn *term.Term) bool {
	if t, ok := dsn.StrVal(); ok {
		return strings.Contains(t, "pool_max_conns=1") && !strings.Contains(t, "pool_max_conns=1"+"0")
	}
	e, ok := s.mem.get(term.New(term.FieldPtr, "MaxConns", "", "", dsn).Key())
	return ok && e.Val.Str == "i:1"
}

// givesHandle reports whether a call has a result that is not an error.
func (x *exec) givesHandle(c *call) bool {
	for i := range x.signature(c).Results().Len() {
		if x.resultType(c, i) != "error" {
			return true
		}
	}
	return false
}

// opened emits what opening the handle made does.
func (x *exec) opened(s *state, c *call, o *operands, base, made, ctx *term.Term) {
	switch o.m.To {
	case client.Tx:
		e := &summary.Effect{Op: summary.Begin, Site: c.site, Steps: x.step(c), Handle: base, Made: made, Ctx: ctx}
		e.Snapshot = snapshot(s, o.at(o.m.Opts))
		s.emit(e)
	case client.Conn:
		s.emit(&summary.Effect{Op: summary.Take, Site: c.site, Steps: x.step(c), Handle: base, Made: made, Ctx: ctx})
	}
}

// snapshot reports whether transaction options ask for REPEATABLE READ or SERIALIZABLE.
func snapshot(s *state, opts *term.Term) bool {
	if opts == nil {
		return false
	}
	all := []*term.Term{opts}
	if elems, known := elementsOf(s, opts); known { // a variadic parameter
		all = append(all, elems...)
	}
	for _, o := range all {
		for _, name := range []string{"Isolation", "IsoLevel"} {
			v := s.field(o, name, "")
			if o.Op == term.Cell {
				v = s.load(term.New(term.FieldPtr, name, "", "", o), "", nil)
			}
			switch strings.ToLower(strings.TrimPrefix(v.Str, "s:")) {
			case "i:4", "i:5", "i:6", "repeatable read", "serializable": // sql.LevelRepeatableRead, Snapshot, Serializable
				return true
			}
		}
	}
	return false
}

// scoped runs a callback with a handle that lives as long as the callback.
func (x *exec) scoped(s *state, c *call, o *operands, obj *types.Func) []*state {
	base, ctx := o.handle()
	fn := o.at(o.m.Fn)
	if fn == nil {
		x.fresh(s, c, obj.FullName(), base)
		return []*state{s}
	}
	typ := paramType(obj, o.m.Fn, o.m.FnArg)
	made := term.New(term.Call, madeName(obj.FullName(), o.m.To), c.site, typ, base)
	var h *term.Term = made
	if a := o.at(o.m.Ctx); a != nil {
		ctx = a
	} else if ctx != nil {
		h = term.New(term.WithCtx, "", "", typ, made, ctx)
	}
	x.opened(s, c, o, base, made, ctx)
	outs, _ := x.within(s, c, o.m, fn, h)
	for _, out := range outs {
		out.emit(&summary.Effect{Op: summary.End, Site: c.site + "x", Steps: x.step(c), Handle: made, Ending: o.m.Ending})
		x.fresh(out, c, obj.FullName(), base)
	}
	return outs
}

// paramType is the type name of parameter i of the function that parameter fn of obj is.
func paramType(obj *types.Func, fn, i int) string {
	params := obj.Signature().Params()
	if fn >= params.Len() {
		return ""
	}
	sig, ok := params.At(fn).Type().Underlying().(*types.Signature)
	if !ok || i >= sig.Params().Len() {
		return ""
	}
	return typeName(sig.Params().At(i).Type())
}

// ending ends a handle.
func (x *exec) ending(s *state, c *call, o *operands) []*state {
	h, _ := o.handle()
	outs := []*state{s}
	e := &summary.Effect{Op: summary.End, Site: c.site, Steps: x.step(c), Handle: h, Ending: o.m.Ending}
	if fn := o.at(o.m.Fn); fn != nil { // sql.Conn.Raw
		if !x.discards(fn) {
			outs, _ = x.within(s, c, o.m, fn, h)
			for _, out := range outs {
				x.fresh(out, c, "raw", h)
			}
			return outs
		}
	}
	s.emit(e)
	if o.m.Ending == client.Detach {
		x.results1(s, c, h)
		return outs
	}
	x.fresh(s, c, "end", h)
	return outs
}

// discards reports whether fn can return driver.ErrBadConn.
func (x *exec) discards(fn *term.Term) bool {
	sum, _, _ := x.target(fn, nil)
	if sum == nil {
		return false
	}
	for _, o := range sum.Outcomes {
		for _, r := range o.Results {
			if r.Has(func(t *term.Term) bool { return t.Op == term.Global && t.Str == "database/sql/driver.ErrBadConn" }) {
				return true
			}
		}
	}
	return false
}

// queue adds a statement to a batch.
func (x *exec) queue(s *state, c *call, o *operands) {
	loc := term.New(term.ElemPtr, batchElem, "", "", o.recv)
	var have []*term.Term
	if e, ok := s.mem.get(loc.Key()); ok && e.Val.Op == term.Batch {
		have = e.Val.Args
	}
	slots := x.texts(s, c, o)
	if len(slots) == 0 {
		slots = []*term.Term{term.New(term.Slot, "raw", "", "", term.Unknown(c.site+"q", ""))}
	}
	q := term.New(term.Stmt, "", c.site, "", append([]*term.Term{term.Nil()}, slots...)...)
	s.mem.put(summary.Store{Loc: loc, Val: term.New(term.Batch, "", "", "", append(append([]*term.Term(nil), have...), q)...)})
	x.results1(s, c, term.New(term.Sent, "", c.site, "")) // through which the item's answer may be read
}

// runBatch sends the statements of a batch.
func (x *exec) runBatch(s *state, c *call, o *operands) {
	handle, ctx := o.handle()
	if a := o.at(o.m.Ctx); a != nil {
		ctx = a
	}
	sent := term.New(term.Sent, "", c.site, "")
	e := &summary.Effect{Op: summary.Send, Site: c.site, Steps: x.step(c), Handle: handle, Ctx: ctx, Answer: client.Rows,
		Made: sent, Text: term.Unknown(c.site+"q", "")}
	if b := o.at(o.m.Batch); b != nil {
		loc := term.New(term.ElemPtr, batchElem, "", "", b)
		if m, ok := s.mem.get(loc.Key()); ok && m.Val.Op == term.Batch {
			for i, q := range m.Val.Args {
				e.Batch = append(e.Batch, &summary.Effect{Op: summary.Send, Site: c.site + "q" + strconv.Itoa(i), Steps: e.Steps,
					Handle: handle, Ctx: ctx, Text: q, Answer: client.Rows, Made: term.New(term.Sent, "", q.Site, ""), Fn: sent})
			}
		}
	}
	s.emit(e)
	x.answer(s, c, o, sent)
}

// errName tells the errors of an answer apart; "" is that of sending.
func errName(r client.Reading) string {
	switch r {
	case client.ReadScan:
		return "scan"
	case client.ReadItem, client.ReadErr, client.ReadAll:
		return ""
	}
	return "other"
}

// read reads an answer.
func (x *exec) read(s *state, c *call, o *operands) []*state {
	from := o.recv
	if o.m.Handle != client.NoArg {
		from = o.at(o.m.Handle)
	}
	if from == nil {
		from = term.Unknown(c.site, "")
	}
	for from.Op == term.As {
		from = from.Args[0]
	}
	var v *term.Term
	switch o.m.Read {
	case client.ReadScan:
		x.scan(s, c, o.args, max(o.m.Dest, 0), from)
	case client.ReadCount:
		v = term.New(term.Count, "", "", "", from)
	case client.ReadNext:
		v = term.New(term.HasRow, "", c.site, "bool", from) // each call may say otherwise
	case client.ReadAll:
		v = term.New(term.Answer, "-1", "", "", from)
		if !x.givesHandle(c) { // a function argument gets the rows
			x.run.Consumed[v.Key()] = v
		}
	case client.ReadItem:
		v = from
	}
	r := x.signature(c).Results()
	res := make([]*term.Term, r.Len())
	for i := range res {
		typ := typeName(r.At(i).Type())
		switch {
		case typ == "error":
			res[i] = term.New(term.ErrOf, errName(o.m.Read), "", "error", from)
		case v != nil:
			res[i], v = v.WithType(typ), nil
		default:
			res[i] = term.Unknown(c.site+"r"+strconv.Itoa(i), typ)
		}
	}
	x.ret(s, c, res)
	if fn := o.at(o.m.Fn); fn != nil && o.m.Read == client.ReadScan { // pgx.ForEachRow calls it for each row
		if sum, all, frees := x.target(fn, nil); sum != nil {
			return x.apply(s, &call{site: c.site + "f", pos: c.pos, name: c.name, lexical: x.inside(fn)}, sum, all, frees)
		}
	}
	return []*state{s}
}
