package client

import (
	"go/types"
	"strings"
	"sync"
)

// What the lock libraries of Redis and etcd do. These follow the commands of Redis clients, whose
// effects they share.
const (
	LeaseTake     CommandOp = 64 + iota // acquires a lock, or becomes the leader; the answer may be no
	LeaseGiveBack                       // releases it
	LeaseExtend                         // renews it
	LeaseWatch                          // tells of its loss, or leaves it alone on purpose
	LeaseMake                           // makes a lock's handle: the key is Key, of the session Session
	LeaseSession                        // makes a session of etcd
	LeaseEnd                            // ends a session
	LeaseOption                         // an option with a context
	LeaseCancel                         // no library's: the context of a session is cancelled
)

// Lease is a row for a method or function of a lock library. Argument numbers count as in Command.
type Lease struct {
	Name    string // for messages: "Unlock"
	Op      CommandOp
	Library *LeaseLibrary
	Type    string // of the receiver, "" for a function
	Key     int
	Session int
	// Tells: an answer that is not looked at is a mistake. Of the locks of etcd that is not decided.
	Tells bool
	// Tends: somebody has to look for the loss of what is acquired. A lock of rueidislock comes with a
	// context that does, and one of redislock is meant for less than its time to live.
	Tends bool
}

// LeaseLibrary is a library of locks.
type LeaseLibrary struct {
	System string // "Redis", "etcd"
	Path   string // as Path gives it
}

type leaseRow struct {
	typ, names string
	op         CommandOp
	params     string // "session key", "_ key"
	flags      string // "tells tends"
}

// leaseLibraries are the libraries with their rows, from their documentation; the test in libcheck holds
// the rows against the libraries.
var leaseLibraries = []struct {
	system string
	paths  []string
	rows   []leaseRow
}{
	{"Redis", []string{"github.com/go-redsync/redsync", "gopkg.in/redsync"}, []leaseRow{
		{"Redsync", "NewMutex", LeaseMake, "key", ""},
		{"Mutex", "Lock LockContext TryLock TryLockContext", LeaseTake, "", "tells tends"},
		{"Mutex", "Unlock UnlockContext", LeaseGiveBack, "", "tells"},
		{"Mutex", "Extend ExtendContext", LeaseExtend, "", ""},
		{"Mutex", "Valid ValidContext Until", LeaseWatch, "", ""},
	}},
	{"Redis", []string{"github.com/bsm/redislock"}, []leaseRow{
		{"", "Obtain", LeaseTake, "_ key", "tells"},
		{"Client", "Obtain", LeaseTake, "key", "tells"},
		{"Lock", "Release", LeaseGiveBack, "", "tells"},
		{"Lock", "Refresh", LeaseExtend, "", ""},
		{"Lock", "TTL", LeaseWatch, "", ""},
	}},
	{"Redis", []string{"github.com/redis/rueidis/rueidislock", "github.com/rueian/rueidis/rueidislock"}, []leaseRow{
		{"Locker", "WithContext TryWithContext ForceWithContext", LeaseTake, "key", ""},
	}},
	{"etcd", []string{"go.etcd.io/etcd/client/concurrency", "go.etcd.io/etcd/clientv3/concurrency", "github.com/coreos/etcd/clientv3/concurrency"}, []leaseRow{
		{"", "NewSession", LeaseSession, "", ""},
		{"", "WithContext", LeaseOption, "", ""},
		{"Session", "Done Ctx Orphan", LeaseWatch, "", ""},
		{"Session", "Close", LeaseEnd, "", ""},
		{"", "NewMutex NewLocker", LeaseMake, "session key", ""},
		{"", "NewElection ResumeElection", LeaseMake, "session key", ""},
		{"Mutex", "Lock TryLock", LeaseTake, "", "tends"},
		{"Mutex", "Unlock", LeaseGiveBack, "", ""},
		{"Mutex", "IsOwner", LeaseWatch, "", ""},
		{"Election", "Campaign", LeaseTake, "", "tends"},
		{"Election", "Resign", LeaseGiveBack, "", ""},
		{"Election", "Observe Proclaim", LeaseWatch, "", ""},
	}},
}

// leaseTypes are the types of the libraries' handles: who has one of these can watch it.
var leaseTypes = map[string]bool{"Session": true, "Mutex": true, "Election": true, "Lock": true}

type leaseIndex struct {
	paths map[string]bool
	rows  map[string]*Lease // "path.Type.Name"
}

var leases = sync.OnceValue(func() *leaseIndex {
	x := &leaseIndex{paths: map[string]bool{}, rows: map[string]*Lease{}}
	for _, l := range leaseLibraries {
		for _, path := range l.paths {
			x.paths[path] = true
			lib := &LeaseLibrary{System: l.system, Path: path}
			for _, r := range l.rows {
				for _, name := range strings.Fields(r.names) {
					x.rows[path+"."+r.typ+"."+name] = r.lease(name, lib)
				}
			}
		}
	}
	return x
})

// leaseParameters are to a Lease what parameters are to a Method.
var leaseParameters = map[string]func(*Lease) *int{
	"key":     func(m *Lease) *int { return &m.Key },
	"session": func(m *Lease) *int { return &m.Session },
}

func (r leaseRow) lease(name string, lib *LeaseLibrary) *Lease {
	m := &Lease{Name: name, Op: r.op, Library: lib, Type: r.typ, Key: NoArg, Session: NoArg,
		Tells: strings.Contains(r.flags, "tells"), Tends: strings.Contains(r.flags, "tends")}
	number(m, leaseParameters, name, r.params)
	return m
}

// LeasePath reports whether an import path is that of a lock library.
func LeasePath(path string) bool { return leases().paths[Path(path)] }

// LeaseOf gives the row of a method or function of a lock library, nil when it has none.
func LeaseOf(f *types.Func) *Lease {
	if f.Pkg() == nil {
		return nil
	}
	x := leases()
	path := Path(f.Pkg().Path())
	if !x.paths[path] {
		return nil
	}
	typ := ""
	if recv := f.Signature().Recv(); recv != nil {
		typ = strings.TrimPrefix(TypeName(recv.Type()), path+".")
	}
	return x.rows[path+"."+typ+"."+f.Name()]
}

// LeaseType reports whether a type, by its name, is a lock library's handle.
func LeaseType(typ string) bool {
	i := strings.LastIndexByte(typ, '.')
	return i > 0 && leases().paths[typ[:i]] && leaseTypes[typ[i+1:]]
}

// Leases are all rows, for the test that holds them against the libraries.
func Leases() []*Lease {
	var out []*Lease
	for _, m := range leases().rows {
		out = append(out, m)
	}
	return out
}
