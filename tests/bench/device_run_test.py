#!/usr/bin/env python3
"""usage: device_run_test.py PROGRAMS EMULATED_DRIVER

A dry run of bench/device/run.sh over the emulated driver: what it would do on a machine with a GPU.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

PROGRAMS, DRIVER = sys.argv[1:3]
SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "bench/device/run.sh"


class DeviceRun(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.out = pathlib.Path(folder.name) / "out"

    def script(self, *options, expect=0, **environment):
        run = subprocess.run(
            [SCRIPT, "--programs", PROGRAMS, "--out", self.out, *options], capture_output=True,
            text=True, check=False,
            env={**os.environ, "TCC_CUDA_DRIVER": DRIVER, "TCC_EMULATED_SM": "86", **environment})
        self.assertEqual(run.returncode, expect, run.stdout + run.stderr)
        return run.stdout + run.stderr

    def test_every_step_is_done_and_its_results_are_kept(self):
        output = self.script("--text", "--quick", "--suites", "smoke", "--seconds", "60")
        self.assertIn("all steps went well", output)
        report = json.loads((self.out / "run.json").read_text())
        self.assertEqual(report["device"], "emulated sm_86")
        self.assertEqual(report["target"], "sm_86")
        self.assertRegex(report["date"], r"^20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
        for key in ["driver", "clocks", "doctor", "devices"]:
            self.assertIn(key, report)
        self.assertEqual([step["name"] for step in report["steps"]],
                         ["tcc-fuzz cuda", "smoke", "compute-sanitizer", "calibrate",
                          "suite smoke"])
        # compute-sanitizer watches real drivers only.
        for step in report["steps"]:
            expected = {"skipped": True} if step["name"] == "compute-sanitizer" else {"exit": 0}
            self.assertLessEqual(expected.items(), step.items())
        for key in ["fma_gflops", "copy_gbytes", "l2_gbytes", "launch_us"]:
            self.assertGreater(report["calibration"][key], 0)
        rows = report["suites"]["smoke"]["rows"]
        self.assertEqual(len({row["name"] for row in rows}), 12)
        self.assertEqual({row["failure"] for row in rows}, {""})
        self.assertIn("| matmul_33x20x17 |", (self.out / "report.md").read_text())
        self.assertIn("12 of 12 operators measured", (self.out / "log.txt").read_text())

    def test_a_step_that_fails_is_told_and_the_others_are_done(self):
        # Machine code, which the emulated driver does not take.
        if subprocess.run([f"{PROGRAMS}/tcc", "doctor"], capture_output=True, text=True,
                          check=False).stdout.find("ok       NVRTC") < 0:
            self.skipTest("no NVRTC")
        output = self.script("--quick", "--suites", "smoke", expect=1)
        self.assertIn("some steps failed", output)
        report = json.loads((self.out / "run.json").read_text())
        exits = {step["name"]: step.get("exit") for step in report["steps"]}
        self.assertNotEqual(exits["calibrate"], 0)
        self.assertNotEqual(exits["suite smoke"], 0)
        self.assertIsNone(report["calibration"])

    def test_without_a_gpu_nothing_is_done_and_the_reason_is_given(self):
        output = self.script("--quick", expect=5, TCC_CUDA_DRIVER="/nowhere/libcuda.so.1")
        self.assertIn("no GPU", output)
        self.assertIn("/nowhere/libcuda.so.1", output)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
