#!/usr/bin/env python3
"""usage: records.py --db FILE [--tcc FILE] [--bench FILE] [--threads 1,2] [--seconds 20]
                  [--trials 40] [--networks NAMES] [-o FILE.jsonl.xz]

Measures points that cost models are trained on: kernels of the zoo's networks, of the suites of
tcc-bench, and of models with awkward extents; on each number of threads, with all operands cold.
Half of the time goes to random legal points, half to walks from the best ones. Everything is kept
in the database, so the run may be ended at any time and begun again: what is done is noted beside
it, in FILE.done. -o writes the export, which tcc-bench estimate reads. Needs the venv that
scripts/setup.sh makes.
"""

import argparse
import lzma
import pathlib
import subprocess
import sys
import tempfile

import onnx
from onnx import TensorProto, helper, numpy_helper
import numpy

NETWORKS = ["dqn", "resnet18", "resnet50", "mobilenet_v2", "r3d_18", "dcgan", "vit_b_16",
            "bert_base", "llama_block", "lstm_lm"]
SUITES = ["gemm", "conv", "depthwise", "softmax"]
SEARCHERS = ["random", "coordinate"]

# Rows, columns and depth of products; channels in and out, pixels, window and stride of
# convolutions.
PRODUCTS = [(197, 769, 101), (13, 1021, 257), (1, 509, 2053), (331, 67, 331), (50, 4099, 127)]
CONVOLUTIONS = [(37, 53, 29, 3, 1), (17, 101, 57, 1, 1), (5, 61, 113, 5, 2), (131, 131, 13, 3, 1),
                (3, 47, 101, 7, 2)]


def weights(*shape):
    draw = numpy.random.default_rng(sum(shape))
    return draw.standard_normal(shape).astype(numpy.float32) / 16


def model_of(name, node, shape, weight):
    graph = helper.make_graph(
        [node], name, [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(weight, "w")])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def awkward_models():
    for m, n, k in PRODUCTS:
        name = f"product_{m}x{n}x{k}"
        yield name, model_of(name, helper.make_node("MatMul", ["x", "w"], ["y"]), [m, k],
                             weights(k, n))
    for c_in, c_out, pixels, window, stride in CONVOLUTIONS:
        name = f"conv_{c_in}_{c_out}_{pixels}_{window}_{stride}"
        node = helper.make_node("Conv", ["x", "w"], ["y"], kernel_shape=[window, window],
                                strides=[stride, stride], pads=[window // 2] * 4)
        yield name, model_of(name, node, [1, c_in, pixels, pixels],
                             weights(c_out, c_in, window, window))


class Steps:
    """Commands that were run to their end, as lines of a file."""

    def __init__(self, path):
        self.path = pathlib.Path(path)
        self.done = set(self.path.read_text().splitlines()) if self.path.exists() else set()

    def run(self, name, command):
        if name in self.done:
            return
        print(f"records: {name}", flush=True)
        result = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                text=True)
        if result.returncode != 0:
            sys.exit(f"records: {name}: {' '.join(command)}\n{result.stderr}")
        self.done.add(name)
        with self.path.open("a") as file:
            file.write(name + "\n")


def measure(args, folder):
    steps = Steps(args.db + ".done")
    models = {}
    for network in args.networks.split(",") if args.networks else []:
        models[network] = [args.tcc, "zoo", "export", network, "-o"]
    for name, model in awkward_models():
        models[name] = model
    for name, model in models.items():
        path = folder / f"{name}.onnx"
        for threads in args.threads.split(","):
            for searcher in SEARCHERS:
                step = f"{name} {threads} {searcher}"
                if step in steps.done:
                    continue
                if not path.exists():
                    if isinstance(model, list):
                        subprocess.run(model + [str(path)], check=True, stdout=subprocess.DEVNULL)
                    else:
                        onnx.save(model, path)
                steps.run(step, [args.tcc, "tune", str(path), "--db", args.db, "--threads", threads,
                                 "--searcher", searcher, "--policy", "rotate-64M", "--time-budget",
                                 f"{args.seconds}s", "--progress", "none"])
        path.unlink(missing_ok=True)
    for threads in args.threads.split(","):
        for searcher in SEARCHERS:
            steps.run(f"suites {threads} {searcher}",
                      [args.bench, "tuning", "--suites", ",".join(SUITES), "--db", args.db,
                       "--threads", threads, "--searcher", searcher, "--trials", str(args.trials)])


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--db", required=True)
    parser.add_argument("--tcc", default="build/release/bin/tcc")
    parser.add_argument("--bench", default="build/release/bin/tcc-bench")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--seconds", type=int, default=20, help="of each network's search")
    parser.add_argument("--trials", type=int, default=40, help="of each kernel of the suites")
    parser.add_argument("--networks", default=",".join(NETWORKS))
    parser.add_argument("-o", "--output")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        measure(args, pathlib.Path(folder))
    if args.output:
        text = subprocess.run([args.tcc, "db", "export", args.db], check=True,
                              stdout=subprocess.PIPE).stdout
        packed = lzma.compress(text, preset=9)
        pathlib.Path(args.output).write_bytes(packed)
        print(f"records: {args.output}: {len(packed)} bytes of {len(text)}")


if __name__ == "__main__":
    main()
