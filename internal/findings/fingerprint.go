package findings

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

// fingerprints gives each finding a name that it keeps when lines are put in or taken out elsewhere in its
// file, and when its message is reworded. It is made of the rule, the file, the text of the finding's line
// and how many findings before it have the same three. Those that the source keeps back count too, so
// that a directive for one finding does not rename the next.
func (r *Run) fingerprints() []string {
	type mark struct{ rule, file, line string }
	seen := map[mark]int{}
	list := make([]string, len(r.Findings))
	for i, f := range r.Findings {
		m := mark{f.Rule, r.artifact(f.Span.File).URI, f.Line}
		sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %q %d", m.rule, m.file, m.line, seen[m]))
		seen[m]++
		list[i] = hex.EncodeToString(sum[:16])
	}
	return list
}
