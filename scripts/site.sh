#!/usr/bin/env bash
# usage: scripts/site.sh
# Builds all pages as a site in build/site, with a search that runs in the browser. A link that leads
# nowhere is an error. mkdocs comes from build/venv (scripts/setup.sh).
set -euo pipefail
cd "$(dirname "$0")/.."
log=$(mktemp) && trap 'rm -f "$log"' EXIT
# The option --quiet would forgive broken links.
NO_MKDOCS_2_WARNING=1 build/venv/bin/mkdocs build --strict >"$log" 2>&1 || { cat "$log" >&2; exit 1; }
pages=$(find build/site -name '*.html' | wc -l)
echo "site: wrote build/site, $pages pages, $(du -sm build/site | cut -f 1) MiB"
