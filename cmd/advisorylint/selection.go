package main

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"golang.org/x/tools/go/packages"

	"github.com/advisorylint/advisorylint/internal/driver"
	"github.com/advisorylint/advisorylint/internal/settings"
)

// use makes the rules follow the flags and, where they say nothing, the configuration file.
//
// -rules sets where to start; without it that is what the file says, or nothing when some rule is asked
// for by its own flag. The rules' own flags then add and take away.
func (o *options) use() (*settings.Choice, error) {
	given := settings.Given{Settings: o.given, Files: o.config != "off"}
	for _, name := range driver.Rules() {
		switch c := o.chosen[name]; {
		case c.given && c.on:
			given.Rules = append(given.Rules, name)
		case c.given:
			given.Without = append(given.Without, name)
		}
	}
	choice, err := driver.Use(given)
	if err != nil {
		return nil, fmt.Errorf("-%w", err)
	}
	if given.Files && o.config != "" {
		if choice.Find, err = driver.Only(o.config); err != nil {
			return nil, fmt.Errorf("-config: %w", err)
		}
	}
	return choice, nil
}

// prepare goes to the directory that -C names, makes the rules follow the flags and the file there, and gives
// what holds in it.
func (o *options) prepare() (*settings.Choice, *settings.InForce, error) {
	if o.dir != "" {
		if err := os.Chdir(o.dir); err != nil {
			return nil, nil, err
		}
	}
	choice, err := o.use()
	if err != nil {
		return nil, nil, err
	}
	dir, err := os.Getwd()
	if err != nil {
		return nil, nil, err
	}
	f, err := inForce(choice, dir)
	return choice, f, err
}

// governed reads the files of all modules that the packages and what they import are of before any is looked at: a
// file that is broken stops the run, and what one says of types holds for all packages, in whatever order they run
// and whether they are known from the cache.
func governed(choice *settings.Choice, pkgs []*packages.Package) (err error) {
	roots := map[string]bool{}
	packages.Visit(pkgs, nil, func(p *packages.Package) {
		if m := p.Module; err == nil && m != nil && m.Main && !roots[m.Dir] {
			roots[m.Dir] = true
			_, err = choice.In(m.Dir)
		}
	})
	return err
}

// inForce gives what holds in a directory, and an error when that is no rule at all.
func inForce(choice *settings.Choice, dir string) (*settings.InForce, error) {
	f, err := choice.In(dir)
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(driver.Rules(), func(rule string) bool { return f.Runs(rule) != settings.Off }) {
		return nil, errors.New("no rule is left to run")
	}
	return f, nil
}
