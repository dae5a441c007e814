#!/usr/bin/env python3
"""usage: cold_weights.py [--tcc FILE] [--before FILE] [--threads 2] [--rounds 6] [--iterations 8]

What weights that come from memory cost: a layer's time in a chain of many equal ones, whose weights
are 200 MB or more together (cold), and alone, where they stay in the last cache (warm). All take
turns, round by round; a figure is the least time. --before is the tcc of an earlier tree. Needs the
venv that scripts/setup.sh makes.
"""

import argparse
import json
import pathlib
import subprocess
import tempfile

import numpy
import onnx
from onnx import helper, numpy_helper

# name, the output channels of each layer in turn, rows or image, window, layers of the chain
CHAINS = [
    ("product 197x768x3072", [3072, 768], [197], 1, 24),
    ("product 28x1000x4000", [4000, 1000], [28], 1, 14),
    ("conv 3x3 512 at 7x7", [512], [7, 7], 3, 24),
    ("conv 1x1 1024 at 14x14", [1024], [14, 14], 1, 60),
]


def model_of(channels, places, window, layers, path):
    """Writes a chain of products or of convolutions, each with a ReLU."""
    draw = numpy.random.default_rng(0)
    is_product = len(places) == 1
    count, value, nodes, weights = channels[-1], "x", [], []

    def shape(c):
        return [*places, c] if is_product else [1, c, *places]

    first = helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, shape(count))
    for i in range(layers):
        out = channels[i % len(channels)]
        extents = [count, out] if is_product else [out, count, window, window]
        scale = (2 / (count * window * window)) ** 0.5
        weight = (draw.standard_normal(extents) * scale).astype(numpy.float32)
        weights.append(numpy_helper.from_array(weight, f"w{i}"))
        how = {} if is_product else {"pads": [window // 2] * 4}
        op = "MatMul" if is_product else "Conv"
        nodes.append(helper.make_node(op, [value, f"w{i}"], [f"c{i}"], name=f"layer{i}", **how))
        nodes.append(helper.make_node("Relu", [f"c{i}"], [f"y{i}"]))
        count, value = out, f"y{i}"
    last = helper.make_tensor_value_info(value, onnx.TensorProto.FLOAT, shape(count))
    graph = helper.make_graph(nodes, "chain", [first], [last], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, path)


def compiled(tcc, model, artefact):
    command = [tcc, "compile", model, "--target", "native", "--progress", "none", "-o", artefact]
    subprocess.run(list(map(str, command)), check=True, capture_output=True)
    return artefact


def layer_ms(arguments, artefact):
    command = [arguments.tcc, "bench", artefact, "--json", "--threads", arguments.threads,
               "--iterations", arguments.iterations]
    result = subprocess.run(list(map(str, command)), check=True, capture_output=True)
    kernels = [k for k in json.loads(result.stdout)["kernels"] if k["flops"] > 0]
    return sum(k["ms"] for k in kernels) / sum(k["calls"] for k in kernels)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[1])
    parser.add_argument("--tcc", default="build/release/bin/tcc")
    parser.add_argument("--before", help="tcc of an earlier tree")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--iterations", type=int, default=8)
    arguments = parser.parse_args()
    programs = {"now": arguments.tcc} | ({"before": arguments.before} if arguments.before else {})
    print(f"{'layer':24} {'tree':>7} {'cold':>9} {'warm':>9} {'warm/cold':>10}")
    for name, channels, places, window, layers in CHAINS:
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            artefacts = {}
            for kind, count in (("cold", layers), ("warm", len(channels))):
                model_of(channels, places, window, count, folder / f"{kind}.onnx")
                for tree, tcc in programs.items():
                    artefacts[tree, kind] = compiled(tcc, folder / f"{kind}.onnx",
                                                     folder / f"{kind}.{tree}.tcc")
            least = {key: float("inf") for key in artefacts}
            for _ in range(arguments.rounds):
                for key, artefact in artefacts.items():
                    least[key] = min(least[key], layer_ms(arguments, artefact))
        for tree in programs:
            cold, warm = least[tree, "cold"], least[tree, "warm"]
            print(f"{name:24} {tree:>7} {cold:6.3f} ms {warm:6.3f} ms {warm / cold:10.2f}", flush=True)


if __name__ == "__main__":
    main()
