package locktest

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/advisorylint/advisorylint/runtime/lock"
)

var naming = []behaviour{
	{"two names of one 64-bit value are ErrKeyCollision", func(s *suite) {
		a, b := s.locker(), s.locker()
		value := rand.Int64()
		k, same := lock.Int64Key("one", value), lock.Int64Key("other", value)
		s.keys = append(s.keys, k)
		s.wantTakes(a, k)
		_, err := b.Acquire(s.ctx(), same)
		s.want(err, lock.ErrKeyCollision)
		_, err = a.AcquireAll(s.ctx(), []lock.Key{s.key(), same})
		s.want(err, lock.ErrKeyCollision)
		s.wantTakes(b, k)
	}},
	{"no key, the zero key and options that can't be are ErrInvalid", func(s *suite) {
		a, k := s.locker(), s.key()
		_, err := a.Acquire(s.ctx(), lock.Key{})
		s.want(err, lock.ErrInvalid)
		_, err = a.AcquireAll(s.ctx(), []lock.Key{k, {}})
		s.want(err, lock.ErrInvalid)
		_, err = a.AcquireAll(s.ctx(), nil)
		s.want(err, lock.ErrInvalid)
		for _, option := range []lock.Option{lock.Wait(-time.Second), lock.TTL(0), lock.ReleaseTimeout(-1)} {
			_, err = a.Acquire(s.ctx(), k, option)
			s.want(err, lock.ErrInvalid)
		}
		s.wantFreeNow(a, k)
	}},
	{"keys of every form are locked", func(s *suite) {
		a, b := s.locker(), s.locker()
		for _, k := range []lock.Key{
			lock.NewKey("locktest "+process, "ünïcode", "with {braces} and 'quotes'", ""),
			lock.Int64Key("negative", -1-rand.Int64()),
			lock.Int64Key("positive", rand.Int64()),
			lock.LiteralKey("locktest:" + process + ":literal"),
			lock.LiteralKey("locktest:{" + process + "}:" + fmt.Sprint(make([]byte, 100))),
		} {
			s.keys = append(s.keys, k)
			h := s.acquire(a, k)
			s.wantBusy(b, k)
			s.wantGrants(k, 1)
			s.release(h)
			s.wantFreeNow(b, k)
		}
	}},
}
