#!/usr/bin/env bash
# usage: scripts/update_docs.sh [TCC]
# Writes again what docs/ holds of the program's own making, by the tcc given (default: that of
# build/release): the command line, the operators, the features, the API, the folders and the dumps of
# the tutorials; and the figures of README.md, from bench/results and those pages.
set -euo pipefail
cd "$(dirname "$0")/.."
tcc=$(realpath "${1:-build/release/bin/tcc}")

# A page is replaced only by a whole one.
write() {
  "$tcc" "${@:2}" >"build/$(basename "$1")"
  mv "build/$(basename "$1")" "$1"
}
write docs/cli.md --help-markdown
write docs/operators.md ops --markdown
write docs/features.md cost-model features --markdown
scripts/api_reference.py
scripts/draw_house.py
scripts/readme_figures.py
build/venv/bin/python scripts/fill_tutorial.py "$tcc"
git --no-pager diff --stat -- docs README.md
