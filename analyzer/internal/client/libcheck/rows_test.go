package libcheck

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/tools/go/packages"

	"github.com/advisorylint/advisorylint/analyzer/internal/client"
)

// older are the packages that are not the newest version of their library. Rows marked Only are
// looked up in these; the others must exist in the newest.
var older = []string{
	"github.com/jackc/pgx",
	"github.com/jackc/pgx/v4",
	"github.com/jackc/pgx/v4/pgxpool",
	"github.com/jackc/pgx/v4/stdlib",
	"github.com/jackc/pgconn",
	"github.com/go-xorm/xorm",
}

// library is the versions of one catalogued package.
type library struct {
	newest *types.Package
	old    []*types.Package
}

// load gives what libraries.go imports, by the catalogue's paths.
func load(t *testing.T) map[string]*library {
	t.Helper()
	libs := map[string]*library{}
	for _, p := range imported(t, "libraries.go") {
		lib := libs[client.Path(p.PkgPath)]
		if lib == nil {
			lib = &library{}
			libs[client.Path(p.PkgPath)] = lib
		}
		switch {
		case slices.Contains(older, p.PkgPath):
			lib.old = append(lib.old, p.Types)
		case lib.newest != nil:
			t.Fatalf("%s and %s both claim to be the newest", lib.newest.Path(), p.PkgPath)
		default:
			lib.newest = p.Types
		}
	}
	return libs
}

// imported type-checks what a file of this package imports.
func imported(t *testing.T, file string) []*packages.Package {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
	if err != nil {
		t.Fatal(err)
	}
	mode := packages.NeedName | packages.NeedTypes | packages.NeedImports | packages.NeedDeps | packages.NeedExportFile
	pkgs, err := packages.Load(&packages.Config{Mode: mode}, importPaths(f)...)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range pkgs {
		if len(p.Errors) > 0 {
			t.Fatalf("%s: %v", p.PkgPath, p.Errors)
		}
	}
	return pkgs
}

func importPaths(f *ast.File) []string {
	var paths []string
	for _, im := range f.Imports {
		path, _ := strconv.Unquote(im.Path.Value)
		paths = append(paths, path)
	}
	return paths
}

// split cuts "import/path.Name".
func split(name string) (path, base string) {
	i := strings.LastIndexByte(name, '.')
	return name[:i], name[i+1:]
}

// lookup finds the row's function or method in pkg, nil when pkg has none. A method must be
// declared by the receiver itself: of a promoted one the engine asks for the embedded type.
func lookup(pkg *types.Package, m *client.Method) *types.Func {
	if m.Recv == "" {
		_, name := split(m.Name)
		return function(pkg, "", name)
	}
	_, recv := split(m.Recv)
	f := function(pkg, recv, m.Name)
	if f == nil || client.TypeName(f.Signature().Recv().Type()) != m.Recv {
		return nil
	}
	return f
}

// function finds a function of pkg, or a method of its type typ, nil when pkg has none.
func function(pkg *types.Package, typ, name string) *types.Func {
	if typ == "" {
		f, _ := pkg.Scope().Lookup(name).(*types.Func)
		return f
	}
	tn, ok := pkg.Scope().Lookup(typ).(*types.TypeName)
	if !ok {
		return nil
	}
	obj, _, _ := types.LookupFieldOrMethod(tn.Type(), true, pkg, name)
	f, _ := obj.(*types.Func)
	return f
}

func title(m *client.Method) string {
	if m.Recv == "" {
		return m.Name
	}
	return m.Recv + "." + m.Name
}

// Every type of the catalogue exists in some version of its library.
func TestTypesExist(t *testing.T) {
	libs := load(t)
	rows, _ := client.All()
	for _, row := range rows {
		path, name := split(row.Name)
		lib := libs[path]
		if lib == nil {
			t.Errorf("%s: its package is not loaded", row.Name)
			continue
		}
		found := false
		for _, pkg := range append([]*types.Package{lib.newest}, lib.old...) {
			found = found || pkg.Scope().Lookup(name) != nil
		}
		if !found {
			t.Errorf("%s does not exist", row.Name)
		}
	}
}

