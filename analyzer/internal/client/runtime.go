package client

// The runtime's functions for locks that a program takes with statements of its own. They send one
// statement whatever becomes of the context, and take a no for an error. What else the runtime does is its
// own business: no rule has anything to say about its locks.
const runtimePath = "github.com/advisorylint/advisorylint/runtime/"

var pglockLibrary = library{
	path: runtimePath + "pglock",
	funcs: []Method{
		release("Unlock", "SELECT pg_advisory_unlock($1)"),
		release("UnlockShared", "SELECT pg_advisory_unlock_shared($1)"),
	},
}

var pgxlockLibrary = library{
	path: runtimePath + "pgxlock",
	funcs: []Method{
		release("Unlock", "SELECT pg_advisory_unlock($1)"),
		release("UnlockShared", "SELECT pg_advisory_unlock_shared($1)"),
	},
}

var mysqllockLibrary = library{
	path:  runtimePath + "mysqllock",
	funcs: []Method{release("Release", "DO RELEASE_LOCK(?)")},
}

// release is func(ctx, handle, key) error. Its context only has values.
func release(name, statement string) Method {
	m := send(name, "_ handle args", Checked)
	m.Statement = statement
	return m
}
