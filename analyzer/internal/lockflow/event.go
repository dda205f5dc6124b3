package lockflow

import (
	"fmt"
	"go/ast"
	"go/token"

	"github.com/advisorylint/advisorylint/analyzer/internal/client"
	"github.com/advisorylint/advisorylint/analyzer/internal/sqltext"
	"github.com/advisorylint/advisorylint/internal/settings"
)

// Event is one lock call, setting or reading of pg_locks that a function sends to a server, by
// itself or through the functions it calls, with what is known of it in that function.
type Event struct {
	// Pos is where the call's expression starts in the function that Func is; the call is the
	// one that sends the text, or the one of the helper that does.
	Pos  token.Pos
	Call *ast.CallExpr // nil only when the syntax is not at hand
	File *ast.File
	Func ast.Node // the innermost *ast.FuncDecl or *ast.FuncLit around Pos

	// Inner is the same event as the called helper has it, nil when Call itself sends the text.
	Inner *Event
	// Trail leads from the helper called at Pos to the line that sends the text, outermost first.
	Trail []Step

	Script  *sqltext.Script
	Stmt    *sqltext.Statement
	Lock    *sqltext.Call    // nil when the event is a Setting, a pg_locks reading, a Use or a Lease
	Setting *sqltext.Setting // nil unless the event is a setting
	Use     bool             // any statement on a handle, noted because a lock is held meanwhile
	Lease   *Lease           // what a command does to a lock in Redis or etcd; nil for SQL

	Handle  Handle
	Context Context
	Answer  AnswerUse
	Cleanup Cleanup

	// Send is the syntax of a sending call in this package's files; the zero value when the text is
	// sent by a helper (Inner != nil) or put together out of sight.
	Send SendSyntax

	// Key describes the lock's key for messages ("$1", "42", "s.key"); "" when unknown.
	Key string
	// Other is the acquire that a mismatched or early release belongs to, the release for Other
	// ways round; nil when there is none.
	Other *Event
	// Pooler is what the user says connections go through: transaction, session or none; "" when unsaid.
	Pooler string
	// Getpid: the statement compares pg_locks.pid with an argument that is os.Getpid().
	Getpid bool

	verdicts Verdict
	faults   KeyFault
}

// LeaseOp is what a command does to a lock in Redis or etcd.
type LeaseOp uint8

const (
	LeaseAcquire LeaseOp = iota
	LeaseRelease
	LeaseRenew
	LeaseSession // etcd: a session or mutex is made
	LeaseScript  // a script that is none of these for sure
)

// Lease is a lock that the server, or a session with it, ends after a time.
type Lease struct {
	Op      LeaseOp
	System  string // "Redis" or "etcd"
	Command string // for messages: "SET", "SETNX", "DEL", "EXPIRE", "the script", "Unlock"
	Library string // import path of the client library, "" for an interface of the program's own
}

// Step is one line of a trail.
type Step struct {
	Pos  token.Pos // NoPos when the file is not part of this pass
	Posn string    // file:line, always
	Text string    // "pg_advisory_lock is sent here", "lock is called here"
}

// Handle is the handle that carries an event.
type Handle struct {
	Kind client.Kind
	Name string // source text, "s.db"; "" when it has none
	Type string // "*sql.DB"
}

// ContextKind says whether a context can be cancelled.
type ContextKind uint8

const (
	ContextUnknown ContextKind = iota
	ContextNone                // the call takes none
	Detached                   // Background, TODO, WithoutCancel, or made in the cleanup from one
	Cancellable                // a parameter, a request's, a group's, one made before the cleanup
	FromCaller                 // a parameter, whose caller decides
)

// Context is the context with which an event is sent.
type Context struct {
	Kind ContextKind
	Name string // source text, "ctx"
	Why  string // for messages: "is the caller's", "is cancelled by Wait", "is done here"
	// Deadline: it, or one it comes from, has a deadline or is a parameter that may have one.
	Deadline bool
}

// AnswerUse says what becomes of the server's answer.
type AnswerUse uint8

const (
	AnswerUnknown AnswerUse = iota
	AnswerRead
	AnswerUnread   // no path looks at it
	AnswerMisread  // looked at in a way that says nothing (RowsAffected, Next, Valid)
	AnswerReturned // handed to the caller, who decides
)

// Cleanup says why an event runs when its function is about to end.
type Cleanup uint8

const (
	NoCleanup  Cleanup = iota
	InDefer            // a deferred call, or inside a deferred closure
	InCleanup          // registered with testing's Cleanup, context.AfterFunc
	InReturned         // in a closure that the function returns or stores
	AfterDone          // after the context's Done channel was received from
)

// Verdict is what following all paths of a function says of an event. Each holds for at least one
// path that can really be taken.
type Verdict uint32

