package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The text between the markers is this command's, the rest of the page people's.
const (
	page      = "benchmarks.md"
	beginMark = "<!-- locks: made by the command below, not by hand -->"
	endMark   = "<!-- locks: end -->"
)

// remake is the command that measured, for the page.
func remake(r *Results) string {
	urgently := ""
	if r.Machine.Urgent {
		urgently = "chrt -r 1 "
	}
	return fmt.Sprintf("cd bench/locks && %sgo run . -duration %v -rounds %d -write ../../docs", urgently, r.Settings.Duration, r.Settings.Rounds)
}

// publish writes the tables into the page and draws the plot beside it.
func publish(r *Results, folder string) error {
	path := filepath.Join(folder, page)
	old, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var made bytes.Buffer
	if err := tables(&made, r); err != nil {
		return err
	}
	text, err := between(string(old), made.String())
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		return err
	}
	return drawSVG(r, filepath.Join(folder, "locks.svg"))
}

// between puts made between the markers of a page.
func between(old, made string) (string, error) {
	before, rest, begun := strings.Cut(old, beginMark)
	_, after, ended := strings.Cut(rest, endMark)
	if !begun || !ended {
		return "", errors.New("the markers of the generated text are missing")
	}
	return before + beginMark + "\n" + made + endMark + after, nil
}

// tables writes everything in Markdown.
func tables(w io.Writer, r *Results) error {
	var b strings.Builder
	facts(&b, r)
	comparisons(&b, r)
	uncontended(&b, r)
	contended(&b, r)
	settings(&b, r)
	troubled(&b, r)
	_, err := io.WriteString(w, b.String())
	return err
}

// facts say what was measured where.
func facts(b *strings.Builder, r *Results) {
	fmt.Fprintf(b, "\nMade by `%s` on %s: %d cores (%s, %s), %s, load average %s before the run", remake(r), r.Date,
		r.Machine.Cores, r.Machine.Model, r.Machine.System, r.Machine.Go, r.Machine.Load)
	if r.Machine.Urgent {
		b.WriteString(", at a real-time priority")
	}
	for _, sys := range []system{postgresql, redisdb, mariadb} {
		if v, ok := r.Servers[sys]; ok {
			fmt.Fprintf(b, ", %s %s", sys, v)
		}
	}
	fmt.Fprintf(b, ". Each figure is the median of %d rounds of %v, in each of which every library had its turn.\n",
		r.Settings.Rounds, r.Settings.Duration)
}

// table writes one table: the first columns of text, the others of figures.
func table(b *strings.Builder, words int, head []string, rows [][]string) {
	fmt.Fprintf(b, "\n| %s |\n|", strings.Join(head, " | "))
	for i := range head {
		if i < words {
			b.WriteString(" --- |")
		} else {
			b.WriteString(" ---: |")
		}
	}
	b.WriteByte('\n')
	for _, cells := range rows {
		fmt.Fprintf(b, "| %s |\n", strings.Join(cells, " | "))
	}
}

func comparisons(b *strings.Builder, r *Results) {
	if len(r.Comparison) == 0 {
		return
	}
	b.WriteString("\n### Against the floor\n\nOne contender: acquire and release, as a multiple of what two requests of the kind take " +
		"on the same kind of connection. The two run by turns of " + strconv.Itoa(slice) + " cycles.\n")
	var rows [][]string
	for _, c := range r.Comparison {
		goal := ""
		if c.Goal > 0 {
			goal = fmt.Sprintf("%.2f", c.Goal)
		}
		rows = append(rows, []string{label(r.Subjects[c.Subject]), r.Subjects[c.Floor].name(),
			short(c.Took), short(c.Least), fmt.Sprintf("%.2f", c.Ratio), goal})
	}
	table(b, 2, []string{"lock", "floor", "lock, p50", "floor, p50", "ratio", "goal"}, rows)
}

func uncontended(b *strings.Builder, r *Results) {
	b.WriteString("\n### Without contention\n\nOne contender, which takes and releases the lock again and again.\n")
	var rows [][]string
	for _, row := range sorted(r, alone) {
		s := r.Subjects[row.Subject]
		rows = append(rows, []string{string(s.System), label(s), short(row.AcquireP50), short(row.AcquireP99),
			short(row.ReleaseP50), short(row.ReleaseP99), whole(row.Cycles), fmt.Sprintf("%.2f", row.Requests),
			whole(row.Mallocs), whole(row.Bytes)})
	}
	table(b, 2, []string{"server", "library", "acquire p50", "p99", "release p50", "p99", "cycles/s", "requests a cycle",
		"allocations", "bytes"}, rows)
}

