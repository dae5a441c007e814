#!/usr/bin/env python3
"""usage: peers.py TCC [--operators C1,D2,...] [-o DIR]

Instructions of convolutions and products on a Neoverse N1, of tcc and of the libraries that
bench/arm64/peers.sh fetched, counted by qemu-aarch64 with tools/qemu/count_plugin.c: the 12
convolutions of ResNet-18 and 9 of MobileNet in table 2 of the TVM paper, and products. It needs no
ARM machine, but build/arm64/bin/tcc-worker and a python with onnx (build/venv). $TCC_WORKER_AARCH64
may name another worker. A row has, for each library, instructions for 1000 useful multiply-adds and
the share of the peak. Prints a table in markdown; with -o it becomes DIR/neoverse-n1.md, beside
DIR/neoverse-n1.json, which holds the counts. bench/results/arm64 holds the last ones.
"""

import argparse
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

ROOT = pathlib.Path(__file__).resolve().parents[2]
PEERS = ROOT / "build/arm64-peers"
CORE = "neoverse-n1"
TARGET = "aarch64-v8.2"
TCC = "tcc"
TCC_OUTSIDE = "tcc, NCHW"
# The program of each library, what the table calls it, and its package in Debian.
LIBRARIES = {
    "openblas": ("OpenBLAS", "libopenblas0-serial"),
    "xnnpack": ("XNNPACK", "libxnnpack0"),
    "arm_compute": ("ACL", "libarm-compute20"),
    "onednn": ("oneDNN", "libdnnl2"),
}
# Instructions that the core begins in a cycle (support/core_rates.cc), and the multiply-adds of f32
# in a vector.
RATES = {"vector": 2, "loads": 2, "stores": 1, "all": 4}
LANES = 4

# Name -> size of the image, channels, filters, kernel, stride, groups.
CONVOLUTIONS = {
    "C1": (224, 3, 64, 7, 2, 1),
    "C2": (56, 64, 64, 3, 1, 1),
    "C3": (56, 64, 64, 1, 1, 1),
    "C4": (56, 64, 128, 3, 2, 1),
    "C5": (56, 64, 128, 1, 2, 1),
    "C6": (28, 128, 128, 3, 1, 1),
    "C7": (28, 128, 256, 3, 2, 1),
    "C8": (28, 128, 256, 1, 2, 1),
    "C9": (14, 256, 256, 3, 1, 1),
    "C10": (14, 256, 512, 3, 2, 1),
    "C11": (14, 256, 512, 1, 2, 1),
    "C12": (7, 512, 512, 3, 1, 1),
} | {
    f"D{i}": (size, channels, channels, 3, stride, channels)
    for i, (size, channels, stride) in enumerate([
        (112, 32, 1), (112, 64, 2), (56, 128, 1), (56, 128, 2), (28, 256, 1), (28, 256, 2),
        (14, 512, 1), (14, 512, 2), (7, 1024, 1)], 1)
}
# Name -> rows, columns, depth.
PRODUCTS = {"P64": (64, 64, 64), "P256": (256, 256, 256), "P512": (512, 512, 512),
            "P128x768": (128, 768, 768)}
GROUPS = {"C": "ResNet-18", "D": "MobileNet, depthwise", "P": "products"}

HEAD = """\
# Instructions on a Neoverse N1, beside other libraries

`bench/arm64/peers.sh`, then `bench/arm64/peers.py build/release/bin/tcc -o bench/results/arm64`,
without an ARM machine: qemu-aarch64 counts what the second run of each operator executes, in f32 on
one thread. Weights are constants, which all but OpenBLAS pack before; each library has images in
its own layout. So has "tcc"; "tcc, NCHW" counts what brings images to that layout and back, as the
first and the last layers of a network do. A cell has the instructions for 1000 useful multiply-adds (their fmla
are 250 of them) and the share of the peak: useful multiply-adds / 8 to cycles, which are the
largest of vector / 2, loads / 2, stores and instructions / 4. Winograd's algorithm exceeds 100 %;
so may a kernel that skips the padding. Caches and latencies are not counted. oneDNN 2.6 has kernels
for SVE of 512 bits only, so that its portable loops run; the Arm Compute Library (ACL) 20.08 has
fast depthwise kernels of stride 2 only for TensorFlow's padding, which is none on the left and
above.

"""


def multiply_adds(name):
    """The useful ones, with those of the padding."""
    if name in PRODUCTS:
        return math.prod(PRODUCTS[name])
    _, channels, filters, kernel, _, groups = CONVOLUTIONS[name]
    return output_size(name) ** 2 * filters * kernel ** 2 * channels // groups


