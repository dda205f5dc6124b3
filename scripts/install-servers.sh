#!/usr/bin/env bash
# Installs what the tests need beside Go, above all the database servers that they start privately:
# only what is missing, through apt-get, as root or with sudo. Says nothing and returns at once when
# everything is there.
#
# The tests start their own servers on free loopback ports, so the packages' system services are
# not wanted: a temporary policy-rc.d keeps the packages from starting them.
set -euo pipefail

# One row a package: its name in Debian, then what is needed from it: programs, looked for where
# internal/testserver looks (PATH, then Debian's folders outside it), or files. The C compiler is
# for the race detector.
needs=(
  "postgresql initdb postgres"
  "pgbouncer pgbouncer"
  "mariadb-server mariadbd mariadb-install-db"
  "redis-server redis-server"
  "etcd-server etcd"
  "pre-commit pre-commit"
  "chromium chromium"
  "shellcheck shellcheck"
  "make make"
  "gcc gcc"
  "libc6-dev /usr/include/stdlib.h"
)

# Debian's own PostgreSQL folder counts, not any program of that name: a stray postgres without its
# share folder cannot make a data folder.
have() {
  local program=$1 found
  case $program in
    /*)
      [[ -e $program ]]
      ;;
    initdb | postgres)
      found=$(compgen -G "/usr/lib/postgresql/*/bin/$program" || true)
      [[ -n $found ]] || { command -v initdb && command -v postgres; } >/dev/null 2>&1
      ;;
    *)
      PATH="$PATH:/usr/local/sbin:/usr/sbin:/sbin" command -v "$program" >/dev/null 2>&1
      ;;
  esac
}

missing=()
for row in "${needs[@]}"; do
  read -r package programs <<<"$row"
  for program in $programs; do
    if ! have "$program"; then
      missing+=("$package")
      break
    fi
  done
done
((${#missing[@]})) || exit 0

echo "installing ${missing[*]}"
if ! command -v apt-get >/dev/null; then
  echo "apt-get not found: install by hand what Debian calls ${missing[*]}" >&2
  exit 1
fi

as_root=()
if ((EUID != 0)); then
  if ! command -v sudo >/dev/null; then
    echo "neither root nor sudo: run as root: apt-get install -y ${missing[*]}" >&2
    exit 1
  fi
  as_root=(sudo)
fi

policy=/usr/sbin/policy-rc.d
if [[ ! -e $policy ]]; then
  trap '"${as_root[@]}" rm -f "$policy"' EXIT
  printf '#!/bin/sh\nexit 101\n' | "${as_root[@]}" tee "$policy" >/dev/null
  "${as_root[@]}" chmod 755 "$policy"
fi

# apt runs apt-get and shows its output only when it fails.
apt() {
  local log
  if ! log=$("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 \
    apt-get -qq -o Dpkg::Use-Pty=0 -o DPkg::Lock::Timeout=300 "$@" </dev/null 2>&1); then
    printf '%s\n' "$log" >&2
    return 1
  fi
}

fetch_lists() {
  echo "fetching the package lists"
  apt update
}

# The lists may be empty, or name what is no longer on the mirror: only then are they fetched.
for package in "${missing[@]}"; do
  if [[ $(apt-cache policy "$package" 2>/dev/null) != *Candidate:\ [0-9]* ]]; then
    fetch_lists
    break
  fi
done
if ! apt install -y --no-install-recommends "${missing[@]}"; then
  fetch_lists
  apt install -y --no-install-recommends "${missing[@]}"
fi
echo "installed ${missing[*]}"
