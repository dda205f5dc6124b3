package redislock

import (
	"context"
	_ "embed"
	"errors"
	"net"
	"time"

	"github.com/redis/go-redis/v9"
)

// A script is run by its digest, and by its text when the server does not know it (any more).
type script struct {
	*redis.Script
	digest, text any // strings
}

func newScript(text string) script {
	s := redis.NewScript(text)
	return script{s, s.Hash(), text}
}

var (
	//go:embed acquire.lua
	acquireText string
	//go:embed release.lua
	releaseText string
	//go:embed renew.lua
	renewText string
	//go:embed check.lua
	checkText string
	//go:embed claim.lua
	claimText string

	acquireScript = newScript(acquireText)
	releaseScript = newScript(releaseText)
	renewScript   = newScript(renewText)
	checkScript   = newScript(checkText)
	claimScript   = newScript(claimText)
)

// processor is what every client of go-redis can do.
type processor interface {
	Process(ctx context.Context, cmd redis.Cmder) error
}

// single is a command that go-redis does not send again by itself. A second try answers 0 to a release
// whose first one deleted the key, so that we must know how often it was sent.
type single struct{ *redis.Cmd }

// NoRetry is what go-redis asks. It follows redirections of a cluster, which come from a server that
// did nothing, all the same.
func (single) NoRetry() bool { return true }

// A reply is what the last try of a script gave.
type reply struct {
	*redis.Cmd
	sent    time.Time // the last try
	unknown bool      // an earlier try, or this one, may have been executed without our hearing of it
}

// How often a script is sent when no server answers: as often as go-redis does, or until ctx ends.
const (
	someTries = 4
	untilEnd  = 0
)

// run sends a script until a server has answered, at most as often as said.
func (s script) run(ctx context.Context, client processor, tries int, keys []string, args ...any) reply {
	unknown := false
	for try := 1; ; try++ {
		sent := time.Now()
		if ctx.Err() != nil { // go-redis sends nothing then, which its error does not say
			cmd := redis.NewCmd(ctx)
			cmd.SetErr(context.Cause(ctx))
			return reply{cmd, sent, unknown}
		}
		cmd := s.once(ctx, client, keys, args)
		err := cmd.Err()
		if err != nil && !answered(err) && !unsent(err) {
			unknown = true
		}
		final := err == nil || !transient(err) || try == tries
		if final || sleep(ctx, backoff(try+retryShift, lastRetry, jitter())) != nil {
			return reply{cmd, sent, unknown}
		}
	}
}

// retryShift makes the pauses after an error longer than those of waiting for a lock: 16 ms at the
// first.
const retryShift = 2

// once sends a script once.
func (s script) once(ctx context.Context, client processor, keys []string, args []any) *redis.Cmd {
	cmd := send(ctx, client, "evalsha", s.digest, keys, args)
	if noScript(cmd.Err()) {
		cmd = send(ctx, client, "eval", s.text, keys, args)
	}
	return cmd
}

func send(ctx context.Context, client processor, name string, what any, keys []string, args []any) *redis.Cmd {
	all := make([]any, 0, 3+len(keys)+len(args))
	all = append(all, name, what, len(keys))
	for _, key := range keys {
		all = append(all, key)
	}
	cmd := redis.NewCmd(ctx, append(all, args...)...)
	cmd.SetFirstKeyPos(3)
	_ = client.Process(ctx, single{cmd}) // the error is the command's
	return cmd
}

// noScript reports whether a server does not know the script.
func noScript(err error) bool { return err != nil && redis.HasErrorPrefix(err, "NOSCRIPT") }

// answered reports whether an error is the server's answer: it did nothing of what was asked.
func answered(err error) bool {
	var reply redis.Error
	return errors.As(err, &reply)
}

// unsent reports whether a command failed before a byte of it was sent.
func unsent(err error) bool {
	var operation *net.OpError
	return errors.Is(err, redis.ErrPoolTimeout) || errors.Is(err, redis.ErrPoolExhausted) || errors.Is(err, redis.ErrClosed) ||
		errors.As(err, &operation) && operation.Op == "dial"
}

// transients begin the answers of servers that may do it later, or that give way to another.
var transients = []string{"LOADING", "READONLY", "MASTERDOWN", "CLUSTERDOWN", "TRYAGAIN", "NOREPLICAS", "max number of clients"}

// transient reports whether trying again may help.
func transient(err error) bool {
	if !answered(err) {
		return !errors.Is(err, redis.ErrClosed)
	}
	for _, prefix := range transients {
		if redis.HasErrorPrefix(err, prefix) {
			return true
		}
	}
	return false
}