def output_size(name):
    size, _, _, kernel, stride, _ = CONVOLUTIONS[name]
    return (size + 2 * (kernel // 2) - kernel) // stride + 1


def text_of(name):
    if name in PRODUCTS:
        return "{} x {} x {}".format(*PRODUCTS[name])
    size, channels, filters, kernel, stride, groups = CONVOLUTIONS[name]
    shape = f"{channels}" if groups > 1 else f"{channels} to {filters}"
    return f"{kernel}x{kernel}{f' / {stride}' if stride > 1 else ''}, {shape} @ {size}"


def write_model(name, path):
    """A model of one node, whose weights are constants."""
    generator = np.random.default_rng(0)
    if name in PRODUCTS:
        rows, columns, depth = PRODUCTS[name]
        node = helper.make_node("MatMul", ["x", "w"], ["y"])
        shapes = [rows, depth], [depth, columns], [rows, columns]
    else:
        size, channels, filters, kernel, stride, groups = CONVOLUTIONS[name]
        node = helper.make_node("Conv", ["x", "w"], ["y"], kernel_shape=[kernel] * 2,
                                strides=[stride] * 2, pads=[kernel // 2] * 4, group=groups)
        shapes = ([1, channels, size, size], [filters, channels // groups, kernel, kernel],
                  [1, filters] + [output_size(name)] * 2)
    weights = generator.uniform(-1, 1, shapes[1]).astype(np.float32)
    graph = helper.make_graph(
        [node], name, [helper.make_tensor_value_info("x", TensorProto.FLOAT, shapes[0])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, shapes[2])],
        [numpy_helper.from_array(weights, "w")])
    opset = helper.make_opsetid("", 17)
    onnx.save(helper.make_model(graph, opset_imports=[opset], ir_version=8), path)


def output_of(command, environment, absent=None):
    """What the command prints; None if it fails, with its reason told unless it ends with the code
    `absent`."""
    # OpenBLAS would take the type of the host's core from its variables.
    kept = {name: value for name, value in os.environ.items() if not name.startswith("OPENBLAS_")}
    said = subprocess.run(command, capture_output=True, text=True, check=False,
                          env=kept | environment)
    if said.returncode == 0:
        return said.stdout
    if said.returncode != absent:
        reason = f"exit {said.returncode}\n{said.stderr[-2000:]}"
        print(f"{' '.join(command)}: {reason}", file=sys.stderr)
    return None


def counts_of_tcc(tcc, name, folder):
    """Counts of the operator alone, and with the kernels that repack its image and result."""
    model = folder / f"{name}.onnx"
    write_model(name, model)
    worker = ["qemu-aarch64", "-cpu", CORE, "-L", "/usr/aarch64-linux-gnu",
              str(ROOT / "build/arm64/bin/tcc-worker")]
    found = os.environ.get("TCC_WORKER_AARCH64", " ".join(worker))
    said = output_of([tcc, "bench", str(model), "--target", TARGET, "--emulate", "--json", "-q"],
                     {"TCC_WORKER_AARCH64": found})
    if not said:
        return {TCC: None, TCC_OUTSIDE: None}
    kernels = json.loads(said)["kernels"]
    inside = [kernel for kernel in kernels if not kernel["name"].endswith("_repack")]
    return {TCC: sum_of(inside), TCC_OUTSIDE: sum_of(kernels)}


def sum_of(kernels):
    return {counted: sum(kernel[counted] for kernel in kernels) for counted in RATES}


def counts_of_library(library, plugin, name, folder):
    kind, numbers = (("product", PRODUCTS[name]) if name in PRODUCTS
                     else ("convolution", CONVOLUTIONS[name]))
    said = output_of(["qemu-aarch64", "-cpu", CORE, "-L", str(PEERS), str(PEERS / "bin" / library),
                      kind, *map(str, numbers)],
                     {"QEMU_PLUGIN": str(plugin), "TCC_COUNTS": str(folder / "counts"),
                      "OMP_NUM_THREADS": "1"}, absent=2)
    return json.loads(said) if said else None


def cycles(counts):
    return max(counts[counted] / rate for counted, rate in RATES.items())


def share(name, counts):
    """Useful multiply-adds to those of as many cycles at the peak."""
    return multiply_adds(name) / LANES / RATES["vector"] / cycles(counts)


def cell(name, counts):
    if counts is None:
        return ""
    return f"{counts['all'] / multiply_adds(name) * 1000:.0f}, {share(name, counts):.0%}"


def to_best(row):
    """Cycles of tcc to those of the fastest library; None without both."""
    peers = [cycles(c) for library, c in row["counts"].items() if c and library in LIBRARIES]
    return cycles(row["counts"][TCC]) / min(peers) if row["counts"][TCC] and peers else None


def mean_line(group, rows, columns):
    """The geometric means of a group: shares of libraries that have all its operators, and the
    ratio to the fastest."""
    cells = []
    for library in columns:
        shares = [share(row["name"], c) for row in rows if (c := row["counts"][library])]
        cells.append(f"{statistics.geometric_mean(shares):.0%}" if len(shares) == len(rows) else "")
    ratios = [ratio for row in rows if (ratio := to_best(row))]
    cells.append(f"{statistics.geometric_mean(ratios):.2f}" if ratios else "")
    return f"| {GROUPS[group]}, mean | | {' | '.join(cells)} |"


def table(rows, columns):
    """In markdown, the operators of a network above their means."""
    titles = [LIBRARIES[c][0] if c in LIBRARIES else c for c in columns]
    titles.append("cycles to the best's")
    lines = [f"| operator | multiply-adds, millions | {' | '.join(titles)} |",
             f"|---|---:|{'---:|' * len(columns)}---:|"]
    for group in GROUPS:
        of_group = [row for row in rows if row["name"].startswith(group)]
        for row in of_group:
            name, ratio = row["name"], to_best(row)
            cells = [cell(name, row["counts"][c]) for c in columns]
            cells.append(f"{ratio:.2f}" if ratio else "")
            lines.append(f"| {name}: {text_of(name)} | {multiply_adds(name) / 1e6:.2f} | "
                         f"{' | '.join(cells)} |")
        if of_group:
            lines.append(mean_line(group, of_group, columns))
    return "\n".join(lines) + "\n"


def remarks(columns):
    """The versions of the libraries, and what to run for one that is left out."""
    lines, versions = [], {}
    if (PEERS / "versions").exists():
        versions = dict(line.split() for line in (PEERS / "versions").read_text().splitlines())
    found = [f"{title} {versions[package]}" for library, (title, package) in LIBRARIES.items()
             if library in columns and package in versions]
    if found:
        lines.append(f"\nDebian's packages: {', '.join(found)}.\n")
    for library, (title, package) in LIBRARIES.items():
        if library not in columns:
            lines.append(f"\n{title} is left out: bench/arm64/peers.sh makes its program from "
                         f"Debian's {package}:arm64.\n")
    return "".join(lines)


def write(path, text):
    """The file appears whole."""
    part = path.with_name(path.name + ".part")
    part.write_text(text)
    part.replace(path)


def main():
    parser = argparse.ArgumentParser(description=__doc__, usage=argparse.SUPPRESS,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tcc", type=os.path.abspath)
    parser.add_argument("--operators", type=lambda text: text.split(","),
                        default=[*CONVOLUTIONS, *PRODUCTS])
    parser.add_argument("-o", "--output", type=pathlib.Path)
    arguments = parser.parse_args()
    unknown = {*arguments.operators} - {*CONVOLUTIONS, *PRODUCTS}
    if unknown:
        parser.error(f"unknown operators: {' '.join(sorted(unknown))}")
    plugin = pathlib.Path(arguments.tcc).parents[1] / "lib/libtcc_qemu_counts.so"
    libraries = [library for library in LIBRARIES if (PEERS / "bin" / library).exists()]
    rows = []
    with tempfile.TemporaryDirectory() as made:
        folder = pathlib.Path(made)
        for name in arguments.operators:
            counts = counts_of_tcc(arguments.tcc, name, folder)
            for library in libraries:
                counts[library] = counts_of_library(library, plugin, name, folder)
            rows.append({"name": name, "multiply_adds": multiply_adds(name), "counts": counts})
            print(name, end=" ", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    columns = [TCC, TCC_OUTSIDE, *libraries]
    text = table(rows, columns) + remarks(columns)
    print(text, end="")
    if arguments.output:
        arguments.output.mkdir(parents=True, exist_ok=True)
        write(arguments.output / f"{CORE}.md", HEAD + text)
        content = json.dumps({"core": CORE, "target": TARGET, "rows": rows}, indent=1)
        write(arguments.output / f"{CORE}.json", content + "\n")
    return 1 if any(row["counts"][TCC] is None for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
