package client

import (
	"go/types"
	"strings"
	"sync"
)

// CommandOp is what a method of a Redis client does.
type CommandOp uint8

const (
	NoCommand     CommandOp = iota
	GetCommand              // reads a key
	ExistsCommand           // asks whether keys are there
	SetCommand              // writes a key, whatever is there
	SetNXCommand            // writes a key that is not there
	DelCommand              // deletes keys
	ExpireCommand           // sets a key's time to live
	CompareDelete           // deletes a key that has a value, in one command
	OtherCommand            // another command on a key
	EvalCommand             // runs the text of a script
	ScriptCommand           // runs a script that the receiver is
	DoCommand               // sends what its arguments say
	MakeScript              // makes a script of a text
	QueueMulti              // gives a handle whose commands go out in MULTI and EXEC
	QueuePlain              // gives a handle whose commands go out together, not atomically
	WatchCommand            // runs a function with a handle on keys that are watched
	Reply                   // reads the answer: value, then error
	ReplyError              // reads only the error of the answer
	ReplyOf                 // gives the first argument's answer as another type, and its error
)

// Command is a row for a method or function of a Redis client. Argument numbers count from 0 without
// the receiver and without a leading context; NoArg where there is none.
type Command struct {
	Name  string // of the command, for messages: "SETNX"
	Op    CommandOp
	Key   int  // where the keys begin
	Many  bool // Key is a variadic or a slice
	Value int  // written, or compared
	TTL   int
	Args  int // of a script or of Do, where the arguments begin; options as a struct
	Fn    int // a function argument
	Text  int // the script
	Conn  int // the argument that is the handle, of a script's method
	// Raw: whoever is refused gets a nil reply and no error.
	Raw bool
}

// Sends reports whether the call sends something to the server that may concern a lock.
func (c *Command) Sends() bool {
	return c.Op >= GetCommand && c.Op <= DoCommand && c.Op != OtherCommand
}

type commandRow struct {
	names  string
	op     CommandOp
	params string // "key value ttl", "keys", "text keys args", "args"
}

// redisRows are go-redis's methods, of whichever type; interfaces of a program that wrap it keep them.
var redisRows = []commandRow{
	{"Get", GetCommand, "key"},
	{"GetSet GetEx GetDel Incr Decr IncrBy DecrBy HSet HGet HDel HExists TTL PTTL Persist Type Append StrLen Rename", OtherCommand, "key"},
	{"Exists", ExistsCommand, "keys"},
	{"Set SetEx SetEX", SetCommand, "key value ttl"},
	{"SetNX SetNx", SetNXCommand, "key value ttl"},
	{"SetArgs", SetCommand, "key value options"},
	{"Del Unlink", DelCommand, "keys"},
	{"Expire PExpire ExpireAt PExpireAt ExpireNX ExpireXX ExpireGT ExpireLT", ExpireCommand, "key ttl"},
	{"DelExArgs", CompareDelete, "key options"},
	{"Eval", EvalCommand, "text keys args"},
	{"Do", DoCommand, "args"},
	{"TxPipeline", QueueMulti, ""},
	{"TxPipelined", QueueMulti, "fn"},
	{"Pipeline", QueuePlain, ""},
	{"Pipelined", QueuePlain, "fn"},
	{"Watch", WatchCommand, "fn keys"},
}

// redisPaths are the packages of go-redis, without major versions.
var redisPaths = map[string]bool{
	"github.com/redis/go-redis": true, "github.com/go-redis/redis": true, "gopkg.in/redis": true, "gopkg.in/go-redis/redis": true,
	"github.com/redis/rueidis/rueidiscompat": true, // go-redis's methods over rueidis
}

const redigoPath = "github.com/gomodule/redigo/redis"

var redigoPaths = map[string]bool{redigoPath: true, "github.com/garyburd/redigo/redis": true}

// RedisPath reports whether an import path is that of a Redis client.
func RedisPath(path string) bool {
	path = Path(path)
	return redisPaths[path] || redigoPaths[path] || path == rueidisPath
}

// commandParameters are to a Command what parameters are to a Method.
var commandParameters = map[string]func(*Command) *int{
	"key":     func(c *Command) *int { return &c.Key },
	"keys":    func(c *Command) *int { c.Many = true; return &c.Key },
	"value":   func(c *Command) *int { return &c.Value },
	"ttl":     func(c *Command) *int { return &c.TTL },
	"args":    func(c *Command) *int { return &c.Args },
	"options": func(c *Command) *int { return &c.Args },
	"fn":      func(c *Command) *int { return &c.Fn },
	"text":    func(c *Command) *int { return &c.Text },
	"conn":    func(c *Command) *int { return &c.Conn },
}

func commandOf(name string, op CommandOp, params string) *Command {
	c := &Command{Name: strings.ToUpper(name), Op: op, Key: NoArg, Value: NoArg, TTL: NoArg, Args: NoArg, Fn: NoArg, Text: NoArg, Conn: NoArg}
	number(c, commandParameters, name, params)
	return c
}

func raw(c *Command) *Command {
	c.Raw = true
	return c
}

