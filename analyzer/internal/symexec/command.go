package symexec

import (
	"go/types"
	"slices"
	"strings"

	"github.com/advisorylint/advisorylint/analyzer/internal/client"
	"github.com/advisorylint/advisorylint/analyzer/internal/summary"
	"github.com/advisorylint/advisorylint/analyzer/internal/term"
)

// Calls that make a script, or a handle whose commands go out together.
const (
	scriptCall   = "redis script"
	multiCall    = "redis multi"
	pipelineCall = "redis pipeline"
	watchCall    = "redis watch"
)

// OfReply marks the error of reading a reply as a value: there is one when the reply is none.
const OfReply = "reply"

// ScriptText is the text of the script that t is, nil when it is not known to be one.
func ScriptText(t *term.Term) *term.Term {
	if t != nil && t.Op == term.Call && t.Str == scriptCall && len(t.Args) > 0 {
		return t.Args[0]
	}
	return nil
}

// Multi reports whether a handle's commands go out in MULTI and EXEC.
func Multi(t *term.Term) bool { return t != nil && t.Op == term.Call && t.Str == multiCall }

// commandCall is a call of a Redis client with its operands.
type commandCall struct {
	*call
	m    *client.Command
	recv *term.Term
	list []*term.Term // without receiver and context
	ctx  *term.Term
	// single: the last parameter is no list
	single bool
}

func (o *commandCall) at(i int) *term.Term {
	if i >= 0 && i < len(o.list) {
		return o.list[i]
	}
	return nil
}

func (x *exec) operands(c *call, m *client.Command, obj *types.Func) *commandCall {
	o := &commandCall{call: c, m: m, list: c.args}
	sig := obj.Signature()
	if n := sig.Params().Len(); n > 0 {
		_, list := sig.Params().At(n - 1).Type().Underlying().(*types.Slice)
		o.single = !list
	}
	if sig.Recv() != nil && len(o.list) > 0 {
		o.recv, o.list = o.list[0], o.list[1:]
	}
	if sig.Params().Len() > 0 && typeName(sig.Params().At(0).Type()) == "context.Context" && len(o.list) > 0 {
		o.ctx, o.list = o.list[0], o.list[1:]
	}
	return o
}

// command runs a call of a Redis client.
func (x *exec) command(s *state, c *call, m *client.Command, obj *types.Func) []*state {
	o := x.operands(c, m, obj)
	switch m.Op {
	case client.Reply, client.ReplyError:
		x.reply(s, o)
	case client.BuildCommand:
		x.buildCommand(s, c, obj)
	case client.NilError:
		x.nilError(s, c)
	case client.DoEach:
		x.sendEach(s, o)
	case client.ReplyOf:
		res := slices.Clone(o.list)
		for i, v := range res {
			if v.Op == term.ErrOf {
				res[i] = term.New(term.ErrOf, OfReply, v.Site, v.Type, v.Args...)
			}
		}
		x.ret(s, c, res)
	case client.MakeScript:
		x.ret(s, c, []*term.Term{term.New(term.Call, scriptCall, "", x.resultType(c, 0), append([]*term.Term{o.at(m.Text)}, o.list[:m.Text]...)...)})
	case client.QueueMulti, client.QueuePlain, client.WatchCommand:
		return x.together(s, o)
	default:
		x.sendCommand(s, o)
	}
	return []*state{s}
}

// reply reads an answer.
func (x *exec) reply(s *state, o *commandCall) {
	from := o.recv
	for from.Op == term.As || from.Op == term.FieldPtr && from.Str == "baseCmd" {
		from = from.Args[0]
	}
	r := x.signature(o.call).Results()
	res := make([]*term.Term, r.Len())
	for i := range res {
		typ := typeName(r.At(i).Type())
		for _, one := range from.Atoms() { // of a list: one of its answers
			if typ == "error" {
				res[i] = term.Join(res[i], term.New(term.ErrOf, "", "", "error", one))
			} else {
				res[i] = term.Join(res[i], term.New(term.Answer, "0", "", typ, one))
			}
		}
	}
	x.ret(s, o.call, res)
}

// together gives a handle whose commands go out together, to a function or to the caller.
func (x *exec) together(s *state, o *commandCall) []*state {
	name := map[client.CommandOp]string{client.QueueMulti: multiCall, client.QueuePlain: pipelineCall, client.WatchCommand: watchCall}[o.m.Op]
	base := o.recv
	if base == nil {
		base = term.Unknown(o.site, "")
	}
	fn := o.at(o.m.Fn)
	if fn == nil {
		x.ret(s, o.call, []*term.Term{term.New(term.Call, name, o.site, x.resultType(o.call, 0), base)})
		return []*state{s}
	}
	made := term.New(term.Call, name, o.site, "", base)
	outs, _ := x.within(s, o.call, &client.Method{Ctx: client.NoArg}, fn, made)
	for _, out := range outs {
		x.fresh(out, o.call, name)
	}
	return outs
}

