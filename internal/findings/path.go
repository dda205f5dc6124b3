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

// shortest gives a path relative to dir when it lies below it, and as it is otherwise; with slashes.
func shortest(path, dir string) string {
	if rel, ok := below(dir, path); ok {
		return rel
	}
	return filepath.ToSlash(path)
}

// sourcePath is a path as the sources' root has it.
func (r *Run) sourcePath(file string) string {
	if len(r.Roots) == 0 {
		return filepath.ToSlash(file)
	}
	return shortest(file, r.Roots[0].Dir)
}

// relativeURI writes a path with slashes as a relative reference (RFC 3986, section 4.2).
func relativeURI(path string) string {
	// URL.String puts ./ before a first segment that would read as a scheme, and code scanning does not
	// find a file by that.
	rel := strings.TrimPrefix((&url.URL{Path: path}).String(), "./")
	if first, _, _ := strings.Cut(rel, "/"); strings.Contains(first, ":") {
		rel = strings.ReplaceAll(first, ":", "%3A") + rel[len(first):]
	}
	return rel
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
