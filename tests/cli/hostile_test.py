#!/usr/bin/env python3
"""Files that mean harm end with exit code 4 (3 for what is only unsupported) and a message."""

import os
import time

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from tcc_command import CommandTest, main


def one_node(op, dims, constants=(), **attributes):
    """A model of one node 'n' that reads x and the constants."""
    names = [f"c{i}" for i in range(len(constants))]
    node = helper.make_node(op, ["x", *names], ["y"], name="n", **attributes)
    graph = helper.make_graph(
        [node], "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, dims)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(np.array(value), name)
         for name, value in zip(names, constants)])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])


class Hostile(CommandTest):
    def refused(self, model, *messages, code=4):
        path = self.folder / "m.onnx"
        path.write_bytes(model if isinstance(model, bytes) else model.SerializeToString())
        start = time.monotonic()
        self.call("compile", path, "--target", "native", "-o", self.folder / "m.tcc", expect=code)
        self.assertLess(time.monotonic() - start, 10)
        for message in messages:
            self.assertIn(message, self.error)
        self.assertFalse((self.folder / "m.tcc").exists())

    def test_a_model_too_large_to_run_here_compiles_with_a_warning(self):
        model, artefact = self.folder / "m.onnx", self.folder / "m.tcc"
        onnx.save(one_node("Expand", [1], [[1 << 20, 1 << 20]]), model)
        self.call("compile", model, "--target", "native", "-o", artefact)
        for expected in ["the model cannot run on this machine", "no memory for the model",
                         "node 'n' (Expand)", "are available"]:
            self.assertIn(expected, self.error)
        self.call("run", artefact, "--random", 1, expect=4)
        self.assertIn("no memory for output 'y'", self.error)

    def test_extents_beyond_31_bits_name_the_node(self):
        self.refused(one_node("Expand", [1], [[1 << 31]]), "node 'n' (Expand)", "2147483647")

    def test_strides_and_groups_of_zero_are_refused(self):
        weight = np.zeros((1, 1, 3), np.float32)
        self.refused(one_node("Conv", [1, 1, 8], [weight], strides=[0]), "strides has entry 0")
        self.refused(one_node("Conv", [1, 1, 8], [weight], group=0), "group is 0")

    def test_names_do_not_reach_the_terminal_as_commands(self):
        model = one_node("Relu", [1])
        model.graph.node[0].name = "\x1b]0;owned\x07"
        self.refused(model, "control characters")
        self.assertNotIn("\x1b", self.error)

    def test_external_data_stays_in_the_models_folder(self):
        outside = self.folder / "outside"
        outside.mkdir()
        (outside / "secret").write_bytes(bytes(16))
        (self.folder / "link").symlink_to(outside / "secret")
        (self.folder / "folder").symlink_to(outside)
        os.link(outside / "secret", self.folder / "hard")
        for location, message in [("/etc/passwd", "absolute"), ("../secret", "leads out"),
                                  ("a/../../secret", "leads out"), ("link", "symbolic link"),
                                  ("folder/secret", "through a symbolic link"),
                                  ("hard", "hard links"),
                                  ("a\0b", "NUL"), ("", "no location"),
                                  ("*/_ORT_MEM_ADDR_/", "memory address"), ("none", "none")]:
            model = one_node("Add", [4], [np.zeros(4, np.float32)])
            tensor = model.graph.initializer[0]
            tensor.ClearField("raw_data")
            tensor.data_location = TensorProto.EXTERNAL
            entry = tensor.external_data.add()
            entry.key, entry.value = "location", location
            self.refused(model, "initializer 'c0'", message)

    def test_links_to_weights_are_followed_on_request_and_the_refusal_names_the_option(self):
        blobs = self.folder / "blobs"
        blobs.mkdir()
        (blobs / "1234").write_bytes(np.arange(4, dtype=np.float32).tobytes())
        (self.folder / "weights").symlink_to(blobs / "1234")
        (self.folder / "linked").symlink_to(blobs)
        os.link(blobs / "1234", self.folder / "hard")
        model = one_node("Add", [4], [np.zeros(4, np.float32)])
        tensor = model.graph.initializer[0]
        tensor.ClearField("raw_data")
        tensor.data_location = TensorProto.EXTERNAL
        entry = tensor.external_data.add()
        entry.key = "location"
        for name in ["weights", "linked/1234", "hard"]:
            entry.value = name
            path = self.write("m.onnx", model.SerializeToString())
            self.call("check", path, expect=4)
            self.assertIn("link", self.error)
            self.assertIn("(--allow-symlinks)", self.error)
            self.call("check", path, "--allow-symlinks")
        (self.folder / "hard").unlink()
        entry.value = "1234"
        path = self.write("m.onnx", model.SerializeToString())
        self.call("check", path, "--external-data-dir", blobs)

    def test_cut_and_nested_messages_are_refused(self):
        whole = one_node("Relu", [1]).SerializeToString()
        self.refused(whole[:-3], "not an ONNX model")
        graph = onnx.GraphProto()
        for _ in range(40):
            outer = onnx.GraphProto()
            node = outer.node.add()
            node.op_type = "If"
            attribute = node.attribute.add()
            attribute.name, attribute.type = "then_branch", onnx.AttributeProto.GRAPH
            attribute.g.CopyFrom(graph)
            graph = outer
        model = onnx.ModelProto()
        model.graph.CopyFrom(graph)
        nested = model.SerializeToString()
        # Deeper than any writer goes: the same around itself again.
        self.call("inspect", self.write("nested.onnx", nested), expect=4)

    def write(self, name, content):
        path = self.folder / name
        path.write_bytes(content)
        return path

    def test_functions_that_call_themselves_are_refused(self):
        model = one_node("Relu", [1])
        function = helper.make_function(
            "loop", "Again", ["a"], ["b"], [helper.make_node("Again", ["a"], ["b"], domain="loop")],
            [helper.make_opsetid("loop", 1)])
        model.functions.append(function)
        model.graph.node[0].op_type, model.graph.node[0].domain = "Again", "loop"
        model.opset_import.append(helper.make_opsetid("loop", 1))
        path = self.write("m.onnx", model.SerializeToString())
        self.assertIn(self.exit_code("compile", path, "--target", "native", "-o",
                                     self.folder / "m.tcc"), (3, 4))
        self.assertIn("Again", self.error)

    def exit_code(self, *arguments):
        for code in (3, 4):
            try:
                self.call(*arguments, expect=code)
                return code
            except AssertionError:
                continue
        return None

    def test_arrays_of_objects_and_huge_headers_are_refused(self):
        model = self.export("dqn", "--small")
        artefact = self.folder / "m.tcc"
        self.call("compile", model, "--target", "reference", "-o", artefact)
        array = self.folder / "x.npy"
        np.save(array, np.array([{}], dtype=object), allow_pickle=True)
        self.call("run", artefact, "--input", f"x={array}", expect=4)
        self.assertIn("Python objects", self.error)
        array.write_bytes(b"\x93NUMPY\x02\x00\xff\xff\xff\xff{")
        self.call("run", artefact, "--input", f"x={array}", expect=4)


if __name__ == "__main__":
    main()
