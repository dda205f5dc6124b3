// Package poolerlock reports session-level locks that go through a transaction pooler.
package poolerlock

import (
	"cmp"
	"fmt"

	"github.com/advisorylint/advisorylint/analyzer/internal/client"
	"github.com/advisorylint/advisorylint/analyzer/internal/lockflow"
	"github.com/advisorylint/advisorylint/analyzer/internal/report"
	"github.com/advisorylint/advisorylint/analyzer/internal/sqltext"
)

const doc = `poolerlock: report session-level locks through a transaction pooler

A pooler in transaction mode (PgBouncer's pool_mode=transaction and its like)
gives a client another server connection for each transaction. Even one pinned
client connection is then many sessions: the unlock misses, and two clients can
be granted the same lock.

For example, with postgres://app@pool:6432/shop?pool_mode=transaction:

	conn.ExecContext(ctx, "SELECT pg_advisory_lock($1)", basket)

Use transaction-level locks, with pglock.DoTx, or connect to the server itself
for locks.

A program's text rarely shows what it connects through. The flag says it:
pooler=transaction reports each session-level acquire, pooler=session and
pooler=none report none; without it the rule goes by connection strings.`

// Analyzer is the rule poolerlock.
var Analyzer = report.Rule{
	Name:    "poolerlock",
	Doc:     doc,
	Holds:   holds,
	Message: message,
}.Analyzer()

var pooler mode

func init() {
	Analyzer.Flags.Var(&pooler, "pooler", "what the program connects through: transaction, session or none; empty to go by connection strings")
}

func holds(e *lockflow.Event) bool {
	if e.Lock == nil || e.Lock.Func.Op != sqltext.Acquire || !e.Lock.Func.Session() {
		return false
	}
	switch cmp.Or(string(pooler), e.Pooler) {
	case "transaction":
		return e.Handle.Kind != client.Unknown
	case "":
		return e.Has(lockflow.ThroughPooler)
	}
	return false
}

func message(e *lockflow.Event) string {
	way := fmt.Sprintf("use a transaction-level lock with %s.DoTx, or connect to the server itself", report.Runtime(e))
	if report.MySQL(e) {
		way = "connect to the server itself for mysqllock"
	}
	return fmt.Sprintf("%s goes through a transaction pooler: lock and unlock may run in different server sessions, and two clients can both get it; %s",
		report.Func(e), way)
}

// mode is the flag's value.
type mode string

func (m *mode) String() string { return string(*m) }

func (m *mode) Set(s string) error {
	switch s {
	case "", "transaction", "session", "none":
		*m = mode(s)
		return nil
	}
	return fmt.Errorf("pooler is %q, not transaction, session or none", s)
}
