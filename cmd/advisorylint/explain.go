package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/advisorylint/advisorylint/analyzer"
	"github.com/advisorylint/advisorylint/docs"
	"github.com/advisorylint/advisorylint/internal/driver"
	"github.com/advisorylint/advisorylint/internal/settings"
)

// explainCommand prints a rule's page, which is part of the binary.
func explainCommand(args []string) int {
	if len(args) != 1 {
		return fail(errors.New("explain wants the name of one rule ('advisorylint rules' lists them)"))
	}
	name := args[0]
	if analyzer.ByName(name) == nil {
		return fail(errors.New(settings.NoRule(name, driver.Rules())))
	}
	page, err := docs.Rule(name)
	if err != nil {
		return fail(err)
	}
	fmt.Print(renderMarkdown(page, min(width(os.Stdout), 100), paletteOf(os.Stdout)))
	return exitClean
}
