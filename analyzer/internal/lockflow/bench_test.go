package lockflow

import "testing"

// The whole engine, on programs whose packages learn of one another by facts.
func BenchmarkAnalyzer(b *testing.B) {
	programs := load(b)
	b.ReportAllocs()
	for b.Loop() {
		fs := &facts{data: map[string][]byte{}}
		events := 0
		for _, p := range programs {
			events += len(analyse(b, p.pass(fs)))
		}
		if events == 0 || len(fs.data) == 0 {
			b.Fatalf("%d events and %d facts", events, len(fs.data))
		}
	}
}
