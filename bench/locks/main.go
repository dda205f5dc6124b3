// Command locks measures the locks of this module's runtime and those of other libraries side by side,
// on private servers of its own, and writes docs/benchmarks.md and docs/locks.svg.
//
//	go run . -write ../../docs
//
// It runs for several minutes and wants the machine for itself.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := program(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "locks:", err)
		os.Exit(1)
	}
}

// program is main without what only a process has.
func program(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("locks", flag.ContinueOnError)
	backend := flags.String("backend", "", "measure on these servers only, with commas: PostgreSQL, Redis, MariaDB")
	library := flags.String("library", "", "measure subjects only whose name contains one of these, with commas")
	contenders := flags.String("contenders", "16,64", "how many contend for the lock, with commas")
	holds := flags.String("hold", "0,1ms", "how long it is held, with commas")
	duration := flags.Duration("duration", time.Second, "of one measurement")
	rounds := flags.Int("rounds", 5, "how often each is measured; the tables have medians")
	out := flags.String("out", "", "write all figures to this file, as JSON")
	from := flags.String("from", "", "measure nothing: take the figures from this file")
	write := flags.String("write", "", "write benchmarks.md and locks.svg in this folder")
	if err := flags.Parse(args); err != nil {
		return err
	}
	results, err := obtain(ctx, *from, *backend, *library, *contenders, *holds, *duration, *rounds)
	if err != nil {
		return err
	}
	if *out != "" {
		if err := results.save(*out); err != nil {
			return err
		}
	}
	if *write != "" {
		if err := publish(results, *write); err != nil {
			return err
		}
	} else if err := tables(os.Stdout, results); err != nil {
		return err
	}
	return results.verdict()
}

// obtain reads results or makes them.
func obtain(ctx context.Context, from, backend, library, contenders, holds string, duration time.Duration, rounds int) (*Results, error) {
	if from != "" {
		return readResults(from)
	}
	subjects, err := chosen(list(backend), list(library))
	if err != nil {
		return nil, err
	}
	settings := Settings{Duration: duration, Rounds: rounds}
	if settings.Contenders, err = parsed(contenders, strconv.Atoi); err != nil {
		return nil, err
	}
	if settings.Holds, err = parsed(holds, time.ParseDuration); err != nil {
		return nil, err
	}
	tb := &command{}
	defer tb.end()
	servers, err := startServers(ctx, tb, systemsOf(subjects))
	if err != nil {
		return nil, err
	}
	b := &bench{subjects: subjects, servers: servers, settings: settings, log: os.Stderr}
	return b.measureAll(ctx)
}

// list is the words between commas.
func list(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == ',' })
}

func parsed[T any](text string, parse func(string) (T, error)) ([]T, error) {
	var all []T
	for _, word := range list(text) {
		value, err := parse(word)
		if err != nil {
			return nil, err
		}
		all = append(all, value)
	}
	return all, nil
}
