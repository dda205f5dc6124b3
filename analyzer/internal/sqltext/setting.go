package sqltext

import "strings"

// setStatement reads SET [scope] name = value, name = value … from lo, where SET stands. Only
// what Mentions lets through is a setting here: time limits, and whatever is LOCAL.
func (p *parser) setStatement(lo, hi int) {
	local := No
	i := lo + 1
	for ; i < hi && setScopes[p.word(i, lo, hi)] && !p.assigns(i+1, lo, hi); i++ {
		if p.toks[i].is("local") {
			local = Yes
		}
	}
	for _, s := range p.assignments(i, hi) {
		eq := s.lo
		for eq < s.hi && !p.assigns(eq, s.lo, s.hi) {
			eq++
		}
		if eq == s.hi || eq == s.lo {
			continue
		}
		name, known := p.settingName(s.lo, eq)
		if local != Yes && !strings.Contains(name, "_timeout") {
			continue
		}
		if !known {
			name = ""
		}
		p.stmt.Settings = append(p.stmt.Settings, Setting{Name: name, Local: local, Value: p.arg(eq+1, s.hi)})
	}
}

var setScopes = setOf("local session global persist")

func (p *parser) assigns(i, lo, hi int) bool {
	t := p.at(i, lo, hi)
	return t.is("=") || t.is("to") || t.is(":=")
}

// assignments splits at the commas that begin a new assignment; other commas part the values
// of a list.
func (p *parser) assignments(lo, hi int) []span {
	var out []span
	for _, s := range p.commas(lo, hi) {
		assigns := false
		for i := s.lo; i < s.hi; i++ {
			assigns = assigns || p.assigns(i, s.lo, s.hi)
			i = p.skip(i, s.hi)
		}
		if len(out) > 0 && !assigns {
			out[len(out)-1].hi = s.hi
			continue
		}
		out = append(out, s)
	}
	return out
}

// settingName is the name before an assignment, in lower case, and whether all of it is known.
// MySQL's @@session. and @@global. do not belong to it.
func (p *parser) settingName(lo, hi int) (name string, known bool) {
	known = true
	for i := lo; i < hi; i++ {
		t := &p.toks[i]
		if t.kind != word && t.kind != quoted && t.kind != hole && !t.is(".") {
			return "", true // a user variable, or no name
		}
		known = known && t.holes == nil
		if i == lo && (t.is("@@session") || t.is("@@global") || t.is("@@local")) {
			i++
			continue
		}
		name += lower(strings.TrimPrefix(t.text, "@@"))
	}
	return name, known
}

// setConfig reads set_config(name, value, is_local), whose name stands at i.
func (p *parser) setConfig(i, hi int) {
	args := p.arguments(i+1, hi)
	s := Setting{Config: true}
	if len(args) > 0 {
		if a := p.arg(args[0].lo, args[0].hi); a.Kind == Literal {
			s.Name = lower(a.Text)
		}
	}
	if len(args) > 1 {
		s.Value = p.arg(args[1].lo, args[1].hi)
	}
	if len(args) > 2 {
		lo, hi := p.bare(args[2].lo, args[2].hi)
		switch t := p.single(span{lo, hi}); {
		case truth(t):
			s.Local = Yes
		case falsehood(t):
			s.Local = No
		}
	}
	p.stmt.Settings = append(p.stmt.Settings, s)
}

// snapshot reports whether an ISOLATION LEVEL of a transaction statement takes one snapshot for
// the whole transaction, as MySQL's WITH CONSISTENT SNAPSHOT does too.
func (p *parser) snapshot(lo, hi int) bool {
	for i := lo; i+2 < hi; i++ {
		switch t := &p.toks[i]; {
		case t.is("isolation") && p.toks[i+1].is("level"):
			if p.toks[i+2].is("serializable") || p.toks[i+2].is("repeatable") {
				return true
			}
		case t.is("with") && p.toks[i+1].is("consistent") && p.toks[i+2].is("snapshot"):
			return true
		}
	}
	return false
}
