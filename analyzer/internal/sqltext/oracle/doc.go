// Package oracle checks sqltext against a PostgreSQL grammar, oliphant's. It is a module of its
// own: the linter links no grammar.
package oracle
