package yamldoc

import (
	"strings"
	"testing"
)

func TestReadGivesOneDocument(t *testing.T) {
	for text, want := range map[string]string{"a: 1": "!!map", "- a": "!!seq", "---\nx\n": "!!str", "---\n": "!!null", "": "", "# nothing\n": ""} {
		node, fault := Read([]byte(text))
		got := ""
		if node != nil {
			got = node.Tag
		}
		if fault != nil || got != want {
			t.Errorf("%q: got %q, want %q, fault %v", text, got, want, fault)
		}
	}
}

func TestFaultsHaveOneLineAndTheirPlace(t *testing.T) {
	for text, want := range map[string]string{
		"a: 1\n---\nb: 1\n": "line 2: a second document: the file has one",
		"a: [1\nb: 2":       "line 1: not YAML: did not find expected",
		"a: *nowhere":       "not YAML: unknown anchor",
		"a: 1\n---\nb: [":   "not YAML: ",
	} {
		_, fault := Read([]byte(text))
		if fault == nil || !strings.Contains(fault.Error(), want) || strings.Contains(fault.Error(), "\n") {
			t.Errorf("%q: got %v, want %q", text, fault, want)
		}
	}
}
