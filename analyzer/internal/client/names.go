package client

import (
	"go/types"
	"strings"
)

// aliases are import paths whose rows stand under another path: packages that moved.
var aliases = map[string]string{
	"github.com/jackc/pgconn":       "github.com/jackc/pgx/pgconn",
	"github.com/go-xorm/xorm":       "xorm.io/xorm",
	"gopkg.in/pg":                   "github.com/go-pg/pg",
	"gopkg.in/go-pg/pg":             "github.com/go-pg/pg",
	"github.com/lann/squirrel":      "github.com/Masterminds/squirrel",
	"gopkg.in/Masterminds/squirrel": "github.com/Masterminds/squirrel",
	"gopkg.in/doug-martin/goqu":     "github.com/doug-martin/goqu",
}

// Path gives an import path as the rows have it: without major-version elements ("/v5" anywhere,
// ".v2" of gopkg.in), and under the present name of a package that moved.
func Path(path string) string {
	if strings.Contains(path, "/v") || strings.Contains(path, ".v") {
		path = cutMajor(path)
	}
	if to, ok := aliases[path]; ok {
		return to
	}
	return path
}

func cutMajor(path string) string {
	host, rest, ok := strings.Cut(path, "/")
	if !ok {
		return path
	}
	var b strings.Builder
	b.Grow(len(path))
	b.WriteString(host)
	for e := range strings.SplitSeq(rest, "/") {
		if isMajor(e) {
			continue
		}
		if i := strings.LastIndex(e, ".v"); i > 0 && host == "gopkg.in" && isMajor(e[i+1:]) {
			e = e[:i]
		}
		b.WriteByte('/')
		b.WriteString(e)
	}
	return b.String()
}

// isMajor reports whether s is "v" and digits.
func isMajor(s string) bool {
	if len(s) < 2 || s[0] != 'v' {
		return false
	}
	for _, c := range s[1:] {
		if c < '0' || c > '9' {
			return false
		}
	}
	return true
}

// TypeName gives the name under which a type's rows stand, "" for a type without a name. It looks
// through pointers and aliases; an instance of a generic type has the generic type's name.
func TypeName(t types.Type) string {
	for {
		p, ok := types.Unalias(t).(*types.Pointer)
		if !ok {
			break
		}
		t = p.Elem()
	}
	n, ok := types.Unalias(t).(*types.Named)
	if !ok || n.Obj().Pkg() == nil {
		return ""
	}
	return Path(n.Obj().Pkg().Path()) + "." + n.Obj().Name()
}

// FuncName gives the name under which a package-level function's row stands.
func FuncName(f *types.Func) string {
	if f.Pkg() == nil {
		return ""
	}
	return Path(f.Pkg().Path()) + "." + f.Name()
}
