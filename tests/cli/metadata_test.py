#!/usr/bin/env python3
"""The metadata of a model are in its artefact, word for word."""

import json

import onnx
from onnx import TensorProto, helper

from tcc_command import CommandTest, main

NAMES = "{0: 'Käfer',\n 1: 'dog'}"


class Metadata(CommandTest):
    def model(self, metadata):
        x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [2])
        y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [2])
        graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "g", [x], [y],
                                  doc_string="of the graph")
        model = helper.make_model(graph, producer_name="exporter", domain="org.example",
                                  model_version=7, doc_string="two\nlines",
                                  opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        helper.set_model_props(model, metadata)
        path = self.folder / "m.onnx"
        onnx.save(model, path)
        return path

    def test_model_and_artefact_show_the_same_properties(self):
        model = self.model({"names": NAMES, "stride": "32"})
        told = {"model.description": "two\nlines", "model.domain": "org.example",
                "model.graph_description": "of the graph", "model.producer_name": "exporter",
                "model.version": "7", "onnx.names": NAMES, "onnx.stride": "32"}
        self.assertEqual(json.loads(self.call("inspect", model, "--json"))["properties"], told)
        self.call("compile", model, "-o", self.folder / "m.tcc", "--target", "native")
        properties = json.loads(
            self.call("inspect", self.folder / "m.tcc", "--json"))["properties"]
        self.assertEqual({key: properties[key] for key in told}, told)
        self.assertEqual(set(properties) - set(told), {"compiler", "numeric"})

    def test_a_terminal_gets_no_line_breaks_and_no_pages_of_text(self):
        model = self.model({"long": "é" * 5000, "escape": "\x1b[31m"})
        self.call("compile", model, "-o", self.folder / "m.tcc", "--target", "native")
        for file in ["m.onnx", "m.tcc"]:
            shown = self.call("inspect", self.folder / file)
            self.assertNotIn("\x1b", shown)
            self.assertIn('"\\u001b[31m"', shown)
            self.assertIn('"two\\nlines"', shown)
            self.assertIn("and 9800 bytes more", shown)

    def test_metadata_beyond_the_limit_is_warned_of_and_does_not_stop_a_compilation(self):
        model = self.model({"weights": "x" * (1 << 20), "kept": "yes"})
        self.call("compile", model, "-o", self.folder / "m.tcc", "--target", "native")
        self.assertIn("left out 1 of the model's metadata, 'onnx.weights' first", self.error)
        properties = json.loads(
            self.call("inspect", self.folder / "m.tcc", "--json"))["properties"]
        self.assertEqual(properties["onnx.kept"], "yes")
        self.assertNotIn("onnx.weights", properties)


main()
