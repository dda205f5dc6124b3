package lock

import "testing"

// What the package itself adds to two round trips.
func BenchmarkAcquireRelease(b *testing.B) {
	server := &local{}
	l, err := New(server)
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	b.ReportAllocs()
	for b.Loop() {
		h, err := l.Acquire(b.Context(), keyA)
		if err != nil {
			b.Fatal(err)
		}
		if err := h.Release(b.Context()); err != nil {
			b.Fatal(err)
		}
		server.asked = server.asked[:0]
	}
}
