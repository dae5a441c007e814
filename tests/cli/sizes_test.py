#!/usr/bin/env python3
"""Artefacts for several sizes: `tcc compile --at`, and the commands that take such an artefact."""

import json
import sqlite3

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

from tcc_command import CommandTest, main

FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64


def value(name, shape, kind=FLOAT):
    return helper.make_tensor_value_info(name, kind, shape)


def weights(name, *shape):
    array = np.random.default_rng(len(name)).standard_normal(shape) / np.sqrt(np.prod(shape[1:]))
    return numpy_helper.from_array(array.astype(np.float32), name)


class Sizes(CommandTest):
    def setUp(self):
        super().setUp()
        self.model = self.folder / "m.onnx"
        self.artefact = self.folder / "m.tcc"

    def write(self, nodes, inputs, outputs, initializers):
        graph = helper.make_graph(nodes, "sized", inputs, outputs, initializers)
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)],
                                    ir_version=8), self.model)

    def write_product(self):
        """y = x w with B times S rows."""
        self.write([helper.make_node("MatMul", ["x", "w"], ["y"])], [value("x", ["B", "S", 8])],
                   [value("y", ["B", "S", 5])], [weights("w", 8, 5)])

    def compile(self, *sizes, expect=0, options=()):
        words = [word for size in sizes for word in ("--at", size)]
        return self.call("compile", self.model, "-o", self.artefact, *words, *options,
                         expect=expect)

    def run_on(self, feed, expect=0):
        words = []
        for name, array in feed.items():
            np.save(self.folder / f"{name}.npy", array)
            words += ["--input", f"{name}={self.folder / name}.npy"]
        out = self.folder / "out"
        self.call("run", self.artefact, *words, "--output-dir", out, expect=expect)
        return [np.load(path) for path in sorted(out.glob("output_*.npy"))]

    def agrees(self, *feeds):
        session = onnxruntime.InferenceSession(str(self.model),
                                               providers=["CPUExecutionProvider"])
        for feed in feeds:
            expected = session.run(None, feed)
            got = self.run_on(feed)
            self.assertEqual(len(got), len(expected))
            for one, other in zip(got, expected):
                self.assertEqual(one.shape, other.shape)
                np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)

    @staticmethod
    def floats(*shape):
        return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)

    def test_a_run_takes_the_size_of_its_inputs_and_refuses_others(self):
        self.write_product()
        self.compile("B=1,S=3", "B=2,S=6")
        self.agrees({"x": self.floats(1, 3, 8)}, {"x": self.floats(2, 6, 8)})
        for shape, message in (
                ((3, 3), "input 'x': dimension B is 3; expected 1 or 2"),
                ((2, 4), "input 'x': dimension S is 4; expected 3 or 6"),
                ((2, 3), "the inputs have B=2,S=3; the model was compiled for B=1,S=3; B=2,S=6")):
            self.run_on({"x": self.floats(*shape, 8)}, expect=4)
            self.assertIn(message, self.error)

    def test_a_recurrence_of_any_listed_length(self):
        hidden = 6
        self.write(
            [helper.make_node("LSTM", ["x", "w", "r"], ["y", "h"], hidden_size=hidden)],
            [value("x", ["T", "B", 4])],
            [value("y", ["T", 1, "B", hidden]), value("h", [1, "B", hidden])],
            [weights("w", 1, 4 * hidden, 4), weights("r", 1, 4 * hidden, hidden)])
        self.compile("T=5,B=1", "T=2,B=3")
        self.agrees({"x": self.floats(5, 1, 4)}, {"x": self.floats(2, 3, 4)})

    def test_images_of_any_listed_size(self):
        """A U: half the image, its double beside the image itself."""
        twice = numpy_helper.from_array(np.array([1, 1, 2, 2], np.float32), "twice")
        self.write(
            [helper.make_node("Conv", ["x", "w0"], ["a"], pads=[1] * 4),
             helper.make_node("Relu", ["a"], ["b"]),
             helper.make_node("MaxPool", ["b"], ["c"], kernel_shape=[2, 2], strides=[2, 2]),
             helper.make_node("Conv", ["c", "w1"], ["d"], pads=[1] * 4),
             helper.make_node("Resize", ["d", "", "twice"], ["e"], mode="nearest"),
             helper.make_node("Concat", ["b", "e"], ["f"], axis=1),
             helper.make_node("Conv", ["f", "w2"], ["y"])],
            [value("x", ["N", 3, "H", "W"])], [value("y", ["N", 2, "H2", "W2"])],
            [weights("w0", 8, 3, 3, 3), weights("w1", 8, 8, 3, 3), weights("w2", 2, 16, 1, 1),
             twice])
        self.compile("N=1,H=16,W=24", "N=2,H=10,W=8", "N=1,H=10,W=8")
        self.agrees(*({"x": self.floats(*size)} for size in
                      ((1, 3, 16, 24), (2, 3, 10, 8), (1, 3, 10, 8))))

    def test_a_model_of_one_listed_size_says_so(self):
        self.write_product()
        self.compile("B=2,S=3")
        self.agrees({"x": self.floats(2, 3, 8)})
        self.run_on({"x": self.floats(1, 3, 8)}, expect=4)
        self.assertIn("dimension B is 1; expected 2", self.error)

    def test_commands_take_a_listed_size(self):
        self.write_product()
        self.compile("S=3", "S=6", options=("--dim", "B=2"))
        text = self.call("check", self.model, self.artefact, "--dim", "B=2")
        self.assertEqual(text.count(" 0 differ"), 2)
        self.assertIn("at S=6\n", text)
        text = self.call("check", self.model, self.artefact, "--dim", "B=2", "--dim", "S=6")
        self.assertEqual(text.count(" 0 differ"), 1)
        text = self.call("check", self.model, self.artefact, "--dim", "B=2", "--layers")
        self.assertEqual(text.count("no kernel differs"), 2)
        self.call("check", self.model, self.artefact, "--dim", "B=2", "--layers", "--json",
                  expect=2)
        self.call("check", self.model, "--at", "B=1,S=2", "--at", "B=2,S=1")
        self.assertIn("y f32[2x3x5]", self.call("run", self.artefact))
        self.assertIn("y f32[2x6x5]", self.call("run", self.artefact, "--dim", "S=6"))
        self.call("run", self.artefact, "--dim", "S=4", expect=2)
        self.assertIn("not compiled for S=4; its sizes are S=3; S=6", self.error)
        self.call("run", self.artefact, "--dim", "K=4", expect=2)
        text = self.call("bench", self.artefact, "--dim", "S=6", "--iterations", 1, "--profile")
        self.assertIn("\ninputs of S=6\n", text)
        self.call("bench", self.artefact, "--shape", "x=2x6x8", expect=2)
        self.call("diff", self.artefact, self.artefact)
        summary = json.loads(self.call("inspect", self.artefact, "--json"))
        self.assertEqual([row["size"] for row in summary["sizes"]], ["S=3", "S=6"])
        self.assertEqual(sum(row["calls"] for row in summary["sizes"]), summary["calls"])
        self.assertEqual(summary["inputs"][0]["type"], "f32[2xSx8]")
        self.assertIn("S=6", self.call("inspect", self.artefact))
        self.call("export", self.artefact, "--c", self.folder / "c", expect=3)
        self.assertIn("free dimensions (S)", self.error)

    def test_one_artefact_takes_any_size_in_its_ranges(self):
        self.write_product()
        free = ["--target", "reference", "--dim", "B=1..8:2", "--dim", "S=2..64:16"]
        feeds = [{"x": self.floats(b, s, 8)} for b, s in ((2, 16), (1, 2), (8, 5), (3, 64))]
        for listed in ((), ("B=1,S=2", "B=3,S=64")):
            self.compile(*listed, options=free)
            self.agrees(*feeds)
            self.assertIn("y f32[2x16x5]", self.call("run", self.artefact))
            self.assertIn("y f32[5x16x5]", self.call("run", self.artefact, "--dim", "B=5"))
            self.run_on({"x": self.floats(9, 4, 8)}, expect=4)
            self.assertIn("input 'x': dimension B is 9; expected 1 to 8", self.error)
        self.compile("B=9,S=2", options=free, expect=2)
        self.assertIn("B=9,S=2 is outside the range 1..8 of dimension 'B'", self.error)

    def test_a_size_that_the_model_excludes_is_refused_when_it_comes(self):
        shape = numpy_helper.from_array(np.array([-1, 8], np.int64), "shape")
        self.write([helper.make_node("Relu", ["x"], ["r"], name="relu"),
                    helper.make_node("Reshape", ["r", "shape"], ["y"], name="pairs")],
                   [value("x", ["N", 4])], [value("y", ["M", 8])], [shape])
        self.compile(options=["--target", "reference", "--dim", "N=1..64:8"])
        self.agrees({"x": self.floats(8, 4)}, {"x": self.floats(2, 4)})
        for path in (self.folder / "out").iterdir():
            path.unlink()
        self.assertEqual(self.run_on({"x": self.floats(3, 4)}, expect=4), [])
        self.assertIn("node 'pairs' (Reshape)", self.error)
        self.assertIn("which have to be equal", self.error)

    def test_sizes_that_no_array_has_are_refused(self):
        self.write_product()
        self.call("compile", self.model, "-o", self.artefact, "--dim", "B=1..4", "--dim", "S=1..64")
        out, path = self.folder / "out", self.folder / "x.npy"
        for batch in (0, -1, 5, 2**31, 2**62):
            header = str({"descr": "<f4", "fortran_order": False, "shape": (batch, 2, 8)}).encode()
            header += b" " * (-(len(header) + 11) % 64) + b"\n"
            path.write_bytes(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header
                             + bytes(4 * 2 * 8 * (batch if batch == 5 else 0)))
            self.call("run", self.artefact, "--input", f"x={path}", "--output-dir", out, expect=4)
            self.assertEqual(list(out.glob("*")), [])

    def test_a_dimension_has_a_size_or_a_range(self):
        self.write_product()
        for words, message in (
                (["--dim", "B=1..b"], "--dim: expected a whole number, or a range as 1..32"),
                (["--dim", "B=5..3"], "'B' has the range 5..3; expected LEAST..GREATEST within"),
                (["--dim", "B=2..8:9"], "'B' has the usual extent 9; expected one within 2..8"),
                (["--dim", "B=1..2", "--dim", "B=..:4"], "--dim: 'B' is given twice"),
                (["--dim", "B=1..2", "--dim", "B=1"], "dimension 'B' is given twice (--dim)"),
                (["--dim", "K=.."], "no dimension is named 'K'; there are B, S (--dim)"),
                (["--shape", "x=?x3"], "input 'x' has rank 3; shape ?x3 was given"),
                (["--dim", "B=1..2", "--shape", "x=3x?x8"],
                 "dimension 'B' is given as 3; its range is 1..2")):
            self.compile(expect=2, options=words)
            self.assertIn(message, self.error)
        self.compile(options=["--shape", "x=2x?x?", "--dim", "S=3..3"])
        self.agrees({"x": self.floats(2, 3, 8)})
        text = self.call("inspect", self.model, "--dim", "S=16..512:64")
        self.assertRegex(text, r"name +low +high +usual\n +B +1 +16777216 +8\n"
                               r" +S +16 +512 +64\n")
        self.assertNotIn("warning", self.error)
        # A run compiles for the sizes of its inputs, which have to be within the range.
        x = self.folder / "x.npy"
        np.save(x, self.floats(2, 3, 8))
        words = ["run", self.model, "--input", f"x={x}", "--dim"]
        self.assertIn("y f32[2x3x5]", self.call(*words, "S=2..4"))
        self.call(*words, "S=4..6", expect=4)
        self.assertIn("input 'x': dimension S is 3; expected 4 to 6", self.error)

    def test_one_size_leaves_other_dimensions_free(self):
        self.write_product()
        self.compile("B=2")
        self.assertIn("dimension S=1..16777216:128 stays free", self.error)
        self.agrees({"x": self.floats(2, 3, 8)}, {"x": self.floats(2, 130, 8)})
        self.run_on({"x": self.floats(3, 3, 8)}, expect=4)
        self.assertIn("input 'x': expected f32[2xSx8], got f32[3x3x8]", self.error)
        listed = self.artefact.read_bytes()
        self.compile(options=["--dim", "B=2"])
        self.assertEqual(self.artefact.read_bytes(), listed)

    def test_tuning_shares_its_budget_among_the_sizes(self):
        self.write_product()
        words = ["--at", "B=2,S=48", "--at", "B=3,S=64", "--db", self.folder / "m.db", "--trials",
                 "7", "--searcher", "random"]
        said = self.call("tune", self.model, *words, "--run", self.folder / "run")
        self.assertRegex(said, r"(?s)^B=2,S=48:\n.*\n3 trials: .*\nB=3,S=64:\n.*\n4 trials: ")
        for size in ("B=2,S=48", "B=3,S=64"):
            summary = json.loads((self.folder / "run" / size / "run.json").read_text())
            self.assertEqual(len(summary["tasks"]), 1)
        connection = sqlite3.connect(self.folder / "m.db")
        self.assertEqual(connection.execute("SELECT count(*) FROM workload").fetchone(), (2,))
        connection.close()
        # A compilation takes what was tuned, or measures by itself.
        for options in (words[4:6], words[4:]):
            self.compile("B=2,S=48", "B=3,S=64", options=options)
            self.assertIn("of 2 kernels as they were tuned", self.error)
            self.agrees({"x": self.floats(2, 48, 8)}, {"x": self.floats(3, 64, 8)})
        self.call("tune", self.model, "--at", "B=1,S=1", "--emit", self.folder / "batch",
                  "--trials", "3", expect=2)
        self.assertIn("--at: --emit writes candidates for one size; expected --dim", self.error)

    def test_what_cannot_be_listed_is_said(self):
        self.write_product()
        for sizes, options, code, message in (
                (["B=1", "B=2"], [], 3, "'x' (S); expected each to be given a value, or a range "
                                        "for B, which adds kernels for any size"),
                (["B=1,S=1", "B=2"], [], 2, "size B=2 is of other dimensions than size B=1,S=1"),
                (["B=1,S=1", "S=1,B=1"], [], 2, "size B=1,S=1 is listed twice"),
                (["B=1,S=1,K=2"], [], 2, "no dimension is named 'K'; there are B, S"),
                (["B=1,B=2"], [], 2, "--at: 'B' is given twice"),
                (["B"], [], 2, "--at: expected name=value"),
                (["S=1"], ["--dim", "B=2", "--dim", "S=3"], 2, "listed among the sizes too"),
                ([f"B=1,S={n}" for n in range(1, 31)], [], 2, "30 sizes are listed")):
            self.compile(*sizes, expect=code, options=options)
            self.assertIn(message, self.error)
            self.assertFalse(self.artefact.exists())


if __name__ == "__main__":
    main()
