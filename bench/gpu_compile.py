#!/usr/bin/env python3
"""usage: gpu_compile.py [--tcc FILE] [--targets sm_75,...] [--threads 2] [--cache DIR] [--warm]
                      [--json] [--real-share 0.8] [--seconds COLD[,WARM]] M.onnx...

Compiles models for GPUs, without one, and says what became of their kernels: how many there are,
how long that took with an empty cache (and, with --warm, once more with a full one), what ptxas had
to spill or warn of, and the share of the FLOPs in kernels that are real ones: multiply-adds are at
least 75 % of the main loop's instructions, loads from memory are 16 bytes wide, and there are blocks
for a quarter of the places that the device has for them. Ends with 1 if a model did not compile, a kernel spills or is warned of, or
a model has a smaller share than --real-share or takes longer than --seconds. With --cache all models
share a cache of compiled kernels, so that what they have in common is compiled once.

Free dimensions are those of the files input_<i>.npy in the folder M beside M.onnx (fill.py
--reference writes them). Needs numpy.
"""

import json
import os
import pathlib
import sys
import tempfile

import numpy

from tcc_program import compile_model, parser_of, run, shape_options

TARGETS = "sm_75,sm_80,sm_86,sm_89,sm_90a"


def shapes_of(tcc, model):
    """Options that bind the dimensions of the model's inputs to those of the stored ones."""
    folder = model.with_suffix("")
    if not folder.is_dir():
        return []
    inputs = json.loads(run(tcc, "inspect", model, "--json").stdout)["inputs"]
    stored = [folder / f"input_{i}.npy" for i in range(len(inputs))]
    return shape_options((value["name"], numpy.load(path, mmap_mode="r").shape)
                         for value, path in zip(inputs, stored) if path.exists())


def is_real(kernel):
    return ((kernel["ffma_share"] or 0) >= 0.75 and (kernel["load_bytes_widest"] or 0) >= 16
            and (kernel["waves"] or 0) >= 0.25)


def share(kernels, wanted):
    work = {kernel["name"]: kernel["flops"] * kernel["calls"] for kernel in kernels}
    total = sum(work.values())
    return sum(work[k["name"]] for k in kernels if wanted(k)) / total if total else 1.0


def compile_one(arguments, model, target, folder):
    """A row about one model on one target."""
    row = {"model": model.stem, "target": target}
    artefact = folder / "m.tcc"
    environment = {**os.environ, "TCC_CACHE_DIR": str(arguments.cache or folder / "cache")}
    shapes = shapes_of(arguments.tcc, model)
    for key in ["cold_s", "warm_s"][:2 if arguments.warm else 1]:
        said, seconds = compile_model(arguments.tcc, model, target, artefact, arguments.threads,
                                      *shapes, check=False, env=environment)
        row[key] = round(seconds, 2)
        if said.returncode != 0:
            return {**row, "error": said.stderr.strip()}
    kernels = json.loads(run(arguments.tcc, "inspect", artefact, "--json").stdout)["kernels"]
    bad = [k["name"] for k in kernels if k["spill_bytes"] or k["warnings"]]
    return {**row, "kernels": len(kernels), "spills_or_warnings": bad,
            "most_registers": max((k["registers"] for k in kernels), default=0),
            "local_memory": sum(k["local_bytes"] > 0 for k in kernels),
            "real_share": round(share(kernels, is_real), 3)}


def faults(arguments, row):
    """What keeps the row from being as it should be."""
    if "error" in row:
        return [row["error"]]
    found = [f"spills or warnings: {' '.join(row['spills_or_warnings'])}"
             ] if row["spills_or_warnings"] else []
    if row["real_share"] < arguments.real_share:
        found.append(f"less than {arguments.real_share:.0%} in real kernels")
    for key, limit in zip(["cold_s", "warm_s"], arguments.seconds):
        if row.get(key, 0) > limit:
            found.append(f"{key[:4]} in more than {limit:g} s")
    return found


def text_of(row):
    start = f"{row['model']:<28} {row['target']:<7} {row['cold_s']:>7.2f} s"
    if "warm_s" in row:
        start += f" {row['warm_s']:>6.2f} s warm"
    if "error" not in row:
        start += (f" {row['kernels']:>4} kernels, {row['most_registers']:>3} registers at most, "
                  f"{row['local_memory']} with local memory, {row['real_share']:.0%} of the FLOPs in "
                  f"real kernels")
    return start + (f"; FAILED: {'; '.join(row['faults'])}" if row["faults"] else "")


def main():
    parser = parser_of(__doc__)
    parser.add_argument("--targets", default=TARGETS)
    parser.add_argument("--cache", type=pathlib.Path)
    parser.add_argument("--warm", action="store_true")
    parser.add_argument("--real-share", type=float, default=0.0)
    parser.add_argument("--seconds", type=lambda text: [float(s) for s in text.split(",")],
                        default=[])
    arguments = parser.parse_args()
    if len(arguments.seconds) > 1 + arguments.warm:
        parser.error("--seconds COLD takes one number, COLD,WARM with --warm two")
    rows = []
    for model in arguments.models:
        for target in arguments.targets.split(","):
            with tempfile.TemporaryDirectory() as folder:
                rows.append(compile_one(arguments, model, target, pathlib.Path(folder)))
                rows[-1]["faults"] = faults(arguments, rows[-1])
            if not arguments.json:
                print(text_of(rows[-1]), flush=True)
    if arguments.json:
        print(json.dumps(rows, indent=2))
    failed = [row for row in rows if row["faults"]]
    print(f"{len(rows) - len(failed)} passed, {len(failed)} failed", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
