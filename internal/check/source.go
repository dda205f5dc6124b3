package check

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/types"
	"io/fs"
	"maps"
	"os"
	"slices"

	"golang.org/x/tools/go/packages"
)

// source is a package's files.
type source struct {
	files []*ast.File
	cgo   bool // one imports "C"
}

// check parses and type-checks a package, and says whether it is to be analysed.
func (r *run) check(u *unit) matter {
	p := u.pkg
	p.Fset = r.fset
	if p.PkgPath == "unsafe" {
		p.Types = types.Unsafe
		return nothing
	}
	p.Types = types.NewPackage(p.PkgPath, p.Name) // for importers, should there be no files to check
	s := r.parse(u, p.GoFiles)
	matter := r.matters(u, s.files)
	if s.cgo && (matter != nothing || r.cgo[p.ID]) {
		files, err := r.compiled(p)
		if err != nil {
			fault(p, err)
			return nothing
		}
		s = r.parse(u, files)
	}
	if len(p.Errors) == 0 || len(s.files) > 0 {
		r.typeCheck(p, s, matter != nothing)
	}
	p.IllTyped = len(p.Errors) > 0
	for _, dep := range p.Imports {
		p.IllTyped = p.IllTyped || dep.IllTyped
	}
	return matter
}

func (r *run) matters(u *unit, files []*ast.File) matter {
	if u.root || r.Matters == nil {
		return mayTell
	}
	follow, text := r.Matters(u.pkg.PkgPath, files)
	switch {
	case text:
		return mustTell
	case follow || u.telling:
		return mayTell
	}
	return nothing
}

// typeCheck gives a package its types. It checks bodies too when the package is to be analysed.
func (r *run) typeCheck(p *packages.Package, s source, whole bool) {
	p.Types = types.NewPackage(p.PkgPath, p.Name)
	config := &types.Config{
		Importer:         imports(p.Imports),
		IgnoreFuncBodies: !whole,
		FakeImportC:      s.cgo && !whole,
		Sizes:            p.TypesSizes,
		Error:            func(err error) { fault(p, err) },
	}
	if p.Module != nil && p.Module.GoVersion != "" {
		config.GoVersion = "go" + p.Module.GoVersion
	}
	var info *types.Info
	if whole {
		info = &types.Info{
			Types: map[ast.Expr]types.TypeAndValue{}, Instances: map[*ast.Ident]types.Instance{},
			Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{},
			Implicits: map[ast.Node]types.Object{}, Selections: map[*ast.SelectorExpr]*types.Selection{},
			Scopes: map[ast.Node]*types.Scope{}, FileVersions: map[*ast.File]string{},
		}
		p.Syntax, p.TypesInfo = s.files, info
	}
	err := types.NewChecker(config, r.fset, p.Types, info).Files(s.files)
	if err != nil && len(p.Errors) == 0 {
		fault(p, err)
	}
}

// imports finds what a package imports by the path that its source has.
type imports map[string]*packages.Package

func (m imports) Import(path string) (*types.Package, error) {
	if path == "unsafe" {
		return types.Unsafe, nil
	}
	p := m[path]
	switch {
	case p == nil || p.Types == nil:
		return nil, fmt.Errorf("no package %s was listed", path)
	case p.Name == "" && len(p.Errors) > 0: // stands for a package that was not found
		return nil, errors.New(p.Errors[0].Msg)
	}
	return p.Types, nil
}

// parse reads files, without function bodies where those can never matter. Comments are kept where a directive can
// matter: of dependencies, go:embed.
func (r *run) parse(u *unit, names []string) (s source) {
	texts := r.read(u, names)
	bodies := u.root || u.telling || r.Never == nil || !r.Never(u.pkg.PkgPath, slices.Collect(maps.Values(texts)))
	for _, name := range names {
		text, ok := texts[name]
		if !ok {
			continue
		}
		embeds := bytes.Contains(text, []byte("//go:embed "))
		mode := parser.SkipObjectResolution | parser.AllErrors
		if u.root || embeds {
			mode |= parser.ParseComments
		}
		if !bodies {
			text = withoutBodies(text)
		}
		file, err := parser.ParseFile(r.fset, name, text, mode)
		if err != nil {
			fault(u.pkg, err)
		}
		if file == nil {
			continue
		}
		s.files = append(s.files, file)
		s.cgo = s.cgo || slices.ContainsFunc(file.Imports, isC)
	}
	return s
}

// read gives the text of those files that can be read.
func (r *run) read(u *unit, names []string) map[string][]byte {
	texts := map[string][]byte{}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			fault(u.pkg, err)
			continue
		}
		if sum, ok := r.sums[name]; ok && sum != textSum(text) {
			u.keyed = false // it is not what the key says
		}
		texts[name] = text
	}
	return texts
}

func isC(spec *ast.ImportSpec) bool { return spec.Path.Value == `"C"` }

// compiled gives the files of a package that uses cgo as the compiler sees them.
func (r *run) compiled(p *packages.Package) ([]string, error) {
	path := p.PkgPath
	if p.ForTest != "" {
		path = p.ForTest
	}
	list, err := packages.Load(&packages.Config{
		Context: r.ctx, Dir: r.Dir, Mode: packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedForTest,
		Tests: p.ForTest != "", BuildFlags: r.BuildFlags, Env: r.Env,
	}, path)
	if err != nil {
		return nil, err
	}
	for _, q := range list {
		if q.ID == p.ID {
			if len(q.Errors) > 0 {
				return nil, q.Errors[0]
			}
			return q.CompiledGoFiles, nil
		}
	}
	return nil, fmt.Errorf("cgo gave no files of package %s", p.ID)
}

// fault notes what is wrong with a package, as go/packages does.
func fault(p *packages.Package, err error) {
	var (
		listed packages.Error
		path   *fs.PathError
		syntax scanner.ErrorList
		typing types.Error
	)
	switch {
	case errors.As(err, &listed):
		p.Errors = append(p.Errors, listed)
	case errors.As(err, &path):
		p.Errors = append(p.Errors, packages.Error{Pos: path.Path + ":1", Msg: path.Err.Error(), Kind: packages.ParseError})
	case errors.As(err, &syntax):
		for _, e := range syntax {
			p.Errors = append(p.Errors, packages.Error{Pos: e.Pos.String(), Msg: e.Msg, Kind: packages.ParseError})
		}
	case errors.As(err, &typing):
		p.TypeErrors = append(p.TypeErrors, typing)
		p.Errors = append(p.Errors, packages.Error{Pos: typing.Fset.Position(typing.Pos).String(), Msg: typing.Msg, Kind: packages.TypeError})
	default:
		p.Errors = append(p.Errors, packages.Error{Pos: "-", Msg: err.Error()})
	}
}
