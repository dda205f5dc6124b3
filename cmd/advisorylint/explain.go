package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/advisorylint/advisorylint/analyzer"
	"github.com/advisorylint/advisorylint/docs"
)

// explainCommand prints a rule's page, which is part of the binary.
func explainCommand(args []string) int {
	if len(args) != 1 {
		return fail(errors.New("explain wants the name of one rule ('advisorylint rules' lists them)"))
	}
	name := args[0]
	if analyzer.ByName(name) == nil {
		return fail(unknownRule(name))
	}
	page, err := docs.Rule(name)
	if err != nil {
		return fail(err)
	}
	fmt.Print(renderMarkdown(page, min(width(os.Stdout), 100), paletteOf(os.Stdout)))
	return exitClean
}
