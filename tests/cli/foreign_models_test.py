#!/usr/bin/env python3
"""Models as other programs write them: odd, yet ONNX Runtime runs them."""

import gzip
import json
import zipfile

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

from tcc_command import CommandTest, main

FLOAT = TensorProto.FLOAT
INT64 = TensorProto.INT64


def value(name, shape, kind=FLOAT):
    return helper.make_tensor_value_info(name, kind, shape)


def constant(name, array):
    return numpy_helper.from_array(np.asarray(array), name)


class ForeignModels(CommandTest):
    def write(self, nodes, inputs, outputs, initializers=(), opset=17, value_info=()):
        """A model file; it need not be valid."""
        graph = helper.make_graph(nodes, "foreign", inputs, outputs, list(initializers),
                                  value_info=list(value_info))
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)],
                                  ir_version=8)
        path = self.folder / "m.onnx"
        onnx.save(model, path)
        return path

    def compile(self, model, *options):
        out = self.folder / "m.tcc"
        self.call("compile", model, "--target", "native", "-o", out, *options)
        return out

    def agrees_with_onnxruntime(self, model, feed, *options, atol=1e-5):
        """The compiled model's outputs, held against ONNX Runtime's."""
        out = self.compile(model, *options)
        warned = self.error
        arguments = []
        for name, array in feed.items():
            np.save(self.folder / f"{name}.npy", array)
            arguments += ["--input", f"{name}={self.folder / name}.npy"]
        results = self.folder / "results"
        self.call("run", out, *arguments, "--output-dir", results)
        session = onnxruntime.InferenceSession(str(model), providers=["CPUExecutionProvider"])
        for i, expected in enumerate(session.run(None, feed)):
            got = np.load(results / f"output_{i}.npy")
            self.assertEqual(got.shape, expected.shape)
            np.testing.assert_allclose(got, expected, rtol=1e-4, atol=atol)
        self.error = warned


class Dimensions(ForeignModels):
    def test_a_dimension_of_minus_one_is_one_that_the_shape_gives(self):
        model = self.write([helper.make_node("Relu", ["x"], ["h"]),
                            helper.make_node("Neg", ["h"], ["y"])],
                           [value("x", [-1, 3, -1])], [value("y", [-1, 3, -1])],
                           value_info=[value("h", [-1, 3, -1])])
        feed = {"x": np.random.default_rng(0).standard_normal((2, 3, 5), np.float32)}
        self.agrees_with_onnxruntime(model, feed, "--shape", "x=2x3x5")
        self.compile(model, "--dim", "x_0=2", "--dim", "x_2=5")
        self.agrees_with_onnxruntime(model, feed)
        self.assertIn("x_0=1..", self.error)
        self.assertIn("x_2=1..", self.error)

    def test_free_dimensions_of_all_inputs_are_named_at_once(self):
        model = self.write([helper.make_node("Add", ["x", "mask.1"], ["h"]),
                            helper.make_node("Add", ["h", "z"], ["y"])],
                           [value("x", ["batch", None, 4]), value("mask.1", ["batch", None, 1]),
                            value("z", ["sequence length"])], [value("y", None)])
        self.compile(model)
        for expected in ["batch=1..", "x_1=1..", "mask.1_1=1..", "sequence length=1.."]:
            self.assertEqual(self.error.count(expected), 1)
        dims = ["batch", "x_1", "mask_1_1", "sequence_length"]
        # As identifiers, and as the model calls them.
        self.compile(model, *sum((["--dim", f"{name}={size}"]
                                  for name, size in zip(dims, [2, 3, 3, 4])), []))
        self.compile(model, "--dim", "batch=2", "--dim", "x_1=3", "--dim", "mask.1_1=3", "--dim",
                     "sequence length=4")

    def test_inputs_without_a_shape_are_named_at_once(self):
        model = self.write([helper.make_node("Add", ["x", "z"], ["y"])],
                           [value("x", None), value("z", None)], [value("y", None)])
        self.call("compile", model, "--target", "native", "-o", self.folder / "m.tcc", expect=2)
        self.assertIn("--shape x=", self.error)
        self.assertIn("--shape z=", self.error)

    def test_a_stale_output_shape_is_a_warning(self):
        model = self.write([helper.make_node("Transpose", ["x"], ["h"]),
                            helper.make_node("Relu", ["h"], ["y"])],
                           [value("x", [3, 2])], [value("y", [3, 2])],
                           value_info=[value("h", [7])])
        x = np.arange(6, dtype=np.float32).reshape(3, 2) - 2
        out = self.compile(model)
        self.assertIn("warning", self.error)
        self.assertIn("output 'y' is declared as 3x2; its node gives 2x3", self.error)
        self.call("check", model, "-q")
        self.assertEqual(self.error, "")
        np.save(self.folder / "x.npy", x)
        self.call("run", out, "--input", f"x={self.folder / 'x.npy'}", "--output-dir", self.folder)
        np.testing.assert_array_equal(np.load(self.folder / "output_0.npy"), np.maximum(x.T, 0))
        self.call("check", model)
        self.assertIn("declared as 3x2", self.error)
        self.call("dump", model, "--target", "native", "--stage", "fused")

    def test_an_output_shape_of_another_rank_is_a_warning_too(self):
        model = self.write([helper.make_node("Flatten", ["x"], ["y"])], [value("x", ["N", 3, 2])],
                           [value("y", ["N", 3, 2])])
        x = np.ones((4, 3, 2), np.float32)
        self.compile(model, "--dim", "N=4")
        self.assertIn("declared as 4x3x2; its node gives 4x6", self.error)
        self.agrees_with_onnxruntime(model, {"x": x}, "--dim", "N=4")


