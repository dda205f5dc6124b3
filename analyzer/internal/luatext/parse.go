package luatext

import (
	"strings"

	"github.com/yuin/gopher-lua/ast"
	"github.com/yuin/gopher-lua/parse"
)

// Bounds of what is followed; a script beyond them is unknown. The largest script in use that the
// tests have (a re-entrant lock over several keys) takes less than a tenth of each.
const (
	maxSteps = 20_000 // expressions and statements, over all paths
	maxPaths = 1_000
	maxCalls = 16 // functions of the script within each other
)

// Parse says what a script does. It never returns nil and always ends.
func Parse(text string) *Script {
	if len(text) > MaxLen {
		return &Script{Why: "too long"}
	}
	chunk, err := parse.Parse(strings.NewReader(text), "script")
	switch {
	case err != nil:
		return &Script{Why: "no Lua: " + err.Error()}
	case len(chunk) == 0: // also what the parser answers when it gave up without an error
		return &Script{Why: "no statement"}
	}
	r := &run{ids: map[ast.Expr]int{}, globals: map[string]int{}, upvalues: map[string]bool{}}
	r.script(chunk)
	return r.result()
}
