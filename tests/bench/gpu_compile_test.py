#!/usr/bin/env python3
"""usage: gpu_compile_test.py TCC

bench/gpu_compile.py on a small network: its issue slots, and those before.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

TCC = os.path.abspath(sys.argv.pop(1))
PROGRAM = pathlib.Path(__file__).resolve().parent.parent.parent / "bench/gpu_compile.py"


class Slots(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        cls.model = cls.folder / "resnet18.onnx"
        subprocess.run([TCC, "zoo", "export", "resnet18", "--small", "-o", cls.model], check=True)
        asm = subprocess.run([TCC, "dump", cls.model, "--target", "sm_80", "--stage", "asm", "-q"],
                             capture_output=True, text=True, check=False)
        if asm.returncode == 5:
            raise unittest.SkipTest(f"no machine code as text: {asm.stderr}")

    def run_program(self, *options, model=None, expect=0):
        said = subprocess.run([sys.executable, PROGRAM, "--tcc", TCC, "--targets", "sm_80",
                               "--cache", self.folder / "cache", *options, model or self.model],
                              capture_output=True, text=True, check=False)
        self.assertEqual(said.returncode, expect, said.stdout + said.stderr)
        return said.stdout

    def test_the_multiply_adds_of_a_network_are_issued_and_few_more(self):
        row, = json.loads(self.run_program("--slots", "--json"))
        useful = sum(kernel["flops"] * kernel["runs"] for kernel in row["slots_of_kernels"]) / 2
        issued = 32 * row["slots"]["FFMA"]
        # Biases, additions and the pool are work without multiply-adds.
        self.assertTrue(0.75 * useful < issued < 2 * useful, (useful, issued))
        self.assertEqual(row["slots"]["HMMA"], 0)
        self.assertFalse(any(kernel["unknown_loops"] for kernel in row["slots_of_kernels"]))
        for name, slots in row["slots"].items():
            self.assertEqual(slots, sum(k["slots"][name] for k in row["slots_of_kernels"]), name)

    def test_products_of_a_narrow_type_are_issued_to_tensor_cores(self):
        row, = json.loads(self.run_program("--slots", "--json", "--numeric", "fp16"))
        self.assertGreater(row["slots"]["HMMA"], 0)

    def test_a_kernel_that_takes_more_slots_than_before_is_a_fault(self):
        before = self.folder / "before.json"
        before.write_text(self.run_program("--slots", "--json"))
        self.assertIn("; 1.000 of those before", self.run_program("--slots", "--before", before))
        rows = json.loads(before.read_text())
        kernel = rows[0]["slots_of_kernels"][2]
        kernel["slots"] = {name: slots // 2 for name, slots in kernel["slots"].items()}
        before.write_text(json.dumps(rows))
        text = self.run_program("--slots", "--before", before, expect=1)
        self.assertRegex(text, rf"FAILED: {kernel['name']} takes 2\.\d\d of the slots before\n")

    def test_the_body_of_a_loop_counts_as_often_as_it_runs(self):
        model = self.folder / "lstm_lm.onnx"
        subprocess.run([TCC, "zoo", "export", "lstm_lm", "--small", "-o", model], check=True)
        row, = json.loads(self.run_program("--slots", "--json", model=model))
        artefact = self.folder / "lstm_lm.tcc"
        subprocess.run([TCC, "compile", model, "--target", "sm_80", "-o", artefact, "-q"],
                       check=True)
        inspected = json.loads(subprocess.run([TCC, "inspect", artefact, "--json"], check=True,
                                              capture_output=True, text=True).stdout)
        self.assertEqual(row["launches"], inspected["launches"])
        self.assertGreater(row["launches"], inspected["calls"])

    def test_before_is_nothing_without_slots(self):
        before = self.folder / "none.json"
        before.write_text("[{}]")
        self.run_program("--before", before, expect=2)


if __name__ == "__main__":
    unittest.main()
