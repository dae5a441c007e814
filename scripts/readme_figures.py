#!/usr/bin/env python3
"""Fills the blocks of README.md that hold figures: from bench/results and from counts in the tree.

usage: readme_figures.py [--check]     --check compares instead of writing; exit code 1: they differ

A block stands between <!-- written: NAME --> and <!-- end -->:

  networks    a row for each bench/results/*/networks*.json: an object with machine, date, peer,
              conditions and rows of model and ratio, of ratio_tuned as well where it was tuned.
              `bench/networks.py --json` prints one
  tuning      the sum of bench/results/search, section "An operator for 60 seconds"
  minutes     what quickstart.sh takes, from the CPU seconds that stand in it
  works       operators and node tests, targets, GPUs that have run suites
"""

import difflib
import json
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
RESULTS = ROOT / "bench" / "results"
BLOCK = re.compile(r"(<!-- written: (\w+) -->\n)(.*?)(<!-- end -->)", re.S)


def contests():
    """What each file of networks holds, by its path."""
    return {path: json.loads(path.read_text()) for path in sorted(RESULTS.glob("*/networks*.json"))}


def told(row):
    tuned = f" (tuned {row['ratio_tuned']:.2f})" if "ratio_tuned" in row else ""
    return f"{row['model']} {row['ratio']:.2f}{tuned}"


def networks():
    lines = ["| machine | date | peer | networks | time to the peer's |", "|---|---|---|---|---|"]
    for found in contests().values():
        rows = ", ".join(told(row) for row in found["rows"])
        cells = [found[key] for key in ("machine", "date", "peer", "conditions")]
        lines.append(f"| {' | '.join(cells)} | {rows} |")
    return "\n".join(lines)


def only(pattern, path):
    """What a file holds once: the group of the pattern, or all of its groups."""
    found = re.findall(pattern, (ROOT / path).read_text(), re.M | re.S)
    assert len(found) == 1, f"{path}: expected one {pattern}, got {len(found)}"
    return found[0]


def tuning():
    path = "bench/results/search/README.md"
    section = r"^## An operator for 60 seconds\n\nThe (\d+) kernels .* on ([\d-]+),.*?"
    row = r"^\| all \| [\d.]+ \(([\d.]+)\) \| [\d.]+ \(([\d.]+)\) \| (\d+) of \d+ \|$"
    kernels, date, before, after, level = only(section + row, path)
    machine = only(r"\A# [^\n]+\n\n(AMD [^,]+, \w+), 2 cores\), 2 threads", path)
    return (f"At most a minute for each of {kernels} kernels made the geometric mean of their times to "
            f"oneDNN's {after} instead of\n{before}; {level} of them are at least level ({machine}), 2 "
            f"threads, {date}).")


def minutes_of(cpu_seconds, cpus):
    """As quickstart.sh has it."""
    setup = int(only(r"^setup_seconds=(\d+)", "scripts/quickstart.sh"))
    return (int(cpu_seconds) // cpus + setup + 30) // 60


def minutes():
    least, most = (only(rf"^{name}_cpu_seconds=(\d+)$", "scripts/quickstart.sh")
                   for name in ("least", "most"))
    return (f"{minutes_of(least, 2)} to {minutes_of(most, 2)} minutes on 2 CPUs, nearly all of them "
            "compiling.")


def works():
    count, opset = only(r"^(\d+) operators, up to opset (\d+):$", "docs/operators.md")
    judges = re.findall(r'check_suite\(DEBIAN, "\w+", (\d+)',
                        (ROOT / "tests/cli/onnx_test_test.py").read_text())
    assert len(judges) == 3, "expected ONNX's tests on the interpreter, a CPU and an emulated GPU"
    targets = only(r"^## tcc compile\n.*?^\| `--target ([^`]+)`", "docs/cli.md")
    names = [name for name in targets.split("\\|") if name != "reference"]
    runs = [json.loads(path.read_text()) for path in sorted(RESULTS.glob("*/run.json"))]
    devices = ", ".join(f"{run['device']} ({run['date'][:10]})" for run in runs)
    return (f"- [{count} operators](docs/operators.md), up to opset {opset}; at least "
            f"{min(map(int, judges))} of the node tests of ONNX 1.12 pass, on a CPU, on\n  the interpreter "
            "and on an emulated GPU.\n"
            f"- Targets: {', '.join(f'`{name}`' for name in names)}.\n"
            f"- GPUs that networks were checked on: {devices}. The others' code is compiled, and run by an "
            "emulator.")


WRITERS = {writer.__name__: writer for writer in (networks, tuning, minutes, works)}


def filled(text):
    return BLOCK.sub(lambda block: f"{block[1]}{WRITERS[block[2]]()}\n{block[4]}", text)


def main(arguments):
    if arguments not in ([], ["--check"]):
        print(__doc__, file=sys.stderr)
        return 2
    text = README.read_text()
    expected = filled(text)
    if not arguments:
        README.write_text(expected)
    elif text != expected:
        sys.stdout.writelines(difflib.unified_diff(text.splitlines(True), expected.splitlines(True),
                                                   "README.md", "as it is written"))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
