package mysqllock

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/advisorylint/advisorylint/runtime/lock"
)

func TestWaitsAreCutIntoWholeSecondsAndSmallFractions(t *testing.T) {
	for _, c := range []struct{ wait, step, left, want time.Duration }{
		{wait: 0, step: 20 * time.Second, want: 0},
		{wait: -1, step: 20 * time.Second, want: 20 * time.Second},
		{wait: -1, step: 1500 * time.Millisecond, want: time.Second},
		{wait: time.Hour, step: 20 * time.Second, left: time.Hour, want: 20 * time.Second},
		{wait: time.Hour, step: 20 * time.Second, left: 1900 * time.Millisecond, want: time.Second},
		{wait: time.Hour, step: 20 * time.Second, left: 800 * time.Millisecond, want: 490 * time.Millisecond},
		{wait: time.Hour, step: 20 * time.Second, left: 300*time.Millisecond - time.Microsecond, want: 299 * time.Millisecond},
		{wait: time.Hour, step: 20 * time.Second, left: -time.Second, want: 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			p := patience{wait: c.wait, step: c.step, since: time.Now().Add(c.left - c.wait)}
			if c.wait <= 0 {
				p.since = time.Now()
			}
			if got := p.next(); got != c.want {
				t.Errorf("%v of %v left: the next waits %v, want %v", c.left, c.wait, got, c.want)
			}
		})
	}
}

func TestSecondsAreWrittenForBothServers(t *testing.T) {
	for wait, want := range map[time.Duration]string{
		0: "0", 20 * time.Second: "20", 490 * time.Millisecond: "0.490", 7 * time.Millisecond: "0.007",
	} {
		if got := seconds(wait); got != want {
			t.Errorf("%v is %s, want %s", wait, got, want)
		}
	}
}

// A server that rounds fractions to seconds, as MySQL does, answers a fraction below a half at once.
func TestServerThatRoundsFractionsIsPolledForTheRightTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const wait = 200 * time.Millisecond
		p := patience{wait: wait, step: DefaultWaitStep, since: time.Now()}
		asked := 0
		var err error
		for err == nil {
			asked++
			err = p.after(t.Context(), p.next(), 0)
		}
		took := time.Since(p.since)
		t.Logf("asked %d times in %v", asked, took)
		if !errors.Is(err, lock.ErrTimeout) {
			t.Errorf("ended with %v, want ErrTimeout", err)
		}
		if took < wait-time.Millisecond || took > wait {
			t.Errorf("a wait of %v took %v", wait, took)
		}
		if asked < 8 || asked > 41 {
			t.Errorf("asked %d times, want one for each 5 to 25 ms", asked)
		}
	})
}

func TestPauseEndsWithTheContext(t *testing.T) {
	ctx, cancel := context.WithCancelCause(context.Background())
	why := errors.New("why")
	cancel(why)
	p := patience{wait: time.Hour, step: DefaultWaitStep, since: time.Now()}
	if err := p.after(ctx, 0, 0); !errors.Is(err, why) {
		t.Errorf("pause: %v, want the context's cause", err)
	}
}
