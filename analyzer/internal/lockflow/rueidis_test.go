package lockflow

import "testing"

const (
	rueidisCmdsStub = `package cmds
type Completed struct{}
type Builder struct{}
type Set struct{}
type SetKey struct{}
type SetValue struct{}
type SetNx struct{}
type Del struct{}
type Get struct{}
type Word struct{}
func (Builder) Set() Set { return Set{} }
func (Set) Key(string) SetKey { return SetKey{} }
func (SetKey) Value(string) SetValue { return SetValue{} }
func (SetValue) Nx() SetNx { return SetNx{} }
func (SetValue) Build() Completed { return Completed{} }
func (SetNx) PxMilliseconds(int64) Word { return Word{} }
func (SetNx) Build() Completed { return Completed{} }
func (Builder) Del() Del { return Del{} }
func (Del) Key(...string) Word { return Word{} }
func (Builder) Get() Get { return Get{} }
func (Get) Key(string) Word { return Word{} }
func (Word) Build() Completed { return Completed{} }
`
	rueidisStub = `package rueidis
import ("context"; "github.com/redis/rueidis/internal/cmds")
type RedisResult struct{}
func (RedisResult) Error() error { return nil }
func (RedisResult) ToString() (string, error) { return "", nil }
func (RedisResult) AsInt64() (int64, error) { return 0, nil }
type Client interface {
	B() cmds.Builder
	Do(context.Context, cmds.Completed) RedisResult
	DoMulti(context.Context, ...cmds.Completed) []RedisResult
}
func IsRedisNil(error) bool { return false }
type Lua struct{}
func NewLuaScript(string) *Lua { return nil }
func (*Lua) Exec(ctx context.Context, c Client, keys, args []string) RedisResult { return RedisResult{} }
`
)

func TestWhatIsSaidOfRueidis(t *testing.T) {
	for _, c := range []struct{ name, body, want string }{
		{"taken and freed well", `func f(ctx context.Context, c rueidis.Client, token string, work func()) error {
			err := c.Do(ctx, c.B().Set().Key("lock:a").Value(token).Nx().PxMilliseconds(500).Build()).Error()
			if rueidis.IsRedisNil(err) { return nil }
			if err != nil { return err }
			work()
			n, err := free.Exec(ctx, c, []string{"lock:a"}, []string{token}).AsInt64()
			if n == 0 { println("lost") }
			return err
		}`, ""},
		{"no expiry, and the release's answer not read", `func f(ctx context.Context, c rueidis.Client, token string, work func()) error {
			err := c.Do(ctx, c.B().Set().Key("lock:a").Value(token).Nx().Build()).Error()
			if err != nil { return err }
			work()
			return free.Exec(ctx, c, []string{"lock:a"}, []string{token}).Error()
		}`, "SET: a command's verdict; the script: release unread"},
		{"freed by GET and DEL", `func f(ctx context.Context, c rueidis.Client, token string, work func()) error {
			if err := c.Do(ctx, c.B().Set().Key("lock:a").Value(token).Nx().PxMilliseconds(500).Build()).Error(); err != nil { return err }
			work()
			v, err := c.Do(ctx, c.B().Get().Key("lock:a").Build()).ToString()
			if err != nil || v != token { return err }
			return c.Do(ctx, c.B().Del().Key("lock:a").Build()).Error()
		}`, "DEL: a command's verdict"},
		{"commands together", `func f(ctx context.Context, c rueidis.Client, token string, work func()) error {
			for _, r := range c.DoMulti(ctx, c.B().Set().Key("lock:a").Value(token).Nx().Build(), c.B().Get().Key("b").Build()) {
				if err := r.Error(); err != nil { return err }
			}
			work()
			return c.Do(ctx, c.B().Del().Key("lock:a").Build()).Error()
		}`, "SET: a command's verdict; DEL: a command's verdict"},
		{"a cache", `func f(ctx context.Context, c rueidis.Client, v string) error {
			return c.Do(ctx, c.B().Set().Key("page:a").Value(v).Build()).Error()
		}`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			pr := newProgram()
			pr.load(t, "github.com/redis/rueidis/internal/cmds", rueidisCmdsStub)
			pr.load(t, "github.com/redis/rueidis", rueidisStub)
			events := pr.add(t, "example.com/p", `package p
import (
	"context"
	"github.com/redis/rueidis"
)
var free = rueidis.NewLuaScript("if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0")
`+c.body)
			if got := said(events); got != c.want {
				t.Errorf("said %q, want %q", got, c.want)
			}
		})
	}
}
