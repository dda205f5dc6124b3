package findings

import (
	"net/url"
	"path/filepath"
	"strings"
)

// below gives a path relative to dir, with slashes, when it lies below dir.
func below(dir, path string) (string, bool) {
	if dir == "" || !filepath.IsAbs(path) {
		return "", false
	}
	rel, err := filepath.Rel(dir, path)
	if err != nil || !filepath.IsLocal(rel) {
		return "", false
	}
	return filepath.ToSlash(rel), true
}

// shortest gives a path relative to the first of dirs that it lies below, with slashes; the path itself
// when there is none.
func shortest(path string, dirs ...string) string {
	for _, dir := range dirs {
		if rel, ok := below(dir, path); ok {
			return rel
		}
	}
	return filepath.ToSlash(path)
}

// dir is the working directory.
func (r *Run) dir() string {
	if len(r.Roots) == 0 {
		return ""
	}
	return r.Roots[0].Dir
}

// relativeURI writes a path with slashes as a relative reference (RFC 3986, section 4.2).
func relativeURI(path string) string {
	// URL.String puts ./ before a first segment that would read as a scheme.
	return (&url.URL{Path: path}).String()
}

// fileURI writes an absolute path with slashes as a URI. On Windows it starts with a drive or a host.
func fileURI(path string) string {
	u := url.URL{Scheme: "file", Path: path}
	if rest, ok := strings.CutPrefix(path, "//"); ok {
		u.Host, u.Path, _ = strings.Cut(rest, "/")
		u.Path = "/" + u.Path
	} else if !strings.HasPrefix(path, "/") {
		u.Path = "/" + path
	}
	return u.String()
}
