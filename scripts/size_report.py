#!/usr/bin/env python3
"""Prints how large the repository is: files and lines a folder, median and longest file.

Ends with 1 if the product (every counted file outside tests/) or the tests have more lines than
scripts/size_budget.json allows. Whoever needs more raises the number there, and says why in the
message of the commit that does.
"""

import json
import pathlib
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUDGET = "scripts/size_budget.json"
KINDS = {".cc", ".h", ".inc", ".py", ".sh", ".proto"}


def lines_of_files(root):
    """Lines of each tracked file of KINDS, by its path below the root."""
    names = subprocess.run(["git", "ls-files", "-z"], cwd=root, capture_output=True, text=True,
                           check=True).stdout.split("\0")
    files = [pathlib.PurePosixPath(name) for name in names]
    return {file: len((root / file).read_bytes().splitlines()) for file in files
            if file.suffix in KINDS and (root / file).is_file()}


def totals_of(lines):
    tests = sum(count for file, count in lines.items() if file.parts[0] == "tests")
    return {"product": sum(lines.values()) - tests, "tests": tests}


def over_budget(totals, budget):
    """A line for each total that is above its limit."""
    return [f"size_report: {name}: {total} lines, {total - budget[name]} more than the limit of "
            f"{budget[name]}; delete something, or raise '{name}' in {BUDGET} and give the reason in "
            "the message of that commit" for name, total in totals.items() if total > budget[name]]


def main(root=ROOT):
    if not (root / ".git").exists():
        print("size_report: a source archive has no list of tracked files: nothing is counted")
        return 0
    lines = lines_of_files(root)
    folders = {}
    for file, count in lines.items():
        folders.setdefault(file.parts[0], []).append(count)
    print(f"{'folder':<20}{'files':>6}{'lines':>8}{'median':>8}{'longest':>9}")
    for folder, counts in [*sorted(folders.items()), ("all", list(lines.values()))]:
        print(f"{folder:<20}{len(counts):>6}{sum(counts):>8}{statistics.median(counts):>8.0f}"
              f"{max(counts):>9}")
    print(f"longest: {max(lines, key=lines.get)}")
    totals, budget = totals_of(lines), json.loads((root / BUDGET).read_text())
    for name, total in totals.items():
        print(f"{name}: {total} lines of at most {budget[name]}")
    faults = over_budget(totals, budget)
    print("".join(f"{fault}\n" for fault in faults), end="", file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
