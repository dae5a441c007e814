#!/usr/bin/env python3
"""Kernels as OpenCL C on a driver of this machine: networks, and a sample of ONNX's own tests."""

import json
import os
import pathlib
import re
import sqlite3
import unittest

from tcc_command import CommandTest, main

DEBIAN = pathlib.Path("/usr/share/libonnx-testdata/data")
NETWORKS = ["dqn", "resnet18", "resnet50", "mobilenet_v2", "r3d_18", "dcgan", "vit_b_16", "bert_base",
            "llama_block", "lstm_lm"]
# The number of node tests; $TCC_OPENCL_NODE_TESTS is another one, 0 for all.
SAMPLE = 120
# Tests that fail on every target, see onnx_test_test.py.
KNOWN_FAILURES = {"test_cast_FLOAT_to_BFLOAT16", "test_castlike_BFLOAT16_to_FLOAT",
                  "test_castlike_BFLOAT16_to_FLOAT_expanded", "test_castlike_FLOAT_to_BFLOAT16",
                  "test_castlike_FLOAT_to_BFLOAT16_expanded"}


class WithoutDriver(CommandTest):
    def test_without_a_driver_a_model_compiles_and_does_not_run(self):
        model, artefact = self.export("dqn", "--small"), self.folder / "m.tcc"
        nowhere = str(self.folder / "no_driver.so")
        self.call("compile", model, "--target", "opencl", "-o", artefact, TCC_OPENCL_DRIVER=nowhere)
        self.call("run", artefact, "--random", "1", expect=5, TCC_OPENCL_DRIVER=nowhere)
        self.assertIn("no_driver.so", self.error)

    def test_the_text_of_kernels_has_no_word_of_cuda(self):
        text = self.call("dump", self.export("dqn", "--small"), "--target", "opencl", "--stage", "source")
        self.assertIn("__kernel", text)
        for word in ["__global__", "__shfl", "template", "threadIdx"]:
            self.assertNotIn(word, text)


class OnDriver(CommandTest):
    def setUp(self):
        super().setUp()
        listed = json.loads(self.call("devices", "--json"))
        if not any("opencl" in json.dumps(row).lower() and row.get("available", True)
                   for row in (listed if isinstance(listed, list) else listed["devices"])):
            self.skipTest("no OpenCL device: apt-get install pocl-opencl-icd ocl-icd-libopencl1")

    def test_networks_agree_with_the_interpreter(self):
        for network in NETWORKS:
            with self.subTest(network=network):
                said = self.call("check", self.export(network, "--small"), "--target", "opencl")
                self.assertRegex(said, r"\d+ elements, 0 differ")

    def test_what_was_tuned_is_right_and_recorded_for_this_device(self):
        model, database = self.export("dqn", "--small"), self.folder / "f.db"
        tune = ["tune", model, "--target", "opencl", "--db", database, "--seed", "3", "--progress", "none"]
        said = self.call(*tune, "--trials", "8")
        self.assertIn("8 trials", said)
        self.assertNotRegex(said, r"\d (wrong|flaky|crash|fault)")
        connection = sqlite3.connect(database)
        self.addCleanup(connection.close)
        device, = connection.execute("SELECT DISTINCT device FROM environment").fetchone()
        first = next(row for row in json.loads(self.call("devices", "--json")) if row["name"] == "opencl")
        self.assertTrue(device.startswith(f"{first['model']} ({first['platform']} {first['driver']}), "), device)
        artefact = self.folder / "m.tcc"
        self.call("compile", model, "--target", "opencl", "--db", database, "-o", artefact)
        # How many gained by it is a matter of time.
        self.assertRegex(self.error, r"\d+ of \d+ kernels as they were tuned")
        self.assertRegex(self.call("check", model, artefact), r"\d+ elements, 0 differ")

    def test_measuring_needs_a_driver_a_device_and_a_policy_of_gpus(self):
        tune = ["tune", self.export("dqn", "--small"), "--target", "opencl", "--db", self.folder / "f.db",
                "--trials", "1"]
        nowhere = str(self.folder / "no_driver.so")
        for options, code, message in [
                (["--device", "opencl:77"], 5, "there is no OpenCL device 77"),
                (["--device", "cuda:0"], 2, "--device cuda:0: target 'opencl' runs on device 'opencl'"),
                (["--policy", "in-place"], 2, "target 'opencl' has auto, warm, rotate-weights-L2")]:
            self.call(*tune, *options, expect=code)
            self.assertIn(message, self.error)
        self.call(*tune, expect=5, TCC_OPENCL_DRIVER=nowhere)
        self.assertIn(f"{nowhere} cannot be loaded", self.error)
        self.assertIn("pocl-opencl-icd", self.error)

    def test_a_compiled_model_is_inspected_and_timed_kernel_by_kernel(self):
        artefact = self.folder / "m.tcc"
        self.call("compile", self.export("dqn", "--small"), "--target", "opencl", "-o", artefact)
        facts = json.loads(self.call("inspect", artefact, "--json"))
        self.assertEqual(facts["code"], "OpenCL C")
        self.assertEqual(facts["limits"], {"block_threads": 256, "shared_bytes": 32768})
        self.assertGreaterEqual(facts["launches"], facts["calls"])
        for kernel in facts["kernels"]:
            self.assertLess(0, kernel["launches"])
            self.assertLessEqual(kernel["block_threads"], 256)
            self.assertLessEqual(kernel["shared_bytes"], 32768)
        said = self.call("bench", artefact, "--iterations", "2", "--profile")
        self.assertIn("kernels timed by events, kernel by kernel; peaks unknown", said)
        report = json.loads(self.call("bench", artefact, "--iterations", "2", "--json", "--counters"))
        self.assertTrue(report["environment"]["gpu"])
        self.assertEqual(report["counters_missing"], "they are read of NVIDIA's GPUs alone")
        self.assertTrue(all(kernel["ms"] > 0 for kernel in report["kernels"]))

    @unittest.skipUnless(DEBIAN.is_dir(), "no libonnx-testdata")
    def test_a_sample_of_the_node_tests_passes(self):
        names = sorted(path.name for path in (DEBIAN / "node").iterdir() if path.is_dir())
        wanted = int(os.environ.get("TCC_OPENCL_NODE_TESTS", SAMPLE)) or len(names)
        step = max(len(names) // wanted, 1)
        chosen = [name for name in names[::step] if name not in KNOWN_FAILURES]
        listed = self.folder / "names.txt"
        listed.write_text("\n".join(chosen) + "\n")
        said = self.call("onnx-test", DEBIAN / "node", "--target", "opencl", "--list", listed)
        passed, failed, _ = map(int, re.findall(r"\d+", said.splitlines()[-1]))
        self.assertEqual(failed, 0, said)
        self.assertGreaterEqual(passed, len(chosen) * 8 // 10)


if __name__ == "__main__":
    main()
