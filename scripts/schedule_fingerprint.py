#!/usr/bin/env python3
"""Prints what decides records and kernels: fingerprints of the zoo's tasks and schedules, and keys.

A change that must not alter behaviour prints the same lines before and after:

    scripts/schedule_fingerprint.py --tcc OLD > before; scripts/schedule_fingerprint.py > after

For each network and target one line with the SHA-256 of `tcc dump --stage tensor` (every
task) and of `--stage scheduled` (trace, start values and nest of every kernel); then the keys of
the workloads and variants that tuning each small network stores. --models adds files of one's own.
"""

import argparse
import hashlib
import json
import pathlib
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
TARGETS = ["native", "x86-64-v3", "x86-64-v4", "sm_75", "sm_86"]
ROUNDED = ["resnet18", "bert_base"]  # also with operands of bf16
TRIALS = 60  # more than the tasks of any small network


def output_of(*command):
    return subprocess.run([str(word) for word in command], capture_output=True, check=True).stdout


def schedule_lines(tcc, model, targets, *options):
    for target in targets:
        hashes = [hashlib.sha256(output_of(tcc, "dump", model, "--target", target, "--stage", stage,
                                           *options)).hexdigest()[:32]
                  for stage in ("tensor", "scheduled")]
        print(model.stem, *options, target, *hashes, flush=True)


def key_lines(tcc, name, folder):
    model, database = folder / f"{name}-small.onnx", folder / f"{name}.db"
    output_of(tcc, "zoo", "export", name, "--small", "-o", model)
    # The first trials measure the start of each task; with this many every task has its turn, so
    # the keys of functions do not depend on what is measured.
    output_of(tcc, "tune", model, "--target", "x86-64-v3", "--db", database, "--trials", TRIALS)
    keys = set()
    for line in output_of(tcc, "db", "export", database).decode().splitlines():
        row = json.loads(line)
        keys.update(f"{kind} {row[kind]}" for kind in ("function", "workload") if kind in row)
    for key in sorted(keys):
        print(model.stem, key, flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tcc", default=ROOT / "build/release/bin/tcc")
    parser.add_argument("--targets", default=",".join(TARGETS))
    parser.add_argument("--models", nargs="*", type=pathlib.Path, default=[])
    arguments = parser.parse_args()
    targets = arguments.targets.split(",")
    for model in arguments.models:
        schedule_lines(arguments.tcc, model, targets)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for network in output_of(arguments.tcc, "zoo", "list").decode().split():
            model = folder / f"{network}.onnx"
            output_of(arguments.tcc, "zoo", "export", network, "-o", model)
            schedule_lines(arguments.tcc, model, targets)
            if network in ROUNDED:
                schedule_lines(arguments.tcc, model, targets, "--numeric", "bf16")
            model.unlink()
            key_lines(arguments.tcc, network, folder)


if __name__ == "__main__":
    main()