const (
	Leaked        Verdict = 1 << iota // acquire: the connection goes back to its pool with the lock on it
	AfterClose                        // release: its connection is closed or back in the pool
	NotHeld                           // release: the acquire said no on this path
	Mismatched                        // release: another mode, level or key than the lock held
	OutsideTx                         // no transaction is open on the connection
	Unbounded                         // blocking acquire: no lock_timeout, no deadline
	InSnapshot                        // acquire in a REPEATABLE READ or SERIALIZABLE transaction
	Starves                           // Use: the pool is the one that the held lock's connection came from
	ThroughPooler                     // session-level acquire through a transaction pooler
	SessionEnds                       // the connection is ended or discarded afterwards on every path

	// Of leases, which have Event.Lease:
	GetThenDelete // release: GET, a comparison, then DEL
	BlindDelete   // release: DEL with no look at who holds it
	NoExpiry      // acquire: no expiry, or one that can be 0
	LaterExpiry   // acquire: its expiry is set by a later command, Other
	SharedToken   // acquire: its value is not unique to it, and Other compares it
	Unconditional // acquire: SET without NX, by itself or after a GET or EXISTS
	BlindRenewal  // renewal: EXPIRE after a GET, or with no look at who holds it
	NeverStopped  // renewal loop: nothing ends it
	TooSlow       // renewal loop: its interval is not shorter than the TTL
	Spins         // acquire: retried in a loop without a wait
	InStep        // acquire: retried after a fixed wait
	CrossSlot     // several keys on a cluster, without a common hash tag
	MadeText      // a script whose text is put together from values
	ShortSession  // etcd session whose context ends before the lock is used up
	TwinMutex     // second mutex of one key on one session, Other
	Unwatched     // acquire: nobody watches for its loss
)

// Has reports whether v holds for e.
func (e *Event) Has(v Verdict) bool { return e.verdicts&v != 0 }

// KeyFault is what makes a key collide or not fit.
type KeyFault uint8

const (
	Hash32      KeyFault = 1 << iota // hashtext, crc32, a 32-bit FNV or another 32-bit hash
	Narrowed                         // converted to int32 or uint32 on its way
	NameTooLong                      // a MySQL lock name of more than 64 characters
)

// Fault reports whether f holds for e's key.
func (e *Event) Fault(f KeyFault) bool { return e.faults&f != 0 }

// SendSyntax is the syntax of the call that sends a text.
type SendSyntax struct {
	Method string   // "ExecContext"
	Handle ast.Expr // the receiver: conn
	SQL    ast.Expr // the text's argument
	Ctx    ast.Expr // the context's argument, nil when there is none
	Args   []ast.Expr
}

// Result is what lockflow knows of a package: its events, in order of position.
type Result struct {
	Events  []*Event
	InForce *settings.InForce // what the user chose for the package
	// Unfollowed are the functions that have to do with locks and were not followed to their ends.
	Unfollowed []Unfollowed
	functions  int // of which the SSA form was built
}

// Built gives the number of functions of which the SSA form was built, function literals among them; 0 when
// the gate is closed.
func (r *Result) Built() int { return r.functions }

// Unfollowed is a function of which only a part is known.
type Unfollowed struct {
	Pos  token.Pos
	Name string
	Why  string
}

// First calls report for each event of which holds is true here and was not yet true in the helper
// that it comes from: the innermost function in which everything that makes the mistake is known.
// At one position it reports once.
func (r *Result) First(holds func(*Event) bool, report func(*Event)) {
	seen := map[token.Pos]bool{}
	for _, e := range r.Events {
		if !holds(e) || seen[e.Pos] {
			continue
		}
		known := false
		for in := e.Inner; in != nil && !known; in = in.Inner {
			known = holds(in)
		}
		if !known {
			seen[e.Pos] = true
			report(e)
		}
	}
}

// Releases reports whether e gives a lock back.
func (e *Event) Releases() bool {
	return e.Lock != nil && e.Lock.Func.Op == sqltext.Release || e.Lease != nil && e.Lease.Op == LeaseRelease
}

// MayRefuse reports whether e asks for a lock and may be told no.
func (e *Event) MayRefuse() bool {
	return e.Lock != nil && e.Lock.Func.MayRefuse() || e.Lease != nil && e.Lease.Op == LeaseAcquire
}

// describe shows what is known of e, for -debug.
func (e *Event) describe() string {
	what := "statement"
	switch {
	case e.Lock != nil:
		what = e.Lock.Func.Name
	case e.Setting != nil:
		what = "set " + e.Setting.Name
	case e.Lease != nil:
		what = fmt.Sprintf("lease %d %s %q", e.Lease.Op, e.Lease.Command, e.Key)
	}
	return fmt.Sprintf("%s on %s %q, context %d (%s), cleanup %d, answer %d, verdicts %b, inner %t",
		what, e.Handle.Kind, e.Handle.Name, e.Context.Kind, e.Context.Why, e.Cleanup, e.Answer, e.verdicts, e.Inner != nil)
}
