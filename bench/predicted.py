#!/usr/bin/env python3
"""usage: predicted.py TCC_BENCH [--before TCC_BENCH] [--suites matmul,matmul:tf32,...]
                    [--target sm_90a] [-o DIR]

What the prior predicts for the schedules that are compiled without a search: a row for each
operator and network of the suites. It needs no device and no NVRTC. --before adds what the
tcc-bench of an earlier tree predicts; that one has a prior of its own, so a ratio tells of
schedules only where the prior stayed as it was. Prints a table in markdown; with -o it becomes
DIR/TARGET.md, beside DIR/TARGET.json. bench/results/predicted holds those of sm_90a.
"""

import argparse
import json
import math
import os
import pathlib
import statistics
import sys

from tcc_program import run

SUITES = ("matmul,matmul:tf32,matmul:fp16,attention,attention:fp16,rows,resnet50,resnet50:fp16,"
          "mobilenet_v2,networks,networks:fp16")

HEAD = """\
# What the prior predicts for {0}

`bench/predicted.py TCC_BENCH --target {0} -o bench/results/predicted`, without a device: of the
schedules that are compiled without a search.

"""


def predictions(bench, target, suite):
    """Operator's name -> microseconds; None where it did not compile."""
    name, _, numeric = suite.partition(":")
    said = run(bench, "kernels", "--compile-only", "--text", "--suite", name, "--target", target,
               "--numeric", numeric or "strict", "--json")
    return {row["name"]: row["predicted_us"] for row in json.loads(said.stdout)}


def rows_of(arguments):
    for suite in arguments.suites.split(","):
        now = predictions(arguments.bench, arguments.target, suite)
        before = {}
        if arguments.before:
            before = predictions(arguments.before, arguments.target, suite)
        for name, microseconds in now.items():
            row = {"suite": suite, "name": name, "predicted_us": microseconds}
            yield row | ({"before_us": before.get(name)} if arguments.before else {})


def ratio(row):
    """None where one of both predictions is missing."""
    now, before = row["predicted_us"], row.get("before_us")
    return now / before if now and before else None


def number(value, digits=2):
    return "" if value is None else f"{value:.{digits}f}"


def table(rows, has_before):
    """In markdown: the suites, then the operators."""
    lines = []
    if has_before:
        lines += ["| suite | operators | now / before | least | most |",
                  "|---|---:|---:|---:|---:|"]
        for suite in dict.fromkeys(row["suite"] for row in rows):
            ratios = [r for row in rows if row["suite"] == suite and (r := ratio(row))]
            if ratios:
                mean = math.exp(statistics.mean(map(math.log, ratios)))
                lines.append(f"| {suite} | {len(ratios)} | {mean:.3f} | {min(ratios):.3f} | "
                             f"{max(ratios):.3f} |")
        lines.append("")
    lines += ["| suite | operator | predicted us |" + " before us | ratio |" * has_before,
              "|---|---|---:|" + "---:|---:|" * has_before]
    for row in rows:
        line = f"| {row['suite']} | {row['name']} | {number(row['predicted_us'])} |"
        if has_before:
            line += f" {number(row['before_us'])} | {number(ratio(row), 3)} |"
        lines.append(line)
    return "\n".join(lines) + "\n"


def write(path, text):
    """The file appears whole."""
    part = path.with_name(path.name + ".part")
    part.write_text(text)
    part.replace(path)


def main():
    parser = argparse.ArgumentParser(description=__doc__, usage=argparse.SUPPRESS,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bench", type=os.path.abspath)
    parser.add_argument("--before", type=os.path.abspath)
    parser.add_argument("--suites", default=SUITES)
    parser.add_argument("--target", default="sm_90a")
    parser.add_argument("-o", "--output", type=pathlib.Path)
    arguments = parser.parse_args()
    rows = [*rows_of(arguments)]
    text = table(rows, bool(arguments.before))
    print(text, end="")
    if arguments.output:
        arguments.output.mkdir(parents=True, exist_ok=True)
        write(arguments.output / f"{arguments.target}.md", HEAD.format(arguments.target) + text)
        content = json.dumps({"target": arguments.target, "rows": rows}, indent=1)
        write(arguments.output / f"{arguments.target}.json", content + "\n")
    return 1 if any(row["predicted_us"] is None for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
