#!/usr/bin/env bash
# usage: scripts/tidy.sh [--all | --since REVISION | FILE...] [--limit N]
# Runs clang-tidy as .clang-tidy says, every finding an error, over the product's .cc files that
# changed since REVISION (default: where this branch left main, or the last commit when it is main).
# Tests are left out: Catch2's macros expand to what the checks dislike. Needs a configured
# build/release for its compile commands. --limit N checks the first N files at most and says how
# many it left out.
set -euo pipefail
cd "$(dirname "$0")/.."

all= since= limit=0 files=()
while [ $# -gt 0 ]; do
  case "$1" in
    --all) all=1 ;;
    --since) since=$2; shift ;;
    --limit) limit=$2; shift ;;
    -*) sed -n 's/^# usage: /usage: /p' "$0" >&2; exit 2 ;;
    *) files+=("$1") ;;
  esac
  shift
done

# A shallow repository may have neither main nor a parent: then every file counts.
base_revision() {
  local base
  base=$(git merge-base HEAD origin/main 2>/dev/null || git merge-base HEAD main 2>/dev/null || true)
  if [ -z "$base" ] || [ "$base" = "$(git rev-parse HEAD)" ]; then
    base=$(git rev-parse --verify --quiet 'HEAD~' || true)
  fi
  echo "$base"
}

paths=('*.cc' ':!tests/*_test.cc' ':!tests/test_main.cc')
if [ ${#files[@]} -eq 0 ]; then
  [ -n "$since" ] || [ -n "$all" ] || since=$(base_revision)
  if [ -n "$since" ]; then
    mapfile -t files < <(git diff --name-only --diff-filter=d "$since" -- "${paths[@]}")
  else
    mapfile -t files < <(git ls-files -- "${paths[@]}")
  fi
fi

left_out=0
if [ "$limit" -gt 0 ] && [ ${#files[@]} -gt "$limit" ]; then
  left_out=$((${#files[@]} - limit))
  files=("${files[@]:0:limit}")
fi
if [ ${#files[@]} -eq 0 ]; then
  echo "tidy: no changed files"
  exit 0
fi
# Where build/release was configured for g++, clang does not know all of its warnings and ignores what
# it precompiled.
printf '%s\0' "${files[@]}" |
  xargs -0 -P "$(nproc)" -n 1 clang-tidy-19 -p build/release --quiet --warnings-as-errors='*' \
    --extra-arg=-Wno-unknown-warning-option --extra-arg=-Wno-deprecated-declarations \
    --extra-arg=-Wno-ignored-gch \
    2> >(grep -vE '^[0-9]+ warnings? (generated|treated)|^Suppressed|^Use -' >&2 || true)
echo "tidy: ${#files[@]} files clean, $left_out left out"
