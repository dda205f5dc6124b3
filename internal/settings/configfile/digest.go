package configfile

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/mod/modfile"

	"github.com/advisorylint/advisorylint/internal/settings"
)

// Digest is a hash of all files that can govern packages of the module or workspace of dir, for those
// who keep results and must know when to forget them; "" when there are none. Every file is checked.
func Digest(dir string, rules []string) (string, error) {
	hash := sha256.New()
	found := false
	seen := map[string]bool{}
	for _, root := range append(workspace(dir), dir) {
		path, err := Locate(root)
		if err != nil {
			return "", err
		}
		if path == "" || seen[path] {
			continue
		}
		seen[path], found = true, true
		data, err := Load(path)
		if err != nil {
			return "", err
		}
		if _, err := Parse(path, data, rules); err != nil {
			return "", err
		}
		fmt.Fprintf(hash, "%s %d\n%s", path, len(data), data)
	}
	if !found {
		return "", nil
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}

// workspace lists the modules of the go.work that is in force in dir. One that cannot be read is for the
// go command to complain of.
func workspace(dir string) []string {
	path := os.Getenv("GOWORK")
	if path == "off" {
		return nil
	}
	for d := dir; path == ""; {
		if candidate := filepath.Join(d, "go.work"); exists(candidate) {
			path = candidate
			break
		}
		up := filepath.Dir(d)
		if up == d {
			return nil
		}
		d = up
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	work, err := modfile.ParseWork(path, data, nil)
	if err != nil {
		return nil
	}
	var roots []string
	for _, use := range work.Use {
		root := filepath.FromSlash(use.Path)
		if !filepath.IsAbs(root) {
			root = filepath.Join(filepath.Dir(path), root)
		}
		roots = append(roots, settings.ModuleRoot(root))
	}
	return roots
}