// sendCommand sends a command or a script.
func (x *exec) sendCommand(s *state, o *commandCall) {
	handle := whole(o.recv)
	cmd := &summary.Cmd{Name: o.m.Name, Op: o.m.Op}
	e := &summary.Effect{Op: summary.Command, Site: o.site, Steps: x.step(o.call), Ctx: o.ctx, Cmd: cmd}
	switch o.m.Op {
	case client.ScriptCommand:
		handle, e.Text = o.at(o.m.Conn), o.recv
		x.scriptArgs(s, o, e)
	case client.EvalCommand:
		e.Text = o.at(o.m.Text)
		x.scriptArgs(s, o, e)
	case client.DoCommand:
		if conn := o.at(o.m.Conn); conn != nil {
			handle = conn
		}
		parseCommand(cmd, e, built(x.words(s, o.list[min(max(o.m.Args, 0), len(o.list)):])))
	default:
		x.plainCommand(s, o, cmd)
	}
	if o.m.Raw && cmd.ByError {
		cmd.ByError, cmd.NilReply = false, true
	}
	if handle == nil {
		handle = term.Unknown(o.site+"h", "")
	}
	e.Handle = handle
	cmd.Group, cmd.Atomic = group(handle)
	e.Made = term.New(term.Sent, "", o.site, "")
	if cmd.Op != client.OtherCommand || len(cmd.Keys) > 0 {
		s.emit(e)
	}
	x.commandAnswer(s, o, e.Made)
}

// whole is the client of which a handle is an embedded part: go-redis's clients embed what has the commands.
func whole(h *term.Term) *term.Term {
	for h != nil && (h.Op == term.Load || h.Op == term.FieldPtr) {
		p := h
		if h.Op == term.Load {
			p = h.Args[0]
		}
		if p.Op != term.FieldPtr || !strings.Contains(p.Str, "able") && p.Str != "baseClient" {
			return h
		}
		if i := strings.LastIndexByte(p.Type, '.'); i < 0 || !client.RedisPath(p.Type[:i]) {
			return h
		}
		h = p.Args[0]
	}
	return h
}

// group is the MULTI or pipeline that a handle is, and whether its commands depend on watched keys.
func group(handle *term.Term) (g *term.Term, atomic bool) {
	for h := handle; h != nil && h.Op == term.Call && len(h.Args) > 0; h = h.Args[0] {
		switch h.Str {
		case multiCall, pipelineCall:
			g = h
		case watchCall:
			atomic = true
		}
	}
	return g, atomic
}

func (x *exec) commandAnswer(s *state, o *commandCall, sent *term.Term) {
	r := x.signature(o.call).Results()
	res := make([]*term.Term, r.Len())
	for i := range res {
		switch typ := typeName(r.At(i).Type()); {
		case typ == "error":
			res[i] = term.New(term.ErrOf, "", "", "error", sent)
		case client.IsReply(typ):
			res[i] = sent.WithType(typ)
		default:
			res[i] = term.New(term.Answer, "0", "", typ, sent)
		}
	}
	x.ret(s, o.call, res)
}

// scriptArgs takes a script's keys and arguments.
func (x *exec) scriptArgs(s *state, o *commandCall, e *summary.Effect) {
	args := x.statementArgs(s, o.list, o.m.Args)
	if o.m.Key == client.NoArg { // redigo: keys and arguments in one list
		if len(args) > 0 {
			e.Cmd.Keys, e.Args = args[:1], args[1:]
		}
		return
	}
	keys := o.at(o.m.Key)
	if keys == nil {
		return
	}
	if elems, known := elementsOf(s, keys); known {
		e.Cmd.Keys = elems
	} else {
		e.Cmd.Keys = []*term.Term{term.New(term.Call, "keys", "", "", keys)}
	}
	e.Args = args
}

// plainCommand takes the operands of a method that is one command.
func (x *exec) plainCommand(s *state, o *commandCall, cmd *summary.Cmd) {
	if o.m.Many {
		for _, list := range o.list[min(o.m.Key, len(o.list)):] {
			elems, known := elementsOf(s, list)
			switch {
			case known:
				cmd.Keys = append(cmd.Keys, elems...)
			case o.single: // a program's own method, of one key
				cmd.Keys = append(cmd.Keys, list)
			default:
				cmd.Keys = append(cmd.Keys, term.New(term.Call, "keys", "", "", list))
			}
		}
	} else if k := o.at(o.m.Key); k != nil {
		cmd.Keys = []*term.Term{k}
	}
	cmd.Value, cmd.TTL = o.at(o.m.Value), o.at(o.m.TTL)
	options := o.at(o.m.Args)
	if options == nil {
		return
	}
	field := func(name string) *term.Term {
		v := s.field(options, name, "")
		if options.Op == term.Cell {
			v = s.load(term.New(term.FieldPtr, name, "", "", options), "", nil)
		}
		if v.Op == term.Load && v.Root().Op == term.Cell { // left out
			return nil
		}
		return v
	}
	switch o.m.Op {
	case client.CompareDelete:
		cmd.Value = field("MatchValue")
	case client.SetCommand: // SetArgs
		cmd.Name, cmd.ByError = "SET", true
		cmd.TTL = field("TTL")
		if cmd.TTL == nil {
			cmd.TTL = field("ExpireAt")
		}
		switch mode := field("Mode"); {
		case mode == nil:
		case strings.EqualFold(mode.Str, "s:nx"):
			cmd.Op = client.SetNXCommand
		default:
			cmd.Op = client.OtherCommand
		}
	}
}

