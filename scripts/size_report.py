#!/usr/bin/env python3
"""Prints how large the repository is: files and lines a folder, median and longest file."""

import pathlib
import statistics
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent
KINDS = {".cc", ".h", ".inc", ".py", ".sh", ".proto"}


def main():
    names = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True,
                           check=True).stdout.split()
    files = [ROOT / name for name in names]
    lines = {file: len(file.read_bytes().splitlines()) for file in files
             if file.suffix in KINDS and file.is_file()}
    folders = {}
    for file, count in lines.items():
        folders.setdefault(file.relative_to(ROOT).parts[0], []).append(count)
    print(f"{'folder':<20}{'files':>6}{'lines':>8}{'median':>8}{'longest':>9}")
    for folder, counts in sorted(folders.items()):
        print(f"{folder:<20}{len(counts):>6}{sum(counts):>8}{statistics.median(counts):>8.0f}"
              f"{max(counts):>9}")
    every = list(lines.values())
    print(f"{'all':<20}{len(every):>6}{sum(every):>8}{statistics.median(every):>8.0f}"
          f"{max(every):>9}")
    longest = max(lines, key=lines.get)
    print(f"longest: {longest.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
