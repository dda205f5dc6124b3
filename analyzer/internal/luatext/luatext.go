// Package luatext says what a Lua script for Redis does to a lock, from its text alone: which keys
// it deletes, expires and sets, whether it does so only where the key's value was found equal to
// something, and what it answers when it did its work and when it did not.
//
// It follows all paths of the script with symbolic values in place of KEYS, ARGV and the replies.
// Where a command's reply says whether a key is there, the path forks into both answers, so that
// every form of a comparison (an if, an early return, a flag, a function of the script's own) is
// one and the same. A loop over KEYS is followed once, for any key. What it does not understand
// makes the script unknown: it knows nothing of Go and asks no server.
package luatext

import "time"

// MaxLen is the length in bytes beyond which a script is not looked at.
const MaxLen = 64 << 10

// Script is what is known of a script.
type Script struct {
	// Known is false when something in the script that could change a lock's key was not
	// understood, or when it does not parse: nothing may then be concluded from the rest.
	Known bool
	Why   string // what was not understood; "" when Known

	Acts []Act
	Keys int // the highest constant index of KEYS that is used, 0 when none is
	// Iterated: KEYS is used as a list (a loop over it, unpack(KEYS)), so that it may have several.
	Iterated bool
	Answer   Answer

	bareAcquire bool
}

// Op is what a command does to a key.
type Op uint8

const (
	Delete  Op = iota // DEL, UNLINK, GETDEL, HDEL, DELEX, DELIFEQ, an expiry of 0
	Expire            // EXPIRE, PEXPIRE, EXPIREAT, PEXPIREAT, GETEX
	Persist           // PERSIST
	Set               // SET, SETEX, PSETEX, GETSET, MSET: whatever the key had is overwritten
	SetNX             // SET NX, SETNX, HSETNX, MSETNX
	Write             // any other write to the key: HSET, HINCRBY, INCR, ZADD
	Get               // a read of the value or of a part of it
	Exists            // EXISTS, HEXISTS
	Other             // a command that reads something else, or has no key
)

// Guard says what was known of the key when a command ran, on the least guarded path to it.
type Guard uint8

const (
	Unguarded  Guard = iota // nothing that says whose the key is
	OtherKey                // the value of another key was found equal to something
	Chosen                  // an argument of the script was found to ask for it
	Examined                // the key's value was looked at in a way that is not understood
	Own                     // this script itself wrote the key before
	Compared                // the key's value, or a part of it, was found equal to With
	WhenAbsent              // the key was found not to exist
)

// Act is one command of a script on one key. A call in a loop or on several paths is one act.
type Act struct {
	Op      Op
	Command string  // in upper case: "PEXPIRE"
	Key     Operand // the zero Operand when the command has none
	Field   Operand // of a hash, else zero
	Value   Operand // what is written, else zero
	TTL     Operand // zero when none is given
	// Unit is what TTL counts: a second or a millisecond; 0 when it is a point in time or unknown.
	Unit time.Duration

	Over bool // SET XX: only where the key exists, so that it is no acquire

	Guard Guard
	// Compared: it runs only where the value of this very key was found equal to With.
	Compared bool
	With     Operand // zero unless Compared; Unknown when paths differ
	// Part: a part of the value was compared (a field of a hash or of JSON, a substring).
	Part bool
	// Absent: on some path it runs where the key was found not to exist.
	Absent bool
}

// OperandKind says what an operand is.
type OperandKind uint8

const (
	None    OperandKind = iota
	Key                 // KEYS[Index]; Index 0 is any or a computed one
	Arg                 // ARGV[Index]; Index 0 is any or a computed one
	Const               // a string or number, Text
	Made                // computed from keys, arguments and constants: 'lock:'..KEYS[1]
	Unknown             // computed from replies, or not followed
)

// Operand is an argument of a command or one side of a comparison.
type Operand struct {
	Kind  OperandKind
	Index int
	// Text is the string or number of a constant, else a form that is equal only for operands that
	// are always equal: "KEYS[1]", "KEYS[*]" for each key of a loop.
	Text string
}

// Equal reports whether o and p are always the same value.
func (o Operand) Equal(p Operand) bool { return o.Kind != None && o == p }

// Releases reports a compare-and-delete: the script deletes a key, and only where the key's value
// was found equal to something.
func (s *Script) Releases() bool { return s.Known && s.compared(Delete) && !s.BlindDeletes() }

// Renews reports a compare-and-expire: the script sets the expiry of a key that exists, and only
// where the key's value was found equal to something.
func (s *Script) Renews() bool {
	if !s.Known || s.BlindExpires() {
		return false
	}
	for _, a := range s.Acts {
		if a.Compared && (a.Op == Expire || a.Op == Set && a.TTL.Kind != None) {
			return true
		}
	}
	return false
}

// BlindDeletes reports that the script deletes a key though nothing said whose it is.
func (s *Script) BlindDeletes() bool {
	return s.Known && s.blind(func(a *Act) bool { return a.Op == Delete })
}

// BlindExpires reports that the script renews a key though nothing said whose it is. An expiry
// that completes a write of the same script is none; SET XX with an expiry is one.
func (s *Script) BlindExpires() bool {
	return s.Known && s.blind(func(a *Act) bool { return a.Op == Expire || a.Over && a.TTL.Kind != None })
}

// BlindSets reports that the script overwrites a key though nothing said that it is free or whose
// it is.
func (s *Script) BlindSets() bool {
	return s.Known && s.blind(func(a *Act) bool { return a.Op == Set && !a.Over })
}

// Acquires reports that the script writes a key only when it is free: SET NX, or a write where the
// key was found not to exist.
func (s *Script) Acquires() bool {
	if !s.Known {
		return false
	}
	for _, a := range s.Acts {
		if a.acquires() {
			return true
		}
	}
	return false
}

// AcquireExpires reports that a key which the script acquires gets an expiry on every path, but
// for those that a test of an argument chose.
func (s *Script) AcquireExpires() bool { return s.Acquires() && !s.bareAcquire }

// Several reports that the script touches more than one key, or may.
func (s *Script) Several() bool {
	if s.Keys > 1 || s.Iterated {
		return true
	}
	var first Operand
	for _, a := range s.Acts {
		switch {
		case a.Key.Kind == None:
		case first.Kind == None:
			first = a.Key
		case !first.Equal(a.Key):
			return true
		}
	}
	return false
}

func (a *Act) acquires() bool {
	switch a.Op {
	case SetNX:
		return true
	case Set:
		return a.Absent
	case Write:
		return a.Absent && a.Field.Kind != None // a re-entrant lock's hash
	}
	return false
}

func (s *Script) compared(op Op) bool {
	for _, a := range s.Acts {
		if a.Op == op && a.Compared {
			return true
		}
	}
	return false
}

// blind: a key that goes along with a compared one (its queue, its fencing counter) is not blind.
func (s *Script) blind(is func(*Act) bool) bool {
	for _, a := range s.Acts {
		if !is(&a) || a.Key.Kind == Unknown {
			continue
		}
		if a.Guard == Unguarded || a.Guard == OtherKey && !s.comparedAny() {
			return true
		}
	}
	return false
}

func (s *Script) comparedAny() bool {
	return s.compared(Delete) || s.compared(Expire) || s.compared(Set)
}
