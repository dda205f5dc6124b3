package symexec

import (
	"go/types"
	"strconv"

	"github.com/advisorylint/advisorylint/analyzer/internal/client"
	"github.com/advisorylint/advisorylint/analyzer/internal/summary"
	"github.com/advisorylint/advisorylint/analyzer/internal/term"
)

// builtCommand is a call that puts a command together: its arguments are the words so far.
const builtCommand = "redis command"

// buildCommand adds what a method of rueidis's builder adds to the command.
func (x *exec) buildCommand(s *state, c *call, obj *types.Func) {
	var all []*term.Term
	words, first := client.BuilderWords(obj)
	if len(c.args) > 0 && !first {
		all = append(all, built(c.args[:1])...)
	}
	for _, w := range words {
		all = append(all, term.Str(w))
	}
	if args := x.spread(s, c); len(args) > 1 {
		all = append(all, args[1:]...)
	}
	x.ret(s, c, []*term.Term{term.New(term.Call, builtCommand, "", x.resultType(c, 0), all...)})
}

// built are the words of a command that was put together before it is sent, or what is sent.
func built(words []*term.Term) []*term.Term {
	if len(words) > 0 && words[0].Op == term.Call && words[0].Str == builtCommand {
		return words[0].Args
	}
	return words
}

// nilError asks whether an error is that of an empty reply.
func (x *exec) nilError(s *state, c *call) {
	none := term.New(term.Load, "", "", "error", term.New(term.Global, client.RueidisNil, "", ""))
	x.ret(s, c, []*term.Term{term.New(term.Call, "errors.Is", "", "bool", c.args[0], none)})
}

// sendEach sends commands that go out together, not atomically, and gives the list of their answers.
func (x *exec) sendEach(s *state, o *commandCall) {
	list := term.New(term.Cell, "", o.site, x.resultType(o.call, 0))
	handle := o.recv
	if handle == nil {
		handle = term.Unknown(o.site+"h", "")
	}
	cmds := x.statementArgs(s, o.list, 0)
	for i, cmd := range cmds {
		site := o.site + "m" + strconv.Itoa(i)
		e := &summary.Effect{Op: summary.Command, Site: site, Steps: x.step(o.call), Ctx: o.ctx, Handle: handle,
			Cmd: &summary.Cmd{}, Made: term.New(term.Sent, "", site, "")}
		parseCommand(e.Cmd, e, built([]*term.Term{cmd}))
		if e.Cmd.Op != client.OtherCommand || len(e.Cmd.Keys) > 0 {
			s.emit(e)
		}
		if len(cmds) > term.MaxAtoms { // which of them is looked at would not be known
			x.consume(s, e.Made)
		}
		s.store(elemPtr(list, term.Int(strconv.Itoa(i))), e.Made.WithType("github.com/redis/rueidis.RedisResult"))
	}
	x.ret(s, o.call, []*term.Term{list})
}
