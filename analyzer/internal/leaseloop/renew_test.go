package leaseloop

import "testing"

func TestNothingEndsTheRenewal(t *testing.T) {
	check(t, map[string]string{
		"no way out": `
func f(c client, key string) {
	go func() {
		for {
			time.Sleep(ttl / 3)
			c.Extend(key, ttl)
		}
	}() // never stopped
}`,
		"a method that ranges over ticks": `
type lock struct{ c client; key string; tick *time.Ticker }

func (l *lock) start() {
	l.tick = time.NewTicker(ttl / 3)
	go l.renew() // never stopped
}

func (l *lock) renew() {
	for range l.tick.C {
		l.c.Extend(l.key, ttl)
	}
}

func (l *lock) end() { l.tick.Stop() }`,
		"a channel that nobody closes": `
type lock struct{ c client; key string; stop chan struct{} }

func start(c client) *lock {
	l := &lock{c: c, key: "k", stop: make(chan struct{})}
	go l.renew() // never stopped
	return l
}

func (l *lock) renew() {
	t := time.NewTicker(ttl / 3)
	for {
		select {
		case <-l.stop:
			return
		case <-t.C:
			l.c.Extend(l.key, ttl)
		}
	}
}`,
		"a package's channel that nobody closes": `
var stop = make(chan struct{})

func renew(c client, key string) {
	for {
		select {
		case <-stop:
			return
		case <-time.After(ttl / 3):
			c.Extend(key, ttl)
		}
	}
}

func f(c client, key string) {
	go renew(c, key) // never stopped
}`,
		"a context that nothing cancels": `
func f(c client, key string) {
	ctx := context.WithValue(context.Background(), 1, 2)
	go renew(ctx, c, key) // never stopped
}

func renew(ctx context.Context, c client, key string) {
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
			return
		case <-time.After(ttl / 3):
			c.Extend(key, ttl)
		}
	}
}`,
		"a break that leaves the select only": `
func f(ctx context.Context, c client, key string) {
	go func() {
		for {
			select {
			case <-ctx.Done():
				break
			case <-time.After(ttl / 3):
				c.Extend(key, ttl)
			}
		}
	}() // never stopped
}`,
		"by a helper": `
func renew(c client, key string) { c.Extend(key, ttl) }

func f(c client, key string) {
	go func() {
		for {
			renew(c, key)
			time.Sleep(ttl / 3)
		}
	}() // never stopped
}`,
		"started by a wait group": `
func f(c client, key string) {
	var w sync.WaitGroup
	w.Go(func() { // never stopped
		for range time.Tick(ttl / 3) {
			c.Extend(key, ttl)
		}
	})
}`,
	})
}

func TestSomethingEndsTheRenewal(t *testing.T) {
	check(t, map[string]string{
		"a context of the caller's": `
func f(ctx context.Context, c client, key string) {
	go func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-time.After(ttl / 3):
				c.Extend(key, ttl)
			}
		}
	}()
}`,
		"a context that is cancelled": `
func f(c client, key string, work func()) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go renew(ctx, c, key)
	work()
}

func renew(ctx context.Context, c client, key string) {
	for ctx.Err() == nil {
		time.Sleep(ttl / 3)
		c.Extend(key, ttl)
	}
}`,
		"a deadline": `
func f(c client, key string) {
	ctx, _ := context.WithTimeout(context.Background(), time.Hour)
	go func() {
		for ctx.Err() == nil {
			time.Sleep(ttl / 3)
			c.Extend(key, ttl)
		}
	}()
}`,
		"a channel that a sibling closes": `
type lock struct{ c client; key string; stop chan struct{} }

func (l *lock) start() {
	l.stop = make(chan struct{})
	go l.renew()
}

func (l *lock) renew() {
	for {
		select {
		case <-l.stop:
			return
		case <-time.After(ttl / 3):
			l.c.Extend(l.key, ttl)
		}
	}
}

func (l *lock) end() { close(l.stop) }`,
		"a package's channel that a sibling closes": `
var stop = make(chan struct{})

func renew(c client, key string) {
	for {
		select {
		case <-stop:
			return
		case <-time.After(ttl / 3):
			c.Extend(key, ttl)
		}
	}
}

func f(c client, key string) { go renew(c, key) }

func end() { close(stop) }`,
		"a channel that is handed out": `
func f(c client, key string) chan<- struct{} {
	stop := make(chan struct{})
	go func() {
		for {
			select {
			case <-stop:
				return
			case <-time.After(ttl / 3):
				c.Extend(key, ttl)
			}
		}
	}()
	return stop
}`,
		"a channel that a method on a value closes": `
type lock struct{ c client; key string; stop chan struct{} }

func (l *lock) start() {
	l.stop = make(chan struct{})
	go func() {
		for {
			select {
			case <-l.stop:
				return
			case <-time.After(ttl / 3):
				l.c.Extend(l.key, ttl)
			}
		}
	}()
}

func (l lock) end() { close(l.stop) }`,
		"a channel that is kept in a map": `
var stops = map[string]chan struct{}{}

func f(c client, key string) {
	stop := make(chan struct{})
	stops[key] = stop
	go func() {
		for {
			select {
			case <-stop:
				return
			case <-time.After(ttl / 3):
				c.Extend(key, ttl)
			}
		}
	}()
}`,
		"a send in a closure": `
func f(c client, key string) func() {
	stop := make(chan bool, 1)
	go func() {
		for {
			select {
			case <-stop:
				return
			case <-time.After(ttl / 3):
				c.Extend(key, ttl)
			}
		}
	}()
	return func() { stop <- true }
}`,
		"the answer": `
func f(c client, key string) {
	go func() {
		for {
			time.Sleep(ttl / 3)
			if !c.Extend(key, ttl).Val() {
				return
			}
		}
	}()
}`,
		"a flag": `
func f(c client, key string, stopped *bool) {
	go func() {
		for !*stopped {
			time.Sleep(ttl / 3)
			c.Extend(key, ttl)
		}
	}()
}`,
		"a timer": `
func f(c client, key string) {
	end := time.After(time.Hour)
	go func() {
		for {
			select {
			case <-end:
				return
			case <-time.After(ttl / 3):
				c.Extend(key, ttl)
			}
		}
	}()
}`,
		"no loop": `
func f(c client, key string) {
	go func() { c.Extend(key, ttl) }()
}`,
		"no goroutine": `
func f(c client, key string) {
	for {
		time.Sleep(ttl / 3)
		c.Extend(key, ttl)
	}
}`,
		"no renewal": `
func f(c client, key string) {
	go func() {
		for {
			time.Sleep(ttl / 3)
			log.Print(key)
		}
	}()
}`,
	})
}

