//go:build linux

// Cost measures what the rules add to gopls: CPU time and memory of a gopls with the rules beside those of
// a plain one of the same version, built by the same Go, on one module.
//
//	go run ./cost -rounds 3 -module ../..
//
// Some packages of the module have a file open. The two take turns, so that whatever else the machine did
// met both. Figures are medians.
package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"
)

func main() {
	rounds := flag.Int("rounds", 3, "how often each is measured")
	module := flag.String("module", filepath.Join("..", ".."), "the `directory` of the module that is opened")
	version := flag.String("version", "v0.23.0", "of gopls")
	open := flag.Int("open", 10, "in how many packages a file is open")
	edits := flag.Int("edits", 20, "how often a file is edited")
	flag.Parse()
	if err := run(context.Background(), *rounds, *open, *edits, *module, *version); err != nil {
		fmt.Fprintln(os.Stderr, "cost:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, rounds, open, edits int, module, version string) error {
	work, err := os.MkdirTemp("", "gopls-cost-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	plain, rules := filepath.Join(work, "plain"), filepath.Join(work, "rules")
	if err := build(plain, rules, version); err != nil {
		return err
	}
	dir, files, err := filesOf(module, open)
	if err != nil {
		return err
	}
	var costs [2][]cost
	for round := range rounds {
		for i, gopls := range []string{plain, rules} {
			c, err := measure(ctx, gopls, filepath.Join(work, fmt.Sprintf("cache-%d-%d", i, round)), dir, files, edits)
			if err != nil {
				return err
			}
			fmt.Fprintf(os.Stderr, "round %d, %s: %+v\n", round+1, filepath.Base(gopls), c)
			costs[i] = append(costs[i], c)
		}
	}
	return report(os.Stdout, version, len(files), costs)
}

// build builds the plain gopls and the one with the rules.
func build(plain, rules, version string) error {
	install := exec.Command("go", "install", "golang.org/x/tools/gopls@"+version)
	install.Env = append(os.Environ(), "GOBIN="+filepath.Dir(plain), "GOWORK=off")
	if out, err := install.CombinedOutput(); err != nil {
		return fmt.Errorf("plain gopls: %w\n%s", err, out)
	}
	name := filepath.Join(filepath.Dir(plain), "gopls")
	if err := os.Rename(name, plain); err != nil {
		return err
	}
	command := exec.Command("go", "run", "./cmd/advisorylint", "gopls", "-version", version, "-o", rules)
	command.Dir = filepath.Join("..", "..")
	if out, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("gopls with the rules: %w\n%s", err, out)
	}
	return nil
}

// filesOf gives one file of as many packages of a module as are wanted, evenly spread, and the module's
// directory.
func filesOf(module string, wanted int) (dir string, files []string, err error) {
	if dir, err = filepath.Abs(module); err != nil {
		return "", nil, err
	}
	list := exec.Command("go", "list", "-f", `{{with .GoFiles}}{{$.Dir}}{{"\t"}}{{index . 0}}{{end}}`, "./...")
	list.Dir = dir
	out, err := list.Output()
	if err != nil {
		return "", nil, fmt.Errorf("go list in %s: %w", dir, err)
	}
	for line := range strings.Lines(string(out)) {
		if folder, name, ok := strings.Cut(strings.TrimSpace(line), "\t"); ok {
			files = append(files, filepath.Join(folder, name))
		}
	}
	if len(files) == 0 {
		return "", nil, fmt.Errorf("no packages in %s", dir)
	}
	wanted = min(max(1, wanted), len(files))
	spread := make([]string, wanted)
	for i := range spread {
		spread[i] = files[i*len(files)/wanted]
	}
	return dir, spread, nil
}

// report prints the medians and their ratios as a table.
func report(f *os.File, version string, packages int, costs [2][]cost) error {
	fmt.Fprintf(f, "gopls %s, %s, %d packages open, %d CPUs\n\n", version, runtime.Version(), packages, runtime.NumCPU())
	w := tabwriter.NewWriter(f, 0, 0, 1, ' ', 0)
	fmt.Fprintln(w, "| what\t| plain\t| with the rules\t| ratio\t|")
	fmt.Fprintln(w, "|---\t|---:\t|---:\t|---:\t|")
	for _, row := range []struct {
		what string
		unit string
		of   func(cost) float64
	}{
		{"first start, nothing kept: CPU", "s", func(c cost) float64 { return c.cold.cpu.Seconds() }},
		{"first start: most memory", "MB", func(c cost) float64 { return float64(c.cold.peak) / 1e6 }},
		{"another start: CPU", "s", func(c cost) float64 { return c.warm.cpu.Seconds() }},
		{"another start: most memory", "MB", func(c cost) float64 { return float64(c.warm.peak) / 1e6 }},
		{"another start: heap when all is looked at", "MB", func(c cost) float64 { return float64(c.warm.heap) / 1e6 }},
		{"an edit: CPU", "s", func(c cost) float64 { return c.warm.edit.Seconds() }},
	} {
		plain, rules := median(costs[0], row.of), median(costs[1], row.of)
		fmt.Fprintf(w, "| %s\t| %.2f %s\t| %.2f %s\t| %.2f\t|\n", row.what, plain, row.unit, rules, row.unit, rules/plain)
	}
	return w.Flush()
}

func median(costs []cost, of func(cost) float64) float64 {
	sorted := slices.SortedFunc(slices.Values(costs), func(a, b cost) int { return cmp.Compare(of(a), of(b)) })
	return of(sorted[len(sorted)/2])
}
