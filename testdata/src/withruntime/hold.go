package withruntime

// leave is in a file without imports.
func (h *Hold) leave() error {
	_, err := h.conn.ExecContext(h.ctx, `SELECT pg_advisory_unlock($1)`, h.press) // want `answer of pg_advisory_unlock`
	return err
}

// Run holds the press while it works.
func (h *Hold) Run(work func() error) error {
	if err := take(h.ctx, h.conn, h.press); err != nil {
		return err
	}
	if err := work(); err != nil {
		return err
	}
	return h.leave()
}
