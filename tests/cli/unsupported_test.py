#!/usr/bin/env python3
"""A model with operators that tcc does not have is refused with one whole list."""

import json

import onnx
from onnx import TensorProto, helper

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
        self.call("compile", model, "--target", "native", "-o", self.folder / "m.tcc", expect=3)
        self.assertIn("Batch", self.error)
        self.assertIn("(--dim Batch=SIZE, --shape x=SIZExSIZE...)", self.error)
        self.call("dump", model, "--target", "native", "--stage", "graph")
        for stage in ["tensor", "scheduled", "lowered", "source", "asm"]:
            self.call("dump", model, "--target", "native", "--stage", stage, expect=3)
            self.assertIn("Batch", self.error)
        report = json.loads(self.call("inspect", model, "--json"))
        self.assertIn("Batch", report["not_compiled"])
        self.assertIn("(--dim Batch=SIZE, --shape x=SIZExSIZE...)", report["not_compiled"])
        report = json.loads(self.call("inspect", model, "--json", "--dim", "Batch=5"))
        self.assertNotIn("not_compiled", report)
        self.call("check", model, "--dim", "Batch=5")
        self.call("check", model, "--shape", "x=7x3")
        self.call("check", model, "--dim", "N=7", expect=2)
        self.assertIn("no dimension is named 'N'; there are Batch (--dim)", self.error)
        self.call("check", model, "--shape", "z=7", expect=2)
        self.assertIn("no input is named 'z'; there are x (--shape)", self.error)


if __name__ == "__main__":
    main()
