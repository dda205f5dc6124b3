// Advisorylint finds mistakes with distributed locks in Go programs.
//
//	advisorylint ./...                          lints
//	go vet -vettool=$(which advisorylint) ./... lints through go vet
//	advisorylint help                           says the rest
package main

import (
	"fmt"
	"os"
	"strings"
)

// Exit codes. 3 for findings is what the checkers of golang.org/x/tools give.
const (
	exitClean    = 0
	exitFailed   = 1
	exitFindings = 3
)

func main() {
	os.Exit(guarded(os.Args[1:]))
}

// guarded runs the command so that a defect in it ends in one line, not in a stack.
func guarded(args []string) (code int) {
	defer func() {
		if p := recover(); p != nil {
			fmt.Fprintf(os.Stderr, "advisorylint: internal error: %v\n", p)
			code = exitFailed
		}
	}()
	return run(args)
}

// commands are the modes that are asked for by name; everything else is linting or go vet's protocol.
var commands = map[string]func(args []string) int{}

func init() {
	// Filled here because help lists the commands and is one.
	commands["version"] = versionCommand
	commands["help"] = helpCommand
	commands["rules"] = rulesCommand
	commands["explain"] = explainCommand
	commands["config"] = configCommand
	commands["cache"] = cacheCommand
	commands["gopls"] = goplsCommand
}

func run(args []string) int {
	if len(args) > 0 {
		if command := commands[args[0]]; command != nil {
			return command(args[1:])
		}
	}
	o, err := parseOptions(args)
	switch {
	case err != nil:
		return fail(err)
	case o.help:
		return helpCommand(nil)
	case o.fullVersion != "":
		return vetVersion(o.fullVersion)
	case o.listFlags:
		return vetFlags(o)
	case len(o.args) == 1 && strings.HasSuffix(o.args[0], ".cfg"):
		return vetUnit(o, o.args[0])
	}
	return lint(o)
}

// fail says why nothing was done.
func fail(err error) int {
	fmt.Fprintf(os.Stderr, "advisorylint: %v\n", err)
	return exitFailed
}
