package analyzer

import (
	"go/ast"

	"github.com/advisorylint/advisorylint/analyzer/internal/gate"
)

// Matters says from a package's syntax, for drivers that type-check from source, what the rules can need of
// a package that is imported only. follow: it may have facts, so its function bodies are needed; else its
// declarations are enough, unless it imports, at any distance, a package that has facts or text. text: it has
// the text of locks, which a package that imports it may send. The files must have
// the comments that are go:embed directives.
func Matters(path string, files []*ast.File) (follow, text bool) {
	return gate.FromSyntax(path, files)
}

// NeverMatters says from a package's source, without parsing all of it, that Matters would say no to both.
func NeverMatters(path string, texts [][]byte) bool { return gate.Never(path, texts) }