class Branches(ForeignModels):
    """An If of which one branch does not fit the shapes at hand."""

    def lstm(self, x, y):
        shapes = {"W": (1, 16, 3), "R": (1, 16, 4), "B": (1, 32)}
        rng = np.random.default_rng(1)
        weights = [constant(name, rng.standard_normal(shape, np.float32) / 4)
                   for name, shape in shapes.items()]
        return weights, [helper.make_node("LSTM", [x, "W", "R", "B"], [y], hidden_size=4)]

    def branches(self, condition):
        """The LSTM wants three dimensions, the other branch takes any."""
        weights, nodes = self.lstm("x", "sequence")
        nodes.append(helper.make_node("ReduceSum", ["sequence"], ["t"], keepdims=0))
        then_branch = helper.make_graph(nodes, "then", [], [value("t", [])], weights)
        else_branch = helper.make_graph([helper.make_node("ReduceSum", ["x"], ["e"], keepdims=0)],
                                        "else", [], [value("e", [])])
        return helper.make_node("If", [condition], ["y"], then_branch=then_branch,
                                else_branch=else_branch)

    def both_ranks(self, nodes, initializers, *options):
        for shape in [(5, 3), (2, 5, 3)]:
            # ONNX Runtime too would refuse a branch that contradicts a declared rank.
            model = self.write(nodes, [value("x", None)], [value("y", [])], initializers)
            x = np.random.default_rng(2).standard_normal(shape, np.float32)
            text = "x".join(map(str, shape))
            self.agrees_with_onnxruntime(model, {"x": x}, "--shape", f"x={text}", *options)

    def test_a_branch_that_is_not_taken_need_not_fit_the_rank(self):
        nodes = [helper.make_node("Shape", ["x"], ["s"]), helper.make_node("Size", ["s"], ["r"]),
                 helper.make_node("Equal", ["r", "three"], ["c"]), self.branches("c")]
        self.both_ranks(nodes, [constant("three", np.int64(3))])

    def test_a_branch_that_is_not_taken_need_not_fit_what_is_bound(self):
        nodes = [helper.make_node("Equal", ["rate", "wanted"], ["c"]), self.branches("c")]
        model = self.write(nodes, [value("x", ["a", "b"]), value("rate", [], INT64)],
                           [value("y", [])], [constant("wanted", np.int64(16000))])
        x = np.random.default_rng(2).standard_normal((5, 3), np.float32)
        np.save(self.folder / "rate.npy", np.int64(8000))
        np.save(self.folder / "x.npy", x)
        out = self.compile(model, "--shape", "x=5x3", "--bind", f"rate={self.folder}/rate.npy")
        self.call("run", out, "--input", f"x={self.folder}/x.npy", "--output-dir", self.folder)
        np.testing.assert_allclose(np.load(self.folder / "output_0.npy"), x.sum(), rtol=1e-5)

    def test_a_condition_on_the_number_of_elements_is_known(self):
        nodes = [helper.make_node("Abs", ["x"], ["a"]), helper.make_node("Size", ["a"], ["n"]),
                 helper.make_node("Equal", ["n", "thirty"], ["c"]), self.branches("c")]
        self.both_ranks(nodes, [constant("thirty", np.int64(30))])

    def test_a_condition_of_which_one_half_decides_is_known(self):
        """What is computed when running does not matter where the rank says no already."""
        nodes = [helper.make_node("Shape", ["x"], ["s"]), helper.make_node("Size", ["s"], ["r"]),
                 helper.make_node("Equal", ["r", "three"], ["fits"]),
                 helper.make_node("ReduceMax", ["x"], ["top"], keepdims=0),
                 helper.make_node("Less", ["top", "limit"], ["low"]),
                 helper.make_node("And", ["low", "fits"], ["both"]),
                 helper.make_node("Not", ["both"], ["n"]), helper.make_node("Not", ["n"], ["c"]),
                 self.branches("c")]
        self.both_ranks(nodes, [constant("three", np.int64(3)),
                                constant("limit", np.float32(100))])

    def test_a_condition_on_a_large_bound_input_is_known(self):
        nodes = [helper.make_node("Cast", ["mask"], ["f"], to=FLOAT),
                 helper.make_node("ReduceMax", ["f"], ["top"], keepdims=0),
                 helper.make_node("Greater", ["top", "zero"], ["c"]), self.branches("c")]
        model = self.write(nodes, [value("x", ["a", "b"]), value("mask", [80, 80], INT64)],
                           [value("y", [])], [constant("zero", np.float32(0))])
        x = np.random.default_rng(2).standard_normal((5, 3), np.float32)
        np.save(self.folder / "mask.npy", np.zeros((80, 80), np.int64))
        np.save(self.folder / "x.npy", x)
        out = self.compile(model, "--shape", "x=5x3", "--bind", f"mask={self.folder}/mask.npy")
        self.call("run", out, "--input", f"x={self.folder}/x.npy", "--output-dir", self.folder)
        np.testing.assert_allclose(np.load(self.folder / "output_0.npy"), x.sum(), rtol=1e-5)

    def test_a_network_without_a_kernel_to_measure_is_compiled_with_a_budget_too(self):
        model = self.write([helper.make_node("Identity", ["c"], ["y"])], [], [value("y", [2])],
                           [constant("c", np.ones(2, np.float32))])
        self.call("check", model, self.compile(model, "--trials", 1))

    def test_a_nested_branch_that_is_not_taken_need_not_fit(self):
        """The outer condition is known only when running, the inner one by the rank."""
        inner = [helper.make_node("Shape", ["x"], ["s"]), helper.make_node("Size", ["s"], ["r"]),
                 helper.make_node("Greater", ["r", "two"], ["g"]),
                 helper.make_node("Not", ["g"], ["n"]), helper.make_node("Not", ["n"], ["c"]),
                 self.branches("c")]
        taken = helper.make_graph(inner, "taken", [], [value("y", [])])
        other = helper.make_graph([helper.make_node("ReduceMax", ["x"], ["m"], keepdims=0)],
                                  "other", [], [value("m", [])])
        nodes = [helper.make_node("ReduceMax", ["x"], ["top"], keepdims=0),
                 helper.make_node("Less", ["top", "limit"], ["low"]),
                 helper.make_node("If", ["low"], ["out"], then_branch=taken, else_branch=other)]
        nodes[2].output[0] = "z"
        nodes.append(helper.make_node("Identity", ["z"], ["w"]))
        for limit in [100, -100]:
            for shape in [(5, 3), (2, 5, 3)]:
                model = self.write(nodes, [value("x", None)], [value("w", [])],
                                   [constant("two", np.int64(2)),
                                    constant("limit", np.float32(limit))])
                x = np.random.default_rng(2).standard_normal(shape, np.float32)
                text = "x".join(map(str, shape))
                self.agrees_with_onnxruntime(model, {"x": x}, "--shape", f"x={text}")

    def squeezing(self):
        """As torch writes squeeze: an If on the extent of a dimension."""
        squeezed = helper.make_graph([helper.make_node("Squeeze", ["x", "axis"], ["a"])], "then",
                                     [], [value("a", None)])
        kept = helper.make_graph([helper.make_node("Identity", ["x"], ["b"])], "else", [],
                                 [value("b", None)])
        nodes = [helper.make_node("Shape", ["x"], ["s"]),
                 helper.make_node("Gather", ["s", "place"], ["extent"], axis=0),
                 helper.make_node("Equal", ["extent", "one"], ["c"]),
                 helper.make_node("If", ["c"], ["h"], then_branch=squeezed, else_branch=kept),
                 helper.make_node("Relu", ["h"], ["y"])]
        initializers = [constant("axis", np.array([1])), constant("place", np.int64(1)),
                        constant("one", np.int64(1))]
        return self.write(nodes, [value("x", ["a", "b", "c"])], [value("y", None)], initializers)

    def test_a_known_condition_over_a_branch_with_another_rank_of_result(self):
        model = self.squeezing()
        for shape in [(4, 1, 3), (4, 2, 3)]:
            x = np.random.default_rng(2).standard_normal(shape, np.float32)
            text = "x".join(map(str, shape))
            self.agrees_with_onnxruntime(model, {"x": x}, "--shape", f"x={text}")

    def test_of_branches_with_other_ranks_the_one_of_usual_extents_is_taken(self):
        model = self.squeezing()
        x = np.random.default_rng(2).standard_normal((4, 2, 3), np.float32)
        self.agrees_with_onnxruntime(model, {"x": x})
        np.save(self.folder / "one.npy", x[:, :1])
        self.call("run", self.compile(model), "--input", f"x={self.folder}/one.npy", expect=4)
        self.assertIn("the condition and its value at the usual sizes are", self.error)
        self.agrees_with_onnxruntime(model, {"x": x[:, :1]}, "--dim", "b=1")

    def test_a_branch_in_a_function_that_is_called_with_one_value_twice(self):
        branches = {f"{name}_branch": helper.make_graph(
            [helper.make_node(op, ["a", "b"], [name])], name, [], [value(name, None)])
            for name, op in [("then", "Add"), ("else", "Sub")]}
        function = helper.make_function(
            "own", "Either", ["a", "b", "c"], ["r"],
            [helper.make_node("If", ["c"], ["r"], **branches)], [helper.make_opsetid("", 17)])
        path = self.write([helper.make_node("Relu", ["x"], ["h"]),
                           helper.make_node("Either", ["h", "h", "c"], ["y"], domain="own")],
                          [value("x", [3]), value("c", [], TensorProto.BOOL)], [value("y", [3])])
        model = onnx.load(path)
        model.functions.append(function)
        model.opset_import.append(helper.make_opsetid("own", 1))
        onnx.save(model, path)
        for condition in (True, False):
            self.agrees_with_onnxruntime(path, {"x": np.float32([1, -2, 3]),
                                                "c": np.array(condition)})


