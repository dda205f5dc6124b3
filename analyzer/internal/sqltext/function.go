package sqltext

// functions are the lock functions of the servers. Sources: PostgreSQL manual, "Advisory
// Lock Functions"; MySQL manual, "Locking Functions"; MariaDB has the same three.
var functions = []Func{
	{Name: "pg_advisory_lock", Op: Acquire},
	{Name: "pg_advisory_lock_shared", Op: Acquire, Shared: true},
	{Name: "pg_try_advisory_lock", Op: Acquire, Try: true},
	{Name: "pg_try_advisory_lock_shared", Op: Acquire, Try: true, Shared: true},
	{Name: "pg_advisory_unlock", Op: Release},
	{Name: "pg_advisory_unlock_shared", Op: Release, Shared: true},
	{Name: "pg_advisory_unlock_all", Op: ReleaseAll},
	{Name: "pg_advisory_xact_lock", Op: Acquire, Xact: true},
	{Name: "pg_advisory_xact_lock_shared", Op: Acquire, Xact: true, Shared: true},
	{Name: "pg_try_advisory_xact_lock", Op: Acquire, Xact: true, Try: true},
	{Name: "pg_try_advisory_xact_lock_shared", Op: Acquire, Xact: true, Try: true, Shared: true},
	{Name: "get_lock", System: MySQL, Op: Acquire},
	{Name: "release_lock", System: MySQL, Op: Release},
	{Name: "release_all_locks", System: MySQL, Op: ReleaseAll},
}

// arity is the number of arguments that a MySQL lock function takes. A function of that name
// with another number is somebody's own.
var arity = map[string]int{"get_lock": 2, "release_lock": 1, "release_all_locks": 0}

var byName = func() map[string]*Func {
	m := make(map[string]*Func, len(functions))
	for i := range functions {
		m[functions[i].Name] = &functions[i]
	}
	return m
}()

// Lookup returns the lock function of that name, without schema and in any case, or nil.
func Lookup(name string) *Func { return byName[lower(name)] }

// lower lowers ASCII letters only, as the servers do for the names that matter here.
func lower(s string) string {
	for i := 0; i < len(s); i++ {
		if 'A' <= s[i] && s[i] <= 'Z' {
			b := []byte(s)
			for ; i < len(b); i++ {
				b[i] = fold(b[i])
			}
			return string(b)
		}
	}
	return s
}

func fold(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}
