#!/usr/bin/env python3
"""A ResNet-18 with data of 2 bits and weights of 1 or 2, beside ONNX's reference."""

import shutil
import unittest

import numpy as np
import onnx
from onnx.reference import ReferenceEvaluator

from few_bits_resnet import few_bits_resnet
from tcc_command import ROOT, CommandTest, main

WORKER = ROOT / "build/arm64/bin/tcc-worker"
QEMU = shutil.which("qemu-aarch64")
FEW_BITS = ["2x1", "2x1 in i2", "2x2"]
TARGETS = ["native", "x86-64-v3"]


class FewBits(CommandTest):
    def model(self, form):
        model = few_bits_resnet(form)
        path = self.folder / "m.onnx"
        onnx.save(model, path)
        return model, path

    def test_results_are_those_of_the_reference(self):
        x = np.random.default_rng(1).standard_normal((1, 3, 64, 64)).astype(np.float32)
        np.save(self.folder / "x.npy", x)
        for form in [*FEW_BITS, "8x8"]:
            model, path = self.model(form)
            expected = ReferenceEvaluator(model).run(None, {"x": x})[0]
            self.assertGreater(np.ptp(expected), 1)
            for target in TARGETS:
                with self.subTest(form=form, target=target):
                    artefact = self.folder / "m.tcc"
                    self.call("compile", path, "--target", target, "-o", artefact)
                    self.call("run", artefact, "--input", f"x={self.folder}/x.npy",
                              "--output", self.folder / "y.npz")
                    with np.load(self.folder / "y.npz") as found:
                        np.testing.assert_array_equal(found["y"], expected)
                    said = self.call("check", path, artefact, "--random", 3)
                    self.assertIn(" 0 differ, max rel error 0,", said)

    @unittest.skipUnless(QEMU and WORKER.exists(), f"no {WORKER} or no qemu-aarch64")
    def test_kernels_for_aarch64_give_the_same(self):
        _, path = self.model("2x1")
        for target, cpu in [("aarch64-v8.2", "neoverse-n1"), ("aarch64-v8.6", "max,sve=off")]:
            with self.subTest(target=target):
                worker = f"{QEMU} -cpu {cpu} -L /usr/aarch64-linux-gnu '{WORKER}'"
                said = self.call("check", path, "--target", target, "--emulate", "--random", 3,
                                 TCC_WORKER_AARCH64=worker)
                self.assertIn(" 0 differ, max rel error 0,", said)


if __name__ == "__main__":
    main()
