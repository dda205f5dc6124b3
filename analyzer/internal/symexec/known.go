package symexec

import (
	"go/types"
	"strconv"
	"strings"

	"github.com/advisorylint/advisorylint/analyzer/internal/summary"
	"github.com/advisorylint/advisorylint/analyzer/internal/term"
)

// ctxDone is the method whose channel tells that a context is done.
const ctxDone = "(context.Context).Done"

// purePrefixes are the functions whose result depends on their arguments alone, so that two calls
// with equal arguments give equal values.
var purePrefixes = []string{
	"strings.", "strconv.", "fmt.Sprint", "path.", "bytes.", "unicode.", "unicode/utf8.", "sort.Search", "math.", "math/bits.",
	"hash/crc32.Checksum", "hash/crc64.Checksum", "hash/adler32.Checksum", "crypto/sha256.Sum", "crypto/sha1.Sum", "crypto/md5.Sum",
	"crypto/sha512.Sum", "(embed.FS).ReadFile", "context.", "(context.Context).", "errors.Is", "errors.As", "(*net/http.Request).Context",
	"(*testing.common).Context", "(testing.TB).Context", "len", "cap", "min", "max",
}

// impure are exceptions: what they return is made anew by each call.
var impure = map[string]bool{
	"context.WithTimeout": true, "context.WithDeadline": true, "context.WithCancel": true, "context.WithCancelCause": true,
	"context.WithTimeoutCause": true, "context.WithDeadlineCause": true, "(context.Context).Err": true, "strings.NewReader": true,
}

func pure(name string) bool {
	if impure[name] {
		return false
	}
	for _, p := range purePrefixes {
		if strings.HasPrefix(name, p) {
			return true
		}
	}
	return false
}

// ending are the functions after which the path does not go on; true when the process ends.
var endings = map[string]bool{
	"os.Exit": true, "log.Fatal": true, "log.Fatalf": true, "log.Fatalln": true, "(*log.Logger).Fatal": true,
	"(*log.Logger).Fatalf": true, "(*log.Logger).Fatalln": true, "syscall.Exit": true,
	"log.Panic": false, "log.Panicf": false, "log.Panicln": false, "runtime.Goexit": false,
	"(*testing.common).Fatal": false, "(*testing.common).Fatalf": false, "(*testing.common).FailNow": false,
	"(*testing.common).Skip": false, "(*testing.common).Skipf": false, "(*testing.common).SkipNow": false,
	"(testing.TB).Fatal": false, "(testing.TB).Fatalf": false, "(testing.TB).FailNow": false,
	"(testing.TB).Skip": false, "(testing.TB).Skipf": false, "(testing.TB).SkipNow": false,
	"github.com/stretchr/testify/require.FailNow": false,
}

// now are the functions that call their function argument before they return, by its number.
var now = map[string]int{
	"(*sync.Once).Do": 1, "(*golang.org/x/sync/singleflight.Group).Do": 2, "slices.SortFunc": 1,
}

// wrappers return their function argument, or one that calls it.
var wrappers = map[string]bool{"sync.OnceFunc": true, "sync.OnceValue": true}

// cleanups register their last argument to run when the function's caller is done.
var cleanups = map[string]bool{
	"(*testing.common).Cleanup": true, "(testing.TB).Cleanup": true, "context.AfterFunc": true,
}

