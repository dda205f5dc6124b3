// Package lockstate replays what a function's paths do to servers and says what becomes of each
// lock: still held when its connection goes back to the pool, freed on a connection that is
// already closed, freed though it was refused, freed in another mode, and so on. What it says
// holds on at least one path that the program can take.
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

// Verdict bits; lockflow exports them under the same values.
type Verdict = uint32

const (
	Leaked Verdict = 1 << iota
	AfterClose
	NotHeld
	Mismatched
	OutsideTx
	Unbounded
	InSnapshot
	Starves
	ThroughPooler
	SessionEnds

	GetThenDelete
	BlindDelete
	NoExpiry
	LaterExpiry
	SharedToken
	Unconditional
	BlindRenewal
	NeverStopped
	TooSlow
	Spins
	InStep
	CrossSlot
	MadeText
	ShortSession
	TwinMutex
	Unwatched
)

// LeaseOp mirrors lockflow.LeaseOp.
type LeaseOp uint8

const (
	LeaseAcquire LeaseOp = iota
	LeaseRelease
	LeaseRenew
	LeaseSession
	LeaseScript
)

// Lease is what a command does to a lock that is no SQL server's.
type Lease struct {
	Op                       LeaseOp
	System, Command, Library string
}

// Finding is what the paths of one function say of one lock call, setting or reading of pg_locks.
type Finding struct {
	Effect  *summary.Effect
	Name    string // tells the calls of one effect apart
	Text    provenance.Text
	Script  *sqltext.Script
	Stmt    *sqltext.Statement
	Call    *sqltext.Call
	Setting *sqltext.Setting
	Use     bool
	Lease   *Lease // package leasestate's findings

	Handle   *term.Term
	Kind     client.Kind
	Context  provenance.Context
	Cleanup  Cleanup
	Answer   Answer
	Verdicts Verdict
	Key      provenance.Key
	Other    *Finding
	Getpid   bool
	Kept     []string // acquire: the places at which the function leaves the connection

	session  *term.Term
	ambig    bool              // the text is one of several
	effects  []*summary.Effect // the same effect as each path has it
	ends     bool              // SessionEnds on every path so far
	seen     bool
	suppress bool // another finding speaks of this lock
}

// Cleanup mirrors lockflow.Cleanup.
type Cleanup uint8

const (
	NoCleanup Cleanup = iota
	InDefer
	InCleanup
	InReturned
	AfterDone
)

// Answer mirrors lockflow.AnswerUse.
type Answer uint8

const (
	AnswerUnknown Answer = iota
	AnswerRead
	AnswerUnread
	AnswerMisread
	AnswerReturned
)

// Options are what the program alone does not say.
type Options struct {
	// Pooler reports whether a handle made from this data source goes through a transaction pooler.
	Pooler func(origin *term.Term) bool
	// Bounded reports whether connections of this origin are configured with a lock_timeout.
	Bounded func(origin *term.Term) bool
}

// Judge replays the paths of one function.
func Judge(r *provenance.Reader, run *symexec.Run, opt Options) ([]*Finding, *Places) {
	j := &judge{r: r, run: run, opt: opt, byKey: map[string]*Finding{}, parsed: map[string][]parsedText{},
		at: &Places{Pooled: map[string]bool{}, Given: map[string]bool{}}}
	for _, p := range run.Paths {
		j.path(p)
		j.places(p)
	}
	for _, f := range j.order {
		if f.Call != nil {
			f.Answer = j.answer(f)
			if f.Effect.Dropped && f.Answer == AnswerRead && f.Call.Func.MayRefuse() && f.Effect.Inner != nil {
				f.Answer = AnswerUnread // read by the helper, whose word for it nobody heeds
			}
		}
	}
	for _, f := range j.order {
		j.conclude(f)
	}
	return j.order, j.at
}

type parsedText struct {
	text   provenance.Text
	script *sqltext.Script
}

type judge struct {
	r      *provenance.Reader
	run    *symexec.Run
	opt    Options
	byKey  map[string]*Finding
	order  []*Finding
	parsed map[string][]parsedText
	at     *Places
}

