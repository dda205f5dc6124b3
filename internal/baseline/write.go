package baseline

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// header is how each file begins.
const header = "# The findings of advisorylint that are known here.\n"

const explanation = `# advisorylint -baseline=FILE keeps them back; advisorylint -write-baseline=FILE writes this file.
# rule, file and function, the call without its layout, and how many are alike when there are several.
`

// Is reports whether data is a file that was written here, broken or not: one that may be replaced.
func Is(data []byte) bool { return bytes.HasPrefix(data, []byte(header)) }

// Format writes the file: an entry a line, with neither times nor absolute paths, so that the same findings
// give the same file.
func (b *Baseline) Format() []byte {
	var out bytes.Buffer
	fmt.Fprintf(&out, "%s%sversion: %d\n", header, explanation, Version)
	if len(b.Known) == 0 {
		out.WriteString("findings: []\n")
		return out.Bytes()
	}
	out.WriteString("findings:\n")
	for _, k := range b.Known {
		fmt.Fprintf(&out, "  - {rule: %s, file: %s", quote(k.Rule), quote(k.File))
		if k.In != "" {
			fmt.Fprintf(&out, ", in: %s", quote(k.In))
		}
		if k.At != "" {
			fmt.Fprintf(&out, ", at: %s", quote(k.At))
		}
		if k.Count > 1 {
			fmt.Fprintf(&out, ", count: %d", k.Count)
		}
		out.WriteString("}\n")
	}
	return out.Bytes()
}

// meaning are words that are no strings to YAML.
var meaning = []string{"null", "true", "false", "yes", "no", "on", "off", "y", "n"}

// plain reports whether YAML reads s as it stands, in braces too, if it is none of the words that mean something.
func plain(s string) bool {
	for i, r := range s {
		switch {
		case unicode.IsLetter(r), r == '_', r == '(':
		case i > 0 && (unicode.IsNumber(r) || strings.ContainsRune(".)*/+-", r)):
		default:
			return false
		}
	}
	return s != ""
}

// quote writes a scalar of YAML (1.2, section 7.3) in one line. The library's encoder folds lines at 80 columns.
func quote(s string) string {
	switch {
	case plain(s) && !slices.Contains(meaning, strings.ToLower(s)):
		return s
	case strings.IndexFunc(s, func(r rune) bool { return !unicode.IsPrint(r) || r == unicode.ReplacementChar }) < 0:
		return "'" + strings.ReplaceAll(s, "'", "''") + "'"
	}
	text, err := json.Marshal(s) // a string of JSON is one of YAML
	if err != nil {
		return "''" // no string fails
	}
	return string(text)
}
