package pglock

import (
	"regexp"
	"strconv"
)

// parameter is one in a statement; the package's statements have no $ of another meaning.
var parameter = regexp.MustCompile(`\$[1-9][0-9]*`)

// plain are texts that mean themselves between quotes, whatever the server's settings.
var plain = regexp.MustCompile(`^[a-zA-Z0-9_ .,:{}-]*$`)

// inlined writes the arguments into the statement, for drivers that need a round trip more, and an unnamed
// prepared statement, for one with arguments: lib/pq does. With an argument that is neither a number nor
// plain the statement stays as it is.
func inlined(query string, args []any) (string, []any) {
	literals := make([]string, len(args))
	for i, arg := range args {
		switch v := arg.(type) {
		case int64: // quoted, since the smallest is not a number in SQL without it
			literals[i] = "'" + strconv.FormatInt(v, 10) + "'::int8"
		case string:
			if !plain.MatchString(v) {
				return query, args
			}
			literals[i] = "'" + v + "'"
		default:
			return query, args
		}
	}
	return parameter.ReplaceAllStringFunc(query, func(p string) string {
		n, err := strconv.Atoi(p[1:])
		if err != nil || n > len(literals) {
			return p
		}
		return literals[n-1]
	}), nil
}
