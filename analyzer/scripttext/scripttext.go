// Package scripttext reports lock scripts whose text is put together from values.
package scripttext

import (
	"github.com/advisorylint/advisorylint/analyzer/internal/lockflow"
	"github.com/advisorylint/advisorylint/analyzer/internal/report"
)

const doc = `scripttext: report lock scripts whose text is put together from values

The server keeps each text that it was sent, compiled, for later calls: a text
with the key or the token in it is a new one each time, and the memory grows
with each lock. And whoever chooses a part of the text chooses what runs on the
server.

For example:

	client.Eval(ctx, fmt.Sprintf("if redis.call('get', '%s') == '%s' then …", key, token), nil)

Keep the text constant and pass the values:

	redis.NewScript("if redis.call('get', KEYS[1]) == ARGV[1] then …").Run(ctx, client, []string{key}, token)

or call redislock.DelIfEqual or redislock.ExpireIfEqual. A text that is put
together from constants is one text, and is not reported.`

// Analyzer is the rule scripttext.
var Analyzer = report.Rule{
	Name:    "scripttext",
	Doc:     doc,
	Holds:   func(e *lockflow.Event) bool { return e.Lease != nil && e.Has(lockflow.MadeText) },
	Message: message,
}.Analyzer()

func message(e *lockflow.Event) string {
	return "the text of this lock's script is put together from values: the server keeps each text that it has seen, and a value can be code; " + cures[e.Lease.Op]
}

const pass = "keep the text constant and pass the values as KEYS and ARGV"

var cures = map[lockflow.LeaseOp]string{
	lockflow.LeaseAcquire: pass,
	lockflow.LeaseRelease: pass + " or use redislock.DelIfEqual",
	lockflow.LeaseRenew:   pass + " or use redislock.ExpireIfEqual",
	lockflow.LeaseSession: pass,
	lockflow.LeaseScript:  pass,
}
