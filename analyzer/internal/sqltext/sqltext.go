// Package sqltext recognises lock calls and what decides about them in SQL text: which
// advisory-lock or named-lock function is called, at which query level, with which key,
// under which LIMIT; transaction control; settings; and readings of pg_locks.
//
// It is a tokenizer and a recogniser of query levels, not a grammar, so it never fails: what
// it does not understand it leaves unknown. It knows nothing of Go.
package sqltext

import "strings"

// MaxLen is the length in bytes beyond which a text is not looked at.
const MaxLen = 64 << 10

// Text is SQL text with holes: what is known of a string that a program puts together.
// Between Lits[i] and Lits[i+1] stands hole number i, a part whose value is not known. A
// text without holes has one literal. A hole may stand inside an identifier or a literal.
type Text struct {
	Lits []string
}

// Const is a text without holes.
func Const(s string) Text { return Text{Lits: []string{s}} }

// Holes reports how many holes the text has.
func (t Text) Holes() int { return max(0, len(t.Lits)-1) }

// String shows the text with ⟨n⟩ in place of hole n.
func (t Text) String() string {
	var b strings.Builder
	for i, l := range t.Lits {
		if i > 0 {
			b.WriteString("⟨")
			b.WriteString(itoa(i - 1))
			b.WriteString("⟩")
		}
		b.WriteString(l)
	}
	return b.String()
}

func itoa(n int) string {
	if n < 10 {
		return string(rune('0' + n))
	}
	return itoa(n/10) + string(rune('0'+n%10))
}

// System is the database whose function or dialect a statement uses.
type System uint8

const (
	Postgres System = iota
	MySQL           // MySQL and MariaDB
)

// Op is what a lock function does.
type Op uint8

const (
	Acquire    Op = iota
	Release       // pg_advisory_unlock, RELEASE_LOCK
	ReleaseAll    // pg_advisory_unlock_all, RELEASE_ALL_LOCKS
)

// Func is one lock function of a server.
type Func struct {
	Name   string // lower case, without schema: "pg_try_advisory_lock", "get_lock"
	System System
	Op     Op
	Xact   bool // transaction-level: freed as the transaction ends
	Try    bool // answers at once, true or false. GET_LOCK is not Try, yet it MayRefuse
	Shared bool
}

// Session reports whether f takes or frees a session-level lock.
func (f *Func) Session() bool { return !f.Xact }

// MayRefuse reports whether f is an acquire that can answer "no" without an error.
func (f *Func) MayRefuse() bool { return f.Op == Acquire && (f.Try || f.System == MySQL) }

// Blocking reports whether f is an acquire that waits for the present holder.
func (f *Func) Blocking() bool { return f.Op == Acquire && !f.Try }

// Tri is a fact that may be unknown.
type Tri uint8

const (
	Unknown Tri = iota
	No
	Yes
)

// Script is what is recognised in one text.
type Script struct {
	System System // Postgres unless a MySQL lock function stands in the text
	Stmts  []Statement
	// Partial is set when a hole stands where it could hide a statement, a clause or a call,
	// or when the text was cut at MaxLen: then "there is none" is not known.
	Partial bool
}

// TxOp is transaction control.
type TxOp uint8

const (
	NoTx     TxOp = iota
	Begin         // BEGIN, START TRANSACTION
	Commit        // COMMIT, END
	Rollback      // ROLLBACK, ABORT (not ROLLBACK TO SAVEPOINT)
)

// Statement is one statement of a script.
type Statement struct {
	Verb     string // first keyword, lower case: "select", "with", "do", "set", "begin", "insert" …
	Tx       TxOp
	Snapshot bool   // BEGIN or SET TRANSACTION … ISOLATION LEVEL REPEATABLE READ or SERIALIZABLE
	Calls    []Call // lock calls, in text order, at every level, DO bodies included
	Settings []Setting
	// ReturnsColumns: the result rows carry something other than lock answers and constants
	// (a column, *, an aggregate of a column). Writes: INSERT, UPDATE, DELETE, MERGE at some level.
	ReturnsColumns, Writes bool
	View                   []ViewFault
	// LocksPids are the arguments that the text compares with pg_locks.pid (pid = $1).
	LocksPids []Arg
}

// Call is one call of a lock function.
type Call struct {
	Func *Func
	Args []Arg // without GET_LOCK's timeout, which is Timeout
	// Timeout is GET_LOCK's second argument.
	Timeout Arg
	// Limit: a LIMIT or FETCH FIRST/NEXT stands at the call's own query level, or at an outer
	// level whose derived table this is and which sorts or filters, and a FROM with it. LIMIT
	// ALL and LIMIT NULL are No; a hole in clause position makes "none" Unknown.
	Limit Tri
	// Filtered: a WHERE or HAVING lets only rows with a true answer through, so the number of
	// rows is the answer (WHERE pg_try_advisory_lock(id); SELECT g FROM f($1) AS g WHERE g).
	Filtered bool
	// Column is the position of the answer in the outermost select list, -1 when the answer is
	// not returned as a column of its own (in WHERE, in PERFORM, in DO, under an operator that
	// hides it). COALESCE, a cast, IS TRUE, = 1 and parentheses around the call keep it.
	Column int
	// Shown: the answer, or a value made from it, is in the result rows. It can be where Column
	// is -1: behind a star, so that its position is not known, or under an operator.
	Shown bool
	// HashesKey names a 32-bit hash inside the key: "hashtext", "crc32", … or "".
	HashesKey string
	// Lit, Start and End locate "name(args)" when all of it stands in one literal: byte offsets
	// in Lits[Lit]. Lit is -1 otherwise.
	Lit, Start, End int
	// Nested: inside a DO block, a function body or another string.
	Nested bool
}

// ArgKind is the kind of a call's argument.
type ArgKind uint8

const (
	NoArg       ArgKind = iota
	Placeholder         // $1, ?, :name, @name
	Literal             // a number or a string; Text is its value ("4", "-7", "nightly")
	Hole                // exactly one hole; Index is its number
	Expr                // anything else; Text is normalised: tokens joined by a space
)

// Arg is an argument of a lock call, casts and parentheses removed.
type Arg struct {
	Kind  ArgKind
	Index int    // Placeholder: position from 0, in text order for ?; Hole: number; else 0
	Name  string // named placeholder: "room" of @room or :room
	Text  string
	Str   bool // Literal is a string
	// Parts are the placeholders and holes inside an Expr, in order.
	Parts []Arg
}

// Setting is SET or set_config of one run-time parameter.
type Setting struct {
	Name   string // lower case: "lock_timeout"; "" when a hole or placeholder
	Local  Tri    // SET LOCAL, set_config(…, true); Unknown when the third argument is not constant
	Config bool   // by set_config
	Value  Arg
}

// ViewFault is a way to read pg_locks wrongly.
type ViewFault uint8

const (
	// KeyWithoutObjsubid: classid and objid are compared or put together, objsubid is not looked at.
	KeyWithoutObjsubid ViewFault = iota + 1
	// NarrowShift: classid is shifted left, or multiplied by 2^32, without a cast to bigint (or
	// with a cast to int first), so the upper half is lost.
	NarrowShift
)