// Every row's method exists, its argument numbers point at fitting parameters, and its results
// are what the row says. Where an older version has the method too, the row fits or Of refuses it.
func TestMethodsExistAndFit(t *testing.T) {
	libs := load(t)
	_, rows := client.All()
	checked := 0
	for _, m := range rows {
		owner := m.Recv
		if owner == "" {
			owner = m.Name
		}
		path, _ := split(owner)
		lib := libs[path]
		if lib == nil {
			t.Errorf("%s: its package is not loaded", title(m))
			continue
		}
		f := lookup(lib.newest, m)
		if m.Only != "" {
			if f != nil {
				t.Errorf("%s is marked as of %s, yet the newest version has it", title(m), m.Only)
			}
			for _, old := range lib.old {
				if f == nil {
					f = lookup(old, m)
				}
			}
		}
		if f == nil {
			t.Errorf("%s does not exist", title(m))
			continue
		}
		if err := m.Fits(f.Signature()); err != nil {
			t.Errorf("%s: %v: %s", title(m), err, f.Signature())
			continue
		}
		if client.Of(f) != m {
			t.Errorf("%s: Of gives another row", title(m))
		}
		if err := resultsFit(m, f); err != nil {
			t.Errorf("%s: %v: %s", title(m), err, f.Signature())
		}
		checked++
	}
	t.Logf("%d of %d rows checked", checked, len(rows))
}

// resultsFit says what in f's results does not agree with the row.
func resultsFit(m *client.Method, f *types.Func) error {
	res := f.Signature().Results()
	var first types.Type = types.Typ[types.Invalid]
	if res.Len() > 0 {
		first = res.At(0).Type()
	}
	switch m.Effect {
	case client.Send, client.Run:
		return answerFits(m, f, first)
	case client.Read:
		return readingFits(m, first)
	case client.Derive:
		return deriveFits(m, first)
	case client.Same:
		return role(first, client.Handle, client.Builder, client.Statement)
	case client.Build:
		return role(first, client.Statement, client.Builder, client.Handle)
	case client.Clause, client.Bind:
		return role(first, client.Builder, client.Handle)
	case client.RunBatch:
		return role(first, client.Results)
	case client.Callback:
		if res.At(res.Len()-1).Type().String() != "error" {
			return fmt.Errorf("a callback that gives no error")
		}
	}
	return nil
}

// knownElsewhere are types of answers and statements that have no rows, because nothing is called
// on them that matters, or because they are the driver's.
var knownElsewhere = []string{
	"github.com/jackc/pgx/pgconn.StatementDescription",
	"github.com/jackc/pgx/pgconn.FieldDescription",
}

// role checks that a type has a row with one of the roles. Interfaces and type parameters of the
// library that only say so by their methods must have rows, too.
func role(typ types.Type, roles ...client.Role) error {
	if s, ok := typ.Underlying().(*types.Slice); ok {
		typ = s.Elem()
	}
	name := client.TypeName(typ)
	if slices.Contains(knownElsewhere, name) {
		return nil
	}
	row, ok := client.TypeOf(name)
	if !ok {
		return fmt.Errorf("type %s has no row", typ)
	}
	if !slices.Contains(roles, row.Role) {
		return fmt.Errorf("type %s has role %d, want one of %d", typ, row.Role, roles)
	}
	return nil
}

func answerFits(m *client.Method, f *types.Func, first types.Type) error {
	switch m.Answer {
	case client.Tag, client.Row, client.Rows:
		return role(first, client.Results)
	case client.Dest:
		if m.Dest == client.NoArg && m.Args == client.NoArg && !strings.Contains(m.Recv, "go-pg/pg/orm") {
			return fmt.Errorf("answers into a destination that it does not have")
		}
	case client.Lost, client.Checked:
		if f.Signature().Results().Len() != 1 || first.String() != "error" {
			return fmt.Errorf("no answer but an error, with other results")
		}
	case client.Chain:
		if client.TypeName(first) != m.Recv {
			return fmt.Errorf("answer Chain, and not the receiver's type")
		}
	case client.Value:
		if f.Signature().Results().Len() != 2 || f.Signature().Results().At(1).Type().String() != "error" {
			return fmt.Errorf("answer Value, and not a value and an error")
		}
	case client.NoAnswer:
		return fmt.Errorf("sends or runs, with no answer")
	}
	return nil
}

func readingFits(m *client.Method, first types.Type) error {
	switch m.Read {
	case client.ReadCount:
		b, ok := first.(*types.Basic)
		if !ok || b.Info()&(types.IsInteger|types.IsString) == 0 {
			return fmt.Errorf("a count that is %s", first)
		}
	case client.ReadNext:
		if first.String() != "bool" {
			return fmt.Errorf("next that is %s", first)
		}
	case client.ReadErr:
		if first.String() != "error" {
			return fmt.Errorf("error that is %s", first)
		}
	case client.ReadScan:
		if m.Dest == client.NoArg {
			return fmt.Errorf("a scan with no destination")
		}
	case client.ReadItem:
		return role(first, client.Results)
	}
	return nil
}