func contended(b *strings.Builder, r *Results) {
	last := alone
	for _, l := range loadsOf(r) {
		if l == alone {
			continue
		}
		if last == alone || l.apart != last.apart {
			b.WriteString(crowdHeads[l.apart])
		}
		last = l
		fmt.Fprintf(b, "\n%d contenders, hold %v:\n", l.contenders, l.hold)
		var rows [][]string
		for _, row := range sorted(r, l) {
			s := r.Subjects[row.Subject]
			rows = append(rows, []string{string(s.System), label(s), short(row.HandoffP50), short(row.HandoffP99),
				short(row.AcquireP50), short(row.AcquireP99), short(row.ReleaseP50), short(row.ReleaseP99),
				whole(row.Cycles), fmt.Sprintf("%.1f", row.Requests), fmt.Sprintf("%.2f", row.Fairness), whole(row.Mallocs)})
		}
		table(b, 2, []string{"server", "library", "hand-off p50", "p99", "acquire p50", "p99", "release p50", "p99",
			"cycles/s", "requests a cycle", "fairness", "allocations"}, rows)
	}
}

var crowdHeads = map[bool]string{
	false: "\n### One process\n\nAll contenders share one client and its connections, as goroutines of one process do.\n",
	true:  "\n### Many processes\n\nEvery contender has a client and connections of its own, as if each were a process.\n",
}

func settings(b *strings.Builder, r *Results) {
	b.WriteString("\n### What was measured\n")
	var rows [][]string
	for _, s := range r.Subjects {
		rows = append(rows, []string{string(s.System), label(s), s.Version, s.Settings})
	}
	table(b, 4, []string{"server", "library", "module", "settings"}, rows)
}

// troubled tells of errors, and of grants that were not exclusive.
func troubled(b *strings.Builder, r *Results) {
	var rows [][]string
	for _, row := range r.Rows {
		for _, at := range []struct {
			when string
			Troubles
		}{{"", row.During}, {", when the waits were cancelled", row.AtEnd}} {
			if at.Violations == 0 && at.Errors == 0 {
				continue
			}
			where := fmt.Sprintf("%d contenders, hold %v", row.Contenders, row.Hold)
			if row.load() == alone {
				where = "one contender"
			}
			if row.Apart {
				where += ", many processes"
			}
			rows = append(rows, []string{r.Subjects[row.Subject].name(), where + at.when,
				strings.NewReplacer("|", `\|`, "\n", " ").Replace(at.First),
				strconv.FormatInt(at.Violations, 10), strconv.FormatInt(at.Errors, 10)})
		}
	}
	b.WriteString("\n### Errors\n\nEvery measurement also checks that no two contenders are inside at once, and ends by " +
		"cancelling the contexts of all who still wait.\n")
	if len(rows) == 0 {
		b.WriteString("No library let two in, and none gave an error.\n")
		return
	}
	b.WriteString("What went wrong, in all rounds together:\n")
	table(b, 3, []string{"library", "load", "the first", "two inside", "errors"}, rows)
}

// verdict is an error when one of this module's own locks let two in.
func (r *Results) verdict() error {
	for _, row := range r.Rows {
		if s := r.Subjects[row.Subject]; s.Ours && row.During.Violations+row.AtEnd.Violations > 0 {
			return fmt.Errorf("%s, %d contenders: %w", s.name(), row.Contenders, errNotExclusive)
		}
	}
	return nil
}

// sorted are the rows of a load in the order of the subjects.
func sorted(r *Results, l load) []Row {
	rows := slices.DeleteFunc(slices.Clone(r.Rows), func(row Row) bool { return row.load() != l })
	slices.SortStableFunc(rows, func(a, b Row) int { return a.Subject - b.Subject })
	return rows
}

// loadsOf are the loads of the rows, each once, in order.
func loadsOf(r *Results) []load {
	var of []load
	for _, row := range r.Rows {
		if l := row.load(); !slices.Contains(of, l) {
			of = append(of, l)
		}
	}
	return of
}

// label is a subject's name in a table; this module's own stand out.
func label(s Subject) string {
	if s.Ours {
		return "**" + s.name() + "**"
	}
	return s.name()
}

// short is a duration with three figures at most and the unit that suits it; a dash for none.
func short(d time.Duration) string {
	switch {
	case d == 0:
		return "–"
	case d < 0:
		return "-" + short(-d)
	case d < time.Millisecond:
		return figures(float64(d)/float64(time.Microsecond)) + " µs"
	case d < time.Second:
		return figures(float64(d)/float64(time.Millisecond)) + " ms"
	default:
		return figures(d.Seconds()) + " s"
	}
}

// figures gives a positive number with three figures, but no less than its whole part.
func figures(x float64) string {
	switch {
	case x < 10:
		return strconv.FormatFloat(x, 'f', 2, 64)
	case x < 100:
		return strconv.FormatFloat(x, 'f', 1, 64)
	default:
		return strconv.FormatFloat(x, 'f', 0, 64)
	}
}

// whole is a number without fraction, unless it is small; with commas between thousands.
func whole(x float64) string {
	if x > 0 && x < 10 {
		return strconv.FormatFloat(x, 'f', 1, 64)
	}
	digits := strconv.FormatFloat(x, 'f', 0, 64)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}
