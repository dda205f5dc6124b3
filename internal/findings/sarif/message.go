package sarif

import "strings"

// literal writes what would read as a placeholder (3.11.5) or as an embedded link (3.11.6).
var literal = strings.NewReplacer("{", "{{", "}", "}}", "](", `\](`)

// NewMessage gives a message that reads as text.
func NewMessage(text string) Message { return Message{Text: literal.Replace(text)} }
