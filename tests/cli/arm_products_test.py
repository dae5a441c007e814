#!/usr/bin/env python3
"""Products of bytes by ARM's smmla and usmmla, under qemu: tails of all extents, both signs."""

import json
import shutil
import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from tcc_command import ROOT, CommandTest, main

WORKER = ROOT / "build/arm64/bin/tcc-worker"
QEMU = shutil.which("qemu-aarch64")
CPUS = {"aarch64-v8.6": "max,sve=off", "aarch64-sve": "max,sve512=on",
        "aarch64-sve256": "max,sve256=on,sve512=off"}
# The sign of the data, and their zero point.
DATA = [(np.uint8, 7), (np.uint8, None), (np.int8, -3), (np.int8, None)]
# Rows, terms and columns.
PRODUCTS = [(2, 8, 2), (3, 9, 5), (5, 33, 18), (13, 64, 33), (50, 129, 70), (23, 40, 23)]
# The input, the weight, strides and padding.
WINDOWS = [((1, 16, 7, 7), (24, 16, 3, 3), 1, 1), ((2, 9, 9, 8), (13, 9, 3, 3), 1, 1),
           ((1, 33, 11, 13), (22, 33, 3, 3), 2, 1), ((1, 20, 7, 7), (24, 20, 1, 1), 1, 0)]


def model_of(operator, x, w, dtype, zero, **attributes):
    weight = np.random.default_rng(3).integers(-128, 128, w).astype(np.int8)
    constants = [numpy_helper.from_array(weight, "w")]
    if zero is not None:
        constants.append(numpy_helper.from_array(np.array(zero, dtype), "zero"))
    node = helper.make_node(operator, ["x", *(c.name for c in constants)], ["y"], **attributes)
    data = TensorProto.UINT8 if dtype == np.uint8 else TensorProto.INT8
    graph = helper.make_graph([node], "product", [helper.make_tensor_value_info("x", data, x)],
                              [helper.make_tensor_value_info("y", TensorProto.INT32, None)],
                              constants)
    return helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 13)])


def models():
    for dtype, zero in DATA:
        for rows, terms, columns in PRODUCTS:
            yield model_of("MatMulInteger", (rows, terms), (terms, columns), dtype, zero)
        for x, w, stride, pad in WINDOWS:
            yield model_of("ConvInteger", x, w, dtype, zero, strides=[stride] * 2, pads=[pad] * 4)


@unittest.skipUnless(QEMU and WORKER.exists(), f"no {WORKER} or no qemu-aarch64")
class ArmProducts(CommandTest):
    def test_products_of_bytes_are_exact(self):
        path = self.folder / "m.onnx"
        for number, model in enumerate(models()):
            onnx.save(model, path)
            for target in CPUS if number % 4 == 0 else ["aarch64-v8.6"]:
                with self.subTest(number=number, target=target):
                    worker = f"{QEMU} -cpu {CPUS[target]} -L /usr/aarch64-linux-gnu '{WORKER}'"
                    said = self.call("check", path, "--target", target, "--emulate", "--random", 3,
                                     TCC_WORKER_AARCH64=worker)
                    self.assertIn(" 0 differ, max rel error 0,", said)

    def test_tiles_halve_the_vector_instructions(self):
        path = self.folder / "m.onnx"
        onnx.save(model_of("MatMulInteger", (64, 512), (512, 256), np.int8, None), path)
        counts = {}
        for target in ["aarch64-v8.2", "aarch64-v8.6"]:
            worker = f"{QEMU} -cpu max -L /usr/aarch64-linux-gnu '{WORKER}'"
            counts[target] = json.loads(
                self.call("bench", path, "--target", target, "--emulate", "--json",
                          TCC_WORKER_AARCH64=worker))["total"]["vector"]
        self.assertLess(counts["aarch64-v8.6"], 0.62 * counts["aarch64-v8.2"])


if __name__ == "__main__":
    main()
