package mysqllock

import (
	"fmt"
	"strings"
	"time"
)

// Statements have no parameters: with them most drivers prepare first, which is a second round trip.
// Every one gives CONNECTION_ID() first, which shows for nothing whether it ran where the others did.
// Servers evaluate a select list from left to right (measured; neither manual promises it): where the
// order decides, a wrong one shows as a connection that is not clean, which is then closed.

// quoted is a name as a literal that is right in any sql_mode and character set of the connection.
func quoted(name string) string { return fmt.Sprintf("_utf8mb4 X'%x'", name) }

// mine is 1 when this connection has the lock, else 0.
func mine(name string) string { return "(IS_USED_LOCK(" + quoted(name) + ") <=> CONNECTION_ID())" }

// foreign is what getStatement's column has when the connection had one of the names before.
const foreign = -1

// getStatement waits for the lock of name. When one of fresh, which are the names that this connection
// must not have yet, is there, it takes nothing.
func getStatement(mark, name string, wait time.Duration, fresh []string) string {
	get := fmt.Sprintf("GET_LOCK(%s, %s)", quoted(name), seconds(wait))
	if len(fresh) > 0 {
		holders := make([]string, len(fresh))
		for i, n := range fresh {
			holders[i] = "IS_USED_LOCK(" + quoted(n) + ")"
		}
		// IN is flat: of a thousand names, a sum overruns the server's stack (measured). NULL is as good as 0.
		get = fmt.Sprintf("IF(CONNECTION_ID() IN (%s), %d, %s)", strings.Join(holders, ", "), foreign, get)
	}
	return "SELECT /* " + mark + " */ CONNECTION_ID(), " + get
}

// seconds is a time to wait as SQL. Whole seconds have no point, since they mean the same everywhere.
func seconds(wait time.Duration) string {
	if wait%time.Second == 0 {
		return fmt.Sprint(int64(wait / time.Second))
	}
	return fmt.Sprintf("%.3f", wait.Seconds())
}

// batch is how many names one statement has, of which it gives two columns: a row of MySQL has 4096 at
// most.
const batch = 500

// heldStatement tells of each name whether this connection has its lock.
func heldStatement(names []string) string {
	var b strings.Builder
	b.WriteString("SELECT CONNECTION_ID()")
	for _, n := range names {
		b.WriteString(", " + mine(n))
	}
	return b.String()
}

// releaseStatement frees the locks of names, and tells of each what RELEASE_LOCK answered, and then of
// each whether this connection has it nevertheless.
func releaseStatement(names []string) string {
	var b strings.Builder
	b.WriteString("SELECT CONNECTION_ID()")
	for _, n := range names {
		b.WriteString(", RELEASE_LOCK(" + quoted(n) + ")")
	}
	for _, n := range names {
		b.WriteString(", " + mine(n))
	}
	return b.String()
}
