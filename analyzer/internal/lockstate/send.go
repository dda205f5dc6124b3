package lockstate

import (
	"slices"
	"strconv"
	"strings"

	"github.com/advisorylint/advisorylint/analyzer/internal/client"
	"github.com/advisorylint/advisorylint/analyzer/internal/provenance"
	"github.com/advisorylint/advisorylint/analyzer/internal/sqltext"
	"github.com/advisorylint/advisorylint/analyzer/internal/summary"
	"github.com/advisorylint/advisorylint/analyzer/internal/symexec"
	"github.com/advisorylint/advisorylint/analyzer/internal/term"
)

// parse recognises the texts that an effect can send.
func (j *judge) parse(e *summary.Effect) []parsedText {
	k := e.Text.Key()
	if p, ok := j.parsed[k]; ok {
		return p
	}
	var out []parsedText
	for _, t := range j.r.Texts(e.Text) {
		out = append(out, parsedText{t, sqltext.Parse(t.SQL)})
	}
	j.parsed[k] = out
	return out
}

// handleOf is the handle that an effect runs on: a statement's own, when it is one.
func (j *judge) handleOf(e *summary.Effect) *term.Term {
	h := e.Handle
	for _, t := range []*term.Term{e.Text, h} {
		if t != nil && t.Op == term.Stmt && !t.Args[0].IsNil() {
			h = t.Args[0]
		}
	}
	if h != nil && h.Op == term.Load {
		if row, ok := client.TypeOf(h.Type); ok && row.Role == client.Statement && j.r.Fields != nil {
			if vals, ok := j.r.Fields.Stores(h); ok && len(vals) == 1 && vals[0].Op == term.Stmt {
				return vals[0].Args[0]
			}
		}
	}
	return h
}

func (j *judge) send(w *world, e *summary.Effect) {
	if len(e.Batch) > 0 {
		j.use(w, e, e.Handle)
		for _, q := range e.Batch {
			for _, p := range j.parse(q) {
				j.script(w, e, q, p, len(e.Batch) > 1, false)
			}
		}
		return
	}
	h := j.handleOf(e)
	j.use(w, e, h)
	texts := j.parse(e)
	for i, p := range texts {
		in := w
		if i < len(texts)-1 {
			in = w.clone() // each text is a way of its own; the last one goes on
		}
		j.script(in, e, e, p, false, len(texts) > 1)
	}
}

// use notes a statement on the pool from which a held lock's connection came.
func (j *judge) use(w *world, e *summary.Effect, h *term.Term) {
	if h == nil {
		return
	}
	if k := j.r.Kind(h); k != client.Pool && k != client.Unknown {
		return
	}
	k := j.r.Session(h).Key()
	for _, l := range w.locks {
		if l.origin == k && l.held() && !l.leaked && l.session != k {
			f := j.finding(e, "use")
			f.Use, f.Handle, f.Kind = true, h, client.Pool
			f.Verdicts |= Starves
			f.Other = l.f
		}
	}
}

// script runs a text's statements. q is the effect that holds the text: a batch's item, or e itself.
func (j *judge) script(w *world, e, q *summary.Effect, p parsedText, batch, ambig bool) {
	h := j.handleOf(q)
	if h == nil {
		h = e.Handle
	}
	s, k := j.session(w, h)
	kind := j.r.Kind(h)
	if kind == client.Pool && s.tx > 0 {
		kind = client.Tx // xorm's session after Begin
	}
	implicit := batch || len(p.script.Stmts) > 1 && len(q.Args) == 0
	inScript := 0
	for i := range p.script.Stmts {
		st := &p.script.Stmts[i]
		c := &sending{w: w, e: e, q: q, p: p, st: st, h: h, kind: kind, s: s, key: k, ambig: ambig,
			inTx: implicit || inScript > 0, n: i}
		switch st.Tx {
		case sqltext.Begin:
			inScript++
			s.tx++
			s.snapshot = s.snapshot || st.Snapshot
		case sqltext.Commit, sqltext.Rollback:
			inScript = 0
			s.tx = max(0, s.tx-1)
		}
		if st.Snapshot && st.Tx == sqltext.NoTx {
			s.snapshot = true
		}
		j.statement(c)
	}
	if inScript > 0 && kind == client.Pool {
		s.tx -= inScript // on a pool the transaction stays on a connection that nobody knows
	}
}

// sending is one statement as it is sent.
type sending struct {
	w     *world
	e, q  *summary.Effect
	p     parsedText
	st    *sqltext.Statement
	h     *term.Term
	kind  client.Kind
	s     *session
	key   string
	ambig bool
	inTx  bool
	n     int
}

