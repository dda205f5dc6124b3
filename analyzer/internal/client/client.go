// Package client is the catalogue of database client libraries, as data: for a type, which kind
// of handle it is; for a method or function, what it does with SQL text, with connections and
// with the server's answer. A library's version does not matter: major-version suffixes are cut
// from import paths. The package reads types only by name and does not look at SSA.
package client

// Kind says what stands behind a handle.
type Kind uint8

const (
	Unknown Kind = iota
	Pool         // each statement may use another connection: *sql.DB, *pgxpool.Pool, *gorm.DB
	Conn         // one connection that goes back to its pool on Close or Release: *sql.Conn
	Session      // one connection of its own, whose Close ends the session: *pgx.Conn
	Tx           // an open transaction
)

func (k Kind) String() string {
	return [...]string{"unknown", "pool", "pinned connection", "session", "transaction"}[k]
}

// Role says what part the values of a type play.
type Role uint8

const (
	Handle     Role = iota // statements are sent on it; Kind says what stands behind
	Statement              // a prepared statement, or a query bound to a handle
	Builder                // SQL text under construction, with or without a handle
	Results                // an answer of the server: rows, a row, a command tag
	Batch                  // statements that are sent together
	ArgMap                 // the arguments of a statement by name: pgx.NamedArgs
	TxOptions              // isolation level and access mode
	SendOption             // among a statement's arguments, says how to send it: pgx.QueryExecMode
	Fragment               // a piece of SQL text as a value: squirrel.Expr, goqu.L, clause.Expr
)

// Type is a row for a named type. Its Name is what TypeName gives: "import/path.Type" without a
// major-version suffix and without a star: "github.com/jackc/pgx/pgxpool.Pool".
type Type struct {
	Name string
	Role Role
	Kind Kind // the kind every handle of this type has, unless where it came from says otherwise
	// Embeds are the names of the catalogued types whose methods this one promotes.
	Embeds []string
	// Weak: the kind is only a default; provenance (a Begin, a callback) overrides it: *gorm.DB.
	Weak bool
}

// Effect is what a method or function does.
type Effect uint8

const (
	None     Effect = iota
	Send            // runs SQL text on the handle
	Build           // makes a statement (prepared statement, raw query, builder) bound to the handle
	Clause          // adds text to a builder
	Run             // runs a built statement
	Derive          // gives another handle of kind To; with no handle among its results the receiver becomes it
	Same            // gives the same handle or builder, maybe as another type (WithContext, Debug, Unsafe, PgConn)
	Callback        // runs a function argument with a handle of kind To, then ends it
	End             // ends the handle, in the way that Ending says
	Cap             // SetMaxOpenConns
	Queue           // adds a statement to a batch
	RunBatch        // runs a batch
	Read            // reads the answer: Scan, Next, RowsAffected, Err …
	Bind            // binds a builder to a handle (RunWith)
	Text            // gives text as a value: a fragment, a rewritten query, a builder's SQL (see Method.SQL)
	Dests           // wraps destination pointers into one value: pg.Scan
)

// Ending is how a handle ends.
type Ending uint8

const (
	NoEnding   Ending = iota
	Return            // back to the pool, locks and all: sql.Conn.Close; of a Pool, its end (go-pg has one Close)
	EndSession        // the server session ends: pgx.Conn.Close, sql.DB.Close
	CommitTx
	RollbackTx
	Detach  // the connection leaves its pool and becomes a Session: Hijack
	Discard // the connection is destroyed, not pooled: Raw with driver.ErrBadConn
)

// Answer is the shape in which a Send or Run gives the server's answer back.
type Answer uint8

const (
	NoAnswer Answer = iota
	Tag             // a command tag or sql.Result: rows affected only
	Row             // one row, to be scanned
	Rows            // rows, to be walked and scanned
	Dest            // written to the pointer argument number Dest (Get, Select, Scan(&x))
	Lost            // nothing but an error
	Chain           // the handle itself, with Error and RowsAffected fields (gorm)
	Value           // a result of the call is the answer as Go values ([]map[string]string, T)
	Checked         // an error, which is there for a no as well
)

// Reading is what a Read method reads.
type Reading uint8

const (
	ReadScan  Reading = iota + 1 // writes columns to pointer arguments from Dest on
	ReadCount                    // RowsAffected and the like
	ReadNext                     // whether there is a row
	ReadErr                      // only the error
	ReadAll                      // hands the rows out as values (Values, FieldDescriptions, CollectRows)
	ReadClose                    // discards the rest
	ReadItem                     // gives one statement's answer, of shape Answer, out of several (BatchResults.Exec)
)

// NoArg stands for an argument that a method does not have.
const NoArg = -1

// Method is a row for a method or a package-level function. Argument numbers count from 0 without
// the receiver; NoArg where there is none.
type Method struct {
	Recv   string // the receiver's Type.Name; "" for a function
	Name   string // "QueryRowContext"; for a function "import/path.Func"
	Effect Effect

	// Handle is the argument that is the handle (or, for a Read, the answer): of functions, and of
	// methods that Bind or that run a statement on a handle given to them. NoArg: the receiver.
	Handle int
	// SQL is the argument that is SQL text, or a clause of it. When it is the same as Args, the first
	// element of the list is the text and the others are its arguments (xorm's Exec(sqlOrArgs...)). A
	// Run without SQL runs what its receiver or Stmt was built from, or text that the library makes
	// (gorm's Save). A Text without SQL gives its receiver's text (ToSql).
	SQL int
	// Idents: plain strings there are names, which the library quotes; only fragments are text.
	Idents bool
	// Statement is the text that a function sends which is given none: then SQL is NoArg, and the
	// statement's arguments are those from Args on, one by one.
	Statement string
	DSN       int // the argument that is a connection string, or a configuration with one
	Args      int // where the statement's arguments begin (variadic or one slice or map)
	Ctx       int // the context; of a Same, the one with which later statements run (gorm's WithContext)
	Dest      int // where destination pointers begin (variadic, one slice or one pointer)
	Stmt      int // the argument that is a statement made elsewhere: Tx.Stmt, squirrel.ExecWith
	Batch     int // RunBatch: the argument that is the batch
	As        int // the argument that names a prepared statement: Build gives the name, Run and Send use it
	// Fn is a function argument. Callback: its parameter number FnArg is the handle. Read: it scans
	// what it is given. End with Discard (sql.Conn.Raw): the connection is destroyed only when the
	// function can return driver.ErrBadConn, which the engine checks; else the call ends nothing,
	// and parameter FnArg is the driver's own connection, the same handle as the receiver.
	Fn    int
	FnArg int

	// To is the kind of the new handle of a Derive or Callback; Unknown: that of the handle it is made
	// from. Of a Send it is the kind of what it sends on, when only the user's word says so.
	To     Kind
	Ending Ending // End; for Callback what happens when the function returns
	Answer Answer
	Read   Reading
	// Slot says where the text of a Clause, Build or Run stands in the statement: "select", "from",
	// "where", "having", "group", "order", "limit", "with", "set", "prefix", "suffix", "raw" or ""
	// (the whole statement). A Clause in "limit" without SQL says that there is a limit. "call": the
	// text is a function's name and Args are its arguments (goqu.Func).
	Slot string
	// Opts is the argument that carries transaction options (isolation), NoArg for none.
	Opts int
	// Only names the versions that have the method when the newest has not: "v4".
	Only string
}