class Signals(ForeignModels):
    def stft(self, shape, feed_axis, window=True, length=True, computed=False, **attributes):
        names = ["w" if window else "", "length" if length else ""]
        while names and not names[-1]:
            names.pop()
        nodes = [helper.make_node("Neg", ["x"], ["s"])] if computed else []
        nodes.append(helper.make_node("STFT", ["s" if computed else "x", "step"] + names, ["y"],
                                      **attributes))
        initializers = [constant("step", np.int64(7)), constant("length", np.int64(32)),
                        constant("w", np.hanning(32).astype(np.float32))]
        model = self.write(nodes, [value("x", shape)], [value("y", None)], initializers)
        x = np.random.default_rng(3).standard_normal(feed_axis, np.float32)
        self.agrees_with_onnxruntime(model, {"x": x}, "--shape",
                                     "x=" + "x".join(map(str, feed_axis)), atol=1e-4)

    def test_a_short_time_transform_takes_a_signal_without_a_last_axis(self):
        self.stft([2, 256], (2, 256))

    def test_a_short_time_transform_takes_a_computed_signal_without_a_last_axis(self):
        self.stft(["N", "L"], (2, 100), computed=True)
        self.stft([2, 100], (2, 100), computed=True, length=False, onesided=0)
        self.stft([2, 100], (2, 100), window=False)

    def test_a_short_time_transform_takes_a_signal_with_a_last_axis(self):
        self.stft([2, 100, 1], (2, 100, 1))
        self.stft([2, 100, 1], (2, 100, 1), computed=True)


