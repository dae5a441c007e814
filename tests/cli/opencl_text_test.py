#!/usr/bin/env python3
"""OpenCL C of networks, which clang must take without a warning."""

import os
import subprocess

from tcc_command import CommandTest, main

NETWORKS = ["dqn", "resnet18", "resnet50", "mobilenet_v2", "r3d_18", "dcgan", "vit_b_16",
            "bert_base", "llama_block", "lstm_lm"]
CLANG = [os.environ.get("TCC_TEST_CLANG", "clang-19"), "-x", "cl", "-cl-std=CL1.2", "-Wall",
         "-Werror", "-fsyntax-only", "-"]


class OpenCl(CommandTest):
    def source(self, model, *options):
        return self.call("dump", model, "--target", "opencl", "--stage", "source", *options)

    def expect_compiles(self, text, what):
        result = subprocess.run(CLANG, input=text, capture_output=True, text=True, check=False)
        self.assertEqual(result.returncode, 0, f"{what}\n{result.stderr[:4000]}")

    def test_every_kernel_of_the_small_networks_compiles(self):
        for network in NETWORKS:
            with self.subTest(network=network):
                text = self.source(self.export(network, "--small"))
                self.assertIn("TCC_KERNEL(k_", text)
                self.assertNotIn("shuffle", text)
                self.expect_compiles(text, network)

    def test_networks_in_narrow_types_compile(self):
        for numeric in ["fp16", "bf16"]:
            with self.subTest(numeric=numeric):
                text = self.source(self.export("bert_base", "--small"), "--numeric", numeric)
                self.expect_compiles(text, numeric)

    def test_an_artefact_is_for_the_device_opencl(self):
        path = self.folder / "m.tcc"
        self.call("compile", self.export("dqn", "--small"), "--target", "opencl", "-o", path)
        self.assertIn("opencl", self.call("inspect", path))
        self.assertIn(b"__kernel", path.read_bytes())

    def test_the_same_model_gives_the_same_artefact(self):
        model = self.export("lstm_lm", "--small")
        paths = [self.folder / "1.tcc", self.folder / "2.tcc"]
        for path, threads in zip(paths, ("1", "4")):
            self.call("compile", model, "--target", "opencl", "-o", path, "--threads", threads)
        self.assertEqual(paths[0].read_bytes(), paths[1].read_bytes())

    def test_there_is_no_stage_behind_the_source(self):
        model = self.export("dqn", "--small")
        for stage in ("ptx", "asm"):
            self.call("dump", model, "--target", "opencl", "--stage", stage, expect=2)
            self.assertIn(f"--stage {stage}: target 'opencl' has no such stage; it has graph, fused, "
                          "tensor, scheduled, lowered, source", self.error)

    def test_what_only_cuda_has_is_refused_by_name(self):
        model = self.export("dqn", "--small")
        self.call("check", model, "--target", "opencl", "--emulate", expect=2)
        self.assertIn("--emulate runs CUDA's kernels; those for 'opencl' are in another language",
                      self.error)


if __name__ == "__main__":
    main()
