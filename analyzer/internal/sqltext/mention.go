package sqltext

// mark is a piece of text that makes a literal worth parsing.
type mark uint8

const (
	markNone mark = iota
	markFull      // enough by itself
	markSet       // matters beside markTimeout
	markTimeout
)

// marks are what Mentions looks for, by first letter. "advisory" stands in the name of every
// PostgreSQL lock function and of the lock type; "pg_try_" catches a name put together from
// pieces. Every text in which Parse finds a call, a setting or a fault has one of these (the
// fuzz target checks it).
var marks = [256][]struct {
	text string
	mark mark
}{
	'a': {{"advisory", markFull}},
	'g': {{"get_lock", markFull}},
	'r': {{"release_lock", markFull}, {"release_all_locks", markFull}},
	'p': {{"pg_try_", markFull}, {"pg_locks", markFull}},
	's': {{"set_config", markFull}, {"set", markSet}},
	'_': {{"_timeout", markTimeout}},
}

// Mentions reports whether a literal could hold something that Parse recognises. It allocates
// nothing, looks at each byte once, and errs towards true.
func Mentions(s string) bool {
	set, timeout := false, false
	for i := 0; i+2 < len(s); i++ {
		row := marks[fold(s[i])]
		for j := range row {
			if fold(s[i+1]) != row[j].text[1] || !hasFold(s[i:], row[j].text) {
				continue
			}
			switch row[j].mark {
			case markFull:
				return true
			case markSet:
				set = true
				if setsLocal(s[i+len("set"):]) {
					return true
				}
			case markTimeout:
				timeout = true
			}
		}
	}
	return set && timeout
}

// setsLocal reports whether what follows SET may be LOCAL; a comment between the two counts.
func setsLocal(s string) bool {
	i := 0
	for i < len(s) && isSpace(s[i]) {
		i++
	}
	if i == 0 && !hasFold(s, "/*") && !hasFold(s, "--") && !hasFold(s, "#") {
		return false
	}
	s = s[i:]
	return hasFold(s, "local") || hasFold(s, "/*") || hasFold(s, "--") || hasFold(s, "#")
}

// hasFold reports whether s begins with prefix, which is in lower case.
func hasFold(s, prefix string) bool {
	if len(s) < len(prefix) {
		return false
	}
	for i := 0; i < len(prefix); i++ {
		if fold(s[i]) != prefix[i] {
			return false
		}
	}
	return true
}
