package luatext_test

import (
	"testing"

	"github.com/advisorylint/advisorylint/analyzer/internal/luatext"
)

func BenchmarkParse(b *testing.B) {
	scripts := samples(b)
	b.ReportAllocs()
	for b.Loop() {
		known := 0
		for _, x := range scripts {
			if luatext.Parse(x.text).Known {
				known++
			}
		}
		if known == 0 {
			b.Fatal("no script is understood")
		}
	}
}
