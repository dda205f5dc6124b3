package luatext

import (
	"slices"
	"strings"
)

// Answer is what a script answers: Done when it did its work (deleted, renewed or acquired the
// key), Not when it left the key as it was. Each has the distinct replies of all such paths.
type Answer struct {
	Done []Reply
	Not  []Reply
}

// ReplyKind is a kind of reply as the server sends it.
type ReplyKind uint8

const (
	NilReply     ReplyKind = iota // Lua's nil and false; also a script that ends without return
	IntegerReply                  // Text is the number; Lua's true is 1
	StringReply                   // Text is the string
	StatusReply                   // Text is the status: "OK"
	ErrorReply
	ArrayReply // Text is the first element when it is a constant, else ""
	OtherReply // not known
)

// Reply is one reply of a script.
type Reply struct {
	Kind ReplyKind
	Text string
	Any  bool // a number or string that is not known; Text is "" or, of a number above 0, ">0"
}

const positive = ">0"

// Tells reports whether the answer says if the work was done.
func (a Answer) Tells() bool {
	if len(a.Done) == 0 || len(a.Not) == 0 {
		return false
	}
	for _, d := range a.Done {
		for _, n := range a.Not {
			if !d.differs(n) {
				return false
			}
		}
	}
	return true
}

// NotIsNil reports that some path which left the key as it was answers nil, which Go clients show
// as an error (redis.Nil).
func (a Answer) NotIsNil() bool { return slices.Contains(a.Not, Reply{Kind: NilReply}) }

// differs reports whether r and o are never the same.
func (r Reply) differs(o Reply) bool {
	switch {
	case r.Kind == OtherReply || o.Kind == OtherReply:
		return false
	case r.Kind != o.Kind:
		return true
	case r.Kind == ArrayReply:
		return r.Text != "" && o.Text != "" && r.Text != o.Text
	case r.Kind == IntegerReply && r.Text == positive:
		return o.Text == "0" || strings.HasPrefix(o.Text, "-")
	case r.Kind == IntegerReply && o.Text == positive:
		return o.differs(r)
	case r.Any || o.Any:
		return false
	}
	return r != o
}
