// Package summary has what the engine knows of a function: the outcomes it can have, each with
// what it sends to servers in order, what it returns and what it stores, in terms of the
// function's parameters. A summary is written into a fact, so it holds no types and no syntax.
package summary

import (
	"errors"
	"go/token"
	"strings"

	"github.com/advisorylint/advisorylint/analyzer/internal/client"
	"github.com/advisorylint/advisorylint/analyzer/internal/term"
)

// Bounds on what one function may grow to. Beyond them outcomes are dropped, which loses
// findings but never invents one: each outcome kept is a path of its own.
const (
	MaxOutcomes = 12
	MaxEffects  = 48 // in one outcome
	MaxDepth    = 5  // helpers between an effect and the function that sees it
)

// Summary is what is known of a function.
type Summary struct {
	Outcomes []*Outcome
	// Consumes are values, in terms of parameters and free variables, that the function looks at.
	Consumes []*term.Term
	// Truncated: outcomes were dropped, or the body was too large to follow.
	Truncated bool
}

// Outcome is one way through a function.
type Outcome struct {
	Effects []*Effect
	Results []*term.Term
	Facts   []Fact
	Stores  []Store
	Exits   bool // the process ends
}

// Fact is a condition that an outcome presupposes: Cond is Val.
type Fact struct {
	Cond *term.Term
	Val  bool
}

// Store says that Loc holds Val when the outcome returns.
type Store struct{ Loc, Val *term.Term }

// Op is what an effect does.
type Op uint8

const (
	Send    Op = iota // sends a text
	Begin             // opens a transaction Made on Handle
	End               // ends Handle, as Ending says
	Cap               // caps the pool Handle at one connection
	Take              // takes a connection Made from the pool Handle
	Done              // the context Ctx is done from here on
	Invoke            // calls the function value Fn with Args; its results are Made's
	Escape            // hands out a function that may run later: Alts are its outcomes' effects
	Give              // hands Handle to code that is not followed
	Exit              // the process ends
	Command           // sends the Redis command Cmd
)

// Cleanup mirrors lockflow.Cleanup.
type Cleanup uint8

const (
	NoCleanup Cleanup = iota
	InDefer
	InCleanup
	InReturned
)

// Effect is one thing done to the outside. Effects are shared: do not change one.
type Effect struct {
	Op   Op
	Site string // unique on its path
	// Steps lead from the call in this function to the line that acts, outermost first.
	Steps []Step
	// Inner is the effect as the called function has it.
	Inner *Effect
	// Judged is what the function that this effect belongs to found out about it, one for each
	// lock call or setting of the text; filled when the function is finished.
	Judged []Judgement

	Handle *term.Term
	Text   *term.Term   // Send: a string, or a Stmt
	Args   []*term.Term // Send: the statement's arguments; Invoke: the call's
	Ctx    *term.Term
	Answer client.Answer
	Batch  []*Effect // Send: the statements of a batch

	Cmd      *Cmd // Command
	Made     *term.Term
	Fn       *term.Term
	Alts     []Alt
	Ending   client.Ending
	Snapshot bool // Begin: REPEATABLE READ or SERIALIZABLE

	Cleanup Cleanup
	// CleanupSite is the call, deferred or returned, that this effect runs in.
	CleanupSite string
	// Dropped: the caller looks at none of the results by which the helper tells how it went.
	Dropped bool
}

// Cmd is a Redis command, or a script that sends some.
type Cmd struct {
	Name  string // "SETNX"
	Op    client.CommandOp
	Keys  []*term.Term
	Value *term.Term // written or compared
	TTL   *term.Term // nil: none
	// ByError: whoever is refused gets an error or no reply, not a no.
	ByError bool
	// NilReply: whoever is refused gets a nil reply, which is an error once it is read as a value.
	NilReply bool
	// Atomic: it goes out in MULTI, with what it depends on watched or sent along.
	Atomic bool
	// Group is the handle of the MULTI or pipeline that it goes out with, nil for one by itself.
	Group *term.Term

	// Of lock libraries:
	Library string // import path, "" for a client
	System  string // "Redis", "etcd"
	Heed    Heed
	Tells   bool // an answer that is not heeded is a mistake
	Tends   bool // somebody has to watch for the loss of the lock
}

// Heed says what the call of a lock library does with its answer.
type Heed uint8

const (
	HeedUnknown Heed = iota
	Heeded           // looked at, or handed on
	Unheeded
)

// Alt is one way through a function that runs later.
type Alt struct {
	Effects []*Effect
	Facts   []Fact
}

// Step is one line on the way to an effect.
type Step struct {
	Pos  token.Pos // the call's left parenthesis; not valid in another pass
	Posn string    // "file.go:12"
	Name string    // what is called there
}

// GobEncode leaves Pos out: in another process it means nothing, and it differs from run to run, so that what
// is kept by the content of facts would be forgotten for nothing.
func (s Step) GobEncode() ([]byte, error) { return []byte(s.Posn + "\x00" + s.Name), nil }

// GobDecode reads what GobEncode writes.
func (s *Step) GobDecode(data []byte) error {
	posn, name, ok := strings.Cut(string(data), "\x00")
	if !ok {
		return errors.New("a step of a trail without a name")
	}
	*s = Step{Posn: posn, Name: name}
	return nil
}

// Judgement mirrors what lockflow.Event says, for callers in other packages.
type Judgement struct {
	Name     string // which call of the text
	Kind     client.Kind
	Context  uint8
	Answer   uint8
	Cleanup  uint8
	Verdicts uint32
	Faults   uint8
}

// Silent reports whether the summary has nothing that matters to a caller.
func (s *Summary) Silent() bool {
	return s == nil || len(s.Outcomes) == 0
}
