#!/usr/bin/env bash
# usage: scripts/format.sh [--fix]
# Checks that every C++ file known to git is formatted as .clang-format says; --fix rewrites them.
set -euo pipefail
cd "$(dirname "$0")/.."

mapfile -t files < <(git ls-files '*.cc' '*.h')
format() { printf '%s\0' "${files[@]}" | xargs -0 -P "$(nproc)" -n 16 clang-format-19 --style=file "$@"; }

case "${1:-}" in
  "")
    if ! findings=$(format --dry-run -Werror 2>&1); then
      grep ' error: ' <<<"$findings" | cut -d: -f1 | sort | uniq -c |
        awk '{print "format: " $2 ": " $1 " places"}'
      echo "format: run scripts/format.sh --fix"
      exit 1
    fi
    ;;
  --fix) format -i ;;
  *) echo "usage: scripts/format.sh [--fix]" >&2; exit 2 ;;
esac
echo "format: ${#files[@]} files are as .clang-format says"
