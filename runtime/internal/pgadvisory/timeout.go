package pgadvisory

import (
	"math"
	"strconv"
	"time"
)

// LockTimeout is the value of the setting lock_timeout for a wait: "0", which is no limit, for a negative
// one, otherwise at least "1" ms, since less would be rounded to no limit, and at most what the server
// takes, 24 days.
func LockTimeout(wait time.Duration) string {
	if wait < 0 {
		return "0"
	}
	ms := int64(wait / time.Millisecond)
	if wait%time.Millisecond > 0 {
		ms++
	}
	return strconv.FormatInt(min(max(ms, 1), math.MaxInt32), 10)
}
