package redislock

import (
	"context"

	"github.com/redis/go-redis/v9"
)

// number is the answer of a script about one lease.
type number struct {
	n   int64
	err error
}

// pipeline runs a script for each lease, with its lock, its token and more arguments, in one pipeline.
// Go-redis falls back to a script's text only outside of pipelines: those that the server did not know
// go in a second one.
func (b *backend) pipeline(ctx context.Context, s script, leases []*lease, more ...any) []number {
	commands := make([]*redis.Cmd, len(leases))
	queue := func(pipe redis.Pipeliner, i int, how func(context.Context, redis.Scripter, []string, ...any) *redis.Cmd) {
		l := leases[i]
		commands[i] = how(ctx, pipe, l.keys[:1], append([]any{l.hold.token}, more...)...)
	}
	pipe := b.client.Pipeline()
	for i := range leases {
		queue(pipe, i, s.EvalSha)
	}
	_, _ = pipe.Exec(ctx) // each command has its error
	again := b.client.Pipeline()
	for i, cmd := range commands {
		if noScript(cmd.Err()) {
			queue(again, i, s.Eval)
		}
	}
	if again.Len() > 0 {
		_, _ = again.Exec(ctx)
	}
	answers := make([]number, len(leases))
	for i, cmd := range commands {
		answers[i].n, answers[i].err = cmd.Int64()
	}
	return answers
}
