#!/usr/bin/env bash
# Static checks of every module. Runs all of them, then says which failed.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD

mapfile -t modules < <(git ls-files --cached --others --exclude-standard -- go.mod '**/go.mod' | xargs -n1 dirname | sort)

# Fixtures are programs with mistakes, so the checks that look for mistakes leave them out.
mapfile -t own < <(printf '%s\n' "${modules[@]}" | grep -vE '(^|/)testdata(/|$)')

failed=()

# check runs a command in a module's folder, and notes whether it failed.
check() {
  local what=$1 dir=$2
  shift 2
  if ! (cd "$dir" && "$@"); then
    failed+=("$what in $dir")
  fi
}

# has_packages is false for a module that only pins tools.
has_packages() { [[ -n $(cd "$1" && go list ./... 2>/dev/null) ]]; }

formatted() {
  local list
  list=$(git ls-files -z '*.go' | xargs -0 gofmt -l)
  [[ -z $list ]] || { printf 'not formatted: %s\n' $list; return 1; }
}

tool() { go tool -modfile="$root/internal/tools/go.mod" "$@"; }

echo "== gofmt"
check gofmt . formatted

echo "== go mod tidy"
for dir in "${modules[@]}"; do check "go mod tidy" "$dir" go mod tidy -diff; done

echo "== go vet"
for dir in "${modules[@]}"; do
  if has_packages "$dir"; then check "go vet" "$dir" go vet ./...; fi
done

echo "== staticcheck"
for dir in "${own[@]}"; do
  if has_packages "$dir"; then check staticcheck "$dir" tool staticcheck ./...; fi
done

echo "== advisorylint on itself"
bin=$(mktemp -d)
trap 'rm -rf "$bin"' EXIT
if go build -o "$bin/" ./cmd/advisorylint; then
  export ADVISORYLINT_CACHE=$bin/cache
  for dir in "${own[@]}"; do
    # Seconds are expected. The limit makes a rule that does not end a failure that says so. Without
    # tests: those of the runtime make every mistake to show what it does on a real server.
    if has_packages "$dir"; then check advisorylint "$dir" timeout --verbose 300 "$bin/advisorylint" -test=false ./...; fi
  done
else
  failed+=("go build of advisorylint")
fi

# Its database is on the network; a check that passes or fails with the day's network says nothing
# of this commit, so that it runs where a copy is on disk.
if [[ ${GOVULNDB:-} == file://* ]]; then
  echo "== govulncheck"
  for dir in "${own[@]}"; do
    if has_packages "$dir"; then check govulncheck "$dir" tool govulncheck -db "$GOVULNDB" ./...; fi
  done
else
  echo "== govulncheck left out: no local database (GOVULNDB=file://...)"
fi

if ((${#failed[@]})); then
  printf 'failed: %s\n' "${failed[@]}"
  exit 1
fi
echo "== all checks passed"