// world is what is known of servers at one point of a path.
type world struct {
	sessions map[string]*session
	locks    []*lock
	done     []string // keys of contexts that are done
	releases []sentRelease
	facts    []summary.Fact
	before   int // locks that were taken before the function value that is replayed began
}

type session struct {
	term     *term.Term
	tx       int
	snapshot bool
	bounded  bool // lock_timeout was set on it
	ended    client.Ending
	detached bool // hijacked: closing it ends the session
	capped   bool
	maybe    bool // code that runs at an unknown time frees locks on it, or closes it
	given    bool // handed to code that is not followed
}

type lock struct {
	f        *Finding
	session  string
	origin   string // the pool its connection came from
	key      provenance.Key
	fn       *sqltext.Func
	refused  bool
	failed   bool
	released bool
	leaked   bool
	ambig    bool // the text is one of several
}

type sentRelease struct {
	f       *Finding
	session string
	ended   bool
}

func (w *world) clone() *world {
	c := &world{sessions: map[string]*session{}, done: slices.Clone(w.done), releases: slices.Clone(w.releases), facts: w.facts}
	for k, s := range w.sessions {
		d := *s
		c.sessions[k] = &d
	}
	for _, l := range w.locks {
		d := *l
		c.locks = append(c.locks, &d)
	}
	return c
}

func (j *judge) session(w *world, h *term.Term) (*session, string) {
	t := j.r.Session(h)
	k := t.Key()
	s := w.sessions[k]
	if s == nil {
		s = &session{term: t}
		w.sessions[k] = s
	}
	return s, k
}

func (j *judge) path(p *symexec.Path) {
	w := &world{sessions: map[string]*session{}, facts: p.Facts}
	j.replay(w, p.Effects)
	for _, c := range p.Returned {
		j.later(w, c)
	}
	j.finish(w, p)
}

// replay runs effects in order.
func (j *judge) replay(w *world, effects []*summary.Effect) {
	for _, e := range effects {
		switch e.Op {
		case summary.Send:
			j.send(w, e)
		case summary.Begin:
			j.begin(w, e)
		case summary.Take:
			j.use(w, e, e.Handle)
		case summary.End:
			j.end(w, e)
		case summary.Cap:
			s, _ := j.session(w, e.Handle)
			s.capped = true
		case summary.Done:
			w.done = append(w.done, e.Ctx.Key())
		case summary.Exit:
			for _, s := range w.sessions {
				s.ended = client.EndSession
			}
			w.locks = nil
			w.endReleases("")
		case summary.Give:
			s, _ := j.session(w, e.Handle)
			s.given = true
		case summary.Escape:
			for _, alt := range e.Alts {
				if e.Cleanup != summary.InCleanup { // cleanups are replayed in their order at the end
					j.later(w, alt)
				}
				j.mayRelease(w, alt.Effects)
			}
		}
	}
}

// later replays what a function value would do, without effect on what goes on here.
func (j *judge) later(w *world, alt summary.Alt) {
	c := w.clone()
	c.facts = append(slices.Clip(c.facts), alt.Facts...)
	c.before = len(c.locks)
	j.replay(c, alt.Effects)
	j.settle(c)
}

// mayRelease notes the sessions on which code that runs later frees locks.
func (j *judge) mayRelease(w *world, effects []*summary.Effect) {
	for _, e := range effects {
		switch e.Op {
		case summary.Send:
			for _, p := range j.parse(e) {
				for _, st := range p.script.Stmts {
					for _, c := range st.Calls {
						if c.Func.Op != sqltext.Acquire {
							s, _ := j.session(w, e.Handle)
							s.maybe = true
						}
					}
				}
			}
		case summary.End:
			s, _ := j.session(w, e.Handle)
			s.maybe = true
		case summary.Escape:
			for _, alt := range e.Alts {
				j.mayRelease(w, alt.Effects)
			}
		}
	}
}

func (j *judge) begin(w *world, e *summary.Effect) {
	j.use(w, e, e.Handle)
	s, _ := j.session(w, e.Made)
	s.tx++
	s.snapshot = s.snapshot || e.Snapshot
}

