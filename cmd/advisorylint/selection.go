package main

import (
	"errors"
	"fmt"
	"strings"

	"golang.org/x/tools/go/analysis"

	"github.com/advisorylint/advisorylint/analyzer"
)

// selection is a set of rules under way: a rule's name and the form in which it runs, which is not
// the same for every rule in the default set and when it is asked for.
type selection map[string]*analysis.Analyzer

// selected gives the rules to run, in the suite's order.
//
// -rules sets where to start; without it that is the default set, or nothing when some rule is asked
// for by its own flag. The rules' own flags then add and take away.
func (o *options) selected() ([]*analysis.Analyzer, error) {
	s := selection{}
	switch {
	case o.rules != "":
		if err := s.list(o.rules); err != nil {
			return nil, err
		}
	case !o.asked():
		s.defaults()
		if o.pooler == "transaction" {
			// Who names a transaction pooler asks what it does to the locks.
			s.add(poolerRule)
		}
	}
	for name, c := range o.chosen {
		switch {
		case c.given && c.on:
			s.add(name)
		case c.given:
			delete(s, name)
		}
	}
	list := s.ordered()
	if len(list) == 0 {
		return nil, errors.New("no rule is left to run")
	}
	return list, nil
}

// asked reports whether some rule is asked for by its own flag.
func (o *options) asked() bool {
	for _, c := range o.chosen {
		if c.given && c.on {
			return true
		}
	}
	return false
}

// list applies the value of -rules, item by item from the left.
func (s selection) list(value string) error {
	for i, item := range strings.Split(value, ",") {
		item = strings.TrimSpace(item)
		name, away := strings.CutPrefix(item, "-")
		if i == 0 && away {
			s.defaults() // taking away needs something to take from
		}
		switch {
		case item == "":
		case away && name == "all":
			clear(s)
		case away && name == "default":
			for _, a := range analyzer.Default() {
				delete(s, a.Name)
			}
		case name == "default":
			s.defaults()
		case name == "all":
			for _, a := range analyzer.All() {
				s[a.Name] = a
			}
		case analyzer.ByName(name) == nil:
			return unknownRule(name)
		case away:
			delete(s, name)
		default:
			s.add(name)
		}
	}
	return nil
}

// add asks for a rule with all that it can say.
func (s selection) add(name string) { s[name] = analyzer.ByName(name) }

// defaults adds the default set; a rule that is there already keeps its fuller form.
func (s selection) defaults() {
	for _, a := range analyzer.Default() {
		if s[a.Name] == nil {
			s[a.Name] = a
		}
	}
}

func (s selection) ordered() []*analysis.Analyzer {
	var list []*analysis.Analyzer
	for _, a := range analyzer.All() {
		if chosen := s[a.Name]; chosen != nil {
			list = append(list, chosen)
		}
	}
	return list
}

// unknownRule names the rule that may have been meant.
func unknownRule(name string) error {
	for _, a := range analyzer.All() {
		if distance(name, a.Name) <= 2 {
			return fmt.Errorf("there is no rule %q; is it %s? ('advisorylint rules' lists them)", name, a.Name)
		}
	}
	return fmt.Errorf("there is no rule %q ('advisorylint rules' lists them)", name)
}

// distance is how many letters must be put in, taken out or changed to make b of a.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}
