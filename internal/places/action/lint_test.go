package action

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rhysd/actionlint"
	"go.yaml.in/yaml/v3"
)

// lint runs actionlint, with shellcheck for the scripts, on a workflow of a repository that has action.yml
// at its root.
func lint(t *testing.T, name, workflow string) {
	t.Helper()
	shellcheck, err := exec.LookPath("shellcheck")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for path, text := range map[string]string{
		"action.yml":                         readFile(t, "action.yml"),
		".github/workflows/advisorylint.yml": workflow,
	} {
		writeFile(t, filepath.Join(dir, path), text)
	}
	if err := os.Mkdir(filepath.Join(dir, ".git"), 0o755); err != nil { // by which actionlint knows the root
		t.Fatal(err)
	}
	linter, err := actionlint.NewLinter(io.Discard, &actionlint.LinterOptions{Shellcheck: shellcheck})
	if err != nil {
		t.Fatal(err)
	}
	faults, err := linter.LintRepository(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range faults {
		t.Errorf("%s: %v", name, f)
	}
}

func writeFile(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// actionlint knows the inputs and outputs of an action in the repository itself.
func TestWorkflowsOfThePageAreValid(t *testing.T) {
	uses := regexp.MustCompile(`uses: advisorylint/advisorylint@\S+`)
	for _, workflow := range blocks(t, "yaml", "jobs:") {
		local := uses.ReplaceAllLiteralString(workflow, "uses: ./")
		if local == workflow {
			t.Errorf("this workflow does not use the action\n%s", workflow)
		}
		lint(t, "docs/integrations/ci.md", local)
	}
}

// actionlint does not look into a composite action. Its steps are those of a workflow as well, whose
// inputs are the action's.
func TestStepsOfTheActionAreValid(t *testing.T) {
	m := readAction(t)
	inputs := map[string]any{}
	for name, input := range m.Inputs {
		inputs[name] = map[string]any{"description": input.Description, "type": "string", "default": input.Default}
	}
	outputs := map[string]string{}
	for name, output := range m.Outputs {
		outputs[name] = output.Value
	}
	workflow, err := yaml.Marshal(map[string]any{
		"name":        "steps of the action",
		"on":          map[string]any{"workflow_dispatch": map[string]any{"inputs": inputs}},
		"permissions": map[string]string{},
		"jobs": map[string]any{"lint": map[string]any{
			"runs-on": "ubuntu-latest", "outputs": outputs, "steps": m.Runs.Steps,
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(workflow), "${{ inputs.packages }}") {
		t.Fatalf("the steps do not use the inputs\n%s", workflow)
	}
	lint(t, "action.yml", string(workflow))
}
