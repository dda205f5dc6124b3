package report

import (
	"go/types"
	"strings"

	"golang.org/x/tools/go/analysis"

	"github.com/advisorylint/advisorylint/analyzer/internal/client"
	"github.com/advisorylint/advisorylint/analyzer/internal/lockflow"
	"github.com/advisorylint/advisorylint/analyzer/internal/sqltext"
)

// named is e with the name of its context taken from the call of the helper that is given it, where
// the engine, which looks at the sending call, has none. The event itself belongs to all rules.
func named(pass *analysis.Pass, e *lockflow.Event) *lockflow.Event {
	if e.Context.Name != "" || e.Call == nil || pass.TypesInfo == nil {
		return e
	}
	var found []string
	for _, arg := range e.Call.Args {
		if t := pass.TypesInfo.TypeOf(arg); t != nil && types.TypeString(t, nil) == "context.Context" {
			found = append(found, types.ExprString(arg))
		}
	}
	if len(found) != 1 {
		return e
	}
	shown := *e
	shown.Context.Name = found[0]
	return &shown
}

// Func is the lock function's name as its server's manual writes it.
func Func(e *lockflow.Event) string {
	if e.Lease != nil {
		return Command(e)
	}
	if e.Lock == nil {
		return "the statement"
	}
	if MySQL(e) {
		return strings.ToUpper(e.Lock.Func.Name)
	}
	return e.Lock.Func.Name
}

// MySQL reports whether the event is one of MySQL's or MariaDB's locks.
func MySQL(e *lockflow.Event) bool {
	return e.Lock != nil && e.Lock.Func.System == sqltext.MySQL
}

// Handle names the handle of e: "s.db", or "a pool" when it has no name.
func Handle(e *lockflow.Event) string {
	if e.Handle.Name != "" {
		return e.Handle.Name
	}
	if e.Handle.Kind == client.Unknown {
		return "its handle"
	}
	return "a " + e.Handle.Kind.String()
}

// HandleKind names the handle of e and says what it is: "s.db, a pool".
func HandleKind(e *lockflow.Event) string {
	if e.Handle.Name == "" || e.Handle.Kind == client.Unknown {
		return Handle(e)
	}
	return e.Handle.Name + ", a " + e.Handle.Kind.String()
}

// Runtime is the runtime package that does what e's statement tries to do.
func Runtime(e *lockflow.Event) string {
	switch {
	case e.Lease != nil:
		return "redislock"
	case MySQL(e):
		return "mysqllock"
	case strings.Contains(e.Handle.Type, "pgx.") || strings.Contains(e.Handle.Type, "pgxpool."):
		return "pgxlock"
	}
	return "pglock"
}

// Do is the runtime function that holds a lock of e's level around a function.
func Do(e *lockflow.Event) string {
	if e.Lease != nil {
		return "Do of a redislock.Locker"
	}
	if e.Lock != nil && e.Lock.Func.Xact {
		return Runtime(e) + ".DoTx"
	}
	return Runtime(e) + ".Do"
}

// Unlock is the runtime function that releases as e does and reads the answer.
func Unlock(e *lockflow.Event) string {
	switch {
	case e.Lease != nil && e.Lease.System != "Redis":
		return "a context with a timeout of its own" // the runtime has no etcd
	case e.Lease != nil && e.Lease.Library != "" && !client.RedisPath(e.Lease.Library):
		return "redislock's Locker.Do" // a library's lock has its own release
	case e.Lease != nil:
		return "redislock.DelIfEqual"
	case MySQL(e):
		return "mysqllock.Release"
	case e.Lock != nil && e.Lock.Func.Shared:
		return Runtime(e) + ".UnlockShared"
	}
	return Runtime(e) + ".Unlock"
}

// No is how the server says no to e, without an error.
func No(e *lockflow.Event) string {
	if e.Lease != nil && e.Lease.Op == lockflow.LeaseRelease {
		return "0"
	}
	if MySQL(e) {
		return "0 or NULL"
	}
	return "false"
}

// Key describes e's key, "" when it, or a part of it, is unknown.
func Key(e *lockflow.Event) string {
	for part := range strings.SplitSeq(e.Key, ",") {
		if strings.TrimSpace(part) == "" {
			return ""
		}
	}
	return compact.Replace(e.Key)
}

// compact takes back the spaces that a normalised expression has between its tokens.
var compact = strings.NewReplacer(" ( ", "(", " )", ")")
