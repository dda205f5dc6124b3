package pgadvisory

import (
	"strconv"
	"time"
)

// LockTimeout is the value of the setting lock_timeout for a wait: "0", which is no limit, for a negative
// one, otherwise at least "1" ms, since less would be rounded to no limit.
func LockTimeout(wait time.Duration) string {
	if wait < 0 {
		return "0"
	}
	return strconv.FormatInt(max(int64((wait+time.Millisecond-1)/time.Millisecond), 1), 10)
}
