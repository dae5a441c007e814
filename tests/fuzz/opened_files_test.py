#!/usr/bin/env python3
"""Spoilt models, with every kind of path in them, open no file outside their folder.

usage: opened_files_test.py TCC_FUZZ [POINTS [SEED]]
"""

import collections
import pathlib
import re
import subprocess
import sys
import tempfile

# What the process reads for itself: libraries, the machine's properties, the seeds.
ALLOWED = re.compile(
    r"^(/lib|/usr/lib|/etc/ld\.so|/etc/ssl/openssl\.cnf|/proc/|/sys/|/dev/|/memfd:"
    r"|/usr/share/libonnx-testdata/)")
# The linker writes the kernels into a pipe of the process, which has no other name.
LINKED = re.compile(r'\bopenat\([^"]*"/proc/self/fd/\d+", O_WRONLY\|.*<pipe:')
# The path behind a descriptor that an open gave, which is the file's own and not the way to it.
OPENED = re.compile(r"\bopen(?:at|at2)?\(.*= \d+<([^>]*)>")
TRIED = re.compile(r'\bopen(?:at|at2)?\((?:[^<"]*<([^>]*)>, )?"([^"]*)".*= (?:-1|\d)')


def main():
    tcc_fuzz = pathlib.Path(sys.argv[1]).resolve()
    points = sys.argv[2] if len(sys.argv) > 2 else "1000"
    seed = sys.argv[3] if len(sys.argv) > 3 else "77"
    with tempfile.TemporaryDirectory() as folder:
        log = pathlib.Path(folder) / "log"
        command = ["strace", "-f", "-y", "-e", "trace=open,openat,openat2", "-o", log,
                   tcc_fuzz, "input", "--points", points, "--seed", seed]
        workspaces = pathlib.Path(folder) / "tmp"
        workspaces.mkdir()
        subprocess.run(command, check=True, env={"TMPDIR": str(workspaces), "PATH": "/usr/bin",
                                                 "ASAN_OPTIONS": "detect_leaks=0"})
        outside = collections.Counter()
        inside = 0
        tried = collections.Counter()
        for line in log.read_text(errors="replace").splitlines():
            if LINKED.search(line):
                continue
            found = OPENED.search(line)
            if found and found.group(1).startswith(str(workspaces)):
                inside += 1
            elif found and not ALLOWED.match(found.group(1)) and found.group(1) != str(log):
                outside[found.group(1)] += 1
            attempt = TRIED.search(line)
            if attempt and (attempt.group(2).startswith("..") or "passwd" in attempt.group(2)):
                tried[attempt.group(2)] += 1
    print(f"{inside} files opened inside, {sum(outside.values())} outside")
    for path, count in (outside + tried).items():
        print(f"{count:6} {path}")
    sys.exit(1 if outside or tried or inside == 0 else 0)


if __name__ == "__main__":
    main()
