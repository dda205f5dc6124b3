package lock

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"strconv"
	"strings"
)

// A Key names what is locked. Keys are values: equal keys are ==, and two keys made alike in two
// processes are the same lock. The zero Key is no key.
type Key struct {
	name    string   // for people
	sum     [32]byte // identity, of which the other forms are made
	value   int64    // the form for PostgreSQL
	literal string   // the form for MySQL and Redis when the caller chose it
}

// NewKey names a lock by a namespace, which keeps programs that share a server apart, and parts.
// ("a", "b") and ("ab"), and ("a", "b/c") and ("a", "b", "c"), are different keys: the SHA-256 is over
// each part with its length in front.
func NewKey(namespace string, parts ...string) Key {
	all := append([]string{namespace}, parts...)
	k := Key{name: strings.Join(all, "/"), sum: sum("name", all...)}
	k.value = int64(binary.BigEndian.Uint64(k.sum[:]))
	return k
}

// Int64Key is the PostgreSQL lock of exactly this 64-bit value, so that a program may share it with
// code that calls pg_advisory_lock(value) itself. The name says what the value stands for; the same
// value under two names in one process is ErrKeyCollision.
func Int64Key(name string, value int64) Key {
	return Key{name: name + "#" + strconv.FormatInt(value, 10), sum: sum("int64", name, strconv.FormatInt(value, 10)), value: value}
}

// LiteralKey is the MySQL lock, or the Redis key, of exactly this name, so that a program may share it
// with code that does not use this module. A name of more than 64 bytes is hashed for MySQL.
func LiteralKey(name string) Key {
	k := Key{name: name, sum: sum("literal", name), literal: name}
	k.value = int64(binary.BigEndian.Uint64(k.sum[:]))
	return k
}

// sum hashes the kind of a key and its parts, each with its length in front, so that no two lists
// have the same bytes.
func sum(kind string, parts ...string) (out [32]byte) {
	h := sha256.New()
	for _, p := range append([]string{kind}, parts...) {
		var length [8]byte
		binary.BigEndian.PutUint64(length[:], uint64(len(p)))
		h.Write(length[:])
		h.Write([]byte(p))
	}
	h.Sum(out[:0])
	return out
}

// String is the name for people: namespace and parts with slashes between. It is not an identity.
func (k Key) String() string { return k.name }

// IsZero reports whether k is no key.
func (k Key) IsZero() bool { return k == Key{} }

// Int64 is the key of PostgreSQL's pg_advisory_lock(bigint).
func (k Key) Int64() int64 { return k.value }

// maxName64 is MySQL's limit for the name of GET_LOCK, in characters.
const maxName64 = 64

// Name64 is a name of at most 64 ASCII characters in lower case, as MySQL's GET_LOCK wants it: the
// beginning of the name for people, a colon and 128 bits of the hash. A LiteralKey of at most 64
// bytes is itself.
func (k Key) Name64() string {
	if k.literal != "" && len(k.literal) <= maxName64 {
		return k.literal
	}
	hash := hex.EncodeToString(k.sum[:16])
	return readable(k.name, maxName64-len(hash)-1) + ":" + hash
}

// readable keeps the first bytes of name that need no quoting anywhere, and puts _ for others.
func readable(name string, length int) string {
	var b strings.Builder
	for _, r := range strings.ToLower(name) {
		if b.Len() == length {
			break
		}
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-' || r == '.' || r == '/' {
			b.WriteRune(r)
		} else {
			b.WriteByte('_')
		}
	}
	return b.String()
}

// Literal is the name that LiteralKey was given.
func (k Key) Literal() (name string, ok bool) { return k.literal, k.literal != "" }

// HashTag is what Redis Cluster hashes of each Redis key that belongs to this lock, in braces, so
// that all of them are in one slot. For a LiteralKey it is what Redis takes from the name itself: the
// first non-empty text in braces, or else the whole name.
func (k Key) HashTag() string {
	if k.literal == "" {
		return "{" + k.Name64() + "}"
	}
	if _, rest, ok := strings.Cut(k.literal, "{"); ok {
		if tag, _, ok := strings.Cut(rest, "}"); ok && tag != "" {
			return "{" + tag + "}"
		}
	}
	return "{" + k.literal + "}"
}

// Compare orders keys in one way in every process: those who take several in this order can't wait
// for each other in a circle. PostgreSQL's value comes first, since two names may share it.
func (k Key) Compare(other Key) int {
	return cmp.Or(cmp.Compare(k.value, other.value), bytes.Compare(k.sum[:], other.sum[:]))
}
