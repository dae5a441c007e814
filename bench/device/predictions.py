#!/usr/bin/env python3
"""usage: predictions.py TCC_BENCH RESULTS [--before TCC_BENCH] [--text]

What the prior predicts beside what a device measured: a table in markdown of the rows of
RESULTS/run.json, which run.sh wrote. It compiles each operator as it would be compiled today and
needs no device. --before adds the predictions of the tcc-bench of an earlier tree; --text compiles
to CUDA text alone, without NVRTC. bench/results/NVIDIA_H200/predictions.md is such a table.
"""

import argparse
import json
import math
import pathlib
import statistics
import subprocess
import sys


def measured_rows(run):
    """(suite, name) and the row of each operator and network that was measured."""
    rows = {}
    for suite, content in run["suites"].items():
        for row in content["rows"]:
            if not row["failure"]:
                rows.setdefault((suite, row["name"]), row)
    return rows


def predicted_us(bench, target, suite, name, text):
    suite, _, numeric = suite.partition(":")
    command = [bench, "kernels", "--compile-only", "--suite", suite, "--kernel", name, "--target",
               target, "--numeric", numeric or "strict", "--json"] + ["--text"] * text
    run = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    if run.returncode:
        sys.exit(f"predictions.py: {name} of {suite}: {run.stderr}")
    return json.loads(run.stdout)[0]["predicted_us"]


def ranks(values):
    order = sorted(range(len(values)), key=values.__getitem__)
    return [order.index(i) for i in range(len(values))]


def summary(title, ratios, predicted, measured):
    """Of operators: how far predictions are off, and how well they order what was measured."""
    logs = [math.log(ratio) for ratio in ratios]
    return (f"| {title} | {math.exp(statistics.mean(logs)):.2f} | "
            f"{math.exp(statistics.mean(map(abs, logs))):.2f} | "
            f"{statistics.correlation(ranks(predicted), ranks(measured)):.3f} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, usage=argparse.SUPPRESS)
    parser.add_argument("bench", type=pathlib.Path)
    parser.add_argument("results", type=pathlib.Path)
    parser.add_argument("--before", type=pathlib.Path)
    parser.add_argument("--text", action="store_true")
    arguments = parser.parse_args()
    run = json.loads((arguments.results / "run.json").read_text())
    benches = {"predicted": arguments.bench}
    if arguments.before:
        benches = {"before": arguments.before, **benches}
    rows = measured_rows(run)
    table = {key: [predicted_us(bench, row["target"], *key, arguments.text)
                   for bench in benches.values()] for key, row in rows.items()}

    networks = {"networks", "networks_small"}
    single = [key for key in rows if key[0] not in networks and key[1] != "dqn"]
    print("| operators | predicted / measured | off by a factor of | rank correlation |")
    print("|---|---:|---:|---:|")
    measured = [rows[key]["ours_us"] for key in single]
    for b, title in enumerate(benches):
        predicted = [table[key][b] for key in single]
        print(summary(f"{len(single)}, {title}", [p / m for p, m in zip(predicted, measured)],
                      predicted, measured))
    print("\n| suite | operator | measured us |" +
          "".join(f" {title} us | ratio |" for title in benches))
    print("|---|---|---:|" + "---:|---:|" * len(benches))
    for key, values in table.items():
        us = rows[key]["ours_us"]
        print(f"| {key[0]} | {key[1]} | {us:.2f} |" +
              "".join(f" {value:.2f} | {value / us:.2f} |" for value in values))


if __name__ == "__main__":
    main()
