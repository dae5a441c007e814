#!/usr/bin/env python3
"""usage: golden.py MODEL.onnx DIR [--seed S]

Runs a model by ONNX Runtime, its graph optimisations off, on seeded inputs and writes
DIR/input_<i>.npy and DIR/output_<i>.npy in graph order: what --golden of tcc run and tcc check
reads. Floating inputs are standard normal, integers are 0 or 1, free dimensions become 1.
"""

import argparse
import pathlib

import numpy
import onnxruntime

TYPES = {"tensor(float)": numpy.float32, "tensor(double)": numpy.float64,
         "tensor(float16)": numpy.float16, "tensor(int64)": numpy.int64,
         "tensor(int32)": numpy.int32, "tensor(int8)": numpy.int8, "tensor(uint8)": numpy.uint8,
         "tensor(bool)": numpy.bool_}


def random_input(argument, generator):
    shape = [size if isinstance(size, int) else 1 for size in argument.shape]
    dtype = TYPES[argument.type]
    if numpy.issubdtype(dtype, numpy.floating):
        return generator.standard_normal(shape).astype(dtype)
    return generator.integers(0, 2, shape).astype(dtype)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model")
    parser.add_argument("dir", type=pathlib.Path)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()

    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(arguments.model, options,
                                           providers=["CPUExecutionProvider"])
    generator = numpy.random.default_rng(arguments.seed)
    feed = {argument.name: random_input(argument, generator) for argument in session.get_inputs()}
    arguments.dir.mkdir(parents=True, exist_ok=True)
    for i, value in enumerate(feed.values()):
        numpy.save(arguments.dir / f"input_{i}.npy", value)
    for i, value in enumerate(session.run(None, feed)):
        numpy.save(arguments.dir / f"output_{i}.npy", value)
    print(f"golden: {len(feed)} inputs and {i + 1} outputs in {arguments.dir}")


if __name__ == "__main__":
    main()