// known runs the functions of the standard library that the engine understands; nil for others.
func (x *exec) known(s *state, c *call, obj *types.Func) []*state {
	name := obj.FullName()
	if exits, ok := endings[name]; ok {
		x.consumeAll(s, c.args)
		if exits {
			s.emit(&summary.Effect{Op: summary.Exit, Site: c.site})
			s.exits = true
			x.end(s, nil)
		}
		return []*state{}
	}
	if i, ok := now[name]; ok && i < len(c.args) {
		d := *c
		d.value = nil
		x.fresh(s, c, name)
		if sum, _, _ := x.target(c.args[i], nil); sum != nil {
			return x.dynamic(s, &d, c.args[i], nil)
		}
		return []*state{s}
	}
	switch {
	case name == "(context.Context).Err" || name == "context.Cause":
		if !s.isDone(c.args[0]) {
			return nil
		}
		x.ret(s, c, []*term.Term{term.New(term.Call, "errors.New", c.site, "error")})
	case wrappers[name] && len(c.args) == 1:
		x.ret(s, c, c.args)
	case cleanups[name] && len(c.args) > 0:
		x.cleanup(s, c, c.args[len(c.args)-1])
	case strings.HasPrefix(name, "(*strings.Builder).") || strings.HasPrefix(name, "(*bytes.Buffer)."):
		x.builder(s, c, obj.Name(), c.args[0], c.args[1:])
	case name == "fmt.Fprintf" || name == "fmt.Fprint" || name == "io.WriteString":
		return x.fprint(s, c, name)
	case name == "fmt.Appendf" && c.args[0].IsNil():
		x.ret(s, c, []*term.Term{Format("fmt.Sprintf", x.spread(s, c)[1:])})
	case name == "fmt.Sprintf" || name == "fmt.Sprint" || name == "strings.Join":
		x.text(s, c, name)
	case name == "errors.Join":
		x.consumeErrors(s, c)
	case decoders[name] && len(c.args) == 2:
		x.decode(s, c, name)
	case name == "(*golang.org/x/sync/errgroup.Group).Wait":
		x.groupDone(s, c)
	default:
		return nil
	}
	return []*state{s}
}

// decoders write what they read from their first argument to the second.
var decoders = map[string]bool{
	"encoding/json.Unmarshal": true, "encoding/xml.Unmarshal": true, "gopkg.in/yaml.v3.Unmarshal": true,
	"google.golang.org/protobuf/proto.Unmarshal": true, "github.com/vmihailenco/msgpack/v5.Unmarshal": true,
	"github.com/goccy/go-json.Unmarshal": true, "github.com/json-iterator/go.Unmarshal": true, "github.com/bytedance/sonic.Unmarshal": true,
}

// decode makes the destination a value that depends on the source.
func (x *exec) decode(s *state, c *call, name string) {
	x.consume(s, c.args[0])
	s.store(c.args[1], term.New(term.Call, name, "", c.args[1].Type, c.args[0]))
	x.fresh(s, c, name)
}

// cleanup registers fn to run after the function's own defers, as testing's Cleanup does.
func (x *exec) cleanup(s *state, c *call, fn *term.Term) {
	x.escape(s, c, fn, nil, summary.InCleanup)
	s.cleanups = append(s.cleanups, &call{fn: fn, site: c.site + "e", pos: c.pos, name: c.name,
		sig: types.NewSignatureType(nil, nil, nil, nil, nil, false)})
	x.fresh(s, c, "cleanup")
}

// text gives a formatted string its operands one by one.
func (x *exec) text(s *state, c *call, name string) {
	args := x.spread(s, c)
	if name == "strings.Join" {
		if elems, known := elementsOf(s, c.args[0]); known && len(elems) > 0 {
			var parts []*term.Term
			for i, e := range elems {
				if i > 0 {
					parts = append(parts, c.args[1])
				}
				parts = append(parts, e)
			}
			x.ret(s, c, []*term.Term{concat(parts...)})
			return
		}
	}
	x.ret(s, c, []*term.Term{Format(name, args)})
}

// Format is the string that fmt.Sprintf or Sprint makes, with unknown operands as parts of it.
func Format(name string, args []*term.Term) *term.Term {
	opaque := term.New(term.Call, name, "", "string", args...)
	if len(args) == 0 {
		return opaque
	}
	if name != "fmt.Sprintf" {
		return opaque
	}
	format, ok := args[0].StrVal()
	if !ok {
		return opaque
	}
	var parts []*term.Term
	n := 1
	for {
		i := strings.IndexByte(format, '%')
		if i < 0 || i == len(format)-1 {
			parts = append(parts, term.Str(format))
			break
		}
		j := i + 1
		for j < len(format) && strings.IndexByte("+-# 0123456789.", format[j]) >= 0 {
			j++
		}
		if j < len(format) && format[j] == '[' { // %[2]s
			end := strings.IndexByte(format[j:], ']')
			if end < 0 {
				return opaque
			}
			index, err := strconv.Atoi(format[j+1 : j+end])
			if err != nil || index < 1 {
				return opaque
			}
			n, j = index, j+end+1
		}
		if j == len(format) || format[j] == '*' {
			return opaque
		}
		parts = append(parts, term.Str(format[:i]))
		if format[j] == '%' {
			parts = append(parts, term.Str("%"))
		} else {
			if n >= len(args) {
				return opaque
			}
			parts = append(parts, verb(format[j], args[n]))
			n++
		}
		format = format[j+1:]
	}
	return concat(parts...)
}

