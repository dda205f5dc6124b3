package main

import (
	"testing"
)

// BenchmarkCycle takes and releases each lock without contention, for profiles:
//
//	go test -run - -bench 'Cycle/pgxlock' -cpuprofile cpu.out
func BenchmarkCycle(b *testing.B) {
	for _, s := range subjects() {
		b.Run(s.name(), func(b *testing.B) {
			servers, err := startServers(b.Context(), b, []system{s.system})
			if err != nil {
				b.Fatal(err)
			}
			contenders, closeAll, err := assemble(b.Context(), s, servers.at[s.system], "key", alone)
			defer closeAll()
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				if err := contenders[0].cycle(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
