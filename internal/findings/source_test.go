package findings

import (
	"go/token"
	"os"
	"path/filepath"
	"testing"
)

func TestSpansCountInUTF16(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.go")
	if err := os.WriteFile(file, []byte("\té𝛼\xffx\r\nb"), 0o644); err != nil {
		t.Fatal(err)
	}
	var s Sources
	at := func(line, column int) token.Position {
		return token.Position{Filename: file, Line: line, Column: column}
	}
	for _, test := range []struct {
		start, end token.Position
		want       Span
	}{
		{at(1, 2), at(1, 4), Span{file, Position{1, 2, 2}, Position{1, 4, 3}}},
		{at(1, 4), at(1, 8), Span{file, Position{1, 4, 3}, Position{1, 8, 5}}},
		{at(1, 8), at(1, 9), Span{file, Position{1, 8, 5}, Position{1, 9, 6}}},
		{at(1, 9), at(2, 2), Span{file, Position{1, 9, 6}, Position{2, 2, 2}}},
		{at(1, 2), token.Position{}, Span{file, Position{1, 2, 2}, Position{}}},
		{at(1, 4), at(1, 2), Span{file, Position{1, 4, 3}, Position{}}},
		{at(1, 2), token.Position{Filename: "b.go", Line: 4, Column: 1}, Span{file, Position{1, 2, 2}, Position{}}},
		// What //line comments say of files need not be so.
		{at(1, 40), at(3, 1), Span{file, Position{1, 40, 0}, Position{3, 1, 0}}},
		{at(2, 0), at(2, 0), Span{file, Position{2, 0, 0}, Position{2, 0, 0}}},
		{token.Position{Filename: "gone.y", Line: 7, Column: 1}, token.Position{}, Span{"gone.y", Position{7, 1, 0}, Position{}}},
	} {
		if got := s.Span(test.start, test.end); got != test.want {
			t.Errorf("%v to %v: got %+v, want %+v", test.start, test.end, got, test.want)
		}
	}
	if got := s.Line(file, 1); got != "é𝛼\xffx" {
		t.Errorf("line 1 is %q", got)
	}
	if got := s.Line("gone.y", 1); got != "" {
		t.Errorf("a line of a file that is gone is %q", got)
	}
}

// Half of the columns would say something else: to the end of the line.
func TestRegionLeavesColumnsOut(t *testing.T) {
	for _, test := range []struct {
		start, end Position
		want       [4]int
	}{
		{Position{3, 2, 2}, Position{3, 9, 8}, [4]int{3, 2, 0, 8}},
		{Position{3, 2, 2}, Position{4, 9, 8}, [4]int{3, 2, 4, 8}},
		{Position{3, 2, 2}, Position{}, [4]int{3, 2, 0, 0}},
		{Position{3, 2, 0}, Position{4, 9, 8}, [4]int{3, 0, 4, 0}},
		{Position{3, 2, 2}, Position{4, 9, 0}, [4]int{3, 0, 4, 0}},
	} {
		r := region(Span{"a.go", test.start, test.end})
		if got := [4]int{r.StartLine, r.StartColumn, r.EndLine, r.EndColumn}; got != test.want {
			t.Errorf("%v to %v: got %v, want %v", test.start, test.end, got, test.want)
		}
	}
}
