package crossslot

import (
	"context"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/advisorylint/advisorylint/internal/testserver"
	"github.com/advisorylint/advisorylint/testdata/src/proof"
)

func TestMain(m *testing.M) { testserver.Main(m) }

// booking is one function of bad.go or good.go.
type booking func(ctx context.Context, book Book) error

func of[H any](f func(context.Context, H, string, Book) error, handle H, seat string) booking {
	return func(ctx context.Context, book Book) error { return f(ctx, handle, seat, book) }
}

func seat(f func(context.Context, int, int, Book) error) booking {
	return func(ctx context.Context, book Book) error { return f(ctx, 3, 14, book) }
}

// count notes how often a seat is booked.
func count(booked *int) Book {
	return func(context.Context, int64) error { *booked++; return nil }
}

func open(t *testing.T) (addrs []string, seats *Seats) {
	addrs = testserver.RedisCluster(t)
	seats = OpenSeats(addrs)
	t.Cleanup(func() { seats.Close() })
	return addrs, seats
}

func TestBadIsRefusedByTheCluster(t *testing.T) {
	addrs, s := open(t)
	for name, test := range map[string]struct {
		run    booking
		booked int // what was booked when the refusal came
	}{
		"acquire":       {run: of[*redis.ClusterClient](Numbered, s.cluster, "a1")},
		"wrong tags":    {run: of[*redis.ClusterClient](WrongTags, s.cluster, "a1")},
		"release":       {run: seat(s.Pair), booked: 1},
		"release, told": {run: seat(func(ctx context.Context, hall, seat int, b Book) error { return s.Told(ctx, hall, seat+2, b) }), booked: 1},
	} {
		t.Run(name, func(t *testing.T) {
			booked := 0
			err := test.run(t.Context(), count(&booked))
			if err == nil || !strings.Contains(err.Error(), "CROSSSLOT") || booked != test.booked {
				t.Fatalf("booked %d times, %v; want %d and CROSSSLOT", booked, err, test.booked)
			}
			// The release was refused as well, and the seat stays locked for its TTL.
			if err := test.run(t.Context(), count(&booked)); test.booked == 1 && err != errBusy {
				t.Fatalf("the next booking ended with %v, want %v", err, errBusy)
			}
		})
	}

	if err := s.ForceFree(t.Context(), 3, 14); err == nil || !strings.Contains(err.Error(), "CROSSSLOT") {
		t.Fatalf("freed by force with %v, want CROSSSLOT", err)
	}

	// The server says so, not the client alone.
	node := redis.NewClient(&redis.Options{Addr: addrs[0]})
	defer node.Close()
	err := OneServer(t.Context(), node, "a1", count(new(int)))
	if err == nil || !strings.HasPrefix(err.Error(), "CROSSSLOT") {
		t.Fatalf("a node of the cluster answers %v, want CROSSSLOT", err)
	}
}

func TestGoodIsServedByTheCluster(t *testing.T) {
	_, s := open(t)
	for name, run := range map[string]booking{
		"acquire":       of[*redis.ClusterClient](NumberedTagged, s.cluster, "b2"),
		"release":       seat(s.PairTagged),
		"release, told": seat(s.ToldTagged),
		"one by one":    seat(s.OneByOne),
		"named": func(ctx context.Context, b Book) error {
			return Named(ctx, s.cluster, "{c3}:lock", "{c3}:grants", b)
		},
		"either": func(ctx context.Context, b Book) error {
			return Either(ctx, s.cluster, "{d4}", b)
		},
	} {
		t.Run(name, func(t *testing.T) {
			booked := 0
			for want := 1; want <= 2; want++ { // the second time shows that the first one's lock is free
				if err := run(t.Context(), count(&booked)); err != nil || booked != want {
					t.Fatalf("booked %d times, %v; want %d", booked, err, want)
				}
			}
		})
	}
	for _, seat := range []int{5, 6} {
		if err := s.take(t.Context(), taggedLock(9, seat), "another"); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.ForceFreeTagged(t.Context(), 9, 5); err != nil {
		t.Fatal(err)
	}
	if left := s.cluster.Exists(t.Context(), taggedLock(9, 5), taggedLock(9, 6)).Val(); left != 0 {
		t.Fatalf("locks left after the forced release = %d, want none", left)
	}
}

// What a cluster refuses, one server does: a test on one server shows nothing.
func TestOneServerRefusesNothing(t *testing.T) {
	s := proof.Redis(t)
	rdb := s.V9(s.Addr)
	for want := 1; want <= 2; want++ {
		var number int64
		err := OneServer(t.Context(), rdb, "e5", func(_ context.Context, n int64) error { number = n; return nil })
		if err != nil || number != int64(want) {
			t.Fatalf("grant %d, %v; want %d", number, err, want)
		}
	}
}