func (j *judge) end(w *world, e *summary.Effect) {
	s, k := j.session(w, e.Handle)
	switch e.Ending {
	case client.CommitTx, client.RollbackTx:
		if s.tx == 0 {
			return // a rollback after the commit
		}
		s.tx--
		if s.tx == 0 {
			w.freeXact(k)
		}
		if s.tx == 0 && j.r.Kind(s.term) == client.Pool {
			j.returned(w, s, k) // a handle that was a pool before Begin is one again
			return
		}
		if origin := j.r.Origin(s.term); s.tx == 0 && s.ended == client.NoEnding && origin != nil && isTx(s.term) {
			s.ended = client.Return // a transaction begun on a pool gives its connection back
			j.returned(w, s, k)
		}
	case client.Return:
		if j.r.Kind(e.Handle) == client.Pool { // a library with one Close for pools and connections
			j.closed(w, s, k)
			return
		}
		if s.ended == client.NoEnding && !s.detached {
			s.ended = client.Return
			j.returned(w, s, k)
		}
	case client.Detach:
		s.detached = true
	case client.EndSession, client.Discard:
		j.closed(w, s, k)
	}
}

// freeXact: the transaction is over, and its locks with it.
func (w *world) freeXact(session string) {
	for _, l := range w.locks {
		if l.session == session && l.fn.Xact {
			l.released = true
		}
	}
}

func isTx(t *term.Term) bool {
	k, _ := symexec.MadeKind(t)
	return k == client.Tx
}

// returned: the connection is back in its pool with the locks that are still on it.
func (j *judge) returned(w *world, s *session, k string) {
	if s.maybe || !provenance.Owned(s.term) && s.term.Op != term.Load {
		return
	}
	for _, l := range w.locks {
		if l.session == k && l.held() && !l.fn.Xact {
			l.leaked = true
		}
	}
}

func (l *lock) held() bool { return !l.refused && !l.failed && !l.released }

// closed: the server session ended, with all its locks; closing a pool ends all of its sessions.
func (j *judge) closed(w *world, s *session, k string) {
	s.ended = client.EndSession
	gone := func(l *lock) bool { return l.session == k || l.origin == k }
	for _, l := range w.locks {
		if gone(l) {
			l.released = true
		}
	}
	w.endReleases(k)
}

// endReleases notes that the session of earlier releases ended; "" is every session.
func (w *world) endReleases(k string) {
	for i := range w.releases {
		if k == "" || w.releases[i].session == k {
			w.releases[i].ended = true
		}
	}
}

// finish looks at what is left when the function returns.
func (j *judge) finish(w *world, p *symexec.Path) {
	for _, l := range w.locks {
		if l.leaked || !l.held() || l.fn.Xact {
			continue
		}
		if j.forgotten(w, l, p) {
			l.leaked = true
		} else if s := w.sessions[l.session]; s != nil && s.ended == client.NoEnding && !s.given && !s.maybe {
			l.f.Kept = append(l.f.Kept, keeps(p, l.session)...)
		}
	}
	j.settle(w)
	for _, r := range w.releases {
		if !r.f.seen {
			r.f.ends, r.f.seen = r.ended, true
		} else {
			r.f.ends = r.f.ends && r.ended
		}
	}
}

// settle makes verdicts of the locks that went back to a pool.
func (j *judge) settle(w *world) {
	for _, l := range w.locks {
		if l.leaked {
			l.f.Verdicts |= Leaked
		}
	}
}

// forgotten reports whether a lock's connection was taken from a pool here and is neither closed nor
// handed on: nobody can free the lock any more.
func (j *judge) forgotten(w *world, l *lock, p *symexec.Path) bool {
	s := w.sessions[l.session]
	if s == nil || s.ended != client.NoEnding || s.maybe || s.given || s.detached || l.ambig {
		return false
	}
	if k, _ := symexec.MadeKind(s.term); k != client.Conn || !provenance.Owned(s.term) {
		return false
	}
	if strings.Contains(s.term.Site, "/") && !inView(p, l.session) {
		return false // a helper took it and did not hand it over: that is the helper's affair
	}
	in := holders(p, l.session)
	for _, st := range p.Stores {
		// Kept in a slice, a map or outside: what becomes of that is not followed.
		if (st.Loc.Op == term.ElemPtr || st.Loc.Root().Op != term.Cell) && reaches(p, st.Val, in, map[string]bool{}) {
			return false
		}
	}
	for _, r := range p.Results {
		if reaches(p, r, in, map[string]bool{}) {
			return false
		}
	}
	return true
}

