#!/usr/bin/env python3
"""usage: gpu_compile.py [--tcc FILE] [--targets sm_75,...] [--numeric strict] [--threads 2]
                      [--cache DIR] [--warm] [--slots] [--before FILE] [--json] [--real-share 0.8]
                      [--seconds COLD[,WARM]] M.onnx...

Compiles models for GPUs, without one, and says what became of their kernels: how many there are,
how long that took with an empty cache (and, with --warm, once more with a full one), what ptxas had
to spill or warn of, and the share of the FLOPs in kernels that are real ones: multiply-adds are at
least 75 % of the main loop's instructions, loads from memory are 16 bytes wide, and there are
blocks for a quarter of the places that the device has for them. --slots adds the issue slots that
all warps of a run take, by class of instruction (issue_slots.py; it needs nvdisasm). --before
compares them with FILE, which --slots --json printed with the tcc of an earlier tree. With --cache
all models share a cache of compiled kernels, so that what they have in common is compiled once.

Ends with 1 if a model did not compile, a kernel spills, is warned of or takes over 5 % more slots
than before, or a model has a smaller share than --real-share or takes longer than --seconds.

Free dimensions are those of the files input_<i>.npy in the folder M beside M.onnx (fill.py
--reference writes them).
"""

import ast
import json
import os
import pathlib
import sys
import tempfile

from issue_slots import slots_of_tasks
from sass import CLASS_NAMES
from tcc_program import compile_model, parser_of, run, shape_options

TARGETS = "sm_75,sm_80,sm_86,sm_89,sm_90a"
MOST_RISE = 1.05
KEPT = ["name", "flops", "registers", "spill_bytes", "local_bytes"]  # of tcc inspect


def stored_shape(path):
    """The shape in the head of a .npy file of format 1."""
    with path.open("rb") as file:
        start = file.read(10)
        return ast.literal_eval(file.read(int.from_bytes(start[8:], "little")).decode())["shape"]


def shapes_of(tcc, model):
    """Options that bind the dimensions of the model's inputs to those of the stored ones."""
    folder = model.with_suffix("")
    if not folder.is_dir():
        return []
    inputs = json.loads(run(tcc, "inspect", model, "--json").stdout)["inputs"]
    stored = [folder / f"input_{i}.npy" for i in range(len(inputs))]
    return shape_options((value["name"], stored_shape(path))
                         for value, path in zip(inputs, stored) if path.exists())


def is_real(kernel):
    return ((kernel["ffma_share"] or 0) >= 0.75 and (kernel["load_bytes_widest"] or 0) >= 16
            and (kernel["waves"] or 0) >= 0.25)


def share(kernels, wanted):
    work = {kernel["name"]: kernel["flops"] * kernel["calls"] for kernel in kernels}
    total = sum(work.values())
    return sum(work[k["name"]] for k in kernels if wanted(k)) / total if total else 1.0


def runs_of(kernel, launches):
    """How often a run of the model makes a kernel's launches, with the trips of loops around them.
    A loop whose trips values decide, or of a tcc that does not tell them, has one."""
    return kernel["launches"] // launches if kernel.get("launches") else kernel["calls"]


def slots_of(arguments, model, target, options, environment, kernels):
    """What --slots adds to a row: sums, and a row for each kernel, with blocks and threads of its
    launches."""
    lowered, machine_code = (
        run(arguments.tcc, "dump", model, "--target", target, "--stage", stage, "-q", "--threads",
            arguments.threads, *options, env=environment).stdout for stage in ["lowered", "asm"])
    tasks = slots_of_tasks(lowered, machine_code)
    rows = []
    for kernel in kernels:
        task = tasks[kernel["name"]]
        runs = runs_of(kernel, len(task.launches))
        rows.append({key: kernel[key] for key in KEPT} | {
            "runs": runs,
            "launches": [[launch.blocks(), launch.threads()] for launch in task.launches],
            "slots": {name: slots * runs for name, slots in task.of_class.items()},
            "unknown_loops": task.has_unknown_loops})
    return {"launches": sum(len(row["launches"]) * row["runs"] for row in rows),
            "slots": {name: sum(row["slots"][name] for row in rows) for name in CLASS_NAMES},
            "slots_of_kernels": rows}


