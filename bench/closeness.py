#!/usr/bin/env python3
"""usage: closeness.py [--tcc FILE] [--target native] [--threads 2] [--twice] M.onnx...

How close tcc comes to reference results, network by network. Beside M.onnx lies a folder M with
input_<i>.npy, output_<i>.npy and names.json, as the test networks' fill.py --reference writes them;
free dimensions are bound to the shapes that are fed. The distance is the largest difference of an
output over that output's standard deviation; the bound is what ONNX Runtime with all optimisations
keeps to on these networks: 2e-5 in float32, 4e-3 in float16, 4e-2 with quantized operators.
Integer outputs must be equal. With --twice each network is compiled once more in another folder
with another number of threads, and the two artefacts must have the same bytes.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy

BOUNDS = {"float16": 4e-3, "quantized": 4e-2}
FLOAT32_BOUND = 2e-5


def files(folder, prefix):
    found = []
    while (path := folder / f"{prefix}_{len(found)}.npy").exists():
        found.append(path)
    return found


def bound_of(model, outputs):
    if "_q" in model.stem:
        return BOUNDS["quantized"]
    if "fp16" in model.stem or any(o.dtype == numpy.float16 for o in outputs):
        return BOUNDS["float16"]
    return FLOAT32_BOUND


def distance(got, expected):
    """Largest difference over the deviation of what is expected; inf where the two do not fit."""
    if got.shape != expected.shape or got.dtype != expected.dtype:
        return numpy.inf
    if expected.size == 0:
        return 0.0
    if not numpy.issubdtype(expected.dtype, numpy.floating):
        return 0.0 if numpy.array_equal(got, expected) else numpy.inf
    a, b = got.astype(numpy.float64), expected.astype(numpy.float64)
    if not numpy.array_equal(numpy.isfinite(a), numpy.isfinite(b)):
        return numpy.inf
    finite = numpy.isfinite(b)
    if not finite.any():
        return 0.0
    spread = b[finite].std() or max(abs(b[finite]).max(), 1e-30)
    return float(abs(a[finite] - b[finite]).max() / spread)


def compile_model(arguments, model, feeds, names, folder, threads):
    artefact = folder / f"{model.stem}.tcc"
    command = [arguments.tcc, "compile", model, "--target", arguments.target, "-o", artefact,
               "--threads", threads, "--progress", "none"]
    for name, feed in zip(names, feeds):
        shape = "x".join(map(str, numpy.load(feed).shape))
        if shape:
            command += ["--shape", f"{name}={shape}"]
    start = time.perf_counter()
    result = subprocess.run([*map(str, command)], capture_output=True, text=True, check=False)
    return artefact, result, time.perf_counter() - start


def last_line(text):
    lines = text.strip().splitlines()
    return lines[-1] if lines else ""


def check(arguments, model):
    reference = model.with_suffix("")
    feeds, goldens = files(reference, "input"), files(reference, "output")
    names = json.loads((reference / "names.json").read_text())["inputs"]
    row = {"model": model.stem, "verdict": "ok", "compile_s": 0.0, "distance": numpy.inf}
    with tempfile.TemporaryDirectory() as folder:
        first = pathlib.Path(folder)
        artefact, result, row["compile_s"] = compile_model(
            arguments, model, feeds, names, first, arguments.threads)
        if result.returncode != 0:
            row["verdict"] = f"compile: exit {result.returncode}: {last_line(result.stderr)}"
            return row
        command = [arguments.tcc, "run", artefact, "--output-dir", first / "out",
                   "--threads", arguments.threads]
        for name, feed in zip(names, feeds):
            command += ["--input", f"{name}={feed}"]
        result = subprocess.run([*map(str, command)], capture_output=True, text=True, check=False)
        if result.returncode != 0:
            row["verdict"] = f"run: exit {result.returncode}: {last_line(result.stderr)}"
            return row
        expected = [numpy.load(path) for path in goldens]
        got = [numpy.load(path) for path in files(first / "out", "output")]
        row["distance"] = max(map(distance, got, expected), default=0.0)
        row["bound"] = bound_of(model, expected)
        if len(got) != len(expected):
            row["verdict"] = f"{len(got)} outputs; expected {len(expected)}"
        elif not row["distance"] <= row["bound"]:
            row["verdict"] = "too far"
        if arguments.twice:
            second = first / "elsewhere"
            second.mkdir()
            again, _, _ = compile_model(arguments, model, feeds, names, second, 1)
            if not again.exists() or again.read_bytes() != artefact.read_bytes():
                row["verdict"] = "not the same bytes when compiled again"
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[1])
    parser.add_argument("models", nargs="+", type=pathlib.Path)
    parser.add_argument("--tcc", default="build/release/bin/tcc")
    parser.add_argument("--target", default="native")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--twice", action="store_true")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    arguments.tcc = os.path.abspath(arguments.tcc)
    rows = []
    for model in arguments.models:
        row = check(arguments, model)
        rows.append(row)
        if not arguments.json:
            print(f"{row['model']:28} compile {row['compile_s']:6.2f} s  "
                  f"distance {row['distance']:.2e}  {row['verdict']}", flush=True)
    good = sum(row["verdict"] == "ok" for row in rows)
    if arguments.json:
        json.dump(rows, sys.stdout, indent=2)
        print()
    else:
        print(f"{good} of {len(rows)} within their bounds")
    return 0 if good == len(rows) else 1


if __name__ == "__main__":
    sys.exit(main())
