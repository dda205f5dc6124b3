#!/usr/bin/env bash
# Runs every fuzz target of the root module for a time (10s unless given). go test fuzzes one target
# of one package at a time, which is why this is a loop.
set -euo pipefail
cd "$(dirname "$0")/.."
time=${1:-10s}

found=0
while IFS=: read -r file _ line; do
  target=$(sed -E 's/^func (Fuzz[A-Za-z0-9_]*)\(.*/\1/' <<<"$line")
  echo "== $target in $(dirname "$file"), $time"
  go test -run='^$' -fuzz="^$target\$" -fuzztime="$time" "./$(dirname "$file")"
  found=$((found + 1))
done < <(git grep --untracked -n -E '^func Fuzz[A-Za-z0-9_]*\(' -- '*_test.go' ':!testdata')

if ((found == 0)); then
  echo "no fuzz target found" >&2
  exit 1
fi
