module github.com/advisorylint/advisorylint/analyzer/internal/sqltext/oracle

go 1.26.0

require (
	github.com/advisorylint/advisorylint v0.0.0
	github.com/sqlc-dev/oliphant v0.2.0
)

require google.golang.org/protobuf v1.36.12

replace github.com/advisorylint/advisorylint => ../../../..