// words are a command's words. Of a list that depends on a condition, the longest.
func (x *exec) words(s *state, args []*term.Term) []*term.Term {
	args = slices.Clone(args)
	for i, a := range args {
		if a.Op != term.Phi {
			continue
		}
		longest := -1
		for _, alt := range a.Args {
			if elems, known := elementsOf(s, alt); known && len(elems) > longest {
				longest, args[i] = len(elems), alt
			}
		}
	}
	return x.statementArgs(s, args, 0)
}

// doCommands are the commands that are understood when they are sent as words.
var doCommands = map[string]client.CommandOp{
	"GET": client.GetCommand, "EXISTS": client.ExistsCommand, "SET": client.SetCommand, "SETNX": client.SetNXCommand,
	"SETEX": client.SetCommand, "PSETEX": client.SetCommand, "DEL": client.DelCommand, "UNLINK": client.DelCommand,
	"EXPIRE": client.ExpireCommand, "PEXPIRE": client.ExpireCommand, "EXPIREAT": client.ExpireCommand, "PEXPIREAT": client.ExpireCommand,
	"DELEX": client.CompareDelete, "DELIFEQ": client.CompareDelete, "EVAL": client.EvalCommand, "WATCH": client.WatchCommand,
	"MULTI": client.QueueMulti,
}

// parseCommand reads a command that is sent as words.
func parseCommand(cmd *summary.Cmd, e *summary.Effect, words []*term.Term) {
	cmd.Op = client.OtherCommand
	if len(words) == 0 {
		return
	}
	name, ok := words[0].StrVal()
	if !ok {
		return
	}
	cmd.Name = strings.ToUpper(name)
	op, ok := doCommands[cmd.Name]
	if !ok {
		return
	}
	cmd.Op = op
	words = words[1:]
	at := func(i int) *term.Term {
		if i < len(words) {
			return words[i]
		}
		return nil
	}
	switch op {
	case client.EvalCommand:
		e.Text = at(0)
		if len(words) > 2 {
			cmd.Keys, e.Args = words[2:3], words[3:]
		}
		return
	case client.DelCommand, client.ExistsCommand, client.WatchCommand:
		cmd.Keys = words
		return
	case client.QueueMulti:
		return
	}
	if len(words) == 0 {
		return
	}
	cmd.Keys = words[:1]
	switch cmd.Name {
	case "SETEX", "PSETEX":
		cmd.TTL, cmd.Value = at(1), at(2)
	case "DELEX":
		cmd.Value = at(2)
	case "EXPIRE", "PEXPIRE", "EXPIREAT", "PEXPIREAT":
		cmd.TTL = at(1)
	case "SET":
		cmd.Value = at(1)
		setOptions(cmd, words[min(2, len(words)):])
	default:
		cmd.Value = at(1)
	}
}

// setOptions reads the options of SET, which come in any order. One that is not known makes the command
// another one.
func setOptions(cmd *summary.Cmd, words []*term.Term) {
	for i := 0; i < len(words); i++ {
		word, ok := words[i].StrVal()
		if !ok {
			cmd.Op = client.OtherCommand
			return
		}
		switch strings.ToUpper(word) {
		case "NX":
			cmd.Op, cmd.ByError = client.SetNXCommand, true
		case "EX", "PX", "EXAT", "PXAT":
			if i++; i < len(words) {
				cmd.TTL = words[i]
			}
		case "XX", "GET", "IFEQ", "KEEPTTL":
			cmd.Op = client.OtherCommand
			return
		}
	}
}

// command is a callee's command in the caller's terms.
func (b *binding) command(c *summary.Cmd) *summary.Cmd {
	n := *c
	n.Keys = make([]*term.Term, 0, len(c.Keys))
	for _, k := range c.Keys {
		k = b.term(k)
		if k.Op == term.Call && k.Str == "keys" { // a list that was not known there
			if elems, known := elementsOf(b.s, k.Args[0]); known {
				n.Keys = append(n.Keys, elems...)
				continue
			}
		}
		n.Keys = append(n.Keys, k)
	}
	n.Value, n.TTL = b.term(c.Value), b.term(c.TTL)
	return &n
}
