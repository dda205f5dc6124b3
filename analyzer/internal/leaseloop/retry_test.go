package leaseloop

import "testing"

func TestTriedAgainWithoutAWait(t *testing.T) {
	check(t, map[string]string{
		"at once": `
func f(c client, key string) {
	for {
		ok, err := c.SetNX(key, "t", ttl).Result() // spins
		if err != nil || ok {
			return
		}
	}
}`,
		"as the loop's condition": `
func f(c client, key string) {
	for !c.SetNX(key, "t", ttl).Val() { // spins
	}
}`,
		"by a helper": `
func try(c client, key string) (bool, error) { return c.SetNX(key, "t", ttl).Result() }

func f(c client, key string) {
	for {
		if ok, _ := try(c, key); ok { // spins
			return
		}
	}
}`,
		"by a helper that refuses with an error": `
var errBusy = errors.New("busy")

func try(c client, key string) error {
	ok, err := c.SetNX(key, "t", ttl).Result()
	if err != nil {
		return err
	}
	if !ok {
		return errBusy
	}
	return nil
}

func f(c client, key string) error {
	for {
		err := try(c, key) // spins
		if errors.Is(err, errBusy) {
			continue
		}
		return err
	}
}`,
		"with a look at the context": `
func f(ctx context.Context, c client, key string) {
	for {
		select {
		case <-ctx.Done():
			return
		default:
		}
		if c.SetNX(key, "t", ttl).Val() { // spins
			return
		}
		runtime.Gosched()
		log.Print("busy")
	}
}`,
		"with a wait after errors only": `
func f(c client, key string) {
	for {
		ok, err := c.SetNX(key, "t", ttl).Result() // spins
		if err != nil {
			time.Sleep(time.Second)
			continue
		}
		if ok {
			return
		}
	}
}`,
		"by calling itself": `
func f(c client, key string) bool {
	if c.SetNX(key, "t", ttl).Val() { // spins
		return true
	}
	return f(c, key)
}`,
		"as often as a number says": `
func f(c client, key string, tries int) bool {
	for i := 0; i < tries; i++ {
		if c.SetNX(key, "t", ttl).Val() { // spins
			return true
		}
	}
	return false
}`,
		"for each of many keys": `
func f(c client, keys []string) {
	for _, key := range keys {
		for !c.SetNX(key, "t", ttl).Val() { // spins
		}
	}
}`,
		"by a goto": `
func f(c client, key string) {
again:
	if !c.SetNX(key, "t", ttl).Val() { // spins
		goto again
	}
}`,
		"in a variable that a closure reads": `
func f(c client, key string) {
	ok := false
	defer func() { log.Print(ok) }()
	for !ok {
		ok = c.SetNX(key, "t", ttl).Val() // spins
	}
}`,
	})
}

func TestTriedAgainAfterAFixedWait(t *testing.T) {
	check(t, map[string]string{
		"sleep": `
func f(c client, key string) {
	for !c.SetNX(key, "t", ttl).Val() { // in step
		time.Sleep(50 * time.Millisecond)
	}
}`,
		"timer": `
func f(ctx context.Context, c client, key string) error {
	for {
		if c.SetNX(key, "t", ttl).Val() { // in step
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Second):
		}
	}
}`,
		"a helper's": `
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

func f(ctx context.Context, c client, key string) {
	for ctx.Err() == nil && !c.SetNX(key, "t", ttl).Val() { // in step
		pause(ctx, time.Second)
	}
}`,
		"in the helper that asks": `
func try(c client, key string) bool {
	if c.SetNX(key, "t", ttl).Val() {
		return true
	}
	time.Sleep(time.Second)
	return false
}

func f(c client, key string) {
	for !try(c, key) { // in step
	}
}`,
	})
}

func TestNoRetryOrAWait(t *testing.T) {
	check(t, map[string]string{
		"random": `
func f(c client, key string) {
	for !c.SetNX(key, "t", ttl).Val() {
		time.Sleep(time.Duration(rand.Int63n(int64(time.Second))))
	}
}`,
		"fixed and random": `
func f(c client, key string) {
	for !c.SetNX(key, "t", ttl).Val() {
		time.Sleep(time.Second + time.Duration(rand.Int63n(1000)))
	}
}`,
		"grows": `
func f(c client, key string) {
	for d := time.Millisecond; !c.SetNX(key, "t", ttl).Val(); d *= 2 {
		time.Sleep(d)
	}
}`,
		"the caller's": `
func f(c client, key string, d time.Duration) {
	for !c.SetNX(key, "t", ttl).Val() {
		time.Sleep(d)
	}
}`,
		"a function's": `
func f(c client, key string, next func() time.Duration) {
	for !c.SetNX(key, "t", ttl).Val() {
		time.Sleep(next())
	}
}`,
		"a notification": `
func f(c client, key string, freed <-chan struct{}) {
	for !c.SetNX(key, "t", ttl).Val() {
		select {
		case <-freed:
		case <-time.After(time.Second):
		}
	}
}`,
		"an unknown call": `
func f(c client, key string) {
	for !c.SetNX(key, "t", ttl).Val() {
		c.Unknown()
	}
}`,
		"keys": `
func f(c client, keys []string) {
	for _, key := range keys {
		if c.SetNX(key, "t", ttl).Val() {
			return
		}
	}
}`,
		"keys of a map": `
func f(c client, keys map[string]int) {
	for key := range keys {
		if !c.SetNX("lock:"+key, "t", ttl).Val() {
			continue
		}
		log.Print(key)
	}
}`,
		"numbered keys": `
func f(c client, name func(int) string) {
	for i := 0; i < 8; i++ {
		if c.SetNX(string(rune('a'+i)), "t", ttl).Val() {
			return
		}
	}
}`,
		"messages": `
func f(c client, ids <-chan string) {
	for id := range ids {
		if !c.SetNX(id, "t", ttl).Val() {
			continue
		}
		log.Print(id)
	}
}`,
		"objects made of keys": `
type lock struct{ c client; key string }

func (l *lock) try() bool { return l.c.SetNX(l.key, "t", ttl).Val() }

func f(c client, keys []string) {
	for _, key := range keys {
		l := &lock{c: c, key: key}
		if l.try() {
			return
		}
	}
}`,
		"an election": `
func f(c client, key string, lead func()) {
	for {
		if c.SetNX(key, "t", ttl).Val() {
			lead()
		}
		time.Sleep(time.Second)
	}
}`,
		"a refusal ends it": `
func f(c client, key string) {
	for {
		if !c.SetNX(key, "t", ttl).Val() {
			return
		}
	}
}`,
		"only errors are tried again": `
func f(c client, key string) (bool, error) {
	for {
		ok, err := c.SetNX(key, "t", ttl).Result()
		if err != nil {
			continue
		}
		return ok, nil
	}
}`,
		"nobody reads the answer": `
func f(c client, key string) {
	for {
		c.SetNX(key, "t", ttl)
	}
}`,
		"once": `
func f(c client, key string) bool { return c.SetNX(key, "t", ttl).Val() }`,
		"in a closure that somebody calls": `
func f(c client, key string, retry func(func() bool)) {
	retry(func() bool { return c.SetNX(key, "t", ttl).Val() })
}`,
		"for another key by calling itself": `
func f(c client, keys []string, key string) bool {
	if c.SetNX(key, "t", ttl).Val() || len(keys) == 0 {
		return true
	}
	return f(c, keys[1:], keys[0])
}`,
		"a wait in front of every try": `
func f(c client, key string, ready <-chan int) {
	for range ready {
		if c.SetNX(key, "t", ttl).Val() {
			return
		}
	}
}`,
	})
}