// verb is how an operand shows in a formatted string.
func verb(v byte, arg *term.Term) *term.Term {
	switch v {
	case 's', 'v', 'd':
		if _, ok := arg.StrVal(); ok {
			return arg
		}
		if n, ok := arg.IntVal(); ok {
			return term.Str(n)
		}
		if arg.Type == "string" || v == 's' || arg.Op == term.Phi {
			return arg
		}
		return term.New(term.Call, "fmt.Sprint", "", "string", arg)
	case 'q':
		if t, ok := arg.StrVal(); ok {
			return term.Str(strconv.Quote(t))
		}
		return concat(term.Str(`"`), arg, term.Str(`"`))
	}
	return term.New(term.Call, "fmt.Sprintf", "", "string", term.Str("%"+string(v)), arg)
}

// builder follows the text in a strings.Builder or bytes.Buffer.
func (x *exec) builder(s *state, c *call, method string, b *term.Term, args []*term.Term) {
	loc := term.New(term.ElemPtr, "text", "", "", b)
	have := term.Str("")
	if e, ok := s.mem.get(loc.Key()); ok {
		have = e.Val
	} else if b.Root().Op != term.Cell {
		have = term.New(term.Load, "", "", "string", loc)
	}
	switch method {
	case "WriteString", "Write":
		s.store(loc, concat(have, args[0]))
	case "WriteByte", "WriteRune":
		if n, ok := args[0].IntVal(); ok {
			if r, err := strconv.Atoi(n); err == nil {
				s.store(loc, concat(have, term.Str(string(rune(r)))))
				break
			}
		}
		s.store(loc, concat(have, term.Unknown(c.site, "string")))
	case "Reset":
		s.store(loc, term.Str(""))
	case "String", "Bytes":
		x.ret(s, c, []*term.Term{have})
		return
	}
	x.fresh(s, c, method)
}

// fprint writes to a builder; to any other writer it is a call of no interest.
func (x *exec) fprint(s *state, c *call, name string) []*state {
	w := c.args[0]
	if w.Type != "strings.Builder" && w.Type != "bytes.Buffer" {
		return x.opaque(s, c, name)
	}
	text := c.args[1]
	if name != "io.WriteString" {
		text = Format("fmt.S"+strings.TrimPrefix(name, "fmt.F"), x.spread(s, c)[1:])
	}
	x.builder(s, c, "WriteString", w, []*term.Term{text})
	return []*state{s}
}

// consumeErrors joins errors: the answer inside one is not looked at by that. The result is not
// nil when one of them is not.
func (x *exec) consumeErrors(s *state, c *call) {
	errs := x.spread(s, c)
	for _, e := range errs {
		if s.nonNil(e) || s.eval(term.New(term.Bin, "==", "", "bool", e, term.Nil())) == no {
			x.ret(s, c, []*term.Term{term.New(term.Call, "errors.New", c.site, "error")})
			return
		}
	}
	x.ret(s, c, []*term.Term{term.New(term.Call, "errors.Join", c.site, "error", errs...)})
}

// groupDone notes that a group's context is done once Wait returned.
func (x *exec) groupDone(s *state, c *call) {
	if g := c.args[0]; g.Op == term.Result {
		ctx := term.New(term.Result, "1", "", "context.Context", g.Args[0])
		s.emit(&summary.Effect{Op: summary.Done, Site: c.site, Ctx: ctx})
	}
	x.fresh(s, c, "wait")
}