def compile_one(arguments, model, target, folder):
    """A row about one model on one target."""
    row = {"model": model.stem, "target": target, "numeric": arguments.numeric}
    artefact = folder / "m.tcc"
    environment = {**os.environ, "TCC_CACHE_DIR": str(arguments.cache or folder / "cache")}
    options = [*shapes_of(arguments.tcc, model), "--numeric", arguments.numeric]
    for key in ["cold_s", "warm_s"][:2 if arguments.warm else 1]:
        said, seconds = compile_model(arguments.tcc, model, target, artefact, arguments.threads,
                                      *options, check=False, env=environment)
        row[key] = round(seconds, 2)
        if said.returncode != 0:
            return {**row, "error": said.stderr.strip()}
    kernels = json.loads(run(arguments.tcc, "inspect", artefact, "--json").stdout)["kernels"]
    bad = [k["name"] for k in kernels if k["spill_bytes"] or k["warnings"]]
    row |= {"kernels": len(kernels), "spills_or_warnings": bad,
            "spill_bytes": sum(k["spill_bytes"] for k in kernels),
            "most_registers": max((k["registers"] for k in kernels), default=0),
            "local_memory": sum(k["local_bytes"] > 0 for k in kernels),
            "local_bytes": max((k["local_bytes"] for k in kernels), default=0),
            "real_share": round(share(kernels, is_real), 3)}
    if arguments.slots:
        try:
            row |= slots_of(arguments, model, target, options, environment, kernels)
        except ValueError as error:  # a free size
            row["error"] = str(error)
    return row


def row_before(arguments, row):
    same = ["model", "target", "numeric"]
    return next((old for old in arguments.before if all(old[key] == row[key] for key in same)
                 and "slots" in old), None)


def risen(row, before):
    """A text for each kernel, a run of which takes more slots than with that name before."""
    then, now = ({kernel["name"]: sum(kernel["slots"].values()) / kernel["runs"]
                  for kernel in some["slots_of_kernels"]} for some in [before, row])
    return [f"{name} takes {slots / then[name]:.2f} of the slots before"
            for name, slots in now.items() if then.get(name) and slots > MOST_RISE * then[name]]


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
    before = row_before(arguments, row)
    return found + (risen(row, before) if before else [])


def text_of_slots(row, before):
    total = sum(row["slots"].values())
    parts = ", ".join(f"{name} {slots / 1e6:.2f}" for name, slots in row["slots"].items() if slots)
    text = f"\n    {row['launches']} launches, {total / 1e6:.2f} million slots: {parts}"
    if before:
        text += f"; {total / max(1, sum(before['slots'].values())):.3f} of those before"
    unknown = [kernel["name"] for kernel in row["slots_of_kernels"] if kernel["unknown_loops"]]
    if unknown:
        text += f"; one round each of loops of unknown length in {' '.join(unknown)}"
    return text


def text_of(row, before):
    start = f"{row['model']:<28} {row['target']:<7} {row['cold_s']:>7.2f} s"
    if "warm_s" in row:
        start += f" {row['warm_s']:>6.2f} s warm"
    if "error" not in row:
        start += (f" {row['kernels']:>4} kernels, {row['most_registers']:>3} registers at most, "
                  f"{row['spill_bytes']} bytes spilled, {row['local_memory']} with local memory "
                  f"({row['local_bytes']} bytes at most), "
                  f"{row['real_share']:.0%} of the FLOPs in real kernels")
    if "slots" in row:
        start += text_of_slots(row, before)
    return start + (f"; FAILED: {'; '.join(row['faults'])}" if row["faults"] else "")


def main():
    parser = parser_of(__doc__)
    parser.add_argument("--targets", default=TARGETS)
    parser.add_argument("--numeric", default="strict")
    parser.add_argument("--cache", type=pathlib.Path)
    parser.add_argument("--warm", action="store_true")
    parser.add_argument("--slots", action="store_true")
    parser.add_argument("--before", type=lambda name: json.loads(pathlib.Path(name).read_text()),
                        default=[], metavar="FILE")
    parser.add_argument("--real-share", type=float, default=0.0)
    parser.add_argument("--seconds", type=lambda text: [float(s) for s in text.split(",")],
                        default=[])
    arguments = parser.parse_args()
    if len(arguments.seconds) > 1 + arguments.warm:
        parser.error("--seconds COLD takes one number, COLD,WARM with --warm two")
    if arguments.before and not arguments.slots:
        parser.error("--before compares what --slots counts")
    rows = []
    for model in arguments.models:
        for target in arguments.targets.split(","):
            with tempfile.TemporaryDirectory() as folder:
                rows.append(compile_one(arguments, model, target, pathlib.Path(folder)))
                rows[-1]["faults"] = faults(arguments, rows[-1])
            if not arguments.json:
                print(text_of(rows[-1], row_before(arguments, rows[-1])), flush=True)
    if arguments.json:
        print(json.dumps(rows, indent=2))
    failed = [row for row in rows if row["faults"]]
    print(f"{len(rows) - len(failed)} passed, {len(failed)} failed", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
