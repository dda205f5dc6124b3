package client

import "strings"

// prefixes are the import paths of client libraries, drivers and what belongs to them. True marks
// those whose direct import makes a program's package worth looking at; the others are internals
// and drivers, which a program imports for their side effects or not at all.
var prefixes = map[string]bool{
	"database/sql":                      true,
	"github.com/jackc":                  true,
	"github.com/jmoiron/sqlx":           true,
	"gorm.io":                           true,
	"github.com/jinzhu/gorm":            true,
	"github.com/uptrace/bun":            true,
	"xorm.io":                           true,
	"github.com/go-xorm":                true,
	"entgo.io/ent":                      true,
	"github.com/facebook/ent":           true,
	"github.com/facebookincubator/ent":  true,
	"github.com/go-pg/pg":               true,
	"gopkg.in/pg":                       true,
	"gopkg.in/go-pg/pg":                 true,
	"github.com/Masterminds/squirrel":   true,
	"github.com/lann/squirrel":          true,
	"gopkg.in/Masterminds/squirrel":     true,
	"github.com/doug-martin/goqu":       true,
	"gopkg.in/doug-martin/goqu":         true,
	"github.com/go-gorp/gorp":           true,
	"gopkg.in/gorp":                     true,
	"github.com/gocraft/dbr":            true,
	"github.com/upper/db":               true,
	"upper.io/db":                       true,
	"github.com/huandu/go-sqlbuilder":   true,
	"github.com/georgysavva/scany":      true,
	"github.com/volatiletech/sqlboiler": true,
	"github.com/aarondl/sqlboiler":      true,
	"github.com/stephenafamo/bob":       true,
	"github.com/stephenafamo/scan":      true,
	"github.com/go-jet/jet":             true,
	"github.com/blockloop/scan":         true,

	"github.com/lib/pq":                      false,
	"github.com/go-sql-driver/mysql":         false,
	"github.com/mattn/go-sqlite3":            false,
	"modernc.org":                            false,
	"github.com/go-pg":                       false,
	"github.com/go-gorm":                     false,
	"github.com/lann/builder":                false,
	"github.com/DATA-DOG/go-sqlmock":         false,
	"github.com/pashagolub/pgxmock":          false,
	"github.com/ziutek/mymysql":              false,
	"github.com/microsoft/go-mssqldb":        false,
	"github.com/denisenkom/go-mssqldb":       false,
	"github.com/XSAM/otelsql":                false,
	"github.com/ngrok/sqlmw":                 false,
	"github.com/redis/go-redis":              false,
	"github.com/go-redis/redis":              false,
	"github.com/gomodule/redigo":             false,
	"github.com/garyburd/redigo":             false,
	"github.com/redis/rueidis":               false,
	"github.com/rueian/rueidis":              false,
	"github.com/bsm/redislock":               false,
	"github.com/go-redsync/redsync":          false,
	"gopkg.in/redsync":                       false,
	"go.etcd.io/etcd":                        false,
	"github.com/coreos/etcd":                 false,
	"github.com/luna-duclos/instrumentedsql": false,
}

// Library reports whether a package belongs to a client library or driver. Such packages are never
// searched for functions that wrap a lock: what they do is in the rows, or is nobody's mistake.
func Library(pkgPath string) bool {
	_, ok := prefix(pkgPath)
	return ok
}

// Imports reports whether the direct import of a package makes the importing one worth looking at.
func Imports(pkgPath string) bool {
	interesting, _ := prefix(pkgPath)
	return interesting || declaredPackage(pkgPath)
}

// prefix finds the longest entry of prefixes that pkgPath is or is below.
func prefix(pkgPath string) (interesting, ok bool) {
	p := pkgPath
	if strings.Contains(p, "/v") || strings.Contains(p, ".v") {
		p = cutMajor(p)
	}
	for {
		if interesting, ok = prefixes[p]; ok {
			return interesting, true
		}
		i := strings.LastIndexByte(p, '/')
		if i < 0 {
			return false, false
		}
		p = p[:i]
	}
}
