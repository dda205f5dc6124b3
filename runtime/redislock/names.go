package redislock

import "github.com/advisorylint/advisorylint/runtime/lock"

// DefaultPrefix is before the name of each Redis key unless KeyPrefix says otherwise.
const DefaultPrefix = "lock:"

// prefix begins the names of Redis keys. It has no brace: the hash tag is the lock's.
type prefix string

// lock is the name of the Redis key that is the lock.
func (p prefix) lock(key lock.Key) string {
	if name, ok := key.Literal(); ok {
		return name
	}
	return string(p) + key.HashTag()
}

// beside is the name of another Redis key of the same lock, in the same slot: a fence or a marker.
// The whole of a literal name is in it, since two of them may share a hash tag.
func (p prefix) beside(key lock.Key, what string) string {
	name, _ := key.Literal()
	if name != "" {
		name += ":"
	}
	return string(p) + key.HashTag() + ":" + name + what
}

// What beside knows.
const (
	fenceName  = "fence" // the counter of fencing tokens
	markerName = "ran"   // says that RunOnce ran
)
