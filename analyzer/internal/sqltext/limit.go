package sqltext

// limitOf answers Call.Limit: it goes from the call's level outwards for as long as the rows of
// a level are the rows of the one around it.
func (p *parser) limitOf(c *found) Tri {
	l := c.level
	rows := p.manyRows(l) // the call may run more than once
	sifts := true         // the limit is applied behind a sort or filter, or at the call's own level
	derived, unknown := false, p.partial
	for range p.levels {
		sifts = sifts || l.sorted || len(l.where) > 0
		if l.limit == Yes && rows && sifts {
			return Yes
		}
		unknown = unknown || l.hole
		up := l.up
		switch l.role {
		case roleArm:
			rows = rows || len(up.arms) > 1
		case roleDerived:
			rows = rows || l.lateral && p.manyRowsBeside(up, l)
		case roleCTE:
			if up = p.reader(l); up == nil {
				return triUnless(unknown)
			}
		default:
			return triUnless(unknown)
		}
		if l.role != roleArm && !derived {
			derived, sifts = true, false
		}
		l = up
	}
	return triUnless(unknown)
}

// triUnless is No, or Unknown.
func triUnless(unknown bool) Tri {
	if unknown {
		return Unknown
	}
	return No
}

// manyRows reports whether a level may have more than one row to evaluate its expressions on.
func (p *parser) manyRows(l *level) bool {
	if !p.enter() {
		return false
	}
	defer p.leave()
	if l.rows > 1 || len(l.arms) > 1 || len(l.arms) == 1 && p.manyRows(l.arms[0]) {
		return true
	}
	for i := range l.from {
		if p.itemRows(l, &l.from[i]) {
			return true
		}
	}
	return false
}

// itemRows is manyRows for one FROM item. A lock function gives one row, and so does DUAL.
func (p *parser) itemRows(l *level, f *fromItem) bool {
	if f.function {
		return p.lockFunc(f.at, 0, len(p.toks)) == nil
	}
	if f.name == "dual" && p.mysql {
		return false
	}
	sub := p.derivedOf(l, f)
	return sub == nil || p.manyRows(sub)
}

// manyRowsBeside is manyRows of the FROM items of l other than the derived table sub.
func (p *parser) manyRowsBeside(l, sub *level) bool {
	for i := range l.from {
		if f := &l.from[i]; f.sub != sub && p.itemRows(l, f) {
			return true
		}
	}
	return false
}

// derivedOf returns the level that a FROM item reads: a derived table's or a CTE's; nil for
// tables and functions, and for a CTE that reads itself.
func (p *parser) derivedOf(l *level, f *fromItem) *level {
	if f.sub != nil || f.function || f.open {
		return f.sub
	}
	for up := l; up != nil; up = up.up {
		if p.work += len(up.ctes); p.work > maxWork {
			return nil
		}
		for _, c := range up.ctes {
			if c.name == f.name {
				if inside(l, c) {
					return nil
				}
				return c
			}
		}
	}
	return nil
}

func inside(l, outer *level) bool {
	for ; l != nil; l = l.up {
		if l == outer {
			return true
		}
	}
	return false
}

// reader returns the first level that reads a CTE in its FROM, nil when none does.
func (p *parser) reader(cte *level) *level {
	for _, l := range p.levels {
		for i := range l.from {
			if l.from[i].sub == nil && p.derivedOf(l, &l.from[i]) == cte {
				return l
			}
		}
	}
	return nil
}