class Unused(ForeignModels):
    def test_an_unused_input_with_a_free_dimension_is_of_extent_one(self):
        model = self.write([helper.make_node("Relu", ["x"], ["y"])],
                           [value("x", ["N", 3]), value("u", ["N", "M", -1, 2])],
                           [value("y", None)])
        feed = {"x": np.ones((2, 3), np.float32), "u": np.ones((2, 1, 1, 2), np.float32)}
        self.agrees_with_onnxruntime(model, feed, "--dim", "N=2")
        self.assertIn("nothing reads input 'u'", self.error)
        self.assertIn("2x1x1x2", self.error)
        feed["u"] = np.ones((2, 5, 4, 2), np.float32)
        self.agrees_with_onnxruntime(model, feed, "--dim", "N=2", "--shape", "u=2x5x4x2")
        self.assertNotIn("warning", self.error)
        feed["u"] = np.ones((2, 6, 1, 2), np.float32)
        self.agrees_with_onnxruntime(model, feed, "--dim", "N=2", "--dim", "M=6")

    def test_an_unused_input_without_a_shape_is_a_scalar(self):
        model = self.write([helper.make_node("Relu", ["x"], ["y"])],
                           [value("x", [3]), value("u", None)], [value("y", None)])
        feed = {"x": np.ones(3, np.float32), "u": np.array(1, np.float32)}
        self.agrees_with_onnxruntime(model, feed)
        self.assertIn("nothing reads input 'u'", self.error)

    def test_a_dead_node_that_is_not_supported_is_left_out(self):
        nodes = [helper.make_node("Constant", [], ["o"], value_strings=["text"]),
                 helper.make_node("StringNormalizer", ["o"], ["p"]),
                 helper.make_node("Relu", ["x"], ["y"])]
        model = self.write(nodes, [value("x", [2, 3])], [value("y", [2, 3])])
        self.agrees_with_onnxruntime(model, {"x": np.ones((2, 3), np.float32)})
        report = json.loads(self.call("inspect", model, "--json"))
        self.assertEqual(report["unsupported"], [])
        self.assertEqual(report["operators"]["StringNormalizer"], 1)

    def test_a_dead_node_in_a_branch_is_left_out(self):
        body = [helper.make_node("Neg", ["x"], ["t"]),
                helper.make_node("Constant", [], ["text"], value_strings=["text"]),
                helper.make_node("StringNormalizer", ["text"], ["o"])]
        then_branch = helper.make_graph(body, "then", [], [value("t", None)],
                                        [helper.make_tensor("s", TensorProto.STRING, [1], [b"a"])])
        else_branch = helper.make_graph([helper.make_node("Relu", ["x"], ["e"])], "else", [],
                                        [value("e", None)])
        nodes = [helper.make_node("ReduceSum", ["x"], ["sum"], keepdims=0),
                 helper.make_node("Greater", ["sum", "zero"], ["c"]),
                 helper.make_node("If", ["c"], ["y"], then_branch=then_branch,
                                  else_branch=else_branch)]
        model = self.write(nodes, [value("x", [2, 3])], [value("y", None)],
                           [constant("zero", np.float32(0))])
        self.agrees_with_onnxruntime(model, {"x": np.ones((2, 3), np.float32)})

    def test_constants_of_strings_that_nothing_reads_are_left_out(self):
        text = helper.make_tensor("text", TensorProto.STRING, [2], [b"a", b"b"])
        nodes = [helper.make_node("Constant", [], ["c"], value=text),
                 helper.make_node("Constant", [], ["d"], value_string="text"),
                 helper.make_node("Constant", [], ["e"], value_strings=["a", "b"]),
                 helper.make_node("Relu", ["x"], ["y"])]
        model = self.write(nodes, [value("x", [2, 3])], [value("y", [2, 3])], [text])
        self.agrees_with_onnxruntime(model, {"x": np.ones((2, 3), np.float32)})

    def test_a_string_that_is_an_output_is_refused(self):
        text = helper.make_tensor("y", TensorProto.STRING, [2], [b"a", b"b"])
        model = self.write([helper.make_node("Relu", ["x"], ["z"])], [value("x", [2])],
                           [value("z", [2]), value("y", [2], TensorProto.STRING)], [text])
        self.call("compile", model, "--target", "native", "-o", self.folder / "m.tcc", expect=3)
        self.assertIn("STRING", self.error)