func (j *judge) statement(c *sending) {
	if c.st.Verb == "discard" && strings.Contains(strings.ToLower(c.p.text.SQL.String()), "all") {
		for _, l := range c.w.locks { // DISCARD ALL frees the session's advisory locks too
			l.released = l.released || l.session == c.key
		}
	}
	for i := range c.st.Settings {
		set := &c.st.Settings[i]
		f := j.record(c, "set "+set.Name+"#"+strconv.Itoa(i))
		f.Setting = set
		if set.Local == sqltext.Yes && j.outside(c) {
			f.Verdicts |= OutsideTx
		}
		if set.Name == "lock_timeout" && c.kind != client.Pool {
			c.s.bounded = strings.Trim(set.Value.Text, "0") != "" || set.Value.Kind != sqltext.Literal // 0 is no limit
		}
	}
	if len(c.st.View) > 0 || len(c.st.LocksPids) > 0 {
		f := j.record(c, "pg_locks")
		for _, a := range c.st.LocksPids {
			t := provenance.Operand(a, c.p.text, c.q.Args)
			if t != nil && t.Has(func(t *term.Term) bool { return t.Op == term.Call && t.Str == "os.Getpid" }) {
				f.Getpid = true
			}
		}
	}
	for i := range c.st.Calls {
		call := &c.st.Calls[i]
		f := j.record(c, call.Func.Name+"#"+strconv.Itoa(i))
		f.Call = call
		f.Key = j.r.KeyOf(call, c.p.text, c.q.Args)
		if call.Func.Xact && !call.Nested && j.outside(c) { // a DO block is a transaction of its own
			f.Verdicts |= OutsideTx
		}
		if call.Func.Op == sqltext.Acquire {
			j.acquire(c, f, call)
		} else {
			j.release(c, f, call)
		}
	}
}

// record is the finding for a part of the statement, with what is alike for all parts.
func (j *judge) record(c *sending, name string) *Finding {
	f := j.finding(c.q, strconv.Itoa(c.n)+" "+name)
	f.Effect, f.Text, f.Script, f.Stmt, f.session = c.q, c.p.text, c.p.script, c.st, c.s.term
	f.ambig = f.ambig || c.ambig
	if f.Handle == nil || c.kind == client.Pool {
		f.Handle, f.Kind = c.h, c.kind
	}
	if c.s.capped && f.Kind == client.Pool {
		f.Kind = client.Unknown // one connection: every statement meets the same session
	}
	cl := Cleanup(c.e.Cleanup)
	if cl == InReturned && len(c.w.locks) > c.w.before {
		cl = NoCleanup // it takes the lock itself: its release is ordinary flow
	}
	f.SentWith(Moment{Effect: c.e, Cleanup: cl, Done: c.w.done, Facts: c.w.facts, Locked: len(c.w.locks) > 0}.Context(j.r))
	return f
}

// outside reports whether it is certain that no transaction is open around the statement.
func (j *judge) outside(c *sending) bool {
	if c.inTx || c.s.tx > 0 || c.s.capped || c.s.maybe {
		return false
	}
	switch c.kind {
	case client.Pool:
		return true
	case client.Conn, client.Session:
		return provenance.Owned(c.s.term)
	}
	return false
}

func (j *judge) acquire(c *sending, f *Finding, call *sqltext.Call) {
	if call.Func.Blocking() && j.unbounded(c, call) {
		f.Verdicts |= Unbounded
	}
	if c.s.snapshot && c.kind != client.Pool {
		f.Verdicts |= InSnapshot
	}
	if origin := j.r.Origin(c.s.term); call.Func.Session() && j.opt.Pooler != nil {
		if c.kind == client.Pool || c.kind == client.Session {
			origin = c.s.term
		}
		if (c.kind == client.Pool || provenance.Owned(c.s.term) || c.s.term.Op == term.Load) && j.opt.Pooler(origin) {
			f.Verdicts |= ThroughPooler
		}
	}
	l := &lock{f: f, session: c.key, key: f.Key, fn: call.Func, ambig: c.ambig}
	if o := j.r.Origin(c.s.term); o != nil {
		l.origin = o.Key()
	}
	l.refused, l.failed = status(c.q, call, c.w.facts)
	c.w.locks = append(c.w.locks, l)
}

