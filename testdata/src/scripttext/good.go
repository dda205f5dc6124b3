package scripttext

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/gomodule/redigo/redis"
	"github.com/google/uuid"
	goredis "github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
)

//go:embed free.lua
var freeText string

var freeScript = goredis.NewScript(freeText)

// Passed passes the key and the token to a text that is in a file of its own.
func Passed(ctx context.Context, rdb *goredis.Client, tool string, use Use) error {
	token, err := take(ctx, rdb, tool)
	if err != nil {
		return err
	}
	useErr := use(ctx)
	return errors.Join(useErr, checked(freeScript.Run(context.WithoutCancel(ctx), rdb, []string{lockKey(tool)}, token).Int()))
}

// The texts below are put together from constants: each is one text.
const (
	ifOurs  = `if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call(`
	orElse0 = `) else return 0 end`

	prolongText = ifOurs + `"PEXPIRE", KEYS[1], ARGV[2]` + orElse0
)

var returnText = fmt.Sprintf(`%s%q, KEYS[1]%s`, ifOurs, "DEL", orElse0)

// ProlongPassed passes the token and the time.
func (l *Lender) ProlongPassed(ctx context.Context, tool string, ttl time.Duration) error {
	return checked(l.rdb.Eval(ctx, prolongText, []string{lockKey(tool)}, l.tokens[tool], ttl.Milliseconds()).Int())
}

// ReturnPassed uses a text that was put together once, as the program started.
func (l *Lender) ReturnPassed(ctx context.Context, tool string) error {
	return checked(l.rdb.Eval(context.WithoutCancel(ctx), returnText, []string{lockKey(tool)}, l.tokens[tool]).Int())
}

// End returns the tool, or lends it for a last minute: one of two constant texts.
func (l *Lender) End(ctx context.Context, tool string, last bool) error {
	text := prolongText
	if last {
		text = returnText
	}
	return checked(l.rdb.Eval(ctx, text, []string{lockKey(tool)}, l.tokens[tool], time.Minute.Milliseconds()).Int())
}

// NamedPassed passes the borrower's name.
func NamedPassed(ctx context.Context, rdb *goredis.Client, tool, borrower string) error {
	const text = `return redis.call("SET", KEYS[1], ARGV[1], "NX", "PX", ARGV[2])`
	err := rdb.Eval(ctx, text, []string{lockKey(tool)}, borrower, leaseTTL.Milliseconds()).Err()
	if errors.Is(err, goredis.Nil) {
		return errBusy
	}
	return err
}

var redigoFree = redis.NewScript(1, ifOurs+`"DEL", KEYS[1]`+orElse0)

// RedigoPassed has one script for all releases.
func RedigoPassed(conn redis.Conn, tool string, use func() error) error {
	token := uuid.NewString()
	if _, err := redis.String(conn.Do("SET", lockKey(tool), token, "NX", "PX", leaseTTL.Milliseconds())); err != nil {
		return errors.Join(errBusy, err)
	}
	useErr := use()
	return errors.Join(useErr, checked(redis.Int(redigoFree.Do(conn, lockKey(tool), token))))
}

var rueidisFree = rueidis.NewLuaScript(ifOurs + `"DEL", KEYS[1]` + orElse0)

// RueidisPassed has one script for all releases.
func RueidisPassed(ctx context.Context, client rueidis.Client, tool string, use Use) error {
	token := uuid.NewString()
	err := client.Do(ctx, client.B().Set().Key(lockKey(tool)).Value(token).Nx().Px(leaseTTL).Build()).Error()
	if err != nil {
		return errors.Join(errBusy, err)
	}
	useErr := use(ctx)
	freed, err := rueidisFree.Exec(context.WithoutCancel(ctx), client, []string{lockKey(tool)}, []string{token}).AsInt64()
	return errors.Join(useErr, checked(int(freed), err))
}

// Tidy has nothing to do with a lock, and its text differs each time.
func Tidy(ctx context.Context, rdb *goredis.Client, older int) (int, error) {
	text := `return redis.call("ZREMRANGEBYSCORE", "tool:usage", 0, ` + strconv.Itoa(older) + `)`
	return rdb.Eval(ctx, text, nil).Int()
}
