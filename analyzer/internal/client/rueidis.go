package client

import (
	"go/types"
	"strings"
)

// What rueidis does beside sending: it builds a command word by word, and asks for the error that is an
// empty reply.
const (
	BuildCommand CommandOp = 32 + iota
	NilError
	DoEach // sends several commands together, and gives their answers
)

const (
	rueidisPath   = "github.com/redis/rueidis"
	rueidisCmds   = rueidisPath + "/internal/cmds" // the builder's types
	rueidisResult = rueidisPath + ".RedisResult"
)

// RueidisNil is the variable that holds the error of an empty reply.
const RueidisNil = rueidisPath + ".Nil"

// builderEnds are the methods of a builder that add nothing to the command.
var builderEnds = map[string]bool{"Build": true, "Cache": true, "Pin": true, "ToPipe": true, "MaxReadOnly": true}

// builderWords are the words that the builder's methods put before their argument. A method that is not
// here adds its arguments, or its own name when it has none: Nx.
var builderWords = map[string]string{
	"Ex": "EX", "ExSeconds": "EX", "Px": "PX", "PxMilliseconds": "PX", "Exat": "EXAT", "ExatTimestamp": "EXAT", "Pxat": "PXAT",
	"PxatTimestamp": "PXAT", "PxatMillisecondsTimestamp": "PXAT", "Ifeq": "IFEQ", "Ifne": "IFNE", "Ifdeq": "IFDEQ", "Ifdne": "IFDNE",
}

// BuilderWords are the words that a method of the builder adds before its arguments; first when they
// begin a command.
func BuilderWords(f *types.Func) (words []string, first bool) {
	name := f.Name()
	if recv := f.Signature().Recv(); recv != nil && TypeName(recv.Type()) == rueidisCmds+".Builder" {
		if name == "Arbitrary" { // the words are its arguments
			return nil, true
		}
		return []string{strings.ToUpper(name)}, true
	}
	switch word := builderWords[name]; {
	case word != "":
		return []string{word}, false
	case f.Signature().Params().Len() == 0 && !builderEnds[name]:
		return []string{strings.ToUpper(name)}, false
	}
	return nil, false
}

var (
	rueidisBuild  = commandOf("", BuildCommand, "")
	rueidisNil    = commandOf("", NilError, "")
	rueidisDo     = commandOf("Do", DoCommand, "args")
	rueidisDoEach = commandOf("DoMulti", DoEach, "args")
)

// rueidis gives the row of a method or function of rueidis.
func rueidis(f *types.Func, path string) *Command {
	recv, name := f.Signature().Recv(), f.Name()
	switch {
	case path == rueidisCmds:
		if recv != nil && f.Exported() && f.Signature().Results().Len() == 1 {
			return rueidisBuild
		}
		return nil
	case recv == nil && strings.HasPrefix(name, "NewLuaScript"):
		return scriptMake
	case recv == nil && name == "IsRedisNil":
		return rueidisNil
	case recv == nil:
		return nil
	}
	switch typ := TypeName(recv.Type()); {
	case typ == rueidisResult && (name == "Error" || name == "NonRedisError"):
		return errorRow
	case typ == rueidisResult && (strings.HasPrefix(name, "To") || strings.HasPrefix(name, "As")):
		return replyRow
	case typ == rueidisPath+".Lua" && name == "Exec":
		return scriptRun
	case typ == rueidisResult || typ == rueidisPath+".Lua":
		return nil
	case name == "Do" || name == "DoCache":
		return rueidisDo
	case name == "DoMulti":
		return rueidisDoEach
	}
	return nil
}
