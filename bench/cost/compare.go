package main

import "fmt"

// contest is of commands that take turns, so that a busy moment hits all of them.
type contest struct {
	first    []command // run once before, to fill caches
	commands []command
	rows     []row
}

// row is one line of the result: a figure of one command, beside that of another where there is a base.
type row struct {
	title string
	quantity
	base, subject string  // names of commands
	goal          float64 // the most that the ratio may be, or the figure itself where there is no base; 0: none
}

// run measures each command as often as told and prints the rows, of medians.
func (c contest) run(runs int) error {
	for _, cmd := range c.first {
		if _, err := cmd.run(); err != nil {
			return err
		}
	}
	usages := map[string][]usage{}
	for range runs {
		for _, cmd := range c.commands {
			u, err := cmd.run()
			if err != nil {
				return fmt.Errorf("%s: %w", cmd.name, err)
			}
			usages[cmd.name] = append(usages[cmd.name], u)
		}
	}
	for _, r := range c.rows {
		fmt.Println(r.line(median(usages[r.base], r.of), median(usages[r.subject], r.of), runs))
	}
	return nil
}

func (r row) line(base, subject float64, runs int) string {
	head := fmt.Sprintf("%-10s %-8s", r.title, r.name)
	tail := fmt.Sprintf("(medians of %d)", runs)
	if r.base == "" {
		return fmt.Sprintf("%s %s %s%s %s", head, r.subject, r.text(subject), verdict(subject, r.goal, r.text), tail)
	}
	twoPlaces := func(v float64) string { return fmt.Sprintf("%.2f", v) }
	return fmt.Sprintf("%s %s %s, %s %s: ratio %s%s %s", head, r.base, r.text(base), r.subject, r.text(subject),
		twoPlaces(subject/base), verdict(subject/base, r.goal, twoPlaces), tail)
}

// verdict says whether a goal is met, and nothing where there is none.
func verdict(v, goal float64, text func(float64) string) string {
	switch {
	case goal == 0:
		return ""
	case v > goal:
		return ", ABOVE the goal of " + text(goal)
	}
	return ", within the goal of " + text(goal)
}
