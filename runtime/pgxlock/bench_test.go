package pgxlock

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/advisorylint/advisorylint/runtime/lock"
)

// BenchmarkUncontended compares one cycle of each with the two round trips that it has. The requirement
// is a cycle within 1.15 times two raw statements.
func BenchmarkUncontended(b *testing.B) {
	s := newServer(b)
	ctx := context.Background()
	key := lock.NewKey("bench", "uncontended")
	l := s.locker()
	b.Run("two raw statements", func(b *testing.B) {
		conn := s.connect()
		for b.Loop() {
			for range 2 {
				var one int
				if err := conn.QueryRow(ctx, "SELECT 1").Scan(&one); err != nil {
					b.Fatal(err)
				}
			}
		}
	})
	b.Run("acquire and release", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			h, err := l.Acquire(ctx, key)
			if err != nil {
				b.Fatal(err)
			}
			if err := h.Release(ctx); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("try and release", func(b *testing.B) {
		for b.Loop() {
			h, err := l.Acquire(ctx, key, lock.Try())
			if err != nil {
				b.Fatal(err)
			}
			if err := h.Release(ctx); err != nil {
				b.Fatal(err)
			}
		}
	})
	pool, err := pgxpool.NewWithConfig(ctx, parse(b, s.url))
	if err != nil {
		b.Fatal(err)
	}
	defer pool.Close()
	b.Run("do on the caller's pool", func(b *testing.B) {
		for b.Loop() {
			if err := Do(ctx, pool, key, func(context.Context) error { return nil }); err != nil {
				b.Fatal(err)
			}
		}
	})
}
