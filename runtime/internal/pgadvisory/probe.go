package pgadvisory

// A Probe remembers that the server was found to be reached without a pooler that would lose session-level
// locks. The zero Probe has not asked yet.
type Probe struct{}