func TestRenewalThatComesTooLate(t *testing.T) {
	check(t, map[string]string{
		"a sleep as long as the lock lives": `
func f(c client, key string) {
	for c.Extend(key, ttl).Val() {
		time.Sleep(ttl) // too slow
	}
}`,
		"a ticker that is slower": `
func f(c client, key string) {
	t := time.NewTicker(time.Minute) // too slow
	defer t.Stop()
	for range t.C {
		if !c.Extend(key, ttl).Val() {
			return
		}
	}
}`,
		"a multiple of a parameter": `
func f(ctx context.Context, c client, key string, life time.Duration) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(life * 2): // too slow
			c.Extend(key, life)
		}
	}
}`,
		"a field": `
type lock struct{ c client; key string; life time.Duration; tick *time.Ticker }

func (l *lock) start() { l.tick = time.NewTicker(l.life) } // too slow

func (l *lock) renew() {
	for range l.tick.C {
		if !l.c.Extend(l.key, l.life).Val() {
			return
		}
	}
}`,
		"the acquire's time": `
func f(c client, key string, life time.Duration) {
	c.SetNX("lock", "t", ttl)
	for {
		time.Sleep(40 * time.Second) // too slow
		if !c.Extend("lock", time.Minute).Val() {
			return
		}
	}
}`,
	})
}

func TestRenewalInTime(t *testing.T) {
	check(t, map[string]string{
		"a third": `
func f(c client, key string, life time.Duration) {
	for c.Extend(key, life).Val() {
		time.Sleep(life / 3)
	}
}`,
		"two thirds": `
func f(c client, key string, life time.Duration) {
	for c.Extend(key, life).Val() {
		time.Sleep(life * 2 / 3)
	}
}`,
		"a long wait after an error only": `
func f(c client, key string) {
	for {
		time.Sleep(ttl / 3)
		if _, err := c.Extend(key, ttl).Result(); err != nil {
			time.Sleep(time.Minute)
		}
	}
}`,
		"less a second": `
func f(c client, key string) {
	for c.Extend(key, ttl).Val() {
		time.Sleep(ttl - time.Second)
	}
}`,
		"not known": `
func f(c client, key string, life, interval time.Duration) {
	for c.Extend(key, life).Val() {
		time.Sleep(interval)
	}
}`,
		"a timer that is set anew": `
func f(c client, key string) {
	t := time.NewTimer(time.Minute)
	for range t.C {
		if !c.Extend(key, ttl).Val() {
			return
		}
		t.Reset(time.Second)
	}
}`,
		"a number of something": `
func f(c client, key string, seconds int) {
	for c.Extend(key, time.Duration(seconds)).Val() {
		time.Sleep(time.Duration(seconds) * time.Second / 3)
	}
}`,
	})
}
