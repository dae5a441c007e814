#!/usr/bin/env python3
"""Small networks of the zoo, compiled and run, against ONNX Runtime."""

import json
import os

import numpy as np
import onnxruntime

from tcc_command import CommandTest, main

CPU_TARGETS = ["native", "x86-64-v3"]


def runtime_outputs(model, feeds):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(str(model), options, ["CPUExecutionProvider"])
    return session.run(None, feeds)


def feeds_of(model, seed):
    session = onnxruntime.InferenceSession(str(model), providers=["CPUExecutionProvider"])
    draw = np.random.default_rng(seed)

    def feed(value):
        if value.type == "tensor(int64)":  # tokens of a vocabulary of 100, else masks and types
            return draw.integers(0, 100 if value.name == "input_ids" else 2, value.shape)
        return draw.standard_normal(value.shape).astype(np.float32)

    return {value.name: feed(value) for value in session.get_inputs()}


class Networks(CommandTest):
    def compile(self, model, target, *options):
        artefact = self.folder / f"{target}.tcc"
        self.call("compile", model, "--target", target, "-o", artefact, *options)
        return artefact

    def golden(self, model, seed):
        """A folder of inputs and of what ONNX Runtime makes of them."""
        folder = self.folder / "golden"
        folder.mkdir(exist_ok=True)
        feeds = feeds_of(model, seed)
        for i, value in enumerate(feeds.values()):
            np.save(folder / f"input_{i}.npy", value)
        for i, value in enumerate(runtime_outputs(model, feeds)):
            np.save(folder / f"output_{i}.npy", value)
        return folder

    def test_every_network_answers_as_onnx_runtime_does(self):
        for network in self.call("zoo", "list").split():
            model = self.export(network, "--small", "--seed", "3")
            golden = self.golden(model, seed=5)
            for target in CPU_TARGETS:
                with self.subTest(network=network, target=target):
                    artefact = self.compile(model, target)
                    text = self.call("run", artefact, "--golden", golden, "--output-dir",
                                     self.folder / "out")
                    self.assertIn("max abs error ", text.splitlines()[-1])
                    np.testing.assert_allclose(np.load(self.folder / "out" / "output_0.npy"),
                                               np.load(golden / "output_0.npy"), 1e-3, 1e-4)

    def test_check_knows_right_from_wrong(self):
        model = self.export("dqn", "--small")
        golden = self.golden(model, seed=1)
        self.assertIn("max abs error ", self.call("check", model, "--golden", golden))
        wrong = np.load(golden / "output_0.npy")
        wrong.flat[1] += 0.5
        np.save(golden / "output_0.npy", wrong)
        text = self.call("check", model, "--golden", golden, expect=1)
        self.assertIn("max abs error 0.5", text)
        self.assertIn("differs in 1 of", self.error)
        self.call("check", model, "--golden", golden, "--atol", "0.6")

    def test_check_without_golden_asks_the_interpreter(self):
        model = self.export("mobilenet_v2", "--small")
        for target in [*CPU_TARGETS, "reference"]:
            with self.subTest(target=target):
                text = self.call("check", model, "--target", target, "--random", "7")
                self.assertIn(" 0 differ", text)

    def test_artefacts_are_the_same_bytes_for_any_threads_and_folder(self):
        model = self.export("resnet18", "--small")
        other = self.folder / "elsewhere" / "deeper"
        other.mkdir(parents=True)
        (other / "resnet18.onnx").write_bytes(model.read_bytes())
        for target in [*CPU_TARGETS, "reference"]:
            with self.subTest(target=target):
                one = self.compile(model, target, "--threads", "1")
                self.call("compile", "resnet18.onnx", "--target", target, "-o", "two.tcc",
                          "--threads", "2", cwd=other)
                self.assertEqual(one.read_bytes(), (other / "two.tcc").read_bytes())

    def test_every_stage_comes_back_from_its_text(self):
        for network in self.call("zoo", "list").split():
            model = self.export(network, "--small")
            for stage in ["graph", "fused", "tensor", "scheduled", "lowered", "source", "asm"]:
                with self.subTest(network=network, stage=stage):
                    text = self.call("dump", model, "--target", "native", "--stage", stage,
                                     "--verify")
                    self.assertGreater(len(text), 100)

    def test_one_task_is_dumped_by_its_name(self):
        model = self.export("dqn", "--small")
        fused = self.call("dump", model, "--target", "native", "--stage", "fused")
        task = next(line.split(":")[0] for line in fused.splitlines() if ": kernel" in line)
        text = self.call("dump", model, "--target", "native", "--stage", "tensor", "--task", task)
        self.assertEqual(sum(line.startswith("fn ") for line in text.splitlines()), 1)
        self.call("dump", model, "--target", "native", "--stage", "tensor", "--task", "x", expect=2)

    def test_bench_reports_what_the_contract_says(self):
        artefact = self.compile(self.export("dqn", "--small"), "native")
        report = json.loads(self.call("bench", artefact, "--iterations", "5", "--threads", "1",
                                      "--json"))
        self.assertEqual(list(report), [
            "schema", "model", "target", "threads", "iterations", "min_ms", "median_ms", "p90_ms",
            "p99_ms", "max_ms", "samples", "percentiles", "throughput_per_s", "stream_runs",
            "rate_per_s", "warm_up_ms", "environment", "kernels"])
        self.assertEqual((report["iterations"], report["threads"]), (5, 1))
        self.assertLessEqual(report["min_ms"], report["median_ms"])
        self.assertLessEqual(report["median_ms"], report["p99_ms"])
        self.assertLess(0, sum(kernel["ms"] for kernel in report["kernels"]))
        self.assertLessEqual({"name", "nodes", "ms", "gflops"}, set(report["kernels"][0]))
        report = json.loads(self.call("bench", artefact, "--iterations", "1", "--json",
                                      "--counters"))
        self.assertEqual(report["counters_missing"], "they are read of NVIDIA's GPUs alone")

    def test_inspect_counts_flops_and_weights(self):
        model = self.export("dqn", "--small")
        report = json.loads(self.call("inspect", model, "--json"))
        self.assertEqual(report["unsupported"], [])
        self.assertLess(0, report["flops"])
        artefact = self.compile(model, "native")
        report = json.loads(self.call("inspect", artefact, "--json"))
        self.assertEqual(report["target"], "native")
        self.assertLess(report["weights_bytes"], os.path.getsize(artefact))
        for kernel in report["kernels"]:
            self.assertEqual(list(kernel)[:3], ["name", "nodes", "flops"])
            self.assertLess(0, kernel["code_bytes"])
            for key in ["registers", "shared_bytes", "spill_bytes", "local_bytes", "ffma_share",
                        "load_bytes_widest", "waves"]:
                self.assertIsNone(kernel[key])  # of GPUs


if __name__ == "__main__":
    main()
