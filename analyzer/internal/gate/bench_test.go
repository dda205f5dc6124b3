package gate

import (
	"testing"

	"github.com/advisorylint/advisorylint/analyzer/internal/stagetest"
)

// A gate opens for all fixtures, which have lock text or lease commands, and stays closed for a client
// library, whose functions the engine knows.
func BenchmarkGate(b *testing.B) {
	fixtures, library := stagetest.Fixtures(b), stagetest.Library(b)
	for _, stage := range []struct {
		name string
		open func(*stagetest.Package) bool
	}{
		{"syntax", func(p *stagetest.Package) bool {
			open, _ := FromSyntax(p.PkgPath, p.Syntax)
			return open
		}},
		{"types", func(p *stagetest.Package) bool {
			return Of(p.Types, p.Syntax, p.TypesInfo, nothingKnown) != Closed
		}},
	} {
		b.Run(stage.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				for _, p := range fixtures {
					if !stage.open(p) {
						b.Fatalf("closed for %s", p.PkgPath)
					}
				}
				for _, p := range library {
					if stage.open(p) {
						b.Fatalf("open for %s", p.PkgPath)
					}
				}
			}
		})
	}
}
