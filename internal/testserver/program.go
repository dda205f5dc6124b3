//go:build unix

package testserver

import (
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// systemFolders hold servers in Debian and are not in every user's PATH.
var systemFolders = []string{"/usr/local/sbin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"}

// searchPath is the PATH of what this package starts. A test may have changed its own.
func searchPath() string {
	return strings.Join(append([]string{os.Getenv("PATH")}, systemFolders...), ":")
}

// program is a program that a server needs, and the Debian package that has it.
type program struct {
	name string
	pkg  string

	// folders is a glob of folders that are searched after PATH and systemFolders; the one with the
	// highest number in it wins, so that the newest of several versions runs.
	folders string
}

var (
	// initdb decides where PostgreSQL is: the other programs are taken from beside it, since a
	// server of another version cannot open its data.
	initdb         = program{name: "initdb", pkg: "postgresql", folders: "/usr/lib/postgresql/*/bin"}
	pgbouncer      = program{name: "pgbouncer", pkg: "pgbouncer"}
	mariadbd       = program{name: "mariadbd", pkg: "mariadb-server"}
	mariadbInstall = program{name: "mariadb-install-db", pkg: "mariadb-server"}
	redisServer    = program{name: "redis-server", pkg: "redis-server"}
	etcd           = program{name: "etcd", pkg: "etcd-server"}
)

// find returns the path of the program.
func (p program) find() (string, error) {
	if path, err := exec.LookPath(p.name); err == nil {
		return filepath.Abs(path)
	}
	for _, dir := range systemFolders {
		if path, err := exec.LookPath(filepath.Join(dir, p.name)); err == nil {
			return path, nil
		}
	}
	if path := newest(filepath.Join(p.folders, p.name)); path != "" {
		return path, nil
	}
	return "", fmt.Errorf("no program %s on this machine; install it: apt-get install -y %s", p.name, p.pkg)
}

// newest returns the executable match of the glob with the highest number in its path, "" when
// there is none.
func newest(glob string) string {
	matches, _ := filepath.Glob(glob) // the only error is a malformed pattern, and ours are constant
	best, bestVersion := "", -1.0
	for _, path := range matches {
		version, _ := strconv.ParseFloat(filepath.Base(filepath.Dir(filepath.Dir(path))), 64)
		if _, err := exec.LookPath(path); err == nil && version > bestVersion {
			best, bestVersion = path, version
		}
	}
	return best
}

// credential returns the first of the users that this machine has, or nobody.
func credential(names []string) (*syscall.Credential, error) {
	var failure error
	for _, name := range append(names, "nobody") {
		u, err := user.Lookup(name)
		if err != nil {
			failure = err
			continue
		}
		uid, err := strconv.ParseUint(u.Uid, 10, 32)
		if err != nil {
			return nil, fmt.Errorf("user %s: %w", name, err)
		}
		gid, err := strconv.ParseUint(u.Gid, 10, 32)
		if err != nil {
			return nil, fmt.Errorf("user %s: %w", name, err)
		}
		return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
	}
	return nil, fmt.Errorf("root may not run the server, and no other user was found: %w", failure)
}
