// Package setlocal reports transaction-local settings outside a transaction.
package setlocal

import (
	"fmt"
	"strings"

	"github.com/advisorylint/advisorylint/analyzer/internal/fix"
	"github.com/advisorylint/advisorylint/analyzer/internal/lockflow"
	"github.com/advisorylint/advisorylint/analyzer/internal/report"
	"github.com/advisorylint/advisorylint/analyzer/internal/sqltext"
)

const doc = `setlocal: report SET LOCAL outside a transaction

SET LOCAL, and set_config with true as its third argument, last until their
transaction ends. Alone, outside a transaction, that is at once: the server
warns, the program goes on, and the lock_timeout it relies on does not exist.

For example:

	conn.ExecContext(ctx, "SET LOCAL lock_timeout = '3s'")
	conn.ExecContext(ctx, "SELECT pg_advisory_lock($1)", region) // waits for ever

Set it in the statement that locks:

	SELECT set_config('lock_timeout', '3s', true), pg_advisory_lock($1)

or in a transaction, or call pglock.Do, whose context bounds the wait. A string
that also opens a transaction is not reported. MySQL's SET LOCAL is SET SESSION
and another thing.`

// Analyzer is the rule setlocal.
var Analyzer = report.Rule{
	Name:    "setlocal",
	Doc:     doc,
	Holds:   holds,
	Message: message,
	Fix:     fix.FoldSetting,
}.Analyzer()

func holds(e *lockflow.Event) bool {
	s := e.Setting
	if s == nil || s.Local != sqltext.Yes || !e.Has(lockflow.OutsideTx) {
		return false
	}
	return alone(e) && (s.Config || postgres(s.Name))
}

func message(e *lockflow.Event) string {
	what, name := "SET LOCAL "+e.Setting.Name, e.Setting.Name
	if e.Setting.Config {
		what = strings.TrimSpace("set_config of "+name) + " with true"
	}
	if !strings.HasSuffix(name, "_timeout") {
		return fmt.Sprintf("%s runs on %s, outside a transaction: it has no effect on the next statement; begin a transaction first or use %s.DoTx",
			what, report.HandleKind(e), report.Runtime(e))
	}
	return fmt.Sprintf("%s runs on %s, outside a transaction: it has no effect and there is no timeout; put set_config('%s', …, true) into the locking statement, begin a transaction or use %s",
		what, report.HandleKind(e), name, report.Do(e))
}

// alone: with another statement in the text it is one implicit transaction, and in a statement
// that calls a lock function the setting already holds for the wait.
func alone(e *lockflow.Event) bool {
	return e.Script != nil && len(e.Script.Stmts) == 1 && e.Stmt != nil && len(e.Stmt.Calls) == 0
}

// parameters are PostgreSQL's run-time parameters that programs set for one transaction and that
// MySQL does not have, since SET LOCAL is legal there with another meaning.
var parameters = map[string]bool{
	"lock_timeout":                        true,
	"statement_timeout":                   true,
	"deadlock_timeout":                    true,
	"transaction_timeout":                 true,
	"idle_in_transaction_session_timeout": true,
	"search_path":                         true,
	"role":                                true,
	"session_authorization":               true,
	"row_security":                        true,
	"work_mem":                            true,
	"maintenance_work_mem":                true,
	"synchronous_commit":                  true,
	"application_name":                    true,
	"timezone":                            true,
	"datestyle":                           true,
	"client_min_messages":                 true,
	"session_replication_role":            true,
	"constraint_exclusion":                true,
	"jit":                                 true,
	"enable_seqscan":                      true,
	"enable_indexscan":                    true,
	"enable_nestloop":                     true,
	"enable_hashjoin":                     true,
	"enable_mergejoin":                    true,
	"plan_cache_mode":                     true,
}

// postgres reports whether name is a parameter of PostgreSQL only. A name with a dot is one that
// an application or extension made up.
func postgres(name string) bool {
	return parameters[name] || strings.Contains(name, ".")
}
