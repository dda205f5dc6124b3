package luatext

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/yuin/gopher-lua/ast"
)

// replyOf is what the server sends for a script that returns v.
func replyOf(s *state, v value) Reply {
	switch v.kind {
	case nilValue:
		return Reply{Kind: NilReply}
	case boolValue:
		if v.yes {
			return Reply{Kind: IntegerReply, Text: "1"}
		}
		return Reply{Kind: NilReply}
	case numberValue: // cut, as the server does
		return Reply{Kind: IntegerReply, Text: strconv.FormatFloat(math.Trunc(v.num), 'f', -1, 64)}
	case stringValue:
		return Reply{Kind: StringReply, Text: v.text}
	case statusValue:
		return Reply{Kind: StatusReply, Text: v.text}
	case errorValue:
		return Reply{Kind: ErrorReply}
	case tableValue:
		return replyOfTable(s.heap[v.table])
	case symbolValue:
		switch {
		case v.positive:
			return Reply{Kind: IntegerReply, Any: true, Text: positive}
		case v.number:
			return Reply{Kind: IntegerReply, Any: true}
		case v.operand.Kind == Key, v.isText:
			return Reply{Kind: StringReply, Any: true}
		}
	}
	return Reply{Kind: OtherReply}
}

func replyOfTable(t table) Reply {
	if v, ok := t.fields["err"]; ok && v.kind != nilValue {
		return Reply{Kind: ErrorReply}
	}
	if v, ok := t.fields["ok"]; ok && v.kind != nilValue {
		return Reply{Kind: StatusReply, Text: v.text, Any: v.kind != stringValue}
	}
	r := Reply{Kind: ArrayReply}
	if len(t.list) > 0 && !t.open {
		switch v := t.list[0]; v.kind {
		case numberValue, stringValue:
			r.Text = v.form()
		}
	}
	return r
}

// result joins the paths.
func (r *run) result() *Script {
	if r.why == "" && len(r.paths) == 0 {
		r.why = "no path ends"
	}
	sc := &Script{Known: r.why == "", Why: r.why, Keys: r.keys, Iterated: r.iterated}
	if !sc.Known {
		return sc
	}
	for _, p := range r.paths {
		sc.bareAcquire = sc.bareAcquire || p.bare
	}
	sc.Acts = r.acts()
	sc.Answer = r.answer(sc.Acts)
	return sc
}

type place struct {
	site ast.Expr
	op   Op
	key  string
}

// acts are the steps of all paths, those of one place as one.
func (r *run) acts() []Act {
	var acts []Act
	at := map[place]int{}
	for _, p := range r.paths {
		for _, st := range p.steps {
			pl := place{st.site, st.act.Op, st.act.Key.Text}
			if i, ok := at[pl]; ok {
				acts[i] = join(acts[i], st.act)
				continue
			}
			at[pl] = len(acts)
			acts = append(acts, st.act)
		}
	}
	return acts
}

// join is one act of two at the same place: no better guarded than the worse.
func join(a, b Act) Act {
	if b.Guard < a.Guard {
		a, b = b, a
	}
	if a.Compared && b.Compared {
		a.Part, a.With = a.Part || b.Part, either(a.With, b.With)
	}
	a.Absent = a.Absent || b.Absent
	a.Value, a.TTL = either(a.Value, b.Value), either(a.TTL, b.TTL)
	if a.Unit != b.Unit {
		a.Unit = 0
	}
	return a
}

func either(a, b Operand) Operand {
	if a == b {
		return a
	}
	return Operand{Kind: Unknown, Text: a.Text + " or " + b.Text}
}

// answer sorts the paths' replies by whether the path did the script's work: what it does to the
// keys that it deletes; without any, to those that it renews or sets. A path that likely did it is
// in both.
func (r *run) answer(acts []Act) (a Answer) {
	work := workKeys(acts)
	for _, p := range r.paths {
		did, sure := false, false
		for _, st := range p.steps {
			if st.effective && st.act.Op <= Write && work[st.act.Key.Text] {
				did, sure = true, sure || !st.maybe
			}
		}
		if did {
			a.Done = add(a.Done, p.reply)
		}
		if !sure {
			a.Not = add(a.Not, p.reply)
		}
	}
	return a
}

func workKeys(acts []Act) map[string]bool {
	keys := map[string]bool{}
	for _, ops := range [][]Op{{Delete}, {Expire, Set, SetNX}, {Write, Persist}} {
		for _, a := range acts {
			if slices.Contains(ops, a.Op) {
				keys[a.Key.Text] = true
			}
		}
		if len(keys) > 0 {
			break
		}
	}
	return keys
}

func add(rs []Reply, r Reply) []Reply {
	if slices.Contains(rs, r) {
		return rs
	}
	rs = append(rs, r)
	slices.SortFunc(rs, func(a, b Reply) int {
		if a.Kind != b.Kind {
			return int(a.Kind) - int(b.Kind)
		}
		return strings.Compare(a.Text, b.Text)
	})
	return rs
}
