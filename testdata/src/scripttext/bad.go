// Package scripttext lends tools. Who has a tool is in its lock.
package scripttext

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/gomodule/redigo/redis"
	"github.com/google/uuid"
	goredis "github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
)

const leaseTTL = time.Minute

var (
	errBusy    = errors.New("tool is lent")
	errNotHeld = errors.New("tool was not lent")
)

// Use is the work under the lock.
type Use func(ctx context.Context) error

func lockKey(tool string) string { return "tool:lock:" + tool }

// take takes the lock with a token of its own.
func take(ctx context.Context, rdb goredis.Cmdable, tool string) (token string, err error) {
	token = uuid.NewString()
	ok, err := rdb.SetNX(ctx, lockKey(tool), token, leaseTTL).Result()
	if err == nil && !ok {
		err = errBusy
	}
	return token, err
}

func checked(freed int, err error) error {
	if err == nil && freed == 0 {
		err = errNotHeld
	}
	return err
}

// Formatted has the key and the token in the text of its release.
func Formatted(ctx context.Context, rdb *goredis.Client, tool string, use Use) error {
	token, err := take(ctx, rdb, tool)
	if err != nil {
		return err
	}
	useErr := use(ctx)
	text := fmt.Sprintf(`if redis.call("GET", "%[1]s") == "%[2]s" then return redis.call("DEL", "%[1]s") else return 0 end`, lockKey(tool), token)
	return errors.Join(useErr, checked(rdb.Eval(context.WithoutCancel(ctx), text, nil).Int())) // want `text of this lock's script`
}

// Lender keeps what its methods share.
type Lender struct {
	rdb    goredis.UniversalClient
	tokens map[string]string
}

// NewLender returns a lender that has lent nothing.
func NewLender(rdb goredis.UniversalClient) *Lender {
	return &Lender{rdb: rdb, tokens: map[string]string{}}
}

// Lend takes the lock for the tool.
func (l *Lender) Lend(ctx context.Context, tool string) error {
	token, err := take(ctx, l.rdb, tool)
	if err == nil {
		l.tokens[tool] = token
	}
	return err
}

// Prolong passes the key and writes the rest into the text, the time as well.
func (l *Lender) Prolong(ctx context.Context, tool string, ttl time.Duration) error {
	script := goredis.NewScript("if redis.call('GET', KEYS[1]) == '" + l.tokens[tool] +
		"' then return redis.call('PEXPIRE', KEYS[1], " + strconv.FormatInt(ttl.Milliseconds(), 10) + ") end return 0")
	return checked(script.Run(ctx, l.rdb, []string{lockKey(tool)}).Int()) // want `text of this lock's script`
}

const template = `
if redis.call("GET", "{{key}}") == ARGV[1] then
	return redis.call("DEL", "{{key}}")
end
return 0`

// Return fills a template in.
func (l *Lender) Return(ctx context.Context, tool string) error {
	text := strings.ReplaceAll(template, "{{key}}", lockKey(tool))
	return checked(l.rdb.Eval(context.WithoutCancel(ctx), text, nil, l.tokens[tool]).Int()) // want `text of this lock's script`
}

// Named writes the borrower's name into the text that takes the lock. The name is what a form of the
// web site says.
func Named(ctx context.Context, rdb *goredis.Client, tool, borrower string) error {
	text := fmt.Sprintf(`return redis.call("SET", KEYS[1], "%s", "NX", "PX", %d)`, borrower, leaseTTL.Milliseconds())
	err := rdb.Eval(ctx, text, []string{lockKey(tool)}).Err() // want `text of this lock's script`
	if errors.Is(err, goredis.Nil) {
		return errBusy
	}
	return err
}

// NamedReturn frees what Named took.
func NamedReturn(ctx context.Context, rdb *goredis.Client, tool, borrower string) error {
	text := fmt.Sprintf(`if redis.call("GET", KEYS[1]) == "%s" then return redis.call("DEL", KEYS[1]) end return 0`, borrower)
	return checked(rdb.Eval(context.WithoutCancel(ctx), text, []string{lockKey(tool)}).Int()) // want `text of this lock's script`
}

// Redigo makes a new script for each release.
func Redigo(conn redis.Conn, tool string, use func() error) error {
	token := uuid.NewString()
	if _, err := redis.String(conn.Do("SET", lockKey(tool), token, "NX", "PX", leaseTTL.Milliseconds())); err != nil {
		return errors.Join(errBusy, err)
	}
	useErr := use()
	script := redis.NewScript(1, `if redis.call("GET", KEYS[1]) == "`+token+`" then return redis.call("DEL", KEYS[1]) else return 0 end`)
	return errors.Join(useErr, checked(redis.Int(script.Do(conn, lockKey(tool))))) // want `text of this lock's script`
}

// Rueidis does the same with its own type of script.
func Rueidis(ctx context.Context, client rueidis.Client, tool string, use Use) error {
	token := uuid.NewString()
	err := client.Do(ctx, client.B().Set().Key(lockKey(tool)).Value(token).Nx().Px(leaseTTL).Build()).Error()
	if err != nil {
		return errors.Join(errBusy, err)
	}
	useErr := use(ctx)
	script := rueidis.NewLuaScript(fmt.Sprintf(`if redis.call("GET", KEYS[1]) == %q then return redis.call("DEL", KEYS[1]) else return 0 end`, token))
	freed, err := script.Exec(context.WithoutCancel(ctx), client, []string{lockKey(tool)}, nil).AsInt64() // want `text of this lock's script`
	return errors.Join(useErr, checked(int(freed), err))
}
