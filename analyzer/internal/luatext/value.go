package luatext

import (
	"math"
	"slices"
	"strconv"

	"github.com/yuin/gopher-lua/ast"
)

type valueKind uint8

const (
	nilValue valueKind = iota
	boolValue
	numberValue
	stringValue
	statusValue // {ok = text}
	errorValue  // {err = …}
	symbolValue // not known but equal to itself by text
	tableValue
	funcValue // a function of the script
	libValue  // a function or table of the library, by its name: "redis.call"
	keysValue // KEYS
	argvValue // ARGV
)

// value is what is known of a Lua value. Only the fields that its kind names have a meaning.
type value struct {
	kind valueKind
	yes  bool
	num  float64
	text string

	// Of symbols:
	operand  Operand // a key or an argument, else zero
	deps     []dep   // the replies that it was made of
	with     Operand // an argument that it was made of together with replies
	args     bool    // made of ARGV
	present  bool    // neither nil nor false
	number   bool    // a number
	positive bool    // a number above 0
	isText   bool    // a string
	loose    bool    // changed by a loop, so that comparing it says something unknown
	spread   bool    // any number of values in an argument list

	table int // of tables: index in the state's heap
	fn    *closure
}

type closure struct {
	expr  *ast.FunctionExpr
	scope *binding
}

// depKind says what of a key a reply shows.
type depKind uint8

const (
	whole   depKind = iota // its value
	part                   // a part of its value
	measure                // how long or large it is
	meta                   // its expiry or type
)

type dep struct {
	key  Operand
	kind depKind
}

var (
	nothing = value{kind: nilValue}
	no      = value{kind: boolValue}
)

func truth(b bool) value { return value{kind: boolValue, yes: b} }

func number(f float64) value { return value{kind: numberValue, num: f} }

func str(s string) value { return value{kind: stringValue, text: s} }

func status(s string) value { return value{kind: statusValue, text: s} }

// derive is a symbol that a pure function makes of vs.
func derive(text string, vs ...value) value {
	v := value{kind: symbolValue, text: text}
	for _, x := range vs {
		for _, d := range x.deps {
			if d.kind == whole {
				d.kind = part
			}
			if !slices.Contains(v.deps, d) {
				v.deps = append(v.deps, d)
			}
		}
		v.args = v.args || x.args
		v.loose = v.loose || x.loose
		switch {
		case x.with.Kind != None:
			v.with = x.with
		case x.operand.Kind == Arg:
			v.with = x.operand
		}
	}
	if len(text) > 1000 { // a loop of concatenations; the head alone is not the same value
		v.text, v.loose = text[:1000], true
	}
	return v
}

// derived numbers and strings are neither nil nor false.
func derivedNumber(text string, vs ...value) value {
	v := derive(text, vs...)
	v.number, v.present = true, true
	return v
}

func derivedString(text string, vs ...value) value {
	v := derive(text, vs...)
	v.isText, v.present = true, true
	return v
}

// as is v as an operand of a command or comparison.
func (v value) as() Operand {
	switch v.kind {
	case stringValue:
		return Operand{Kind: Const, Text: v.text}
	case numberValue:
		return Operand{Kind: Const, Text: formatNumber(v.num)}
	case symbolValue:
		switch {
		case v.operand.Kind != None:
			return v.operand
		case len(v.deps) > 0 || v.loose || v.spread:
			return Operand{Kind: Unknown, Text: v.form()}
		}
		return Operand{Kind: Made, Text: v.text}
	}
	return Operand{Kind: Unknown, Text: v.form()}
}

// form is equal for values that are always equal.
func (v value) form() string {
	switch v.kind {
	case nilValue:
		return "nil"
	case boolValue:
		return strconv.FormatBool(v.yes)
	case numberValue:
		return formatNumber(v.num)
	case stringValue:
		return strconv.Quote(v.text)
	case statusValue:
		return "ok:" + v.text
	case errorValue:
		return "error"
	case symbolValue, libValue:
		return v.text
	case tableValue:
		return "table:" + strconv.Itoa(v.table)
	case funcValue:
		return "function"
	case keysValue:
		return "KEYS"
	}
	return "ARGV"
}

func (v value) known() bool { return v.kind != symbolValue }

// formatNumber is Lua's "%.14g".
func formatNumber(f float64) string {
	if f == math.Trunc(f) && math.Abs(f) < 1e14 {
		return strconv.FormatFloat(f, 'f', -1, 64)
	}
	return strconv.FormatFloat(f, 'g', 14, 64)
}

// same decides the equality of two known values.
func same(a, b value) bool {
	if a.kind != b.kind {
		return false
	}
	switch a.kind {
	case boolValue:
		return a.yes == b.yes
	case numberValue:
		return a.num == b.num
	case stringValue, libValue:
		return a.text == b.text
	case tableValue:
		return a.table == b.table
	case funcValue:
		return a.fn == b.fn
	case statusValue, errorValue: // tables, each a new one
		return false
	}
	return true
}
