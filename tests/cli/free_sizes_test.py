#!/usr/bin/env python3
"""Artefacts for any size: the commands that make one and take one."""

import json
import re

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

from tcc_command import CommandTest, main


def value(name, shape):
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)


def floats(*shape):
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)


class FreeSizes(CommandTest):
    def setUp(self):
        super().setUp()
        self.model = self.folder / "m.onnx"
        self.artefact = self.folder / "m.tcc"

    def write(self, nodes, inputs, outputs, initializers=()):
        graph = helper.make_graph(nodes, "free", inputs, outputs, initializers)
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)],
                                    ir_version=8), self.model)

    def write_product(self):
        """y = x w with B times S rows."""
        self.write([helper.make_node("MatMul", ["x", "w"], ["y"])], [value("x", ["B", "S", 8])],
                   [value("y", ["B", "S", 5])], [numpy_helper.from_array(floats(8, 5), "w")])

    def compile(self, *options, expect=0):
        return self.call("compile", self.model, "-o", self.artefact, *options, expect=expect)

    def run_on(self, expect=0, **feed):
        words = []
        for name, array in feed.items():
            np.save(self.folder / f"{name}.npy", array)
            words += ["--input", f"{name}={self.folder / name}.npy"]
        self.call("run", self.artefact, *words, "--output-dir", self.folder / "out", expect=expect)
        return np.load(self.folder / "out" / "output_0.npy") if expect == 0 else None

    def agrees(self, **feed):
        session = onnxruntime.InferenceSession(str(self.model), providers=["CPUExecutionProvider"])
        expected, = session.run(None, feed)
        got = self.run_on(**feed)
        self.assertEqual(got.shape, expected.shape)
        np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-5)

    def test_a_run_takes_every_size_of_the_ranges_and_no_other(self):
        self.write_product()
        self.compile("--dim", "B=1..8:2", "--dim", "S=1..64:16")
        self.assertNotIn("warning", self.error)
        for batch, length in ((1, 1), (2, 16), (7, 13), (8, 64)):
            self.agrees(x=floats(batch, length, 8))
        self.run_on(x=floats(9, 4, 8), expect=4)
        self.assertIn("input 'x': dimension B is 9; expected 1 to 8", self.error)
        self.run_on(x=floats(1, 65, 8), expect=4)
        self.assertIn("input 'x': dimension S is 65; expected 1 to 64", self.error)

    def test_one_warning_tells_of_dimensions_that_nobody_leaves_free(self):
        self.write_product()
        self.compile()
        self.assertEqual(self.error.count("warning"), 1)
        self.assertIn("dimensions B=1..16777216:8, S=1..16777216:128 stay free", self.error)
        self.agrees(x=floats(3, 5, 8))
        self.compile("--shape", "x=?x3x?")
        self.assertNotIn("warning", self.error)
        self.agrees(x=floats(5, 3, 8))
        self.run_on(x=floats(5, 4, 8), expect=4)

    def test_commands_take_the_usual_size_or_the_one_that_is_given(self):
        self.write_product()
        self.compile("--dim", "B=1..8:2", "--dim", "S=4..64:16")
        self.assertIn("y f32[2x16x5]", self.call("run", self.artefact))
        self.assertIn("y f32[3x16x5]", self.call("run", self.artefact, "--dim", "B=3"))
        report = json.loads(self.call("bench", self.artefact, "--dim", "S=7", "--iterations", 1,
                                      "--json"))
        self.assertEqual(report["size"], "B=2,S=7")
        summary = json.loads(self.call("inspect", self.artefact, "--json"))
        self.assertEqual(summary["dimensions"],
                         [{"name": "B", "low": 1, "high": 8, "usual": 2},
                          {"name": "S", "low": 4, "high": 64, "usual": 16}])
        self.assertEqual(summary["inputs"][0]["type"], "f32[BxSx8]")

    def test_a_check_draws_sizes_of_all_kinds(self):
        self.write_product()
        ranges = ["--dim", "B=1..8:2", "--dim", "S=4..64:16"]
        self.compile(*ranges)
        for words in ([self.artefact], [self.artefact, *ranges], ranges):
            text = self.call("check", self.model, *words)
            self.assertEqual(re.findall("^at (.*)", text, re.M),
                             ["B=1,S=4", "B=3,S=13", "B=2,S=16", "B=4,S=32"])
            self.assertEqual(text.count(" 0 differ"), 4)
        text = self.call("check", self.model, *ranges, "--at", "B=5,S=9", "--at", "B=2,S=16")
        self.assertEqual(re.findall("^at (.*)", text, re.M),
                         ["B=1,S=4", "B=3,S=13", "B=2,S=16", "B=4,S=32", "B=5,S=9"])
        text = self.call("check", self.model, self.artefact, "--dim", "B=5", "--dim", "S=9")
        self.assertTrue(text.startswith("225 elements, 0 differ"))
        np.save(self.folder / "x.npy", floats(3, 7, 8))
        given = ["--input", f"x={self.folder / 'x.npy'}"]
        text = self.call("check", self.model, self.artefact, *given)
        self.assertTrue(text.startswith("105 elements, 0 differ"))
        self.call("check", self.model, self.artefact, *given, "--dim", "B=2", expect=2)
        self.assertIn("--dim: the inputs have B=3,S=7", self.error)

    def test_dimensions_that_meet_are_equal(self):
        self.write([helper.make_node("Add", ["x", "b"], ["y"])],
                   [value("x", ["N", 3]), value("b", ["M", 3])], [value("y", ["K", 3])])
        self.compile()
        self.agrees(x=floats(4, 3), b=floats(4, 3))
        self.run_on(x=floats(4, 3), b=floats(5, 3), expect=4)
        self.run_on(x=floats(4, 3), b=floats(1, 3), expect=4)
        self.compile("--dim", "M=1")
        self.agrees(x=floats(4, 3), b=floats(1, 3))


if __name__ == "__main__":
    main()
