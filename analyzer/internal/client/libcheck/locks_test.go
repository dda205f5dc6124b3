package libcheck

import (
	"fmt"
	"go/parser"
	"go/token"
	"go/types"
	"testing"

	"golang.org/x/tools/go/packages"

	"github.com/advisorylint/advisorylint/analyzer/internal/client"
)

// moved are paths of earlier versions, whose rows are those of the present path.
var moved = map[string]bool{
	"gopkg.in/redsync": true, "github.com/rueian/rueidis/rueidislock": true,
	"go.etcd.io/etcd/clientv3/concurrency": true, "github.com/coreos/etcd/clientv3/concurrency": true,
}

// locks type-checks what locks.go imports.
func locks(t *testing.T) map[string]*types.Package {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), "locks.go", nil, parser.ImportsOnly)
	if err != nil {
		t.Fatal(err)
	}
	mode := packages.NeedName | packages.NeedTypes | packages.NeedImports | packages.NeedDeps | packages.NeedExportFile
	pkgs, err := packages.Load(&packages.Config{Mode: mode}, importPaths(f)...)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]*types.Package{}
	for _, p := range pkgs {
		if len(p.Errors) > 0 {
			t.Fatalf("%s: %v", p.PkgPath, p.Errors)
		}
		out[client.Path(p.PkgPath)] = p.Types
	}
	return out
}

// Each row of a lock library is a method or function that the library has, with the parameters that the
// row says and an answer where the row wants one.
func TestLockLibrariesHaveTheRows(t *testing.T) {
	pkgs := locks(t)
	checked := map[string]int{}
	for _, m := range client.Leases() {
		path := m.Library.Path
		name := path + "." + m.Type + "." + m.Name
		if moved[path] {
			continue
		}
		pkg := pkgs[path]
		if pkg == nil {
			t.Errorf("%s: its package is not loaded", name)
			continue
		}
		f := function(pkg, m)
		if f == nil {
			t.Errorf("%s does not exist", name)
			continue
		}
		if client.LeaseOf(f) != m {
			t.Errorf("%s: LeaseOf gives another row", name)
		}
		if err := leaseFits(m, f.Signature()); err != nil {
			t.Errorf("%s: %v: %s", name, err, f.Signature())
		}
		checked[path]++
	}
	for path := range pkgs {
		if checked[path] == 0 {
			t.Errorf("no row of %s was checked", path)
		}
	}
}

func function(pkg *types.Package, m *client.Lease) *types.Func {
	if m.Type == "" {
		f, _ := pkg.Scope().Lookup(m.Name).(*types.Func)
		return f
	}
	tn, ok := pkg.Scope().Lookup(m.Type).(*types.TypeName)
	if !ok {
		return nil
	}
	obj, _, _ := types.LookupFieldOrMethod(tn.Type(), true, pkg, m.Name)
	f, _ := obj.(*types.Func)
	return f
}

func leaseFits(m *client.Lease, sig *types.Signature) error {
	var params []types.Type
	for v := range sig.Params().Variables() {
		if client.TypeName(v.Type()) != "context.Context" || len(params) > 0 {
			params = append(params, v.Type())
		}
	}
	if m.Key != client.NoArg && (m.Key >= len(params) || params[m.Key] != types.Typ[types.String]) {
		return fmt.Errorf("parameter %d is no key", m.Key)
	}
	if m.Session != client.NoArg && (m.Session >= len(params) || client.TypeName(params[m.Session]) != m.Library.Path+".Session") {
		return fmt.Errorf("parameter %d is no session", m.Session)
	}
	answers := false
	for v := range sig.Results().Variables() {
		answers = answers || v.Type() == types.Typ[types.Bool] || v.Type() == types.Universe.Lookup("error").Type()
	}
	switch m.Op {
	case client.LeaseTake, client.LeaseGiveBack, client.LeaseExtend, client.LeaseSession:
		if !answers {
			return fmt.Errorf("nothing says how it went")
		}
	}
	return nil
}

// rueidis's methods have the rows that the engine reads its commands by. Those of the builder are many
// and made by a generator: each is read by its name, so it is enough that these names are methods.
func TestRueidisHasTheRows(t *testing.T) {
	var lib, cmds *types.Package
	for _, p := range locks(t)["github.com/redis/rueidis/rueidislock"].Imports() {
		if p.Path() == "github.com/redis/rueidis" {
			lib = p
		}
	}
	if lib == nil {
		t.Fatal("rueidislock does not use rueidis")
	}
	for _, p := range lib.Imports() {
		if p.Path() == "github.com/redis/rueidis/internal/cmds" {
			cmds = p
		}
	}
	for _, c := range []struct {
		pkg       *types.Package
		typ, name string
		op        client.CommandOp
	}{
		{lib, "Client", "Do", client.DoCommand}, {lib, "Client", "DoCache", client.DoCommand}, {lib, "Client", "DoMulti", client.DoEach},
		{lib, "RedisResult", "Error", client.ReplyError}, {lib, "RedisResult", "ToString", client.Reply}, {lib, "RedisResult", "AsInt64", client.Reply},
		{lib, "RedisResult", "AsBool", client.Reply}, {lib, "Lua", "Exec", client.ScriptCommand}, {lib, "", "NewLuaScript", client.MakeScript},
		{lib, "", "IsRedisNil", client.NilError}, {cmds, "Builder", "Set", client.BuildCommand}, {cmds, "Set", "Key", client.BuildCommand},
		{cmds, "SetKey", "Value", client.BuildCommand}, {cmds, "SetValue", "Nx", client.BuildCommand}, {cmds, "SetConditionNx", "Px", client.BuildCommand},
		{cmds, "SetConditionNx", "ExSeconds", client.BuildCommand}, {cmds, "SetConditionNx", "PxMilliseconds", client.BuildCommand},
		{cmds, "SetConditionNx", "Build", client.BuildCommand}, {cmds, "Builder", "Arbitrary", client.BuildCommand},
	} {
		f := function(c.pkg, &client.Lease{Type: c.typ, Name: c.name})
		if f == nil {
			t.Errorf("%s.%s does not exist", c.typ, c.name)
			continue
		}
		if row := client.CommandOf(f); row == nil || row.Op != c.op {
			t.Errorf("%s.%s has the row %+v, want the operation %d", c.typ, c.name, row, c.op)
		}
	}
}
