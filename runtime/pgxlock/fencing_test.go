package pgxlock

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/advisorylint/advisorylint/runtime/lock"
)

func TestTokensGrowFromHolderToHolder(t *testing.T) {
	s := newServer(t)
	s.exec(Schema)
	s.exec(Schema) // it may be run again
	key := lock.NewKey("fencing", "grow")
	var last int64 // of whoever was inside; only the lock guards it
	var all sync.WaitGroup
	for worker := range 6 {
		l := s.locker(Fencing())
		opts := [][]lock.Option{nil, {lock.Wait(time.Minute)}, {lock.Try()}}[worker%3]
		all.Go(func() {
			for range 30 {
				err := l.Do(context.Background(), key, func(ctx context.Context) error {
					token, ok := lock.Token(ctx)
					if !ok || token <= last {
						return fmt.Errorf("token is %d, %v, after %d", token, ok, last)
					}
					last = token
					return nil
				}, opts...)
				if err != nil && !errors.Is(err, lock.ErrNotAcquired) {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if last < 120 {
		t.Errorf("the last token is %d, want one for each grant at least", last)
	}
}

// A try that is refused takes no value of the sequence, because its order is that of CASE.
func TestTokenIsTakenAfterTheGrantOnly(t *testing.T) {
	s := newServer(t)
	s.exec(Schema)
	key := lock.NewKey("fencing", "after")
	holder := s.connect()
	query(t, holder, `SELECT pg_advisory_lock($1)::text`, key.Int64())
	l := s.locker(Fencing())
	for _, opt := range []lock.Option{lock.Try(), lock.Wait(20 * time.Millisecond)} {
		if _, err := l.Acquire(context.Background(), key, opt); err == nil {
			t.Fatal("acquired what somebody else holds")
		}
	}
	if taken := s.number(`SELECT count(*) FROM advisorylint.fencing_token WHERE is_called`); taken != 0 {
		t.Error("a value of the sequence was taken without a grant")
	}
}

func TestMissingSchemaIsNamed(t *testing.T) {
	s := newServer(t)
	key := lock.NewKey("fencing", "missing")
	check := func(what string, err error, state string) {
		t.Helper()
		if code(err) != state || !contains(err, "Schema") {
			t.Errorf("%s gave %v, want SQLSTATE %s with the way out", what, err, state)
		}
	}
	for range 2 {
		_, err := s.locker(Fencing()).Acquire(context.Background(), key)
		check("Acquire with Fencing", err, "3F000")
		s.free()
		l := s.locker()
		_, err = l.RunOnce(context.Background(), key, time.Hour, func(context.Context) error { return nil })
		check("RunOnce", err, "42P01")
		s.free()
	}
	s.exec(`CREATE SCHEMA advisorylint`)
	_, err := s.locker(Fencing()).Acquire(context.Background(), key)
	check("Acquire with Fencing", err, "42P01")
}

func TestRunOnceNeedsOneConnectionOnly(t *testing.T) {
	s := newServer(t)
	s.exec(Schema)
	l := s.locker(MaxConns(1))
	key := lock.NewKey("run once", "one connection")
	runs := 0
	for range 3 {
		_, err := l.RunOnce(context.Background(), key, time.Hour, func(context.Context) error { runs++; return nil })
		if err != nil {
			t.Fatal(err)
		}
	}
	if runs != 1 {
		t.Errorf("ran %d times in an hour", runs)
	}
	s.exec(`UPDATE advisorylint.last_run SET started_at = started_at - interval '1 hour'`)
	if ran, err := l.RunOnce(context.Background(), key, time.Hour, func(context.Context) error { return nil }); !ran || err != nil {
		t.Errorf("after an hour RunOnce gave %v, %v", ran, err)
	}
	s.exec(`UPDATE advisorylint.last_run SET started_at = started_at + interval '1 year'`)
	if ran, err := l.RunOnce(context.Background(), key, time.Hour, func(context.Context) error { return nil }); !ran || err != nil {
		t.Errorf("after the server's clock was set back RunOnce gave %v, %v", ran, err)
	}
	if name := query(t, s.connect(), `SELECT string_agg(name, ',') FROM advisorylint.last_run`); name != key.String() {
		t.Errorf("the table has %q", name)
	}
}