// unbounded reports whether a blocking acquire certainly waits without a bound.
func (j *judge) unbounded(c *sending, call *sqltext.Call) bool {
	if call.Func.System == sqltext.MySQL {
		n, ok := provenance.IntArg(call.Timeout, c.p.text, c.q.Args)
		if !ok || n >= 0 {
			return false
		}
	}
	for _, st := range c.p.script.Stmts {
		for _, set := range st.Settings {
			if set.Name == "lock_timeout" || set.Name == "" || set.Name == "statement_timeout" {
				return false
			}
		}
	}
	origin := j.r.Origin(c.s.term)
	if c.kind == client.Pool || c.kind == client.Session {
		origin = c.s.term
	}
	if c.s.bounded || j.opt.Bounded != nil && j.opt.Bounded(origin) {
		return false
	}
	if c.e.Ctx == nil && c.kind == client.Unknown {
		return false // a handle given here may carry a context
	}
	ctx := j.r.Context(c.e.Ctx, c.e.CleanupSite)
	return ctx.Kind == provenance.ContextNone || (ctx.Kind == provenance.Detached || ctx.Kind == provenance.Cancellable) && !ctx.Deadline
}

// status says whether a path knows that an acquire was refused or failed.
func status(q *summary.Effect, call *sqltext.Call, facts []summary.Fact) (refused, failed bool) {
	if q.Made == nil {
		return false, false
	}
	sent := q.Made.Key()
	row := false
	defer func() { refused = refused && !row }()
	for _, f := range facts {
		a, val := f.Cond, f.Val
		var b *term.Term
		op := ""
		if a.Op == term.Bin {
			op, a, b = f.Cond.Str, f.Cond.Args[0], f.Cond.Args[1]
		}
		if !about(a, sent) {
			continue
		}
		switch {
		case a.Op == term.ErrOf:
			if op == "==" && b.IsNil() && !val && a.Str != "other" {
				failed = true
			}
		case a.Op == term.HasRow || a.Op == term.Count:
			if call.Filtered {
				row = row || says(op, b, val) == saysYes // there was one, and later no more
				refused = refused || says(op, b, val) == saysNo
			}
		case answerColumn(a, call):
			if says(op, b, val) == saysNo {
				refused = true
			}
		}
	}
	return refused, failed
}

func about(t *term.Term, sent string) bool {
	return t.Has(func(x *term.Term) bool { return x.Op == term.Sent && x.Key() == sent })
}

// answerColumn reports whether a reads the column in which a call's answer stands.
func answerColumn(a *term.Term, call *sqltext.Call) bool {
	for a.Op == term.Field || a.Op == term.Load || a.Op == term.As || a.Op == term.Conv || a.Op == term.FieldPtr || a.Op == term.ElemPtr {
		if a.Str == "Err" {
			return false // pgconn.Result.Err
		}
		a = a.Args[0]
	}
	if a.Op != term.Answer {
		return false
	}
	return call.Column < 0 || a.Str == strconv.Itoa(call.Column) || a.Str == "-1"
}

// from reports whether t comes from one of the statements sent, in whichever round of a loop.
func from(t *term.Term, sents []string) bool {
	return t.Has(func(x *term.Term) bool { return x.Op == term.Sent && slices.Contains(sents, symexec.Base(x.Site)) })
}

type saying uint8

const (
	saysNothing saying = iota
	saysYes
	saysNo
)

// says reads a condition on an answer: op b is val. With op "" the answer itself is a boolean.
func says(op string, b *term.Term, val bool) saying {
	yes := func(y bool) saying {
		if y {
			return saysYes
		}
		return saysNo
	}
	if op == "" {
		return yes(val)
	}
	if b.IsNil() && op == "==" {
		if val {
			return saysNo
		}
		return saysNothing
	}
	n, ok := b.IntVal()
	if !ok {
		return saysNothing
	}
	switch op + n {
	case "==1", ">0":
		return yes(val)
	case "==0", "<1":
		return yes(!val)
	}
	return saysNothing
}

func (j *judge) release(c *sending, f *Finding, call *sqltext.Call) {
	c.w.releases = append(c.w.releases, sentRelease{f: f, session: c.key})
	var on []*lock
	for _, l := range c.w.locks {
		if l.session == c.key {
			on = append(on, l)
		}
	}
	if c.s.ended != client.NoEnding && c.kind != client.Pool {
		f.Verdicts |= AfterClose
		for _, l := range on {
			l.f.suppress = true
		}
		return
	}
	if call.Func.Op == sqltext.ReleaseAll {
		for _, l := range on {
			l.released = true
		}
		return
	}
	j.match(c, f, call, on)
}

// match finds the lock that a release belongs to.
func (j *judge) match(c *sending, f *Finding, call *sqltext.Call, on []*lock) {
	var held, refused []*lock
	for i := len(on) - 1; i >= 0; i-- {
		l := on[i]
		same := sameKey(l.key, f.Key)
		switch {
		case l.held() && same && l.fn.Shared == call.Func.Shared && !l.fn.Xact && l.fn.System == call.Func.System:
			l.released = true
			f.Other = l.f
			return
		case l.held():
			held = append(held, l)
		case l.refused && same && l.fn.Shared == call.Func.Shared:
			refused = append(refused, l)
		}
	}
	if len(refused) > 0 && !c.ambig {
		f.Verdicts |= NotHeld
		f.Other = refused[0].f
		return
	}
	for _, l := range held {
		if l.fn.Xact && !sameKey(l.key, f.Key) {
			continue // the transaction's end frees it; this release is another lock's
		}
		if len(held) == 1 && !c.ambig && !l.ambig && mismatch(l, f.Key, call.Func) {
			f.Verdicts |= Mismatched
			f.Other = l.f
			l.f.suppress = true
		}
		l.released = l.released || !l.fn.Xact
	}
}

