package lock

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestRunOnceRunsOnceInEachInterval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, _ := newLocal(t)
		defer l.Close()
		runs := 0
		once := func() (bool, error) {
			return l.RunOnce(t.Context(), keyA, time.Minute, func(context.Context) error { runs++; return nil })
		}
		for range 3 {
			if _, err := once(); err != nil {
				t.Error(err)
			}
		}
		time.Sleep(time.Minute)
		if ran, err := once(); !ran || err != nil || runs != 2 {
			t.Errorf("ran %v, %v; %d runs", ran, err, runs)
		}
		time.Sleep(time.Minute)
		holder, _ := l.Acquire(t.Context(), keyA) // a run that takes longer
		if ran, err := once(); ran || err != nil {
			t.Errorf("while another runs: ran %v, %v", ran, err)
		}
		_ = holder.Release(t.Context())
		work := errors.New("work")
		ran, err := l.RunOnce(t.Context(), keyA, time.Minute, func(context.Context) error { return work })
		if !ran || !errors.Is(err, work) {
			t.Errorf("failing run: ran %v, %v", ran, err)
		}
		if ran, _ := once(); ran {
			t.Error("a run that failed was run again")
		}
		if _, err := l.RunOnce(t.Context(), keyA, 0, nil); !errors.Is(err, ErrInvalid) {
			t.Errorf("every 0: %v", err)
		}
	})
}

func TestRunOnceNeedsAServerThatRemembers(t *testing.T) {
	l, err := New(struct{ Backend }{&local{}})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if _, err := l.RunOnce(t.Context(), keyA, time.Minute, nil); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("error is %v", err)
	}
}

func TestCampaignHasOneLeaderAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &local{}
		ctx, cancel := context.WithCancelCause(t.Context())
		over := errors.New("over")
		leaders, terms, most := 0, map[int]int{}, 0
		var mu sync.Mutex
		var wg sync.WaitGroup
		for i := range 3 {
			l, _ := New(server)
			defer l.Close()
			wg.Go(func() {
				err := l.Campaign(ctx, keyA, func(ctx context.Context) error {
					mu.Lock()
					leaders++
					terms[i]++
					most = max(most, leaders)
					mu.Unlock()
					select {
					case <-ctx.Done():
					case <-time.After(30 * time.Second):
					}
					mu.Lock()
					leaders--
					mu.Unlock()
					return ctx.Err()
				})
				if err != over {
					t.Errorf("campaign %d: %v", i, err)
				}
			})
		}
		time.Sleep(time.Hour)
		cancel(over)
		wg.Wait()
		if most != 1 || len(terms) < 2 || terms[0]+terms[1]+terms[2] < 100 {
			t.Errorf("%d led at once, terms %v", most, terms)
		}
	})
}

func TestCampaignGoesOnAfterALossAndEndsWithTheWorksError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, server := newLocal(t)
		defer l.Close()
		work := errors.New("work")
		term := 0
		err := l.Campaign(t.Context(), keyA, func(ctx context.Context) error {
			term++
			if term == 3 {
				return work
			}
			server.lastRequest().Lost(errors.New("session ended"))
			<-ctx.Done()
			return ctx.Err()
		})
		if !errors.Is(err, work) || term != 3 {
			t.Errorf("after %d terms: %v", term, err)
		}
	})
}

func TestCampaignOutlivesAServerThatDoesNotAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, server := newLocal(t)
		defer l.Close()
		tries := 0
		server.acquire = func(context.Context, Request) error {
			if tries++; tries < 20 {
				return errors.New("connection refused")
			}
			return nil
		}
		start, work := time.Now(), errors.New("work")
		if err := l.Campaign(t.Context(), keyA, func(context.Context) error { return work }); !errors.Is(err, work) {
			t.Errorf("error is %v", err)
		}
		if took := time.Since(start); took < 30*time.Second || took > 200*time.Second {
			t.Errorf("20 tries took %v", took)
		}
		server.acquire = func(context.Context, Request) error { return ErrPooler }
		if err := l.Campaign(t.Context(), keyA, nil); !errors.Is(err, ErrPooler) {
			t.Errorf("a server that will never do: %v", err)
		}
	})
}
