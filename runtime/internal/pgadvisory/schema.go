package pgadvisory

import _ "embed"

// Schema is the SQL that creates what fencing (Options.Fencing) and Claim need: a sequence and a table,
// in a schema of their own. It may be run again.
//
//go:embed schema.sql
var Schema string