POINTER = ("version https://git-lfs.github.com/spec/v1\n"
           "oid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\n"
           "size 101711872\n")


class OtherFiles(ForeignModels):
    """A file that is not what is asked for is named as what it is."""

    def expect(self, name, content, *words):
        path = self.folder / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        for command in [["compile", path, "--target", "native", "-o", self.folder / "o.tcc"],
                        ["inspect", path], ["run", path]]:
            self.call(*command, expect=4)
            for word in [name, *words]:
                self.assertIn(word, self.error)

    def test_a_pointer_of_git_lfs(self):
        self.expect("m.onnx", POINTER, "git-lfs pointer", "97 MiB", "git lfs pull")

    def test_a_page(self):
        self.expect("m.onnx", "\n<!DOCTYPE html>\n<html><body>Not found</body></html>", "HTML page")
        self.expect("n.onnx", "<html><body>Not found</body></html>", "HTML page")

    def test_archives(self):
        self.expect("m.onnx", gzip.compress(b"model"), "gzip")
        with zipfile.ZipFile(self.folder / "z.zip", "w") as archive:
            archive.writestr("data.pkl", "x" * 100)
        self.expect("m.zip", (self.folder / "z.zip").read_bytes(), "zip archive")

    def test_weights_of_other_programs(self):
        header = json.dumps({"w": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}).encode()
        content = len(header).to_bytes(8, "little") + header + b"\0\0\0\0"
        self.expect("m.safetensors", content, "safetensors")
        self.expect("m.pt", b"\x80\x02}q\x00.", "pickle")

    def test_an_empty_file(self):
        self.expect("m.onnx", b"", "empty")

    def test_an_artefact_in_place_of_a_model(self):
        model = self.write([helper.make_node("Relu", ["x"], ["y"])], [value("x", [2])],
                           [value("y", [2])])
        out = self.compile(model)
        self.call("compile", out, "--target", "native", "-o", self.folder / "o.tcc", expect=4)
        self.assertIn("compiled model", self.error)

    def test_a_model_in_place_of_an_artefact(self):
        model = self.write([helper.make_node("Relu", ["x"], ["y"])], [value("x", [2])],
                           [value("y", [2])])
        self.call("export", model, "--c", self.folder / "c", expect=4)
        self.assertIn("ONNX model", self.error)
        self.assertIn("compiled first", self.error)

    def test_weights_that_are_a_pointer_of_git_lfs(self):
        weights = np.ones(4, np.float32)
        tensor = constant("w", weights)
        onnx.external_data_helper.set_external_data(tensor, "w.bin")
        tensor.ClearField("raw_data")
        model = self.write([helper.make_node("Add", ["x", "w"], ["y"])], [value("x", [4])],
                           [value("y", [4])], [tensor])
        (self.folder / "w.bin").write_text(POINTER)
        self.call("compile", model, "--target", "native", "-o", self.folder / "o.tcc", expect=4)
        for word in ["w.bin", "git-lfs pointer", "git lfs pull"]:
            self.assertIn(word, self.error)


if __name__ == "__main__":
    main()
