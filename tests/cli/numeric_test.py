#!/usr/bin/env python3
"""Numeric modes: --numeric of compile, check and dump."""

import json

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from tcc_command import CommandTest, main

MODES = ["3xtf32", "tf32", "bf16", "fp16"]
# |error of a product| / |product|, docs/numeric.md.
PRODUCT_ERROR = {"3xtf32": 3 * 2.0**-22, "tf32": 2.0**-10, "bf16": 2.0**-7, "fp16": 2.0**-10}


class Numeric(CommandTest):
    def save(self, nodes, inputs, constants, name="m"):
        graph = helper.make_graph(
            nodes, name,
            [helper.make_tensor_value_info(k, TensorProto.FLOAT, s) for k, s in inputs.items()],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
            [numpy_helper.from_array(v, k) for k, v in constants.items()])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
        model.ir_version = 9
        path = self.folder / f"{name}.onnx"
        onnx.save(model, path)
        return path

    def matmul(self, draw, rows=33):
        self.b = draw.standard_normal((300, 24)).astype(np.float32)
        return self.save([helper.make_node("MatMul", ["a", "b"], ["y"])], {"a": [rows, 300]},
                         {"b": self.b})

    def test_errors_of_a_matrix_product_are_within_its_modes_bound(self):
        draw = np.random.default_rng(1)
        model = self.matmul(draw)
        a = draw.standard_normal((33, 300)).astype(np.float32)
        np.save(self.folder / "a.npy", a)
        exact = a.astype(np.float64) @ self.b.astype(np.float64)
        magnitude = np.abs(a).astype(np.float64) @ np.abs(self.b).astype(np.float64)
        for target in ["reference", "native", "x86-64-v3"]:
            for mode in MODES:
                with self.subTest(target=target, mode=mode):
                    artefact = self.folder / "m.tcc"
                    self.call("compile", model, "--target", target, "--numeric", mode, "-o",
                              artefact)
                    self.call("run", artefact, "--input", f"a={self.folder}/a.npy",
                              "--output-dir", self.folder)
                    error = np.abs(np.load(self.folder / "output_0.npy") - exact) / magnitude
                    bound = PRODUCT_ERROR[mode] + 16 * np.sqrt(300) * 2.0**-24
                    self.assertLessEqual(error.max(), bound)
                    if mode != "3xtf32":
                        self.assertGreater(error.max(), 2.0**-18)  # it does round
                    properties = json.loads(self.call("inspect", artefact, "--json"))["properties"]
                    self.assertEqual(properties["numeric"], mode)
                    self.assertEqual(properties["rounded_kernels"], "1")

    def test_no_winograd_computes_convolutions_directly(self):
        weight = np.random.default_rng(2).standard_normal((32, 32, 3, 3)).astype(np.float32)
        model = self.save([helper.make_node("Conv", ["x", "w"], ["y"])], {"x": [1, 32, 18, 18]},
                          {"w": weight})
        dump = ["dump", model, "--target", "x86-64-v3", "--stage", "tensor"]
        self.assertIn("alloc y_u: f32[4, 4, 32, 32]", self.call(*dump))
        self.assertNotIn("y_u", self.call(*dump, "--no-winograd"))

    def test_fp16_halves_the_weights_that_few_rows_read(self):
        model = self.matmul(np.random.default_rng(1), rows=4)

        def weights(mode):
            artefact = self.folder / "m.tcc"
            self.call("compile", model, "--target", "native", "--numeric", mode, "-o", artefact)
            return json.loads(self.call("inspect", artefact, "--json"))["weights_bytes"]

        self.assertLess(weights("fp16"), 0.6 * weights("strict"))

    def test_check_allows_what_a_mode_rounds_and_no_more(self):
        model = self.export("resnet18", "--small")
        for target in ["native", "reference"]:
            for mode in MODES:
                with self.subTest(target=target, mode=mode):
                    text = self.call("check", model, "--target", target, "--numeric", mode)
                    self.assertIn(" 0 differ", text.splitlines()[-1])
        # Without the mode's allowance the same answer is wrong: the mode is at work.
        coarse = self.folder / "coarse.tcc"
        self.call("compile", model, "--target", "native", "--numeric", "bf16", "-o", coarse)
        strict = self.folder / "strict.tcc"
        self.call("compile", model, "--target", "native", "-o", strict)
        self.call("run", strict, "--output-dir", self.folder)
        self.call("run", coarse, "--output-dir", self.folder / "coarse")
        difference = np.abs(np.load(self.folder / "coarse" / "output_0.npy") -
                            np.load(self.folder / "output_0.npy")).max()
        self.assertGreater(difference, 1e-4)
        # Other weights are wrong in any mode.
        other = self.folder / "other.onnx"
        self.call("zoo", "export", "resnet18", "--small", "--seed", "9", "-o", other)
        self.call("check", other, coarse, expect=1)

    def test_convolutions_gemms_and_einsums_round_on_every_kind_of_target(self):
        draw = np.random.default_rng(2)

        def constant(*shape):
            return draw.standard_normal(shape).astype(np.float32)

        models = {
            "conv": ([helper.make_node("Conv", ["x", "w", "b"], ["y"], pads=[1, 1, 1, 1],
                                       strides=[2, 1])],
                     {"x": [2, 5, 9, 8]}, {"w": constant(7, 5, 3, 3), "b": constant(7)}),
            "grouped": ([helper.make_node("Conv", ["x", "w"], ["y"], group=3)],
                        {"x": [1, 6, 7, 7]}, {"w": constant(9, 2, 3, 3)}),
            "transposed": ([helper.make_node("ConvTranspose", ["x", "w"], ["y"], strides=[2, 2])],
                           {"x": [1, 4, 5, 5]}, {"w": constant(4, 3, 3, 3)}),
            "gemm": ([helper.make_node("Gemm", ["x", "w", "b"], ["y"], transB=1, alpha=0.5)],
                     {"x": [13, 40]}, {"w": constant(11, 40), "b": constant(11)}),
            "einsum": ([helper.make_node("Einsum", ["x", "z"], ["y"], equation="bij,bkj->bik")],
                       {"x": [2, 5, 30], "z": [2, 4, 30]}, {}),
        }
        for name, (nodes, inputs, constants) in models.items():
            model = self.save(nodes, inputs, constants, name)
            for mode in MODES:
                for target in [["native"], ["sm_86", "--emulate"]]:
                    if target[0] == "sm_86" and mode in ["tf32", "bf16"]:
                        continue  # as 3xtf32 and fp16; the host compiler takes its time
                    with self.subTest(name=name, mode=mode, target=target):
                        text = self.call("check", model, "--target", *target, "--numeric", mode,
                                         "--rtol", 0, "--atol", 1e-5)
                        if mode != "3xtf32":
                            self.assertIn("allowed for rounding", text)
                        self.assertIn(" 0 differ", text.splitlines()[-1])

    def test_kernels_that_stay_strict_are_named(self):
        model = self.export("vit_b_16", "--small")
        artefact = self.folder / "m.tcc"
        self.call("compile", model, "--target", "native", "--numeric", "fp16", "-o", artefact)
        self.assertIn("these kernels stay strict: ", self.error)
        properties = json.loads(self.call("inspect", artefact, "--json"))["properties"]
        self.assertTrue(properties["strict_kernels"])
        relu = self.save([helper.make_node("Relu", ["x"], ["y"])], {"x": [4]}, {}, "relu")
        self.call("compile", relu, "--target", "native", "--numeric", "tf32", "-o", artefact)
        self.assertIn("there is no contraction of f32 to round", self.error)

    def test_dump_shows_where_operands_are_rounded(self):
        model = self.matmul(np.random.default_rng(1))
        text = self.call("dump", model, "--target", "native", "--stage", "tensor", "--numeric",
                         "fp16", "--verify")
        self.assertIn("b_f16_f32[i0, i1] = f32(f16(b[i0, i1]))", text)
        self.assertIn("with (a_f16_f32[i, k] * b_f16_f32[k, j])", text)
        text = self.call("dump", model, "--target", "sm_86", "--stage", "source", "--numeric",
                         "tf32")
        self.assertIn("= tcc_mma_m16n8k8_tf32(", text)

    def test_wrong_uses_are_refused(self):
        model = self.matmul(np.random.default_rng(1))
        artefact = self.folder / "m.tcc"
        for command in [["compile", model, "--target", "native", "-o", artefact],
                        ["check", model], ["dump", model, "--target", "native", "--stage", "graph"]]:
            self.call(*command, "--numeric", "sloppy", expect=2)
            self.assertIn("expected one of strict, 3xtf32, tf32, bf16, fp16", self.error)
        self.call("compile", model, "--target", "native", "-o", artefact)
        self.call("check", model, artefact, "--numeric", "fp16", expect=2)
        self.assertIn("a compiled one says its own", self.error)


if __name__ == "__main__":
    main()
