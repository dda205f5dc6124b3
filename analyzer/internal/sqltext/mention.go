package sqltext

import "strings"

// mark is what a piece of text says about the literal it stands in, from nothing to enough.
type mark uint8

const (
	markNone    mark = iota
	markTimeout      // a time limit, when SET stands before it
	markSet          // a setting, when LOCAL or a time limit follows
	markLocal        // enough after a SET with a comment behind it
	markName         // enough, as a name that ends here
	markLock         // enough, as a part of the name of an advisory lock's function, or as the lock's type
	markFull         // enough by itself
)

// marks are what Mentions looks for, by first letter. "advisory" stands in the name of every
// PostgreSQL lock function and of the lock type; "pg_try_" catches a name put together from
// pieces. Every text in which Parse finds a call, a setting or a fault has one of these (the
// fuzz target checks it).
var marks = [256][]struct {
	text string
	mark mark
}{
	'a': {{"advisory", markLock}},
	'g': {{"get_lock", markName}},
	'r': {{"release_lock", markName}, {"release_all_locks", markName}},
	'p': {{"pg_try_", markFull}, {"pg_locks", markName}},
	'l': {{"local", markLocal}},
	's': {{"set_config", markName}, {"set", markSet}},
	'_': {{"_timeout", markTimeout}},
}

// Mentions reports whether a literal could hold something that Parse recognises. It allocates
// nothing, looks at each byte about once, and errs towards true.
func Mentions(s string) bool { return mention(s) != markNone }

// MentionsLock is Mentions for what matters by itself: time limits other than lock_timeout do so
// only beside a lock.
func MentionsLock(s string) bool { return mention(s) == markFull }

// mention is markFull, markTimeout for nothing but another time limit, or markNone.
func mention(s string) mark {
	out, set, commented := markNone, false, false
	for i := 0; i+2 < len(s); i++ {
		row := marks[fold(s[i])]
		for j := range row {
			if fold(s[i+1]) != row[j].text[1] || !hasFold(s[i:], row[j].text) {
				continue
			}
			rest, full := s[i+len(row[j].text):], false
			switch row[j].mark {
			case markFull:
				full = true
			case markName:
				full = !goesOn(rest)
			case markLock:
				full = namesLock(rest)
			case markSet:
				if !goesOn(rest) && begins(s, i) {
					after := strings.TrimLeft(rest, " \t\n\v\f\r")
					set = true
					full = hasFold(after, "local") && !goesOn(after[len("local"):])
					commented = commented || hasFold(after, "/*") || hasFold(after, "--") || hasFold(after, "#")
				}
			case markLocal:
				full = commented && !goesOn(rest)
			case markTimeout:
				if set {
					out = markTimeout
					full = hasFold(s[max(0, i-len("lock")):], "lock_timeout")
				}
			}
			if full {
				return markFull
			}
		}
	}
	return out
}

// goesOn reports whether a name goes on in what follows it. A dollar sign may begin a template's hole.
func goesOn(rest string) bool { return rest != "" && (starts(rest[0]) || isDigit(rest[0])) }

// namesLock reports whether what follows "advisory" may be the rest of a lock function's name, which may be
// cut anywhere. In prose a space or a stop follows, and in other names another word.
func namesLock(rest string) bool {
	switch {
	case rest == "":
		return true
	case rest[0] == '_':
		return goesOnAsLock(rest[1:])
	}
	return !goesOn(rest) && !isSpace(rest[0]) && rest[0] != '.' && rest[0] != ','
}

// goesOnAsLock reports whether a name goes on with a word of the lock functions, or the beginning of one.
func goesOnAsLock(rest string) bool {
	n := 0
	for n < len(rest) && 'a' <= fold(rest[n]) && fold(rest[n]) <= 'z' {
		n++
	}
	for _, w := range [...]string{"lock", "unlock", "xact"} {
		if n <= len(w) && strings.EqualFold(w[:n], rest[:n]) {
			return true
		}
	}
	return false
}

// begins reports whether a statement may begin at i: no word stands before it on its line, but for one after
// which a block's statement begins. A single letter is none: it may be a verb of fmt, or an escape.
func begins(s string, i int) bool {
	end := i
	for end > 0 && (s[end-1] == ' ' || s[end-1] == '\t') {
		end--
	}
	start := end
	for start > 0 && end-start < maxBlockWord && starts(s[start-1]) {
		start--
	}
	if end-start < 2 {
		return true
	}
	for w := range blockWords {
		if end < i && len(w) == end-start && hasFold(s[start:], w) {
			return true
		}
	}
	return false
}

// maxBlockWord is more than the length of each of blockWords.
const maxBlockWord = 12

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
