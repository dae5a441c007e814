#!/usr/bin/env python3
"""What `tcc check` takes for right and for wrong."""

import json
import re

import numpy as np
import onnx
from onnx import TensorProto, helper

from tcc_command import CommandTest, main


class Check(CommandTest):
    def attention(self, name, scale, dtype=TensorProto.FLOAT16):
        """softmax(scale q k) v; logits of random operands are large, so that a rounding of them
        matters."""
        def tensor(name, *shape):
            return helper.make_tensor_value_info(name, dtype, shape)

        nodes = [helper.make_node("Mul", ["q", "scale"], ["scaled"]),
                 helper.make_node("MatMul", ["scaled", "k"], ["logits"]),
                 helper.make_node("Softmax", ["logits"], ["weights"]),
                 helper.make_node("MatMul", ["weights", "v"], ["y"])]
        graph = helper.make_graph(
            nodes, name, [tensor("q", 2, 17, 64), tensor("k", 2, 64, 31), tensor("v", 2, 31, 8)],
            [tensor("y", 2, 17, 8)], [helper.make_tensor("scale", dtype, [], [scale])])
        path = self.folder / f"{name}.onnx"
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
        model.ir_version = 9
        onnx.save(model, path)
        return path

    def test_fused_attention_of_f16_is_right_though_it_rounds_less_than_its_nodes(self):
        for dtype in [TensorProto.FLOAT16, TensorProto.BFLOAT16]:
            model = self.attention("attention", 1, dtype)
            for target in ["reference", "native"]:
                with self.subTest(dtype=dtype, target=target):
                    text = self.call("check", model, "--target", target, "--random", 1)
                    self.assertIn("allowed for rounding: up to ", text)
                    self.assertIn(" 0 differ", text.splitlines()[-1])

    def test_wrong_results_of_f16_are_still_wrong(self):
        model = self.attention("attention", 1)
        for scale in [0.9, 1.05]:
            other = self.folder / "other.tcc"
            self.call("compile", self.attention("other", scale), "--target", "native", "-o", other)
            text = self.call("check", model, other, "--random", 1, expect=1)
            self.assertIn("allowed for rounding: up to ", text)
            self.assertIn("differs in", self.error)

    def test_rounding_of_f16_excuses_no_model_of_f32(self):
        model = self.attention("attention", 1, TensorProto.FLOAT)
        other = self.folder / "other.tcc"
        self.call("compile", self.attention("other", 1.001, TensorProto.FLOAT),
                  "--target", "native", "-o", other)
        text = self.call("check", model, other, "--random", 1, expect=1)
        self.assertNotIn("allowed for rounding", text)

    def with_other_weight(self, model, weight):
        """The model compiled with one weight half as large again; its kernel is then wrong."""
        spoilt = onnx.load(model)
        tensor = next(t for t in spoilt.graph.initializer if t.name == weight)
        values = onnx.numpy_helper.to_array(tensor)
        tensor.CopyFrom(onnx.numpy_helper.from_array((values * 1.5).astype(np.float32), weight))
        other, artefact = self.folder / "spoilt.onnx", self.folder / "spoilt.tcc"
        onnx.save(spoilt, other)
        self.call("compile", other, "--target", "native", "-o", artefact)
        return artefact

    def test_layers_name_the_first_kernel_that_differs(self):
        model = self.export("resnet18", "--small")
        weights = [t.name for t in onnx.load(model).graph.initializer]
        weight = next(name for name in weights if name.startswith("layer2.0.conv2"))
        artefact = self.with_other_weight(model, weight)
        text = self.call("check", model, artefact, "--layers", expect=1)
        lines = text.splitlines()
        self.assertRegex(lines[0], "^call +elements +differ +largest error")
        self.assertLessEqual(len(lines), 13)
        self.assertRegex(lines[-1], r"^first to differ: \w+ \(.*layer2\.0\.conv2.*\): "
                                    r"\d+ of \d+ elements, largest [\d.e-]+ at \[[\d, ]+\]$")
        self.assertRegex(lines[-2], r"^\d+ of \d+ calls differ by what they inherit or by rounding$")
        self.assertIn("kernel ", self.error)

        report = json.loads(self.call("check", model, artefact, "--layers", "--json", expect=1))
        self.assertEqual(report["schema"], "tcc.layers/1")
        first = report["calls"][report["first_to_differ"]]
        self.assertEqual(first["call"], report["first_to_differ"])
        self.assertIn("layer2.0.conv2", first["nodes"])
        self.assertGreater(first["own"]["tolerances"], 1)
        before = [call for call in report["calls"] if call["call"] < first["call"]]
        self.assertEqual({call["total"]["differ"] for call in before}, {0})

    def test_layers_of_a_right_artefact_do_not_differ(self):
        model, artefact = self.export("lstm_lm", "--small"), self.folder / "m.tcc"
        self.call("compile", model, "--target", "native", "-o", artefact)
        for arguments in [[artefact], ["--target", "reference"], ["--numeric", "tf32"]]:
            text = self.call("check", model, *arguments, "--layers")
            self.assertEqual(text.splitlines()[-1], "no kernel differs")
        report = json.loads(self.call("check", model, artefact, "--layers", "--json"))
        self.assertIsNone(report["first_to_differ"])
        calls = json.loads(self.call("inspect", artefact, "--json"))["calls"]
        self.assertEqual(len(report["calls"]), calls)

    def test_layers_that_cannot_be_compared_say_why(self):
        model, artefact = self.export("dqn", "--small"), self.folder / "m.tcc"
        self.call("compile", model, "--target", "native", "-o", artefact, "--notes", "none")
        self.call("check", model, artefact)
        self.call("check", model, artefact, "--layers", expect=2)
        self.assertIn("without --notes none", self.error)
        self.call("check", model, "--json", expect=2)
        self.assertIn("expected --layers", self.error)
        self.call("check", model, "--layers", "--golden", self.folder, expect=2)
        self.assertIn("--golden", self.error)

    def test_an_artefact_of_another_model_is_told_by_its_inputs(self):
        artefact = self.folder / "other.tcc"
        self.call("compile", self.export("resnet18", "--small"), "--target", "native", "-o",
                  artefact)
        model = self.export("dqn", "--small")
        for options in [["--layers"], []]:
            self.call("check", model, artefact, *options, expect=4)
            self.assertRegex(self.error, r"other\.tcc: it was not made of this model: its inputs "
                                         r"are '\w+' f32\[[\dx]+\]; the model's are '\w+' f32\[")

    def test_a_model_with_the_same_names_is_told_by_what_differs(self):
        model = onnx.load(self.export("dqn", "--small"))
        artefact, other = self.folder / "m.tcc", self.folder / "other.onnx"
        self.call("compile", self.folder / "dqn.onnx", "--target", "native", "-o", artefact)
        next(node for node in model.graph.node if node.op_type == "Gemm").input.pop()  # the bias
        onnx.save(model, other)
        self.call("check", other, artefact, "--layers", expect=4)
        self.assertIn("was not made of this model", self.error)
        said = re.search(r"(\S+) (.*) in its notes and (.*) in the model", self.error).groups()
        self.assertNotEqual(said[1].split(" reads ")[-1], said[2])

    def empty(self):
        """y = Relu(x) of no elements."""
        x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [3, 0])
        y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [3, 0])
        graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "empty", [x], [y])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
        model.ir_version = 9
        path = self.folder / "empty.onnx"
        onnx.save(model, path)
        return path

    def test_kernels_without_code_have_every_field_of_the_contract_in_json(self):
        artefact = self.folder / "m.tcc"
        for target in ["native", "sm_86"] if self.has_nvrtc() else ["native"]:
            self.call("compile", self.empty(), "--target", target, "-o", artefact)
            for kernel in json.loads(self.call("inspect", artefact, "--json"))["kernels"]:
                for field in ["registers", "shared_bytes", "spill_bytes", "local_bytes",
                              "ffma_share", "load_bytes_widest", "waves"]:
                    self.assertIn(field, kernel)

    def test_outputs_without_elements_are_said_to_be_equal(self):
        path = self.empty()
        for target in ["reference", "native"]:
            text = self.call("check", path, "--target", target)
            self.assertEqual(text, "0 elements, 0 differ: every output is empty, as expected\n")
        np.save(self.folder / "input_0.npy", np.zeros((3, 0), np.float32))
        np.save(self.folder / "output_0.npy", np.zeros((4, 0), np.float32))
        self.assertEqual(self.call("check", path, "--golden", self.folder, expect=1), "")


if __name__ == "__main__":
    main()
