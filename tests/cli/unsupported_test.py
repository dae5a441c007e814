#!/usr/bin/env python3
"""A model with operators that tcc does not have is refused with one whole list."""

import json

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from tcc_command import CommandTest, main


def strange_model():
    """Two ImageDecoders, one operator of a foreign domain, one Relu."""
    value = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 2, 2])
    nodes = [helper.make_node("ImageDecoder", ["x"], ["a"], name="first"),
             helper.make_node("ImageDecoder", ["x"], ["b"], name="second"),
             helper.make_node("Sprocket", ["a", "b"], ["c"], name="third", domain="example.org"),
             helper.make_node("Relu", ["c"], ["y"], name="fourth")]
    result = helper.make_tensor_value_info("y", TensorProto.FLOAT, [1])
    graph = helper.make_graph(nodes, "strange", [value], [result])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17),
                                                   helper.make_opsetid("example.org", 1)])


class Unsupported(CommandTest):
    def setUp(self):
        super().setUp()
        self.model = self.folder / "strange.onnx"
        onnx.save(strange_model(), self.model)

    def test_compile_lists_all_with_counts_and_writes_nothing(self):
        self.call("compile", self.model, "--target", "native", "-o", self.folder / "m.tcc",
                  expect=3)
        for expected in ["ImageDecoder", "2", "first", "second", "Sprocket", "third"]:
            self.assertIn(expected, self.error)
        self.assertNotIn("Relu", self.error)
        self.assertFalse((self.folder / "m.tcc").exists())

    def test_inspect_lists_them_too(self):
        report = json.loads(self.call("inspect", self.model, "--json", expect=3))
        self.assertEqual([row["count"] for row in report["unsupported"]], [2, 1])
        text = self.call("inspect", self.model, expect=3)
        for expected in ["opset", "ImageDecoder", "Sprocket"]:
            self.assertIn(expected, text)
        self.assertIn("cannot be compiled", self.error)

    def write(self, nodes, inputs, outputs, constants=(), opset=17):
        """A model file; `inputs` and `outputs` are (name, shape) or (name, shape, type)."""
        def infos(rows):
            return [helper.make_tensor_value_info(row[0], (*row[2:], TensorProto.FLOAT)[0], row[1])
                    for row in rows]
        initializers = [numpy_helper.from_array(np.asarray(array), name)
                        for name, array in constants]
        graph = helper.make_graph(nodes, "g", infos(inputs), infos(outputs), initializers)
        path = self.folder / "g.onnx"
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset),
                                                          helper.make_opsetid("example.org", 1)],
                                    ir_version=8), path)
        return path

    def refused(self, path, *messages):
        self.call("compile", path, "--target", "native", "-o", self.folder / "m.tcc", expect=3)
        for message in messages:
            self.assertIn(message, self.error)

    def bound(self, path, **values):
        """Compiles once the inputs are constants."""
        options = []
        for name, array in values.items():
            np.save(self.folder / f"{name}.npy", array)
            options += ["--bind", f"{name}={self.folder / name}.npy"]
        self.call("compile", path, "--target", "native", "-o", self.folder / "m.tcc", *options)

    def test_an_unsupported_operator_that_no_output_needs_is_no_obstacle(self):
        nodes = [helper.make_node("Sprocket", ["x"], ["s"], domain="example.org"),
                 helper.make_node("Sprocket", ["s"], ["t"], domain="example.org"),
                 helper.make_node("Relu", ["x"], ["y"])]
        path = self.write(nodes, [("x", [2])], [("y", [2])])
        self.call("compile", path, "--target", "native", "-o", self.folder / "m.tcc")

    def test_the_outputs_that_need_no_unsupported_operator_are_named(self):
        branch = helper.make_graph([helper.make_node("Sprocket", ["x"], ["b"],
                                                     domain="example.org")],
                                   "branch", [], [helper.make_tensor_value_info(
                                       "b", TensorProto.FLOAT, [2])])
        nodes = [helper.make_node("Relu", ["x"], ["y"]),
                 helper.make_node("Sprocket", ["y"], ["s"], domain="example.org"),
                 helper.make_node("Neg", ["s"], ["z"]),
                 helper.make_node("If", ["c"], ["w"], then_branch=branch, else_branch=branch)]
        inputs = [("x", [2]), ("c", [], TensorProto.BOOL)]
        self.refused(self.write(nodes, inputs, [("z", [2]), ("y", [2]), ("w", [2])]),
                     "3 of the model's 6 nodes are not supported",
                     "1 of the model's 3 outputs needs none of them: 'y'")
        self.refused(self.write(nodes, inputs, [("z", [2]), ("w", [2])]))
        self.assertNotIn("none of them", self.error)

    def test_a_shape_that_hangs_on_values_names_the_input_to_bind(self):
        nodes = [helper.make_node("Greater", ["m", "zero"], ["g"]),
                 helper.make_node("NonZero", ["g"], ["y"], name="nz")]
        path = self.write(nodes, [("m", [3])], [("y", None, TensorProto.INT64)],
                          [("zero", np.float32(0))])
        self.refused(path, "node 'nz' (NonZero)", "computed from 'm' at run time",
                     "(--bind m=FILE.npy)")
        self.bound(path, m=np.float32([1, -1, 2]))

    def test_scans_of_an_unknown_trip_count_name_the_input_to_bind(self):
        body = helper.make_graph(
            [helper.make_node("Identity", ["c"], ["c_out"]),
             helper.make_node("Add", ["v", "x"], ["v_out"]),
             helper.make_node("Identity", ["v_out"], ["slice"])], "body",
            [helper.make_tensor_value_info("i", TensorProto.INT64, []),
             helper.make_tensor_value_info("c", TensorProto.BOOL, []),
             helper.make_tensor_value_info("v", TensorProto.FLOAT, [2])],
            [helper.make_tensor_value_info("c_out", TensorProto.BOOL, []),
             helper.make_tensor_value_info("v_out", TensorProto.FLOAT, [2]),
             helper.make_tensor_value_info("slice", TensorProto.FLOAT, [2])])
        nodes = [helper.make_node("Add", ["n", "one"], ["trips"]),
                 helper.make_node("Loop", ["trips", "", "x"], ["v_end", "so"], body=body)]
        path = self.write(nodes, [("n", [], TensorProto.INT64), ("x", [2])],
                          [("v_end", [2]), ("so", None)], [("one", np.int64(1))])
        self.refused(path, "'so' stacks a slice for each iteration", "computed from 'n'",
                     "(--bind n=FILE.npy)")
        self.bound(path, n=np.int64(2))

    def test_branches_of_different_shapes_name_the_input_that_chooses(self):
        def branch(name, axis):
            node = helper.make_node("Concat", ["x"] * axis, [name], axis=0)
            return helper.make_graph([node], name, [], [helper.make_tensor_value_info(
                name, TensorProto.FLOAT, None)])
        nodes = [helper.make_node("Not", ["flag"], ["c"]),
                 helper.make_node("If", ["c"], ["y"], then_branch=branch("t", 1),
                                  else_branch=branch("e", 2))]
        path = self.write(nodes, [("flag", [], TensorProto.BOOL), ("x", [3])], [("y", None)])
        self.refused(path, "of shape 3", "of shape 6", "the condition is computed from 'flag'",
                     "(--bind flag=FILE.npy)")
        self.bound(path, flag=np.bool_(True))

    def test_a_body_names_the_models_input_and_not_its_own(self):
        def branch(name):
            node = helper.make_node("Reshape", ["x", "s"], [name])
            return helper.make_graph([node], name, [], [helper.make_tensor_value_info(
                name, TensorProto.FLOAT, None)])
        nodes = [helper.make_node("Add", ["k", "one"], ["s"]),
                 helper.make_node("If", ["c"], ["y"], then_branch=branch("t"),
                                  else_branch=branch("e"))]
        path = self.write(nodes, [("c", [], TensorProto.BOOL), ("k", [1], TensorProto.INT64),
                                  ("x", [3])], [("y", None)], [("one", np.int64(1))])
        self.refused(path, "(Reshape)", "(--bind k=FILE.npy)")
        self.assertNotIn("--bind s", self.error)
        self.bound(path, k=np.int64([2]))

    def test_dropout_in_training_mode_asks_for_an_export_for_inference(self):
        node = helper.make_node("Dropout", ["x", "ratio", "training"], ["y"])
        path = self.write([node], [("x", [2])], [("y", [2])],
                          [("ratio", np.float32(0.5)), ("training", np.bool_(True))])
        self.refused(path, "dropout in training mode is not supported", "exported for inference")

    def test_a_cast_to_strings_lists_the_types_there_are(self):
        node = helper.make_node("Cast", ["x"], ["y"], to=TensorProto.STRING)
        path = self.write([node], [("x", [2])], [("y", [2], TensorProto.STRING)])
        self.refused(path, "element type STRING (8) is not supported; supported are FLOAT")

    def test_inspect_of_what_cannot_be_compiled_for_another_reason_ends_as_compile_does(self):
        def model(node, *inputs):
            path = self.folder / f"{node.op_type}.onnx"
            values = [helper.make_tensor_value_info(name, kind, shape)
                      for name, kind, shape in inputs]
            result = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
            graph = helper.make_graph([node], "g", values, [result])
            onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), path)
            return path
        for status, path, word in [
                (4, model(helper.make_node("MatMul", ["a", "b"], ["y"]),
                          ("a", TensorProto.FLOAT, [2, 3]), ("b", TensorProto.FLOAT, [4, 5])),
                 "MatMul"),
                (3, model(helper.make_node("Reshape", ["a", "s"], ["y"]),
                          ("a", TensorProto.FLOAT, [2, 3]), ("s", TensorProto.INT64, [2])),
                 "Reshape")]:
            self.call("compile", path, "-o", self.folder / "m.tcc", expect=status)
            report = json.loads(self.call("inspect", path, "--json", expect=status))
            self.assertEqual(report["operators"], {word: 1})
            self.assertIn(word, report["not_compiled"])
            self.assertIn("the model cannot be compiled", self.error)

    def test_a_free_dimension_is_named(self):
        model = self.folder / "free.onnx"
        value = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["Batch", 3])
        result = helper.make_tensor_value_info("y", TensorProto.FLOAT, ["Batch", 3])
        graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "g", [value], [result])
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), model)
        self.call("compile", model, "--target", "native", "-o", self.folder / "m.tcc")
        self.assertIn("warning: dimension Batch=1..16777216:8 stays free", self.error)
        for stage in ["graph", "tensor", "scheduled", "lowered", "source", "asm"]:
            self.call("dump", model, "--target", "native", "--stage", stage)
        report = json.loads(self.call("inspect", model, "--json"))
        self.assertEqual([row["name"] for row in report["dimensions"]], ["Batch"])
        self.assertNotIn("not_compiled", report)
        report = json.loads(self.call("inspect", model, "--json", "--dim", "Batch=5"))
        self.assertNotIn("dimensions", report)
        self.call("check", model, "--dim", "Batch=5")
        self.call("check", model, "--shape", "x=7x3")
        self.call("check", model, "--dim", "N=7", expect=2)
        self.assertIn("no dimension is named 'N'; there are Batch (--dim)", self.error)
        self.call("check", model, "--shape", "z=7", expect=2)
        self.assertIn("no input is named 'z'; there are x (--shape)", self.error)


if __name__ == "__main__":
    main()