var redisCommands = sync.OnceValue(func() map[string]*Command {
	out := map[string]*Command{}
	for _, r := range redisRows {
		for _, name := range strings.Fields(r.names) {
			out[name] = commandOf(name, r.op, r.params)
		}
	}
	return out
})

var (
	scriptRun    = commandOf("script", ScriptCommand, "conn keys args")
	scriptMake   = commandOf("NewScript", MakeScript, "text")
	redigoDo     = raw(commandOf("Do", DoCommand, "args"))
	redigoDoCtx  = raw(commandOf("Do", DoCommand, "conn args"))
	redigoScript = commandOf("script", ScriptCommand, "conn args")
	redigoMake   = commandOf("NewScript", MakeScript, "_ text")
	replyRow     = commandOf("", Reply, "")
	errorRow     = commandOf("", ReplyError, "")
	replyOfRow   = commandOf("", ReplyOf, "")
)

// CommandOf gives the row of a method or function of a Redis client, nil when it has none.
func CommandOf(f *types.Func) *Command {
	if f.Pkg() == nil {
		return nil
	}
	path := Path(f.Pkg().Path())
	switch {
	case redisPaths[path]:
		return goRedis(f)
	case redigoPaths[path]:
		return redigo(f)
	case path == rueidisPath || path == rueidisCmds:
		return rueidis(f, path)
	}
	return nil
}

// IsReply reports whether a type, by its name, is an answer of go-redis: a *BoolCmd.
func IsReply(typ string) bool {
	i := strings.LastIndexByte(typ, '.')
	return i > 0 && redisPaths[typ[:i]] && strings.HasSuffix(typ, "Cmd") || typ == rueidisResult
}

func goRedis(f *types.Func) *Command {
	recv := f.Signature().Recv()
	if recv == nil {
		if f.Name() == "NewScript" {
			return scriptMake
		}
		return nil
	}
	typ := TypeName(recv.Type())
	switch {
	case IsReply(typ) || strings.HasSuffix(typ, ".baseCmd"):
		return reply(f.Name())
	case strings.HasSuffix(typ, ".Script"):
		switch f.Name() {
		case "Run", "Eval", "EvalSha", "RunRO":
			return scriptRun
		}
		return nil
	}
	return redisCommands()[f.Name()]
}

func reply(name string) *Command {
	switch name {
	case "Err":
		return errorRow
	case "Result", "Val", "Int", "Int64", "Uint64", "Bool", "Text", "Bytes", "Float64", "Slice", "StringSlice":
		return replyRow
	}
	return nil
}

func redigo(f *types.Func) *Command {
	name := f.Name()
	recv := f.Signature().Recv()
	if recv == nil {
		switch name {
		case "Int", "Int64", "Uint64", "Bool", "String", "Bytes", "Values", "Strings", "Ints":
			return replyOfRow
		case "DoContext":
			return redigoDoCtx
		case "NewScript":
			return redigoMake
		}
		return nil
	}
	switch {
	case strings.HasSuffix(TypeName(recv.Type()), ".Script") && (name == "Do" || name == "DoContext"):
		return redigoScript
	case name == "Do" || name == "DoContext" || name == "Send":
		return redigoDo
	}
	return nil
}

// CommandShape gives the row of a method of a program's own interface or type that has the name and the
// parameters of go-redis's and gives its answer or plain values; nil when it does not look like one.
func CommandShape(name string, sig *types.Signature) *Command {
	c := redisCommands()[name]
	if c == nil {
		return nil
	}
	results := sig.Results()
	if results.Len() > 0 && IsReply(TypeName(results.At(0).Type())) || plainShape(c, sig) {
		return c
	}
	return nil
}

// plainShape reports whether a method takes a key, a value and a time to live, as the command does, and
// gives plain values: SetNX(ctx, key, value, ttl) (bool, error).
func plainShape(c *Command, sig *types.Signature) bool {
	var params []types.Type
	for p := range sig.Params().Variables() {
		if TypeName(p.Type()) != "context.Context" {
			params = append(params, p.Type())
		}
	}
	want := 1
	switch c.Op {
	case SetNXCommand, SetCommand:
		want = 3
	case ExpireCommand:
		want = 2
	case GetCommand, DelCommand, ExistsCommand:
	default:
		return false
	}
	if len(params) != want || c.Args != NoArg || c.TTL >= 0 && TypeName(params[c.TTL]) != "time.Duration" {
		return false
	}
	key := params[0]
	if list, ok := key.Underlying().(*types.Slice); ok && c.Many {
		key = list.Elem()
	}
	return isString(key) && plainResults(c, sig.Results())
}

func plainResults(c *Command, results *types.Tuple) bool {
	n := results.Len()
	if n == 0 || n > 2 || !isError(results.At(n-1).Type()) {
		return false
	}
	if n == 1 {
		return c.Op != SetNXCommand && c.Op != GetCommand && c.Op != ExistsCommand
	}
	b, ok := results.At(0).Type().Underlying().(*types.Basic)
	switch c.Op {
	case SetNXCommand:
		return ok && b.Kind() == types.Bool
	case GetCommand:
		return isString(results.At(0).Type())
	}
	return ok
}
