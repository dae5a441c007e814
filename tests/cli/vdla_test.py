#!/usr/bin/env python3
"""The accelerator from quantized network to cycles: results, programs, tuning."""

import json
import re
import subprocess
import sys

import numpy as np
import onnx

from tcc_command import ROOT, CommandTest, main


class Accelerator(CommandTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        try:
            import onnxruntime  # noqa: F401  (the quantizer is its own)
            cls.absent = ""
        except ImportError:
            cls.absent = "onnxruntime is absent: scripts/setup.sh installs it"

    def quantized(self, *options):
        if self.absent:
            self.skipTest(self.absent)
        model = self.folder / "int8.onnx"
        subprocess.run([sys.executable, ROOT / "scripts/quantize.py", self.export("resnet18", "--small"),
                        model, *options], check=True, capture_output=True)
        return model

    def compiled(self, model, target):
        artefact = self.folder / f"{target}.tcc"
        self.call("compile", model, "--target", target, "-o", artefact)
        return artefact

    def check_against_onnxruntime(self, model):
        import onnxruntime
        session = onnxruntime.InferenceSession(str(model), providers=["CPUExecutionProvider"])
        given = session.get_inputs()[0]
        x = np.random.default_rng(5).uniform(-1, 1, given.shape).astype(np.float32)
        np.save(self.folder / "x.npy", x)
        results = {}
        for target in ("native", "vdla"):
            out = self.folder / f"{target}.npy"
            self.call("run", self.compiled(model, target), "--input", f"{given.name}={self.folder / 'x.npy'}",
                      "--output", f"{session.get_outputs()[0].name}={out}")
            results[target] = np.load(out)
        np.testing.assert_array_equal(results["vdla"], results["native"])
        want = session.run(None, {given.name: x})[0]
        # Each element is a byte times a step; a rounding in front of it may end on the other side.
        values = np.unique(want)
        step = np.min(np.diff(values))
        self.assertLessEqual(np.max(np.abs(results["vdla"] - want)), 2.5 * step)

    def test_a_network_of_int8_gives_the_results_of_onnxruntime(self):
        self.check_against_onnxruntime(self.quantized())

    def test_a_network_of_uint8_with_zero_points_gives_the_results_of_onnxruntime(self):
        model = self.quantized("--unsigned")
        self.check_against_onnxruntime(model)
        kernels = json.loads(self.call("inspect", self.folder / "vdla.tcc", "--json"))["kernels"]
        self.assertGreaterEqual(sum("multiply_cycles" in kernel for kernel in kernels), 4)

    def test_kernels_of_the_accelerator_have_cycles_and_programs(self):
        model = self.quantized()
        text = self.call("inspect", self.compiled(model, "vdla"), "--json")
        kernels = json.loads(text)["kernels"]
        offloaded = [kernel for kernel in kernels if "multiply_cycles" in kernel]
        self.assertGreaterEqual(len(offloaded), 4)
        self.assertLess(len(offloaded), len(kernels))
        for kernel in offloaded:
            self.assertGreaterEqual(kernel["cycles"], kernel["multiply_cycles"])
            self.assertAlmostEqual(kernel["peak"], kernel["multiply_cycles"] / kernel["cycles"], 6)
        text = self.call("dump", model, "--target", "vdla", "--stage", "asm", "--task", offloaded[0]["name"])
        self.assertRegex(text, r"; vdla program \w+: \d buffers, \d+ micro-ops")
        self.assertRegex(text, r"(?m)^load +weights\[0\] buffer \d")
        self.assertRegex(text, r"(?m)^compute gemm micro-ops .*\[<l")
        self.assertRegex(text, r"(?m)^store +sums")

    def test_tuning_by_cycles_finds_the_same_twice(self):
        weight = np.random.default_rng(2).integers(-128, 127, (160, 96)).astype(np.int8)
        model = self.folder / "product.onnx"
        onnx.save(onnx.helper.make_model(onnx.helper.make_graph(
            [onnx.helper.make_node("MatMulInteger", ["x", "w"], ["y"], "product")], "product",
            [onnx.helper.make_tensor_value_info("x", onnx.TensorProto.INT8, [60, 160])],
            [onnx.helper.make_tensor_value_info("y", onnx.TensorProto.INT32, [60, 96])],
            [onnx.numpy_helper.from_array(weight, "w")]),
            opset_imports=[onnx.helper.make_opsetid("", 17)]), model)
        found = []
        for run in ("a", "b"):
            text = self.call("tune", model, "--target", "vdla", "--db", self.folder / f"{run}.db", "--trials", "20",
                      "--seed", "3")
            found.append(re.findall(r"(?m)^.*product$|^\d+ trials.*$", text))
        self.assertEqual(len(found[0]), 2, text)
        self.assertEqual(found[0], found[1])

    def test_the_roofline_is_a_picture_of_every_layer(self):
        bench = self.tcc.parent / "tcc-bench"
        if not bench.is_file():
            self.skipTest("tcc-bench is not built")
        picture = self.folder / "roofline.svg"
        done = subprocess.run([bench, "vdla", "--layer", "C11", "--svg", picture, "--json"],
                              check=True, capture_output=True, text=True)
        rows = json.loads(done.stdout)
        self.assertEqual([row["contexts"] for row in rows], [1, 2])
        self.assertLess(rows[1]["cycles"], rows[0]["cycles"])
        text = picture.read_text()
        self.assertEqual(text.count("<circle"), 2)
        self.assertIn("C11, 2 contexts", text)


if __name__ == "__main__":
    main()