// inView reports whether some memory of the path holds the session.
func inView(p *symexec.Path, session string) bool {
	for _, st := range p.Stores {
		if st.Val.Has(func(t *term.Term) bool { return t.Key() == session }) {
			return true
		}
	}
	return false
}

// holders is true of a session and of the structs made on the path that have it in a field.
func holders(p *symexec.Path, session string) func(*term.Term) bool {
	keys := map[string]bool{session: true}
	in := func(t *term.Term) bool { return keys[t.Key()] }
	for changed := true; changed; {
		changed = false
		for _, st := range p.Stores {
			if st.Loc.Op == term.FieldPtr && st.Loc.Args[0].Op == term.Cell && !keys[st.Loc.Args[0].Key()] && st.Val.Has(in) {
				keys[st.Loc.Args[0].Key()], changed = true, true
			}
		}
	}
	return in
}

// reaches reports whether v, or memory that it points into, holds something of which in is true.
func reaches(p *symexec.Path, v *term.Term, in func(*term.Term) bool, seen map[string]bool) bool {
	if holds(v, in) {
		return true
	}
	return holds(v, func(c *term.Term) bool {
		if c.Op != term.Cell || seen[c.Key()] {
			return false
		}
		seen[c.Key()] = true
		for _, st := range p.Stores {
			if st.Loc.Root().Key() == c.Key() && reaches(p, st.Val, in, seen) {
				return true
			}
		}
		return false
	})
}

// holds reports whether in is true of t or of a subterm, other than what an error comes from and
// what is known of an answer.
func holds(t *term.Term, in func(*term.Term) bool) bool {
	if in(t) {
		return true
	}
	switch t.Op {
	case term.ErrOf, term.Answer, term.HasRow, term.Count:
		return false
	case term.FieldPtr, term.Field:
		if t.Str == "Err" {
			return false
		}
	}
	for _, a := range t.Args {
		if holds(a, in) {
			return true
		}
	}
	return false
}

// conclude settles a finding after all paths.
func (j *judge) conclude(f *Finding) {
	if f.ends && f.seen {
		f.Verdicts |= SessionEnds
	}
	if f.suppress {
		f.Verdicts &^= Leaked
	}
	if f.Other != nil && f.Verdicts&NotHeld != 0 && (f.Other.Answer == AnswerUnread || f.Other.Answer == AnswerMisread) {
		f.Verdicts &^= NotHeld // nobody read the answer: that is the mistake
	}
	judged := summary.Judgement{Name: f.Name, Kind: f.Kind, Context: uint8(f.Context.Kind),
		Answer: uint8(f.Answer), Cleanup: uint8(f.Cleanup), Verdicts: f.Verdicts, Faults: f.Faults()}
	for _, e := range f.effects {
		e.Judged = append(e.Judged, judged)
	}
}

// Faults are the key's faults as bits, and Getpid.
func (f *Finding) Faults() uint8 {
	var out uint8
	for i, b := range []bool{f.Key.Hash32, f.Key.Narrowed, f.Key.TooLong, f.Getpid} {
		if b {
			out |= 1 << i
		}
	}
	return out
}

// finding is the record of one call of an effect, the same on all paths.
func (j *judge) finding(e *summary.Effect, name string) *Finding {
	k := e.Site + "|" + name
	if e.Text != nil && len(e.Batch) == 0 {
		k += "|" + strconv.Itoa(int(e.Op))
	}
	f := j.byKey[k]
	if f == nil {
		f = &Finding{Effect: e, Name: name}
		j.byKey[k] = f
		j.order = append(j.order, f)
	}
	if !slices.Contains(f.effects, e) {
		f.effects = append(f.effects, e)
	}
	return f
}
