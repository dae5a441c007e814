#!/usr/bin/env python3
"""`tcc diff`: which kernels of two compiled models match, and what tells them apart."""

import json

import numpy as np
import onnx
from onnx import helper

from tcc_command import CommandTest, main


class Diff(CommandTest):
    def compiled(self, name, network="dqn", target="native", options=(), export=("--small",)):
        model = self.export(network, *export)
        path = self.folder / name
        self.call("compile", model, "--target", target, "-o", path, "--progress", "none", *options)
        return path

    def diff(self, *arguments, **keywords):
        report = json.loads(self.call("diff", *arguments, "--json", **keywords))
        self.assertEqual(list(report), ["schema", "a", "b", "time", "kernels"])
        self.assertEqual(report["schema"], "tcc.diff/1")
        for side in ["a", "b"]:
            kernels = [kernel["name"] for match in report["kernels"] for kernel in match[side]]
            self.assertEqual(len(kernels), report[side]["kernels"])
            self.assertEqual(len(set(kernels)), len(kernels))
        return report

    def test_a_model_does_not_differ_from_itself(self):
        a = self.compiled("a.tcc")
        report = self.diff(a, a)
        self.assertIsNone(report["time"])
        for match in report["kernels"]:
            self.assertEqual(match["changed"], [])
            self.assertEqual(match["a"], match["b"])
        lines = self.call("diff", a, a).splitlines()
        self.assertRegex(lines[-1], r"^0 of \d+ kernels differ in what the files say$")
        self.assertNotIn("kernel: nodes", "\n".join(lines))

    def test_another_numeric_mode_is_told_and_its_kernels_are_listed(self):
        a, b = self.compiled("a.tcc"), self.compiled("b.tcc", options=["--numeric", "bf16"])
        report = self.diff(a, b)
        self.assertEqual((report["a"]["numeric"], report["b"]["numeric"]), ("strict", "bf16"))
        changed = [match for match in report["kernels"] if match["changed"] != []]
        self.assertTrue(changed)
        text = self.call("diff", a, b)
        self.assertRegex(text, r"(?m)^numeric +strict +bf16$")
        self.assertTrue(text.splitlines()[-1].startswith(
            f"{len(changed)} of {len(report['kernels'])} kernels differ"))
        for match in changed:
            self.assertIn(match["a"][0]["name"], text)

    def test_the_steps_of_schedules_that_differ_are_told_from_the_notes(self):
        a = self.compiled("a.tcc")
        kernel = json.loads(self.call("inspect", a, "--json"))["kernels"][0]["name"]
        schedules = self.folder / "schedules"
        schedules.mkdir()
        (schedules / f"{kernel}.trace").write_text("")  # plain loops
        b = self.compiled("b.tcc", options=["--schedule", schedules])
        matches = {match["a"][0]["name"]: match for match in self.diff(a, b)["kernels"]}
        self.assertIn("schedule", matches[kernel]["changed"])
        steps = matches.pop(kernel)["steps"]
        self.assertTrue(steps)
        self.assertTrue(all(step.startswith("- ") for step in steps))
        self.assertEqual([match["steps"] for match in matches.values()], [[]] * len(matches))
        self.assertNotIn(f"    {steps[0]}\n", self.call("diff", a, b))
        self.assertIn("".join(f"    {step}\n" for step in steps),
                      self.call("diff", a, b, "--schedules"))
        without = self.compiled("c.tcc", options=["--schedule", schedules, "--notes", "none"])
        self.assertEqual({step for match in self.diff(a, without)["kernels"]
                          for step in match["steps"]}, set())

    def test_another_batch_matches_by_nodes(self):
        def weights(name, *shape):
            return onnx.numpy_helper.from_array(np.ones(shape, np.float32), name)

        nodes = [helper.make_node("MatMul", ["x", "v"], ["h"], "first"),
                 helper.make_node("Softmax", ["h"], ["s"], "middle"),
                 helper.make_node("MatMul", ["s", "w"], ["y"], "last")]
        values = [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, ["N", size])
                  for name, size in [("x", 64), ("y", 16)]]
        graph = helper.make_graph(nodes, "two", values[:1], values[1:],
                                  [weights("v", 64, 32), weights("w", 32, 16)])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
        onnx.save(model, self.folder / "m.onnx")
        paths = [self.folder / f"{batch}.tcc" for batch in [1, 3]]
        for batch, path in zip([1, 3], paths):
            self.call("compile", self.folder / "m.onnx", "-o", path, "--dim", f"N={batch}")
        report = self.diff(*paths)
        for node in ["first", "last"]:
            match, = (match for match in report["kernels"]
                      if any(node in kernel["nodes"] for kernel in match["a"] + match["b"]))
            flops = [sum(kernel["flops"] for kernel in match[side]) for side in ["a", "b"]]
            self.assertEqual(flops[1], 3 * flops[0])

    def test_times_are_compared_in_turns_and_sorted_by_what_b_loses(self):
        a, b = self.compiled("a.tcc"), self.compiled("b.tcc", options=["--numeric", "bf16"])
        report = self.diff(a, b, "--time", "--rounds", 3, "--threads", 2)
        time = report["time"]
        self.assertEqual(time["rounds"], 3)
        self.assertGreater(time["a_ms"], 0)
        self.assertLessEqual(time["ratio"]["low"], time["ratio"]["median"])
        self.assertLessEqual(time["ratio"]["median"], time["ratio"]["high"])
        lost = [match["lost_ms"] for match in report["kernels"]]
        self.assertEqual(lost, sorted(lost, reverse=True))
        for match in report["kernels"]:
            self.assertAlmostEqual(match["lost_ms"], match["b_ms"] - match["a_ms"])
        text = self.call("diff", a, b, "--time", "--rounds", 2)
        self.assertIn("kernels timed by the CPU's clock", text)
        self.assertRegex(text.splitlines()[-1],
                         r"^B takes \d+\.\d\d times A \(\d+\.\d\d to \d+\.\d\d\); ")

    def test_a_gpus_models_are_compared_without_one(self):
        if not self.has_nvrtc():
            self.skipTest("no NVRTC: nothing is compiled for a GPU")
        a, b = (self.compiled(f"{target}.tcc", target=target) for target in ["sm_75", "sm_86"])
        report = self.diff(a, b)
        self.assertEqual((report["a"]["target"], report["b"]["target"]), ("sm_75", "sm_86"))
        self.assertTrue(any(match["changed"] for match in report["kernels"]))
        self.call("diff", a, b, "--time", expect=5, TCC_CUDA_DRIVER="/nowhere/libcuda.so")
        self.assertIn("/nowhere/libcuda.so", self.error)

    def test_models_without_a_node_in_common_are_refused(self):
        a, b = self.compiled("a.tcc"), self.compiled("b.tcc", network="lstm_lm")
        self.call("diff", a, b, expect=4)
        self.assertIn("a.tcc and ", self.error)
        self.assertRegex(self.error, r"b\.tcc have 0 of \d+ nodes in common; expected one model")

    def chain(self, name, operators, output="y", rank=2):
        """Compiles operators one after the other; the nodes have the names of their operators."""
        values = ["x", *(f"h{i}" for i in range(len(operators) - 1)), output]
        nodes = [helper.make_node(operator, [values[i]], [values[i + 1]], operator)
                 for i, operator in enumerate(operators)]
        ends = [helper.make_tensor_value_info(end, onnx.TensorProto.FLOAT, [4] * rank)
                for end in ["x", output]]
        graph = helper.make_graph(nodes, "chain", ends[:1], ends[1:])
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)],
                                    ir_version=9), self.folder / "chain.onnx")
        self.call("compile", self.folder / "chain.onnx", "-o", self.folder / name)
        return self.folder / name

    def test_models_that_only_share_some_names_are_refused(self):
        a = self.chain("a.tcc", ["Relu", "Softmax", "Tanh"])
        self.call("diff", a, self.chain("b.tcc", ["Relu", "Sqrt", "Exp"]), expect=4)
        self.assertRegex(self.error, r"b\.tcc have 1 of 5 nodes in common; expected one model")
        for other in [{"output": "z"}, {"rank": 3}]:
            c = self.chain("c.tcc", ["Relu", "Softmax", "Tanh"], **other)
            self.call("diff", a, c, expect=4)
            self.assertIn("c.tcc have inputs or outputs of other names or ranks", self.error)
        self.call("diff", a, self.chain("d.tcc", ["Relu", "Softmax", "Tanh"]))

    def test_what_is_no_compiled_model_is_refused_by_name(self):
        a = self.compiled("a.tcc")
        self.call("diff", a, self.folder / "dqn.onnx", expect=4)
        self.assertIn("dqn.onnx", self.error)
        self.call("diff", a, "nowhere.tcc", expect=4)
        self.assertIn("nowhere.tcc", self.error)
        self.call("diff", a, expect=2)
        self.call("diff", a, a, "--rounds", 0, expect=2)


if __name__ == "__main__":
    main()
