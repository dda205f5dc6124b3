# What a contributor runs. Everything works offline once the modules and the servers are there.

.PHONY: build servers test test-long check fuzz bench-stages

build: ## the command, in ./bin
	go build -o bin/ ./cmd/advisorylint

servers: ## the servers that tests start privately: installs what is missing
	@scripts/install-servers.sh

test: servers ## every test of every module, with one total
	@go run ./internal/tally

test-long: servers ## the same with the long forms of the runtime's tests on failing servers
	@TAGS=long go run ./internal/tally

check: ## gofmt, go vet, staticcheck, the linter on itself, go mod tidy, govulncheck where it can run
	@scripts/check.sh

fuzz: ## every fuzz target for a short time: make fuzz FUZZTIME=1m
	@scripts/fuzz.sh $(FUZZTIME)

# Its output is what benchstat of golang.org/x/perf compares: keep that of two commits in files, and say
# benchstat old new.
bench-stages: ## a benchmark of each stage of the engine: make bench-stages COUNT=10
	@go test -run '^$$' -bench . -count $(or $(COUNT),6) ./analyzer/internal/...
