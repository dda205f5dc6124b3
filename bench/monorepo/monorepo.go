// Package monorepo makes up a large repository: a module of as many packages as one asks for, each of a few
// hundred lines of an ordinary service, with advisory locks in half of them, some of which are mistakes.
package monorepo

import (
	"bytes"
	"embed"
	"fmt"
	"go/format"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/template"
)

// Module is the module's path.
const Module = "example.com/warehouse"

// block is how many packages share one package of lock helpers and one of other helpers, its first two.
const block = 100

// layers is the depth of the import graph: a package imports from lower layers only.
const layers = 8

//go:embed *.tmpl
var texts embed.FS

var templates = template.Must(template.New("").Funcs(template.FuncMap{"lower": lowerFirst}).ParseFS(texts, "*.tmpl"))

// Repository is what Write made.
type Repository struct {
	Findings   map[string]int // how many mistakes there are, by the rule that finds them
	Leaf, Base string         // a file of a package that nobody imports, and of one that half of them do
}

// Write makes a repository of n packages in dir, the same for the same n. Each package is the same in a
// larger repository, too.
func Write(dir string, n int) (Repository, error) {
	if n < block {
		return Repository{}, fmt.Errorf("a repository of %d packages: at least %d are needed", n, block)
	}
	repo := Repository{Findings: map[string]int{}}
	if err := write(dir, "go.mod", []byte("module "+Module+"\n\ngo 1.26\n")); err != nil {
		return repo, err
	}
	for i := range n {
		p := describe(i)
		for _, f := range p.files() {
			var text bytes.Buffer
			if err := templates.ExecuteTemplate(&text, f.template, p); err != nil {
				return repo, err
			}
			source, err := format.Source(text.Bytes())
			if err != nil {
				return repo, fmt.Errorf("%s: %w", f.name, err)
			}
			if err := write(dir, f.name, source); err != nil {
				return repo, err
			}
		}
		if p.Shape.rule != "" {
			repo.Findings[p.Shape.rule] += p.Shape.findings
		}
	}
	repo.Leaf = filepath.Join(dir, describe(top(n)).files()[0].name)
	repo.Base = filepath.Join(dir, describe(1).files()[0].name)
	return repo, nil
}

func write(dir, name string, text []byte) error {
	name = filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	return os.WriteFile(name, text, 0o644)
}

// top is the last package of the highest layer, which nobody imports.
func top(n int) int {
	for i := n - 1; ; i-- {
		if i%block > 1 && i%layers == layers-1 {
			return i
		}
	}
}

// shape is what a package does with locks: a branch of store.tmpl.
type shape struct {
	name     string
	rule     string // what finds its mistake; empty: there is none
	findings int
}

// Half of the packages have no lock, one in ten has a mistake, which one is the next package's turn.
var (
	correct = []shape{
		{name: "unlocked"}, {name: "unlocked"}, {name: "unlocked"}, {name: "unlocked"}, {name: "unlocked"},
		{name: "callback"}, {name: "pinned"}, {name: "transaction"}, {name: "runner"},
	}
	mistaken = []shape{
		{name: "onpool", rule: "poollock", findings: 2},
		{name: "leaking", rule: "lockleak", findings: 1},
		{name: "unread", rule: "unlockresult", findings: 1},
	}
)

func shapeOf(i int) shape {
	if k := i % (len(correct) + 1); k < len(correct) {
		return correct[k]
	}
	return mistaken[i/(len(correct)+1)%len(mistaken)]
}

// pkg is one package, as the templates see it.
type pkg struct {
	index int
	ref
	Locks    ref // its helpers
	Values   ref
	Imports  []ref
	Entities []entity
	Shape    shape
	Tested   bool
	Outside  bool // tested by a package of its own, too
}

// ref is a package as others name it.
type ref struct{ Path, Name string }

// Is says which branch of store.tmpl the package takes.
func (s shape) Is(name string) bool { return s.name == name }

// Helped reports whether the package locks by its helpers.
func (p pkg) Helped() bool {
	return !slices.Contains([]string{"unlocked", "runner", "unread"}, p.Shape.name)
}

type file struct{ name, template string }

