package goplsbuild

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// rulesPackage is the package that puts the rules into gopls.
const rulesPackage = itself + "/analyzer/gopls"

// goMod is the go.mod of the new gopls. What else is required the go command finds out.
func goMod(r *release, rules origin) string {
	version, replace := rules.version, ""
	if rules.dir != "" {
		version = "v0.0.0"
		replace = fmt.Sprintf("replace %s => %s\n", itself, strconv.Quote(rules.dir))
	}
	return fmt.Sprintf("module %s/advisorylint\n\ngo %s\n\n", gopls, r.goLine) +
		fmt.Sprintf("require (\n\t%s %s\n\t%s %s\n)\n\n", itself, version, gopls, r.version) +
		fmt.Sprintf("replace %s => %s %s\n", tools, tools, r.tools) + replace
}

const importRules = "package main\n\nimport _ \"" + rulesPackage + "\"\n"

// generate writes the module of the new gopls into dir.
func (g *goCommand) generate(dir string, r *release, rules origin) error {
	if _, err := g.run("mod", "download", gopls+"@"+r.version); err != nil {
		return err
	}
	var module struct{ Dir string }
	if err := g.decode(&module, "list", "-mod=mod", "-m", "-json", gopls+"@"+r.version); err != nil {
		return err
	}
	mains, err := filepath.Glob(filepath.Join(module.Dir, "*.go"))
	if err != nil {
		return err
	}
	copied := 0
	for _, name := range mains {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		if err := copyFile(name, dir); err != nil {
			return err
		}
		copied++
	}
	if copied == 0 {
		return fmt.Errorf("gopls %s has no main package in %s: choose another -version", r.version, module.Dir)
	}
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte(goMod(r, rules)), 0o600); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "zz_rules.go"), []byte(importRules), 0o600)
}

func copyFile(name, dir string) error {
	data, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, filepath.Base(name)), data, 0o600)
}

// compile builds the module into path. -mod=mod lets the go command add what go.mod and go.sum lack, and
// -buildvcs=false keeps the version "(devel)": editors that offer updates of gopls leave such a one alone.
func (g *goCommand) compile(path string, r *release, options string) error {
	link := "-X main.version=" + r.version + "+advisorylint"
	if options != "" {
		// The go command splits the text at spaces outside of quotes, and JSON has another form of a quote.
		link += " -X '" + rulesPackage + ".options=" + strings.ReplaceAll(options, "'", `\u0027`) + "'"
	}
	_, err := g.run("build", "-mod=mod", "-buildvcs=false", "-ldflags="+link, "-o", path, ".")
	return err
}
