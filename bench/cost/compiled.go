package main

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// compilesNothing lints with an empty build cache, and fails when a compiled package is in it afterwards.
func (t tools) compilesNothing(m module, dir string) error {
	cache, err := os.MkdirTemp(filepath.Dir(dir), "gocache-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(cache)
	lint := t.linter("advisorylint", dir, filepath.Join(cache, "own"))
	builds := filepath.Join(cache, "builds")
	lint.env = append(lint.env, "GOCACHE="+builds)
	if _, err := lint.run(); err != nil {
		return err
	}
	n, err := archives(builds)
	if err != nil {
		return err
	}
	if n > 0 {
		return fmt.Errorf("with an empty build cache, %d packages were compiled", n)
	}
	fmt.Printf("%-10s %-8s empty build cache: nothing compiled\n", m.name, "compile")
	return nil
}

// archives counts the compiled packages in a build cache, by how such a file begins.
func archives(cache string) (n int, err error) {
	magic := []byte("!<arch>\n")
	err = filepath.WalkDir(cache, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		start := make([]byte, len(magic))
		if _, err := io.ReadFull(f, start); err == nil && bytes.Equal(start, magic) {
			n++
		}
		return nil
	})
	return n, err
}
