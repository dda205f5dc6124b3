package monorepo

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

func TestALargerRepositoryHasAllOfASmallerOne(t *testing.T) {
	small, large := t.TempDir(), t.TempDir()
	if _, err := Write(small, 100); err != nil {
		t.Fatal(err)
	}
	if _, err := Write(large, 130); err != nil {
		t.Fatal(err)
	}
	files := 0
	err := filepath.WalkDir(small, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		files++
		rel, err := filepath.Rel(small, path)
		if err != nil {
			return err
		}
		want, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		got, err := os.ReadFile(filepath.Join(large, rel))
		if err == nil && !bytes.Equal(got, want) {
			t.Errorf("%s differs", rel)
		}
		return err
	})
	if err != nil || files < 200 {
		t.Errorf("%d files, %v", files, err)
	}
}

// The linter of this tree finds each mistake that was put in, and no other; the module's own tests pass.
func TestTheLinterFindsWhatWasPutIn(t *testing.T) {
	dir := t.TempDir()
	repo, err := Write(dir, 100)
	if err != nil {
		t.Fatal(err)
	}
	linter := filepath.Join(t.TempDir(), "advisorylint")
	build := exec.Command("go", "build", "-o", linter, "./cmd/advisorylint")
	build.Dir = "../.."
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	lint := exec.Command(linter, "-json", "./...")
	lint.Dir = dir
	out, err := lint.Output()
	if code := lint.ProcessState.ExitCode(); code != 3 {
		t.Fatalf("exit code %d, %v, want 3", code, err)
	}
	found := map[string]int{}
	var packages map[string]map[string][]any
	if err := json.Unmarshal(out, &packages); err != nil {
		t.Fatal(err)
	}
	for _, rules := range packages {
		for rule, list := range rules {
			found[rule] += len(list)
		}
	}
	if !maps.Equal(found, repo.Findings) {
		t.Errorf("found %v, want %v", found, repo.Findings)
	}

	list := exec.Command("go", "list", "-f", "{{.ImportPath}}", "./...")
	list.Dir = dir
	out, err = list.Output()
	if n := bytes.Count(out, []byte("\n")); err != nil || n != 100 {
		t.Errorf("%d packages, %v, want 100", n, err)
	}
	for _, args := range [][]string{{"vet", "./..."}, {"test", "./platform/...", "./billing/parcel42/..."}} {
		cmd := exec.Command("go", args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("go %v: %v\n%s", args, err, out)
		}
	}
}

func TestNobodyImportsTheLeaf(t *testing.T) {
	for _, n := range []int{100, 250, 2000} {
		leaf := name(top(n))
		for i := range n {
			for _, used := range describe(i).Imports {
				if used == leaf {
					t.Errorf("of %d packages, %s imports %s", n, name(i).Path, leaf.Path)
				}
			}
		}
	}
}

func TestASmallRepositoryIsRefused(t *testing.T) {
	if _, err := Write(t.TempDir(), 99); err == nil {
		t.Error("no error for 99 packages")
	}
}
