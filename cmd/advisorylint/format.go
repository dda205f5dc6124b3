package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis/checker"

	"github.com/advisorylint/advisorylint/internal/findings"
)

// The forms that findings are printed in, beside those of formats: for people, in a terminal and in a browser,
// and go vet's.
const (
	formatText = "text"
	formatHTML = "html"
	formatJSON = "json"
)

// Two of formats: GitHub's is for a log that people read too, and SARIF has a word for findings that are known.
const (
	formatGitHub = "github"
	formatSARIF  = "sarif"
)

var formats = []struct {
	name  string
	write func(*findings.Run, io.Writer) error
}{
	{formatSARIF, (*findings.Run).SARIF},
	{formatGitHub, (*findings.Run).GitHub},
	{"checkstyle", (*findings.Run).Checkstyle},
}

func formatNames() string {
	names := []string{formatText, formatHTML, formatJSON}
	for _, f := range formats {
		names = append(names, f.name)
	}
	return strings.Join(names, ", ")
}

// chooseFormat settles -format, -json and what goes with them.
func (o *options) chooseFormat() error {
	given := "-format=" + o.format
	switch {
	case o.format == "" && o.json:
		o.format, given = formatJSON, "-json"
	case o.format == "":
		o.format = formatText
	case o.json && o.format != formatJSON:
		return fmt.Errorf("-json is -format=json, and there is %s: choose one", given)
	case !slices.Contains(strings.Split(formatNames(), ", "), o.format):
		return fmt.Errorf("%s: want %s", given, formatNames())
	}
	switch {
	case o.format != formatText && (o.fix || o.diff):
		return fmt.Errorf("%s applies no fixes: choose it or -fix or -diff", given)
	case o.format == formatText && o.out != "":
		return errors.New("-out needs a -format other than text, which goes to standard error")
	}
	return nil
}

// write prints the findings in a format other than text, all of it or nothing.
func (o *options) write(graph *checker.Graph, c chosen, found []finding, troubles []string) error {
	var out bytes.Buffer
	switch o.format {
	case formatJSON:
		if err := graph.PrintJSON(&out); err != nil {
			return err
		}
	case formatHTML:
		p, err := page(graph, c, found, troubles)
		if err == nil {
			err = p.HTML(&out)
		}
		if err != nil {
			return err
		}
	}
	for _, f := range formats {
		if f.name != o.format {
			continue
		}
		run, err := record(graph, c, found, troubles)
		if err == nil {
			err = f.write(run, &out)
		}
		if err != nil {
			return err
		}
	}
	if o.out == "" {
		_, err := os.Stdout.Write(out.Bytes())
		return err
	}
	if err := writeFile(o.out, out.Bytes()); err != nil {
		return fmt.Errorf("-out: %w", err)
	}
	return nil
}

// writeFile writes a file, which keeps what it has until the new content is complete. A device or a pipe
// is written to.
func writeFile(name string, content []byte) error {
	if info, err := os.Stat(name); err == nil && info.Mode().IsRegular() {
		return replaceFile(name, content)
	}
	return os.WriteFile(name, content, 0o666)
}
