package client

import (
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"testing"
)

const ledger = `package ledger

import (
	"context"
	"database/sql"
	"io"
)

type Store interface {
	ExecContext(ctx context.Context, q string, args ...any) (sql.Result, error)
	Exec(ctx context.Context, q string, args ...any) error
	Query(q string) ([]map[string]any, error)
	QueryRow(ctx context.Context, q string, args []any) Line
	Get(dest any, q string, args ...any) error
	GetContext(ctx context.Context, dest any, q string, args ...any) error
	Raw(q string, args ...any) Store
	BeginTx(ctx context.Context, opts *sql.TxOptions) (*sql.Tx, error)
}

type Line interface {
	Scan(dest ...any) error
	RowsAffected() int64
}

type Stranger interface {
	Exec(n int, args ...any) error
	ExecContext(ctx context.Context, w io.Writer, q string) error
	Query(q string, limit, offset int) error
	Get(key string) (string, error)
	GetContext(ctx context.Context, id string) error
	BeginTx(ctx context.Context) (Line, error)
	Err() error
	Next() bool
	Scan(text string) error
}
`

func interfaceOf(t *testing.T, name string) *types.Interface {
	t.Helper()
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, "ledger.go", ledger, 0)
	if err != nil {
		t.Fatal(err)
	}
	conf := types.Config{Importer: importer.ForCompiler(fset, "source", nil)}
	pkg, err := conf.Check("example.com/ledger", fset, []*ast.File{f}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return pkg.Scope().Lookup(name).Type().Underlying().(*types.Interface)
}

func shapeOf(i *types.Interface, name string) *Method {
	for m := range i.Methods() {
		if m.Name() == name {
			return Shape(name, m.Signature())
		}
	}
	return nil
}

func TestShapeKnowsAProgramsOwnInterface(t *testing.T) {
	store, line := interfaceOf(t, "Store"), interfaceOf(t, "Line")
	for _, c := range []struct {
		in                   *types.Interface
		name                 string
		effect               Effect
		ctx, sql, args, dest int
		answer               Answer
	}{
		{store, "ExecContext", Send, 0, 1, 2, NoArg, Tag},
		{store, "Exec", Send, 0, 1, 2, NoArg, Lost},
		{store, "Query", Send, NoArg, 0, NoArg, NoArg, Value},
		{store, "QueryRow", Send, 0, 1, 2, NoArg, Row},
		{store, "Get", Send, NoArg, 1, 2, 0, Dest},
		{store, "GetContext", Send, 0, 2, 3, 1, Dest},
		{store, "Raw", Build, NoArg, 0, 1, NoArg, NoAnswer},
		{store, "BeginTx", Derive, 0, NoArg, NoArg, NoArg, NoAnswer},
		{line, "Scan", Read, NoArg, NoArg, NoArg, 0, NoAnswer},
		{line, "RowsAffected", Read, NoArg, NoArg, NoArg, NoArg, NoAnswer},
	} {
		m := shapeOf(c.in, c.name)
		if m == nil {
			t.Errorf("%s has no shape", c.name)
			continue
		}
		if m.Effect != c.effect || m.Ctx != c.ctx || m.SQL != c.sql || m.Args != c.args || m.Dest != c.dest || m.Answer != c.answer {
			t.Errorf("%s: %+v, want %+v", c.name, *m, c)
		}
	}
}

func TestShapeLeavesStrangersAlone(t *testing.T) {
	stranger := interfaceOf(t, "Stranger")
	for m := range stranger.Methods() {
		if row := Shape(m.Name(), m.Signature()); row != nil {
			t.Errorf("%s has the shape %+v", m, *row)
		}
	}
}
