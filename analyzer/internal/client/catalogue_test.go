package client

import (
	"go/importer"
	"go/token"
	"go/types"
	"testing"
)

// Every table expands, and no name has two rows: building the index panics otherwise.
func TestCatalogueHasNoDuplicates(t *testing.T) {
	ix := catalogue()
	if len(ix.types) < 10 || len(ix.methods) < 100 || len(ix.funcs) < 10 {
		t.Errorf("catalogue has %d types, %d methods, %d functions", len(ix.types), len(ix.methods), len(ix.funcs))
	}
}

// Every receiver has a Type row, so that a method's row is never without its kind.
func TestReceiversAreTypes(t *testing.T) {
	for key := range catalogue().methods {
		if _, ok := TypeOf(key.recv); !ok {
			t.Errorf("%s.%s: no row for the type", key.recv, key.name)
		}
	}
}

func TestPath(t *testing.T) {
	for path, want := range map[string]string{
		"database/sql":                     "database/sql",
		"github.com/jackc/pgx/v5":          "github.com/jackc/pgx",
		"github.com/jackc/pgx/v5/pgxpool":  "github.com/jackc/pgx/pgxpool",
		"github.com/jackc/pgconn":          "github.com/jackc/pgx/pgconn",
		"gopkg.in/pg.v5":                   "github.com/go-pg/pg",
		"example.com/vault/v2x/api":        "example.com/vault/v2x/api",
		"example.com/api.v1":               "example.com/api.v1",
		"v1":                               "v1",
		"github.com/go-xorm/xorm":          "xorm.io/xorm",
		"github.com/doug-martin/goqu/v9":   "github.com/doug-martin/goqu",
		"gopkg.in/doug-martin/goqu.v4/exp": "gopkg.in/doug-martin/goqu/exp",
	} {
		if got := Path(path); got != want {
			t.Errorf("Path(%q) = %q, want %q", path, got, want)
		}
	}
}

func TestTypeName(t *testing.T) {
	pkg := types.NewPackage("example.com/shop/v3/store", "store")
	obj := types.NewTypeName(token.NoPos, pkg, "Repo", nil)
	named := types.NewNamed(obj, types.NewStruct(nil, nil), nil)
	alias := types.NewAlias(types.NewTypeName(token.NoPos, pkg, "R", nil), types.NewPointer(named))
	const want = "example.com/shop/store.Repo"
	for _, typ := range []types.Type{named, types.NewPointer(named), alias, types.NewPointer(types.NewPointer(named))} {
		if got := TypeName(typ); got != want {
			t.Errorf("TypeName(%s) = %q, want %q", typ, got, want)
		}
	}
	for _, typ := range []types.Type{types.Typ[types.String], types.NewSlice(named), types.Universe.Lookup("error").Type()} {
		if got := TypeName(typ); got != "" {
			t.Errorf("TypeName(%s) = %q, want none", typ, got)
		}
	}
}

func TestLibrary(t *testing.T) {
	for path, want := range map[string]struct{ library, imports bool }{
		"database/sql":                       {true, true},
		"database/sqlx":                      {false, false},
		"github.com/jackc/pgx/v5/pgxpool":    {true, true},
		"github.com/lib/pq":                  {true, false},
		"github.com/go-pg/pg/v10/orm":        {true, true},
		"gopkg.in/pg.v5":                     {true, true},
		"gorm.io/driver/postgres":            {true, true},
		"example.com/github.com/lib/pq/mine": {false, false},
		"example.com/app":                    {false, false},
	} {
		if Library(path) != want.library || Imports(path) != want.imports {
			t.Errorf("%s: Library %v, Imports %v, want %v", path, Library(path), Imports(path), want)
		}
	}
}

// The rows of database/sql are checked here against the standard library itself; the other
// libraries have a module of their own for it, libcheck.
func TestOfFindsDatabaseSQL(t *testing.T) {
	pkg, err := importer.ForCompiler(token.NewFileSet(), "source", nil).Import("database/sql")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range sqlLibrary.methods {
		typ := pkg.Scope().Lookup(m.Recv).Type()
		obj, _, _ := types.LookupFieldOrMethod(typ, true, pkg, m.Name)
		f, ok := obj.(*types.Func)
		if !ok {
			t.Errorf("%s has no method %s", m.Recv, m.Name)
			continue
		}
		if got := Of(f); got == nil || got.Effect != m.Effect || got.SQL != m.SQL {
			t.Errorf("Of(%s) = %+v, want %+v; %v", f.FullName(), got, m, m.Fits(f.Signature()))
		}
	}
}

// A row does not fit a method of an old version that has other parameters.
func TestOfRefusesOtherParameters(t *testing.T) {
	pkg := types.NewPackage("github.com/jackc/pgx", "pgx")
	conn := types.NewNamed(types.NewTypeName(token.NoPos, pkg, "Conn", nil), types.NewStruct(nil, nil), nil)
	any := types.NewSlice(types.NewInterfaceType(nil, nil))
	sig := types.NewSignatureType(types.NewVar(token.NoPos, pkg, "c", types.NewPointer(conn)), nil, nil,
		types.NewTuple(
			types.NewVar(token.NoPos, pkg, "sql", types.Typ[types.String]),
			types.NewVar(token.NoPos, pkg, "args", any)),
		nil, true)
	if m := Of(types.NewFunc(token.NoPos, pkg, "Exec", sig)); m != nil {
		t.Errorf("Of gives %+v for pgx v3's Exec", m)
	}
}

// A method is found from a type that promotes it, too.
func TestMethodOfFindsPromotedMethods(t *testing.T) {
	for _, c := range []struct{ recv, name, declared string }{
		{"github.com/jmoiron/sqlx.DB", "ExecContext", "database/sql.DB"},
		{"github.com/jmoiron/sqlx.Conn", "Close", "database/sql.Conn"},
		{"github.com/uptrace/bun.IDB", "QueryRowContext", "github.com/uptrace/bun.IConn"},
		{"entgo.io/ent/dialect.Tx", "Commit", "database/sql/driver.Tx"},
		{"github.com/go-pg/pg.Conn", "Exec", "github.com/go-pg/pg.baseDB"},
		{"github.com/jmoiron/sqlx.DB", "Get", "github.com/jmoiron/sqlx.DB"},
	} {
		m := MethodOf(c.recv, c.name)
		if m == nil || m.Recv != c.declared {
			t.Errorf("MethodOf(%s, %s) = %+v, want a row of %s", c.recv, c.name, m, c.declared)
		}
	}
	if m := MethodOf("github.com/jmoiron/sqlx.DB", "Commit"); m != nil {
		t.Errorf("sqlx.DB has no Commit, yet there is %+v", m)
	}
}
