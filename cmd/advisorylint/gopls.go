package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"

	"github.com/advisorylint/advisorylint/internal/driver"
	"github.com/advisorylint/advisorylint/internal/goplsbuild"
	"github.com/advisorylint/advisorylint/internal/settings"
)

const goplsUsage = `advisorylint gopls builds a gopls that has the rules inside, for editors.

	advisorylint gopls -o PATH [flags]

	-o PATH         where gopls goes; one that is there is replaced when the new one is ready
	-version V      the version of gopls, such as v0.23.0; the default is the newest that the
	                installed Go can build
	-source DIR     the source of advisorylint; the default is what this command was built from
	-rules, -pooler, -clients, -wrappers, -exclude
	                as for linting: they hold for every module, before its .advisorylint.yaml

Editors: https://github.com/advisorylint/advisorylint/blob/main/docs/integrations/gopls.md
`

// goplsOptions are the options of the rules that gopls can carry, which gives all findings of analyzers
// one severity.
var goplsOptions = []string{settings.Rules, settings.Pooler, settings.Clients, settings.Wrappers, settings.Exclude}

// goplsCommand builds a gopls with the rules inside.
func goplsCommand(args []string) int {
	request, err := goplsRequest(args)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Print(goplsUsage)
		return exitClean
	}
	if err != nil {
		return fail(err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	progress := startProgress(os.Stderr, "looking for gopls")
	defer progress.end()
	request.Say = progress.say
	built, err := goplsbuild.Build(ctx, *request)
	progress.end()
	if err != nil {
		return fail(err)
	}
	fmt.Printf("gopls %s with the rules of advisorylint %s, built by %s: %s\n", built.Version, built.Rules, built.GoVersion, built.Path)
	return exitClean
}

// goplsRequest reads the command line.
func goplsRequest(args []string) (*goplsbuild.Request, error) {
	r := &goplsbuild.Request{}
	var given settings.Given
	set := flag.NewFlagSet("gopls", flag.ContinueOnError)
	set.SetOutput(io.Discard)
	set.StringVar(&r.Output, "o", "", "")
	set.StringVar(&r.Version, "version", "", "")
	set.StringVar(&r.Source, "source", "", "")
	for _, name := range goplsOptions {
		set.Func(name, "", func(text string) error { return given.Set(name, text) })
	}
	set.Func(settings.Severity, "", func(string) error {
		return errors.New("gopls shows all findings as warnings")
	})
	err := set.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return nil, err
	case err != nil:
		return nil, fmt.Errorf("%s ('advisorylint gopls -h' lists the flags)", flagMessage(err))
	case set.NArg() > 0:
		return nil, fmt.Errorf("gopls takes flags only, and %q is none ('advisorylint gopls -h' lists them)", set.Arg(0))
	}
	if fault := given.Check(driver.Rules()); fault != nil {
		return nil, fmt.Errorf("-%w", fault)
	}
	options, err := json.Marshal(given.Settings)
	if err != nil {
		return nil, err
	}
	if string(options) != "{}" {
		r.Options = string(options)
	}
	return r, nil
}
