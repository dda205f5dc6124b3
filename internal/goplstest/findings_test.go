package goplstest

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/advisorylint/advisorylint/internal/goplstest/editor"
)

const pages = "https://github.com/advisorylint/advisorylint/blob/main/docs/rules/"

// The lock is taken in one package and the pool comes from another: what the helper does is a fact.
func TestFindingAcrossPackagesOnOpen(t *testing.T) {
	dir := bakery(t)
	oven := filepath.Join(dir, "oven", "oven.go")
	s := start(t, dir, setup{})
	s.open(oven)
	d := s.await(oven, 1, "poollock")[0]
	if d.Range.Start != (editor.Position{Line: 12, Character: 11}) || !strings.HasPrefix(d.Message, "pg_advisory_lock runs on a pool: ") {
		t.Errorf("%+v", d)
	}
	if d.Code != "poollock" || d.CodeDescription == nil || d.CodeDescription.Href != pages+"poollock.md" {
		t.Errorf("code %v, %v", d.Code, d.CodeDescription)
	}
	// Where the helper's file is known, that is the place; else the text names it.
	related := fmt.Sprintf("%+v", d.RelatedInformation)
	if len(d.RelatedInformation) != 1 || !strings.Contains(related, "joblock.go") || !strings.HasSuffix(d.RelatedInformation[0].Message, "pg_advisory_lock is sent here") {
		t.Errorf("related: %s", related)
	}
	s.stop()
}

func TestFindingsFollowEditsThatAreNotSaved(t *testing.T) {
	dir := bakery(t)
	oven, joblock := filepath.Join(dir, "oven", "oven.go"), filepath.Join(dir, "joblock", "joblock.go")
	bad := read(t, oven)
	pinned := strings.Replace(bad, "db *sql.DB", "db *sql.Conn", 1)
	s := start(t, dir, setup{})
	s.open(oven)
	s.await(oven, 1, "poollock")
	s.await(oven, s.change(oven, pinned))
	s.await(oven, s.change(oven, "\n"+bad), "poollock")

	// The helper in the other package is edited, and the caller's finding changes.
	lock := read(t, joblock)
	s.open(joblock)
	s.change(joblock, strings.Replace(lock, "pg_advisory_lock(", "pg_advisory_xact_lock(", 1))
	s.await(oven, 3, "xactlock")
	s.change(joblock, strings.Replace(lock, "SELECT pg_advisory_lock($1)", "SELECT $1::bigint", 1))
	s.await(oven, 3)
	s.change(joblock, lock)
	s.await(oven, 3, "poollock")
	s.stop()
}

func TestQuickFixIsTheFixOfTheCommand(t *testing.T) {
	dir := bakery(t)
	till := filepath.Join(dir, "till", "till.go")
	text := read(t, till)
	s := start(t, dir, setup{})
	s.open(till)
	d := s.await(till, 1, "unlockresult")[0]
	actions, err := s.Actions(s.ctx, till, d)
	if err != nil {
		t.Fatal(err)
	}
	var fixes []editor.Action
	for _, a := range actions {
		for _, of := range a.Diagnostics {
			if of.Source == "unlockresult" {
				fixes = append(fixes, a)
			}
		}
	}
	if len(fixes) == 0 {
		t.Fatalf("no quick fix: %+v", actions)
	}
	// The first is the one that the command applies; a second needs the runtime's module.
	fix := fixes[0]
	if len(fix.Edit.DocumentChanges) != 1 || fix.Edit.DocumentChanges[0].TextDocument.URI != editor.URI(till) {
		t.Fatalf("%+v", fix)
	}
	edited, err := editor.Apply(text, fix.Edit.DocumentChanges[0].Edits)
	if err != nil {
		t.Fatal(err)
	}
	s.await(till, s.change(till, edited))
	s.stop()

	command := exec.Command(filepath.Join(bin, "advisorylint"), "-fix", "./till")
	command.Dir = dir
	command.Env = append(command.Environ(), "GOWORK=off", "GOPROXY=off")
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("-fix: %v\n%s", err, out)
	}
	if fixed := read(t, till); fixed != edited || fixed == text {
		t.Errorf("gopls makes\n%s\nand -fix\n%s", edited, fixed)
	}
}

func TestSuppressedFindingsStayAway(t *testing.T) {
	dir := bakery(t)
	oven := filepath.Join(dir, "oven", "oven.go")
	const call = "\tif err := joblock.Hold(ctx, db, 7); err != nil {\n\t\treturn err\n\t}\n"
	with := func(above string) string {
		// The first stays, so that what comes with it is all that comes.
		return strings.Replace(read(t, oven), call, call+above+call, 1)
	}
	s := start(t, dir, setup{})
	s.open(oven)
	s.await(oven, 1, "poollock")
	s.await(oven, s.change(oven, with("")), "poollock", "poollock")
	s.await(oven, s.change(oven, with("\t//lint:ignore poollock the pool has one connection\n")), "poollock")
	s.await(oven, s.change(oven, with("\t//nolint:poollock\n")), "poollock")
	wrong := with("\t//lint:ignore unlockorder the pool has one connection\n")
	for _, d := range s.await(oven, s.change(oven, wrong), "poollock", "poollock", "unlockorder") {
		if d.Source == "unlockorder" && !strings.Contains(d.Message, "matches no finding of unlockorder") {
			t.Errorf("%+v", d)
		}
	}
	s.stop()
}

func TestAnalysesSettingTurnsARuleOff(t *testing.T) {
	dir := bakery(t)
	oven := filepath.Join(dir, "oven", "oven.go")
	// The unlock on the pool is what another rule speaks of too.
	text := strings.Replace(read(t, oven), "return bake()", "_, err := db.ExecContext(ctx, \"SELECT pg_advisory_unlock(7)\")\n\treturn err", 1)
	for off, want := range map[string][]string{
		"unlockresult": {"poollock", "poollock"},
		"poollock":     {"unlockresult"},
	} {
		s := start(t, dir, setup{settings: map[string]any{"analyses": map[string]any{off: false}}})
		s.open(oven)
		s.await(oven, s.change(oven, text), want...)
		s.stop()
	}
}