func (p pkg) files() []file {
	base := strings.TrimPrefix(p.Path, Module+"/") + "/" + p.Name
	switch p.index % block {
	case 0:
		return []file{{base + ".go", "locks.tmpl"}}
	case 1:
		return []file{{base + ".go", "values.tmpl"}}
	}
	out := []file{{base + ".go", "domain.tmpl"}, {base + "_store.go", "store.tmpl"}}
	if p.Tested {
		out = append(out, file{base + "_test.go", "test.tmpl"})
	}
	if p.Outside {
		out = append(out, file{base + "_outside_test.go", "outside.tmpl"})
	}
	return out
}

// name gives a package's path and name.
func name(i int) ref {
	switch i % block {
	case 0:
		return ref{fmt.Sprintf("%s/platform/locks%d", Module, i/block), fmt.Sprintf("locks%d", i/block)}
	case 1:
		return ref{fmt.Sprintf("%s/platform/values%d", Module, i/block), fmt.Sprintf("values%d", i/block)}
	}
	n := fmt.Sprintf("%s%d", nouns[i%len(nouns)], i)
	return ref{fmt.Sprintf("%s/%s/%s", Module, areas[i/block%len(areas)], n), n}
}

// describe makes package i, from its number alone.
func describe(i int) pkg {
	random := rand.New(rand.NewPCG(2026, uint64(i)))
	first := i / block * block
	p := pkg{index: i, ref: name(i), Locks: name(first), Values: name(first + 1)}
	if i%block < 2 {
		return p
	}
	if i%2 == 0 {
		p.Values = name(1)
	}
	p.Shape, p.Tested, p.Outside = shapeOf(i), i%3 == 0, i%15 == 0
	p.Imports = importsOf(i, random)
	if len(p.Imports) == 0 && p.Shape.name == "runner" {
		p.Shape = correct[0]
	}
	for _, k := range random.Perm(len(nouns))[:1+random.IntN(2)] {
		p.Entities = append(p.Entities, newEntity(nouns[k], random))
	}
	return p
}

// importsOf gives up to five packages of lower layers. Half of them are among the first ones, which many import.
func importsOf(i int, random *rand.Rand) []ref {
	var out []ref
	for range 5 {
		bound := i
		if random.IntN(2) == 0 {
			bound = min(i, block/2)
		}
		j := random.IntN(bound)
		if n := name(j); j%block > 1 && j%layers < i%layers && !slices.Contains(out, n) {
			out = append(out, n)
		}
	}
	slices.SortFunc(out, func(a, b ref) int { return strings.Compare(a.Path, b.Path) })
	return out
}

// entity is a type that a package keeps in its database.
type entity struct {
	Name   string // Parcel
	Table  string // parcels
	Fields []field
}

type field struct{ Name, Column, Type string }

// Columns are the entity's columns in SQL, the identifier first.
func (e entity) Columns() string {
	out := []string{"id"}
	for _, f := range e.Fields {
		out = append(out, f.Column)
	}
	return strings.Join(out, ", ")
}

// Places are the parameters of the columns.
func (e entity) Places() string {
	out := []string{"$1"}
	for i := range e.Fields {
		out = append(out, fmt.Sprintf("$%d", i+2))
	}
	return strings.Join(out, ", ")
}

func newEntity(noun string, random *rand.Rand) entity {
	e := entity{Name: strings.ToUpper(noun[:1]) + noun[1:], Table: noun + "s", Fields: []field{{"Created", "created", "time.Time"}}}
	for _, k := range random.Perm(len(fields))[:4+random.IntN(4)] {
		e.Fields = append(e.Fields, fields[k])
	}
	return e
}

func lowerFirst(s string) string { return strings.ToLower(s[:1]) + s[1:] }

var areas = []string{
	"billing", "catalog", "delivery", "forecast", "intake", "labels", "partners", "payroll", "picking", "planning",
	"pricing", "quality", "reports", "returns", "routing", "safety", "search", "shifts", "stock", "transit",
}

var nouns = []string{
	"parcel", "pallet", "invoice", "shelf", "carrier", "driver", "customer", "supplier", "offer", "rebate",
	"claim", "voucher", "shipment", "container", "scanner", "label", "ticket", "shift", "route", "depot", "forklift",
}

var fields = []field{
	{"Title", "title", "string"}, {"Owner", "owner", "string"}, {"Region", "region", "string"}, {"Note", "note", "string"},
	{"Weight", "weight", "int64"}, {"Amount", "amount", "int64"}, {"Priority", "priority", "int64"}, {"Version", "version", "int64"},
	{"Due", "due", "time.Time"}, {"Open", "open", "bool"}, {"Fragile", "fragile", "bool"},
	{"Ratio", "ratio", "float64"},
}
