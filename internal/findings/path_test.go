package findings

import (
	"net/url"
	"testing"
)

func TestURIs(t *testing.T) {
	for path, want := range map[string]string{
		"/shop floor/köln.go":          "file:///shop%20floor/k%C3%B6ln.go",
		"/50%#1?.go":                   "file:///50%25%231%3F.go",
		"C:/Users/Ann B/stock.go":      "file:///C:/Users/Ann%20B/stock.go",
		"//server/share/ä/stock.go":    "file://server/share/%C3%A4/stock.go",
		"/back\\slash, which is legal": "file:///back%5Cslash,%20which%20is%20legal",
	} {
		if got := fileURI(path); got != want {
			t.Errorf("%s is %s, want %s", path, got, want)
		}
	}
	for path, want := range map[string]string{
		"stock/a b.go": "stock/a%20b.go",
		"a:b.go":       "a%3Ab.go", // not the scheme a
		"x/a:b.go":     "x/a:b.go",
		"a:/b:c.go":    "a%3A/b:c.go",
		"50%#1?.go":    "50%25%231%3F.go",
	} {
		got := relativeURI(path)
		if got != want {
			t.Errorf("%s is %s, want %s", path, got, want)
		}
		if u, err := url.Parse(got); err != nil || u.Path != path {
			t.Errorf("%s reads as %v, error %v", got, u, err)
		}
	}
}

func TestShortestPath(t *testing.T) {
	for _, test := range []struct{ path, dir, want string }{
		{"/src/shop/stock/a.go", "/src/shop", "stock/a.go"},
		{"/src/shopping/a.go", "/src/shop", "/src/shopping/a.go"},
		{"/src/a.go", "/src/shop", "/src/a.go"},
		{"/src/a.go", "", "/src/a.go"},
		{"stock/a.y", "/src/shop", "stock/a.y"},
	} {
		if got := shortest(test.path, test.dir); got != test.want {
			t.Errorf("%v: got %s", test, got)
		}
	}
}