// deriveFits: the new handle's type has a row, whose kind is not another one than the row's To. A
// method that gives no handle turns its receiver into one (xorm's Begin).
func deriveFits(m *client.Method, first types.Type) error {
	if first.String() == "error" {
		return nil
	}
	if err := role(first, client.Handle); err != nil {
		return err
	}
	row, _ := client.TypeOf(client.TypeName(first))
	if row.Name != "" && row.Kind != client.Unknown && m.To != client.Unknown && !row.Weak && row.Kind != m.To &&
		!(row.Kind == client.Session && m.To == client.Conn) {
		return fmt.Errorf("gives %s, whose kind is %s, as %s", first, row.Kind, m.To)
	}
	return nil
}

// withoutRows are names of methods that take text and have no row, with the reason.
var withoutRows = map[string]string{
	"CopyFrom": "COPY takes no advisory lock",
	"CopyTo":   "COPY takes no advisory lock",
	"Explain":  "gorm.Dialector, embedded in gorm.DB, only formats for the log",
}

// A handle's method with a parameter named for SQL text has a row, so that no way to send text is
// forgotten when a library grows one.
func TestNoTextIsForgotten(t *testing.T) {
	named := []string{"sql", "query", "sqlOrArgs", "q"}
	for path, lib := range load(t) {
		scope := lib.newest.Scope()
		for _, name := range scope.Names() {
			row, ok := client.TypeOf(path + "." + name)
			if !ok || row.Role == client.Results || row.Role == client.Fragment || row.Role == client.ArgMap {
				continue
			}
			typ := scope.Lookup(name).Type()
			if !types.IsInterface(typ) {
				typ = types.NewPointer(typ)
			}
			set := types.NewMethodSet(typ)
			for i := range set.Len() {
				f := set.At(i).Obj().(*types.Func)
				id := client.TypeName(f.Signature().Recv().Type()) + "." + f.Name()
				if _, known := withoutRows[f.Name()]; known || !f.Exported() || client.Of(f) != nil {
					continue
				}
				for p := range f.Signature().Params().Variables() {
					if slices.Contains(named, p.Name()) && isText(p.Type()) {
						t.Errorf("%s has no row: %s", id, f.Signature())
					}
				}
			}
		}
	}
}

func isText(t types.Type) bool {
	if s, ok := t.Underlying().(*types.Slice); ok {
		t = s.Elem()
	}
	return t.Underlying() == types.Typ[types.String] || types.IsInterface(t)
}

// pgx v3 has no contexts: its methods share names with rows that do not fit them.
func TestOldPgxIsRefused(t *testing.T) {
	for _, pkg := range load(t)["github.com/jackc/pgx"].old {
		if pkg.Path() != "github.com/jackc/pgx" {
			continue
		}
		conn := types.NewPointer(pkg.Scope().Lookup("Conn").Type())
		obj, _, _ := types.LookupFieldOrMethod(conn, false, pkg, "Exec")
		if m := client.Of(obj.(*types.Func)); m != nil {
			t.Errorf("Of gives a row for pgx v3's Exec: %+v", m)
		}
		return
	}
	t.Error("pgx v3 is not loaded")
}

// A type's row names every catalogued type that the type embeds, so that promoted methods are found.
func TestEmbeddedTypesAreNamed(t *testing.T) {
	libs := load(t)
	rows, _ := client.All()
	for _, row := range rows {
		path, name := split(row.Name)
		obj := libs[path].newest.Scope().Lookup(name)
		if obj == nil {
			continue // of an older version
		}
		got := slices.Sorted(slices.Values(row.Embeds))
		want := embedded(obj.Type().Underlying())
		if !slices.Equal(got, want) {
			t.Errorf("%s embeds %v, its row says %v", row.Name, want, got)
		}
	}
}

// embedded gives the catalogued types that a struct or an interface embeds, sorted.
func embedded(typ types.Type) []string {
	var all []types.Type
	switch u := typ.(type) {
	case *types.Struct:
		for f := range u.Fields() {
			if f.Embedded() {
				all = append(all, f.Type())
			}
		}
	case *types.Interface:
		all = slices.Collect(u.EmbeddedTypes())
	}
	var names []string
	for _, e := range all {
		if name := client.TypeName(e); name != "" {
			if _, ok := client.TypeOf(name); ok {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return names
}
