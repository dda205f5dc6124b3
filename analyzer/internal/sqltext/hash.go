package sqltext

// narrowHashes answer 32 bits. Sources: PostgreSQL's pg_proc (hashtext and its kin, all but
// the …extended ones, answer int4), MySQL's CRC32.
var narrowHashes = setOf(`hashtext hashint2 hashint4 hashint8 hashoid hashchar hashname hashbpchar hashfloat4
	hashfloat8 hashvarlena hash_array hash_record hash_numeric hashinet hashmacaddr uuid_hash timestamp_hash
	time_hash date_hash jsonb_hash crc32 crc32c`)

// wideHashes answer more, which a cast to a 32-bit integer takes away.
var wideHashes = setOf(`hashtextextended hashint8extended hashint4extended uuid_hash_extended md5 sha1 sha2 sha224
	sha256 sha384 sha512 digest hmac`)

var narrowInts = setOf("int int4 integer")

// hashOf names the 32-bit hash inside a key argument, "" when there is none.
func (u *unit) hashOf(lo, hi int) string {
	for i := lo; i < hi; i++ {
		if u.invokes(i, hi, narrowHashes) {
			return u.toks[i].text
		}
	}
	for i := lo; i < hi; i++ {
		t := &u.toks[i]
		switch {
		case t.is("::") && narrowInts[u.at(i+1, lo, hi).text]:
			if start := u.operandStart(i, lo); u.hashed(start, i) {
				return "int4 cast"
			}
		case t.is("cast") && u.at(i+1, lo, hi).is("("):
			as := u.castType(i+1, hi)
			if as > 0 && narrowInts[u.at(as+1, lo, hi).text] && u.hashed(i+2, as) {
				return "int4 cast"
			}
		}
	}
	return ""
}

func (u *unit) invokes(i, hi int, names map[string]bool) bool {
	t := &u.toks[i]
	return (t.kind == word || t.kind == quoted) && names[t.text] && u.at(i+1, i, hi).is("(")
}

func (u *unit) hashed(lo, hi int) bool {
	for i := lo; i < hi; i++ {
		if u.invokes(i, hi, wideHashes) {
			return true
		}
	}
	return false
}

// operandStart returns where the operand of the :: at i begins, behind its other casts.
func (u *unit) operandStart(i, lo int) int {
	for i > lo {
		i--
		if t := &u.toks[i]; t.is(")") || t.is("]") {
			if i = u.mate[i]; i < lo {
				return lo
			}
			// The name of a function or type belongs to its parentheses.
			if n := u.at(i-1, lo, i); n.kind == word && !beforeOperand[n.text] || n.kind == quoted {
				i--
			}
		}
		for i-2 >= lo && u.toks[i-1].is(".") {
			i -= 2
		}
		if i-1 < lo || !u.toks[i-1].is("::") {
			return i
		}
		i--
	}
	return lo
}
