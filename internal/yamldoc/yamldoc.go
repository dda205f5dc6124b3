// Package yamldoc reads the one document of a YAML file, and says on one line what is wrong with it.
package yamldoc

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Fault is what is wrong with a file.
type Fault struct {
	Line int // 0: no line in particular
	Text string
}

func (f *Fault) Error() string {
	if f.Line == 0 {
		return f.Text
	}
	return fmt.Sprintf("line %d: %s", f.Line, f.Text)
}

// Read gives what the document has at its top, nil for a file without any.
func Read(data []byte) (*yaml.Node, *Fault) {
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var doc, more yaml.Node
	switch err := decoder.Decode(&doc); {
	case errors.Is(err, io.EOF):
		return nil, nil
	case err != nil:
		return nil, Syntax(err)
	}
	switch err := decoder.Decode(&more); {
	case err == nil:
		return nil, &Fault{more.Line, "a second document: the file has one"}
	case !errors.Is(err, io.EOF):
		return nil, Syntax(err)
	}
	return doc.Content[0], nil
}

// Syntax gives an error of the YAML library its place.
func Syntax(err error) *Fault {
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	var line int
	if n, _ := fmt.Sscanf(text, "line %d: ", &line); n == 1 {
		_, text, _ = strings.Cut(text, ": ")
	}
	return &Fault{line, "not YAML: " + strings.Join(strings.Fields(text), " ")}
}
