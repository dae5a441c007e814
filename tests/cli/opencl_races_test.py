#!/usr/bin/env python3
"""Kernels as OpenCL C in Oclgrind, which sees every access: none races, and a planted race is found."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import unittest

from tcc_command import CommandTest, main

SIMULATOR = shutil.which("oclgrind-kernel")
DRIVER = pathlib.Path("/usr/lib/oclgrind/liboclgrind-rt.so")
NETWORKS = ["dqn", "dcgan", "bert_base", "llama_block", "lstm_lm", "resnet18", "vit_b_16"]


@unittest.skipUnless(SIMULATOR and DRIVER.exists(), "no Oclgrind: apt-get install oclgrind")
class Races(CommandTest):
    def test_no_kernel_of_small_networks_races_or_leaves_its_buffers(self):
        kernels = 0
        for network in NETWORKS:
            with self.subTest(network=network):
                model, log = self.export(network, "--small"), self.folder / f"{network}.log"
                said = self.call("check", model, "--target", "opencl", TCC_OPENCL_DRIVER=str(DRIVER),
                                 OCLGRIND_DATA_RACES="1", OCLGRIND_LOG=str(log),
                                 XDG_CACHE_HOME=str(self.folder))
                self.assertRegex(said, r"\d+ elements, 0 differ")
                self.assertEqual(log.read_text() if log.exists() else "", "")
                artefact = self.folder / f"{network}.tcc"
                self.call("compile", model, "--target", "opencl", "-o", artefact)
                kernels += len(json.loads(self.call("inspect", artefact, "--json"))["kernels"])
        self.assertGreaterEqual(kernels, 60)

    def test_a_barrier_that_is_left_out_is_a_race(self):
        model = self.export("dqn", "--small")
        # A kernel that stages operands in shared memory.
        text = self.call("dump", model, "--target", "opencl", "--stage", "source")
        name = re.search(r"TCC_KERNEL\(k_(\w*conv_relu), (\d+), 1, 1\)", text).group(1)
        text = self.call("dump", model, "--target", "opencl", "--stage", "source", "--task", name)
        self.assertIn("tcc_barrier();\n", text)
        self.assertEqual(self.simulated(name, text), "")
        without = re.sub(r"(?m)^ +tcc_barrier\(\);\n", "", text)
        self.assertIn("data race at local memory", self.simulated(name, without))

    def simulated(self, name, text):
        """What Oclgrind says of a kernel on ones; each buffer is as large as any."""
        threads = int(re.search(rf"TCC_KERNEL\(k_{name}, (\d+), 1, 1\)", text).group(1))
        buffers = len(re.findall(r"TCC_(?:IN|OUT)PUT\(", text.split("TCC_KERNEL(k_")[1]))
        (self.folder / "k.cl").write_text(text)
        arguments = "<size=1048576 fill=1 float>\n<size=8 long>\n0\n" * buffers
        (self.folder / "k.sim").write_text(f"k.cl\nk_{name}\n{threads} 1 1\n{threads} 1 1\n{arguments}")
        done = subprocess.run([SIMULATOR, "--data-races", "k.sim"], cwd=self.folder, check=True,
                              capture_output=True, text=True, timeout=300, env=os.environ)
        return done.stdout + done.stderr


if __name__ == "__main__":
    main()
