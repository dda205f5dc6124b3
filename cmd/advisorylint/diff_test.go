package main

import (
	"math/rand"
	"slices"
	"strings"
	"testing"
)

func TestUnified(t *testing.T) {
	numbered := func(n int, other map[int]string) string {
		var b strings.Builder
		for i := 1; i <= n; i++ {
			if line, ok := other[i]; ok {
				b.WriteString(line)
				continue
			}
			b.WriteString(strings.Repeat("x", i) + "\n")
		}
		return b.String()
	}
	for _, test := range []struct{ name, old, new, want string }{
		{"the same", "a\nb\n", "a\nb\n", ""},
		{"a line changed", "a\nb\nc\n", "a\nB\nc\n", "--- a/f.go\n+++ b/f.go\n@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n"},
		{"a line added to nothing", "", "a\n", "--- a/f.go\n+++ b/f.go\n@@ -0,0 +1,1 @@\n+a\n"},
		{"all taken away", "a\n", "", "--- a/f.go\n+++ b/f.go\n@@ -1,1 +0,0 @@\n-a\n"},
		{"the last line ends", "a", "a\n", "--- a/f.go\n+++ b/f.go\n@@ -1,1 +1,1 @@\n-a\n\\ No newline at end of file\n+a\n"},
		{
			"two hunks", numbered(12, nil), numbered(12, map[int]string{2: "two\n", 10: ""}),
			"--- a/f.go\n+++ b/f.go\n@@ -1,5 +1,5 @@\n x\n-xx\n+two\n xxx\n xxxx\n xxxxx\n" +
				"@@ -7,6 +7,5 @@\n xxxxxxx\n xxxxxxxx\n xxxxxxxxx\n-xxxxxxxxxx\n xxxxxxxxxxx\n xxxxxxxxxxxx\n",
		},
	} {
		if got := unified("f.go", []byte(test.old), []byte(test.new)); got != test.want {
			t.Errorf("%s:\ngot\n%s\nwant\n%s", test.name, got, test.want)
		}
	}
}

// Whatever two texts are, the changes make the new one of the old one, and no shorter list does.
func TestCompareIsRightAndShortest(t *testing.T) {
	random := rand.New(rand.NewSource(1))
	text := func() []string {
		list := make([]string, random.Intn(12))
		for i := range list {
			list[i] = string(rune('a' + random.Intn(3)))
		}
		return list
	}
	for range 2000 {
		a, b := text(), text()
		var made []string
		at, edits := 0, 0
		for _, c := range compare(a, b) {
			made = append(append(made, a[at:c.oldStart]...), b[c.newStart:c.newEnd]...)
			at = c.oldEnd
			edits += c.oldEnd - c.oldStart + c.newEnd - c.newStart
		}
		made = append(made, a[at:]...)
		if !slices.Equal(made, b) {
			t.Fatalf("%q to %q makes %q", a, b, made)
		}
		if want := len(a) + len(b) - 2*common(a, b); edits != want {
			t.Fatalf("%q to %q in %d edits, want %d", a, b, edits, want)
		}
	}
}

// common is the length of the longest common subsequence.
func common(a, b []string) int {
	table := make([][]int, len(a)+1)
	for i := range table {
		table[i] = make([]int, len(b)+1)
	}
	for i := range a {
		for j := range b {
			table[i+1][j+1] = max(table[i][j+1], table[i+1][j])
			if a[i] == b[j] {
				table[i+1][j+1] = table[i][j] + 1
			}
		}
	}
	return table[len(a)][len(b)]
}
