#!/usr/bin/env bash
# Run all findings, or those whose names are given without .sh, and print which still hold. Not run by CI: each installs packages.
#   findings/run.sh [NAME…]
set -u
cd "$(dirname "$0")"
[ $# -gt 0 ] || set -- $(ls ./*.sh | sed 's|^\./||; s|\.sh$||' | grep -v '^run$')
failed=0
for name in "$@"; do
  if output=$(bash "$name.sh" 2>&1); then echo "holds    $name"; else
    failed=1
    echo "CHANGED  $name"
    echo "$output" | tail -n 5 | sed 's/^/         /'
  fi
done
exit $failed
