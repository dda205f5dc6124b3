package libcheck

import (
	"fmt"
	"go/types"
	"testing"

	"github.com/advisorylint/advisorylint/analyzer/internal/client"
)

// moved are paths of earlier versions, whose rows are those of the present path.
var moved = map[string]bool{
	"gopkg.in/redsync": true, "github.com/rueian/rueidis/rueidislock": true,
	"go.etcd.io/etcd/clientv3/concurrency": true, "github.com/coreos/etcd/clientv3/concurrency": true,
}

// locks gives what locks.go imports, by the rows' paths.
func locks(t *testing.T) map[string]*types.Package {
	t.Helper()
	out := map[string]*types.Package{}
	for _, p := range imported(t, "locks.go") {
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
		f := function(pkg, m.Type, m.Name)
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
		f := function(c.pkg, c.typ, c.name)
		if f == nil {
			t.Errorf("%s.%s does not exist", c.typ, c.name)
			continue
		}
		if row := client.CommandOf(f); row == nil || row.Op != c.op {
			t.Errorf("%s.%s has the row %+v, want the operation %d", c.typ, c.name, row, c.op)
		}
	}
}
