package client

import (
	"go/types"
	"testing"
)

func TestLockLibrariesAreKnownUnderAllTheirPaths(t *testing.T) {
	for _, c := range []struct{ path, typ, name string }{
		{"github.com/go-redsync/redsync/v4", "Mutex", "UnlockContext"},
		{"github.com/go-redsync/redsync", "Mutex", "Unlock"},
		{"gopkg.in/redsync.v1", "Mutex", "Extend"},
		{"github.com/bsm/redislock", "", "Obtain"},
		{"go.etcd.io/etcd/client/v3/concurrency", "", "NewSession"},
		{"go.etcd.io/etcd/clientv3/concurrency", "Mutex", "Lock"},
		{"github.com/coreos/etcd/clientv3/concurrency", "Election", "Campaign"},
	} {
		pkg := types.NewPackage(c.path, "lib")
		var recv *types.Var
		if c.typ != "" {
			named := types.NewNamed(types.NewTypeName(0, pkg, c.typ, nil), types.NewStruct(nil, nil), nil)
			recv = types.NewVar(0, pkg, "", types.NewPointer(named))
		}
		f := types.NewFunc(0, pkg, c.name, types.NewSignatureType(recv, nil, nil, nil, nil, false))
		if m := LeaseOf(f); m == nil || m.Name != c.name {
			t.Errorf("%s %s.%s has the row %+v", c.path, c.typ, c.name, m)
		}
		if !LeasePath(c.path) || !Library(Path(c.path)) {
			t.Errorf("%s is not known as a lock library", c.path)
		}
	}
	if LeasePath("github.com/go-redsync/redsync/v4/redis/goredis/v9") {
		t.Error("a pool of redsync makes no locks")
	}
}
