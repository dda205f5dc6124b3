package sarif

import "testing"

// What a reader would take for a placeholder or a link must read as it is.
func TestMessagesReadAsText(t *testing.T) {
	for text, want := range map[string]string{
		"keys {a} and {0}":       "keys {{a}} and {{0}}",
		"handlers[i](ctx) locks": `handlers[i\](ctx) locks`,
		"locks[i] and (b)":       "locks[i] and (b)",
		`C:\locks`:               `C:\locks`,
	} {
		if got := NewMessage(text).Text; got != want {
			t.Errorf("%q is written %q, want %q", text, got, want)
		}
	}
}
