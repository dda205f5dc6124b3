package leasestate

import (
	"strings"

	"github.com/advisorylint/advisorylint/analyzer/internal/lockstate"
	"github.com/advisorylint/advisorylint/analyzer/internal/symexec"
	"github.com/advisorylint/advisorylint/analyzer/internal/term"
)

// slots looks at the keys that one script or command has on a cluster.
func (j *judge) slots(c *command) {
	keys := c.e.Cmd.Keys
	if len(keys) < 2 || c.key != keys[0] || !j.cluster(c.e.Handle) {
		return
	}
	if c.script != nil && !c.script.Known || c.act == other && !j.textLock(keys) || c.script == nil && !j.lock(c) {
		return
	}
	first, ok := slot(keys[0])
	if !ok {
		return
	}
	for _, k := range keys[1:] {
		s, ok := slot(k)
		if !ok {
			return
		}
		if s != first {
			j.finding(c, lockstate.LeaseScript).Verdicts |= lockstate.CrossSlot
			return
		}
	}
}

// cluster reports whether a handle is certainly a client of a cluster.
func (j *judge) cluster(h *term.Term) bool {
	if strings.HasSuffix(h.Type, ".ClusterClient") {
		return true
	}
	for _, v := range j.values(h) {
		if !strings.HasSuffix(v.Type, ".ClusterClient") {
			return false
		}
	}
	return true
}

// textLock reports whether the text of every key says lock.
func (j *judge) textLock(keys []*term.Term) bool {
	for _, k := range keys {
		if !j.textNames(k, 0) {
			return false
		}
	}
	return true
}

// slot is the part of a key that Redis Cluster hashes: the first text in braces that is not empty, or else
// the whole key; holes stand for what is put in. False when the key has no constant part.
func slot(key *term.Term) (string, bool) {
	parts := []*term.Term{key}
	if key.Op == term.Concat {
		parts = key.Args
	}
	var b strings.Builder
	constant := false
	for _, p := range parts {
		if s, ok := p.StrVal(); ok {
			b.WriteString(s)
			constant = true
			continue
		}
		b.WriteString("\x00" + p.Key() + "\x00")
	}
	whole := b.String()
	if _, rest, ok := strings.Cut(whole, "{"); ok {
		if tag, _, ok := strings.Cut(rest, "}"); ok && tag != "" {
			return tag, true
		}
	}
	return whole, constant
}

// made looks at a lock script whose text has values in it.
func (j *judge) made(c *command) {
	if c.script == nil || len(c.e.Cmd.Keys) > 0 && c.key != c.e.Cmd.Keys[0] {
		return
	}
	text := c.e.Text
	if in := symexec.ScriptText(text); in != nil {
		text = in
	}
	for _, t := range j.r.Texts(text) {
		if len(t.Holes) == 0 {
			continue
		}
		if a := c.act; a == compareRelease || a == compareRenew || a == acquire || a != other && j.lock(c) {
			j.finding(c, lockstate.LeaseScript).Verdicts |= lockstate.MadeText
			return
		}
	}
}

// filled is a script's text with a word in each hole, which is a string's content as well as a number.
func filled(lits []string) string { return strings.Join(lits, "1") }
