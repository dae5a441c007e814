#!/usr/bin/env python3
"""usage: twins_test.py TCC_TWINS EMULATED_DRIVER

tcc-twins over the emulated driver: every kernel is right there, and what is wrong is told.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

TWINS, DRIVER = sys.argv[1:3]


class Twins(unittest.TestCase):
    def twins(self, *options, expect=0, sm="75", **environment):
        run = subprocess.run([TWINS, *options], capture_output=True, text=True, check=False,
                             env={**os.environ, "TCC_CUDA_DRIVER": DRIVER,
                                  "TCC_EMULATED_SM": sm, **environment})
        self.assertEqual(run.returncode, expect, run.stdout + run.stderr)
        return run.stdout, run.stderr

    def results(self, *options, expect=0, sm="75"):
        """(what is printed, the result of every kernel by its name)"""
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "twins.json"
            said, _ = self.twins("--text", "--json", path, *options, expect=expect, sm=sm)
            report = json.loads(path.read_text())
        results = {row["name"]: row["result"] for row in report["kernels"]}
        self.assertEqual(len(results), len(report["kernels"]))
        lines = said.splitlines()
        self.assertEqual(len(lines), len(results) + 1)
        for line, (name, result) in zip(lines, results.items()):
            self.assertEqual(line, f"{name:<64} {result}")
        return said, results

    def test_every_kernel_is_right_on_the_device_that_has_all_instructions(self):
        said, results = self.results(sm="90")
        self.assertEqual(set(results.values()), {"ok"})
        self.assertIn(f"sm_90a: {len(results)} right, 0 wrong, 0 not applicable", said)
        for name in ["mma m16n8k16_f16, B transposed by ldmatrix", "rounding to tf32",
                     "wgmma f16 64x256, modes 1 and 1, two groups",
                     "wgmma bf16 64x8, modes 3 and 2 transposed",
                     "wgmma in flight across the steps of a loop",
                     "launches that wait for the one before"]:
            self.assertIn(name, results)

    def test_what_an_older_device_lacks_is_listed(self):
        said, results = self.results()
        self.assertEqual(results["mma m8n8k16_s8"], "ok")
        self.assertEqual(results["mma m16n8k16_f16"], "not applicable: needs sm_80")
        lacking = [name for name, result in results.items() if result != "ok"]
        self.assertIn(f"sm_75: {len(results) - len(lacking)} right, 0 wrong, "
                      f"{len(lacking)} not applicable", said)
        self.assertLessEqual({name for name in results if name.startswith("wgmma")}, set(lacking))

    def test_a_wrong_element_is_told_with_its_place(self):
        said, results = self.results("--plant", "mma m16n8k8_f16", expect=1)
        self.assertRegex(results["mma m16n8k8_f16"],
                         r"^row 0, column 0: got -?\d+, expected [01], and 1 of 128 differ$")
        self.assertIn(" 1 wrong, ", said)
        wrong = [name for name, result in results.items()
                 if result != "ok" and not result.startswith("not applicable: ")]
        self.assertEqual(wrong, ["mma m16n8k8_f16"])

    def test_a_device_that_fails_is_told_for_each_kernel(self):
        # Machine code, or none, which the emulated driver does not take.
        said, _ = self.twins(expect=1)
        self.assertRegex(said, r"sm_75: 0 right, \d+ wrong")

    def test_every_kernel_is_compiled_for_the_device_that_has_all_instructions(self):
        run = subprocess.run([TWINS, "--compile-only", "sm_90a"], capture_output=True, text=True,
                             check=False)
        if run.returncode == 5:
            self.skipTest(run.stderr)
        self.assertEqual((run.returncode, run.stdout), (0, "3 programs compiled for sm_90a\n"))

    def test_what_cannot_run_is_refused(self):
        for code, options, message in [
                (5, [], "/nowhere/libcuda.so"),
                (2, ["--plant", "nothing"], "--plant: there is no kernel 'nothing'"),
                (2, ["--compile-only", "native"], "--compile-only: expected a GPU; got 'native'"),
                (5, ["--compile-only", "sm_86"], "/nowhere/libnvrtc.so")]:
            with self.subTest(options):
                _, said = self.twins(*options, expect=code, TCC_CUDA_DRIVER="/nowhere/libcuda.so",
                                     TCC_NVRTC="/nowhere/libnvrtc.so", TCC_CACHE_DIR="/nowhere")
                self.assertIn(message, said)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
