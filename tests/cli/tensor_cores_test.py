#!/usr/bin/env python3
"""Models whose contractions run on tensor cores, as their machine code says, and are right so."""

import json

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from tcc_command import CommandTest, main

TYPES = {np.float16: TensorProto.FLOAT16, np.float32: TensorProto.FLOAT, np.int8: TensorProto.INT8,
         np.int32: TensorProto.INT32}


def random_of(draw, dtype, shape):
    if dtype == np.int8:
        return draw.integers(-128, 128, shape).astype(dtype)
    return draw.uniform(-1, 1, shape).astype(dtype)


class TensorCores(CommandTest):
    def setUp(self):
        super().setUp()
        if not self.has_nvrtc():
            self.skipTest("no NVRTC: nothing is compiled for a GPU")

    def save(self, name, nodes, dtype, shape, constants, result=None):
        graph = helper.make_graph(
            nodes, name, [helper.make_tensor_value_info("x", TYPES[dtype], shape)],
            [helper.make_tensor_value_info("y", TYPES[result or dtype], None)],
            [numpy_helper.from_array(v, k) for k, v in constants.items()])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
        model.ir_version = 8
        path = self.folder / f"{name}.onnx"
        onnx.save(model, path)
        return path

    def convolution(self, dtype, channels, size, out, window, **attributes):
        draw = np.random.default_rng(1)
        nodes = [helper.make_node("Conv", ["x", "w", "b"], ["t"], **attributes),
                 helper.make_node("Relu", ["t"], ["y"])]
        constants = {"w": random_of(draw, dtype, [out, channels, window, window]),
                     "b": random_of(draw, dtype, [out])}
        return self.save(f"conv{window}", nodes, dtype, [1, channels, size, size], constants)

    def product(self, dtype, rows, depth, columns):
        draw = np.random.default_rng(2)
        whole = dtype == np.int8
        nodes = [helper.make_node("MatMulInteger" if whole else "MatMul", ["x", "w"], ["y"])]
        constants = {"w": random_of(draw, dtype, [depth, columns])}
        return self.save("product", nodes, dtype, [rows, depth], constants,
                         np.int32 if whole else None)

    def expect_tensor_cores(self, model, targets, emulated, *options):
        for target in targets:
            with self.subTest(model=model.name, target=target, options=options):
                artefact = self.folder / "m.tcc"
                self.call("compile", model, "--target", target, "-o", artefact, *options)
                kernels = json.loads(self.call("inspect", artefact, "--json"))["kernels"]
                self.assertLess(0, sum(k["tensor_instructions"] for k in kernels))
                self.assertEqual(0, sum(k["spill_bytes"] for k in kernels))
                if target in emulated:
                    self.call("check", model, "--target", target, "--emulate", *options)

    def test_convolutions_of_f16(self):
        targets = ["sm_75", "sm_80", "sm_86", "sm_90a"]
        model = self.convolution(np.float16, 8, 9, 16, 3, pads=[1, 1, 1, 1])
        self.expect_tensor_cores(model, targets, ["sm_75", "sm_86"])
        model = self.convolution(np.float16, 3, 19, 24, 7, strides=[2, 2], pads=[3, 3, 3, 3])
        self.expect_tensor_cores(model, targets, ["sm_90a"])
        model = self.convolution(np.float16, 32, 6, 40, 1)
        self.expect_tensor_cores(model, targets, ["sm_86"])

    def test_convolutions_of_f32_in_modes_of_tf32(self):
        model = self.convolution(np.float32, 8, 9, 16, 3, pads=[1, 1, 1, 1])
        for mode in ["tf32", "3xtf32"]:
            self.expect_tensor_cores(model, ["sm_80", "sm_90a"], ["sm_80"], "--numeric", mode)

    def test_products_of_bytes(self):
        model = self.product(np.int8, 40, 72, 50)
        self.expect_tensor_cores(model, ["sm_75", "sm_80", "sm_90a"], ["sm_75", "sm_80"])

    def test_products_of_few_results_and_many_steps(self):
        model = self.product(np.float16, 16, 2048, 24)
        self.expect_tensor_cores(model, ["sm_75", "sm_86", "sm_90a"], ["sm_75", "sm_86"])

    def test_strict_products_of_f32_do_not(self):
        model = self.product(np.float32, 64, 64, 64)
        artefact = self.folder / "m.tcc"
        self.call("compile", model, "--target", "sm_90a", "-o", artefact)
        kernels = json.loads(self.call("inspect", artefact, "--json"))["kernels"]
        self.assertEqual([0] * len(kernels), [k["tensor_instructions"] for k in kernels])


if __name__ == "__main__":
    main()
