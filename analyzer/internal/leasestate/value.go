package leasestate

import (
	"strings"

	"github.com/advisorylint/advisorylint/analyzer/internal/term"
)

// sameForOthers are calls whose result another process, or another acquisition in this one, can have too.
var sameForOthers = []string{"time.Now", "os.Getpid", "os.Hostname", "os.Getppid", "os.Getenv", "os.Getuid", "(time.Time).", "strconv.", "fmt.Sprint", "strings."}

// shared reports whether a lock's value is certainly not unique to one acquisition: constants, times, pids
// and host names, and what is put together of these.
func (j *judge) shared(t *term.Term) bool { return t != nil && j.sharedValue(t, 0) }

func (j *judge) sharedValue(t *term.Term, depth int) bool {
	if depth > 8 {
		return false
	}
	switch t.Op {
	case term.Const:
		return true
	case term.Concat, term.Bin, term.Conv, term.As, term.Result, term.Phi:
		for _, a := range t.Args {
			if !j.sharedValue(a, depth+1) {
				return false
			}
		}
		return len(t.Args) > 0
	case term.Call:
		for _, name := range sameForOthers {
			if strings.HasPrefix(t.Str, name) {
				for _, a := range t.Args {
					if !j.sharedValue(a, depth+1) {
						return false
					}
				}
				return true
			}
		}
		return false
	case term.Load:
		vals := j.values(t)
		for _, v := range vals {
			if v == t || !j.sharedValue(v, depth+1) {
				return false
			}
		}
		return len(vals) > 0
	}
	return false
}

// forever reports whether an expiry is none: not given, zero, KeepTTL, or a random number that can be zero.
func (j *judge) forever(t *term.Term) bool {
	if t == nil {
		return true
	}
	for _, v := range j.values(t) {
		if v.Str == "i:0" || v.Str == "i:-1" || canBeZero(v) {
			return true
		}
	}
	return false
}

// canBeZero reports whether v is a random number from zero on, or that times something.
func canBeZero(v *term.Term) bool {
	switch v.Op {
	case term.Conv, term.As:
		return canBeZero(v.Args[0])
	case term.Bin:
		return v.Str == "*" && (canBeZero(v.Args[0]) || canBeZero(v.Args[1]))
	case term.Call:
		for _, p := range []string{"math/rand.Int", "math/rand/v2.Int", "math/rand/v2.N", "math/rand/v2.Uint", "(*math/rand.Rand).Int", "(*math/rand/v2.Rand).Int"} {
			if strings.HasPrefix(v.Str, p) {
				return true
			}
		}
	}
	return false
}