func sameKey(a, b provenance.Key) bool {
	if len(a.Parts) != len(b.Parts) {
		return false
	}
	for i := range a.Parts {
		if a.Parts[i] != b.Parts[i] {
			return false
		}
	}
	return a.Comparable && b.Comparable || a.Show != "" && a.Show == b.Show
}

// mismatch reports whether a release certainly does not fit the only lock held.
func mismatch(l *lock, k provenance.Key, fn *sqltext.Func) bool {
	if l.fn.System != fn.System {
		return false
	}
	if len(l.key.Parts) != len(k.Parts) {
		return true
	}
	if sameKey(l.key, k) {
		return l.fn.Shared != fn.Shared || l.fn.Xact
	}
	if l.key.Constant && k.Constant {
		return true
	}
	// Two different paths of the program, such as two parameters, are meant to be two keys.
	return !l.key.Constant && !k.Constant && l.key.Comparable && k.Comparable && !l.fn.Xact
}

// answer says what becomes of the server's answer to a call.
func (j *judge) answer(f *Finding) Answer {
	fn := f.Call.Func
	if !(fn.MayRefuse() || fn.Op == sqltext.Release) {
		return AnswerRead // void
	}
	q := f.Effect
	if q.Made == nil {
		return AnswerUnknown
	}
	if q.Answer == client.Checked {
		return AnswerRead // whoever drops the error drops an error
	}
	sents := []string{symexec.Base(q.Made.Site)}
	if q.Fn != nil { // an item of a batch: its answer may be read through the batch's
		sents = append(sents, symexec.Base(q.Fn.Site))
	}
	var read, misread bool
	for _, t := range j.run.Consumed {
		if !from(t, sents) {
			continue
		}
		switch j.reading(t, f.Call) {
		case AnswerRead:
			read = true
		case AnswerMisread:
			misread = true
		case AnswerUnknown:
			return AnswerUnknown
		}
	}
	switch {
	case read:
		return AnswerRead
	case j.returnedAnswer(sents, f.Call):
		return AnswerReturned
	case f.Call.Nested && fn.Op == sqltext.Acquire:
		return AnswerUnknown // the block's own code may look at it
	case f.Call.Filtered && (q.Answer == client.Row || q.Answer == client.Dest || q.Answer == client.Rows):
		return AnswerRead // no row is the answer, and reading a row tells
	case j.run.Truncated:
		return AnswerUnknown // a path that was not followed may read it
	case misread:
		return AnswerMisread
	}
	return AnswerUnread
}

// reading says what looking at t, which has the sent statement in it, reads of a call's answer.
func (j *judge) reading(t *term.Term, call *sqltext.Call) Answer {
	nilOnly := false
	if t.Op == term.Bin && t.Args[1].IsNil() {
		nilOnly, t = true, t.Args[0]
	}
	switch t.Op {
	case term.Sent:
		return AnswerUnknown // handed to code that is not followed
	case term.HasRow, term.Count:
		if call.Filtered {
			return AnswerRead
		}
		return AnswerMisread
	}
	if !answerColumn(t, call) {
		return AnswerReturned // another column
	}
	if t.Op == term.Field && t.Str == "Valid" || nilOnly {
		if call.Func.MayRefuse() {
			return AnswerMisread
		}
		return AnswerUnknown
	}
	return AnswerRead
}

// returnedAnswer reports whether a path hands the answer to the caller, or keeps it in memory that
// outlives the function.
func (j *judge) returnedAnswer(sents []string, call *sqltext.Call) bool {
	carries := func(x *term.Term) bool {
		switch x.Op {
		case term.Answer:
			return from(x, sents) && answerColumn(x, call)
		case term.HasRow, term.Count:
			return from(x, sents) && call.Filtered
		case term.Sent: // the row or rows themselves
			return from(x, sents)
		}
		return false
	}
	for _, p := range j.run.Paths {
		for _, r := range p.Results {
			if reaches(p, r, carries, map[string]bool{}) {
				return true
			}
		}
		for _, st := range p.Stores {
			if st.Loc.Root().Op != term.Cell && holds(st.Val, carries) {
				return true
			}
		}
	}
	return false
}
