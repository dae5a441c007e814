#!/usr/bin/env python3
"""tcc run of an ONNX model: compiled for the sizes of its inputs, and found again."""

import json

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

from tcc_command import CommandTest, main

RANDOM = np.random.default_rng(7)


class Run(CommandTest):
    def setUp(self):
        super().setUp()
        self.cache = self.folder / "cache"
        self.results = self.folder / "results"

    def run_model(self, *arguments, expect=0, **environment):
        return self.call("run", *arguments, expect=expect,
                         **{"TCC_CACHE_DIR": str(self.cache), **environment})

    def model(self, weight=1.0):
        """y = softmax(x w) and r = reshape(x, s), for x of f32[NxMx4] and s of i64[2]."""
        tensor = helper.make_tensor_value_info
        nodes = [helper.make_node("MatMul", ["x", "w"], ["p"]),
                 helper.make_node("Softmax", ["p"], ["y"]),
                 helper.make_node("Reshape", ["x", "s"], ["r"])]
        weights = (np.arange(20, dtype=np.float32).reshape(4, 5) % 7 - 3) * np.float32(weight)
        graph = helper.make_graph(nodes, "free",
                                  [tensor("x", TensorProto.FLOAT, ["N", "M", 4]),
                                   tensor("s", TensorProto.INT64, [2])],
                                  [tensor("y", TensorProto.FLOAT, ["N", "M", 5]),
                                   tensor("r", TensorProto.FLOAT, [None, None])],
                                  [numpy_helper.from_array(weights, "w")])
        path = self.folder / "free.onnx"
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)],
                                    ir_version=8), path)
        return path

    def feed(self, n, m, shape):
        """Writes inputs; their arrays and the options that name them."""
        arrays = {"x": RANDOM.standard_normal((n, m, 4)).astype(np.float32),
                  "s": np.array(shape, np.int64)}
        options = []
        for name, array in arrays.items():
            np.save(self.folder / f"{name}.npy", array)
            options += ["--input", f"{name}={self.folder / name}.npy"]
        return arrays, options

    def compiled(self):
        """Whether the last command, with --progress json, has compiled anything."""
        stages = [json.loads(line).get("stage") for line in self.error.splitlines()]
        return "code" in stages

    def files(self):
        return sorted((self.cache / "session").iterdir())

    def test_an_onnx_model_runs_at_any_shape_as_onnxruntime_says(self):
        model = self.model()
        session = onnxruntime.InferenceSession(str(model), providers=["CPUExecutionProvider"])
        for n, m, shape in [(1, 3, [3, 4]), (2, 17, [-1, 8]), (5, 1, [2, 10]), (2, 17, [8, -1])]:
            arrays, options = self.feed(n, m, shape)
            self.run_model(model, *options, "--output-dir", self.results)
            for i, expected in enumerate(session.run(None, arrays)):
                got = np.load(self.results / f"output_{i}.npy")
                self.assertEqual(got.shape, expected.shape)
                np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-6)
        self.assertEqual(len(self.files()), 4)

    def test_a_second_run_at_a_shape_compiles_nothing_and_prints_the_same(self):
        model = self.model()
        _, options = self.feed(2, 3, [6, 4])
        first = self.run_model(model, *options, "--progress", "json")
        self.assertTrue(self.compiled())
        self.assertEqual(self.run_model(model, *options, "--progress", "json"), first)
        self.assertFalse(self.compiled())
        self.run_model(model, *options, "-v")
        self.assertIn("any size, values of s: compiled before", self.error)
        for change in [["--numeric", "bf16"], ["--target", "x86-64-v3"]]:
            self.run_model(model, *options, *change, "--progress", "json")
            self.assertTrue(self.compiled(), change)
        self.model(weight=2)
        self.assertNotEqual(self.run_model(model, *options, "--progress", "json"), first)
        self.assertTrue(self.compiled())

    def test_one_compilation_serves_all_shapes_but_those_it_refuses(self):
        tensor = helper.make_tensor_value_info
        path = self.folder / "add.onnx"
        graph = helper.make_graph([helper.make_node("Add", ["x", "b"], ["y"])], "add",
                                  [tensor("x", TensorProto.FLOAT, ["N", 3]),
                                   tensor("b", TensorProto.FLOAT, ["M", 3])],
                                  [tensor("y", TensorProto.FLOAT, None)])
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)],
                                    ir_version=8), path)
        for n, m, note in [(2, 2, "any size: compiled in"), (5, 5, "any size: compiled before"),
                           (5, 1, "N=5, M=1: compiled in"), (5, 1, "N=5, M=1: compiled before")]:
            arrays = {name: RANDOM.standard_normal((rows, 3)).astype(np.float32)
                      for name, rows in (("x", n), ("b", m))}
            np.savez(self.folder / "in.npz", **arrays)
            self.run_model(path, "--input", self.folder / "in.npz", "--output-dir", self.results,
                           "-v")
            self.assertIn(note, self.error)
            self.assertNotIn("warning", self.error)
            np.testing.assert_array_equal(np.load(self.results / "output_0.npy"),
                                          arrays["x"] + arrays["b"])
        self.assertEqual(len(self.files()), 2)

    def test_weights_beside_the_model_are_told_from_others_by_size_and_time(self):
        model = self.model()
        loaded = onnx.load(model)
        onnx.save(loaded, model, save_as_external_data=True, location="w.data", size_threshold=0)
        _, options = self.feed(1, 2, [2, 4])
        first = self.run_model(model, *options, "--progress", "json")
        weights = (self.folder / "w.data").read_bytes()
        (self.folder / "w.data").write_bytes(bytes(len(weights)))
        self.assertNotEqual(self.run_model(model, *options, "--progress", "json"), first)
        self.assertTrue(self.compiled())

    def test_a_damaged_file_is_compiled_again(self):
        model = self.model()
        _, options = self.feed(2, 3, [6, 4])
        first = self.run_model(model, *options)
        (file,) = self.files()
        whole = file.read_bytes()
        for damaged in [whole[:-64], whole[:300] + bytes([whole[300] ^ 1]) + whole[301:], b""]:
            file.write_bytes(damaged)
            self.assertEqual(self.run_model(model, *options, "--progress", "json"), first)
            self.assertTrue(self.compiled())
            self.assertEqual(file.read_bytes(), whole)

    def test_the_cache_has_a_limit_and_is_done_without(self):
        model = self.model()
        for m in range(1, 4):
            _, options = self.feed(1, m, [m, 4])
            self.run_model(model, *options, TCC_CACHE_BYTES="1")
            self.assertEqual(len(self.files()), 1)
        expected = self.run_model(model, *options)
        self.assertEqual(self.run_model(model, *options, TCC_CACHE_DIR="/proc/nowhere"), expected)

    def test_inputs_that_do_not_fit_end_with_4_and_are_named(self):
        model = self.model()
        _, options = self.feed(2, 3, [6, 4])
        self.run_model(model, *options[:2], expect=4)
        self.assertIn("input 's' is missing; expected i64[2]", self.error)
        self.run_model(model, *options, "--input", f"t={self.folder}/x.npy", expect=4)
        self.assertIn("no input 't'; expected x, s", self.error)
        for array, words in [(np.zeros((2, 3, 5), np.float32), "expected f32[NxMx4], got f32[2x3x5]"),
                             (np.zeros((3, 4), np.float32), "expected f32[NxMx4], got f32[3x4]"),
                             (np.zeros((2, 3, 4), np.int32), "got i32[2x3x4]")]:
            np.save(self.folder / "x.npy", array)
            self.run_model(model, *options, expect=4)
            self.assertIn(f"input 'x': {words}" if words.startswith("expected") else words,
                          self.error)
        self.assertFalse((self.cache / "session").exists())
        _, options = self.feed(2, 3, [5, 5])
        self.run_model(model, *options, expect=4)
        self.assertIn("with N=2, M=3, values of s: node 'r' (Reshape)", self.error)

    def test_random_inputs_have_the_usual_sizes_and_need_values_that_decide_shapes(self):
        model = self.model()
        self.run_model(model, expect=4)
        self.assertIn("with N=8, M=128, values of s: node 'r' (Reshape)", self.error)
        np.save(self.folder / "s.npy", np.array([3, 8], np.int64))
        text = self.run_model(model, "--dim", "N=2", "--dim", "M=3", "--bind",
                              f"s={self.folder}/s.npy")
        self.assertRegex(text, r"^y f32\[2x3x5\] from .*\nr f32\[3x8\] from ")
        self.assertIn("random inputs of seed 0", self.error)

    def test_an_option_of_a_compilation_is_refused_for_a_compiled_model(self):
        artefact = self.folder / "m.tcc"
        self.call("compile", self.export("dqn", "--small"), "--target", "reference", "-o", artefact)
        for option in [["--dim", "N=1"], ["--target", "native"], ["--numeric", "bf16"]]:
            self.run_model(artefact, *option, expect=2)
        self.run_model(artefact)


if __name__ == "__main__":
    main()
