#!/usr/bin/env python3
"""usage: predicted_test.py TCC_BENCH

The table of what the prior predicts.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

BENCH = os.path.abspath(sys.argv.pop(1))
PROGRAM = pathlib.Path(__file__).resolve().parent.parent.parent / "bench/predicted.py"


class Predicted(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def run_program(self, *options):
        return subprocess.run([PROGRAM, *options, "--suites", "smoke,smoke:fp16", "-o",
                               self.folder], capture_output=True, text=True, check=False)

    def test_every_operator_of_the_suites_has_a_row(self):
        said = self.run_program(BENCH)
        self.assertEqual(said.returncode, 0, said.stderr)
        rows = json.loads((self.folder / "sm_90a.json").read_text())["rows"]
        self.assertEqual({row["suite"] for row in rows}, {"smoke", "smoke:fp16"})
        self.assertIn("dqn", [row["name"] for row in rows])
        # A launch takes 0.68 us on an H200.
        self.assertTrue(all(0.68 < row["predicted_us"] < 200 for row in rows), rows)
        page = (self.folder / "sm_90a.md").read_text()
        self.assertTrue(page.endswith(said.stdout))
        for row in rows:
            self.assertIn(f"| {row['suite']} | {row['name']} | {row['predicted_us']:.2f} |\n", page)

    def test_an_earlier_tree_stands_beside_it(self):
        earlier = self.folder / "tcc-bench"
        earlier.write_text(f"#!/bin/sh\n{BENCH} \"$@\" | sed 's/\"predicted_us\": .*,/"
                           "\"predicted_us\": 50.0,/'\n")
        earlier.chmod(0o755)
        said = self.run_program(BENCH, "--before", earlier)
        self.assertEqual(said.returncode, 0, said.stderr)
        rows = json.loads((self.folder / "sm_90a.json").read_text())["rows"]
        self.assertEqual({row["before_us"] for row in rows}, {50.0})
        row = rows[0]
        ratio = f"{row['predicted_us'] / 50:.3f}"
        self.assertIn(f"| smoke | {row['name']} | {row['predicted_us']:.2f} | 50.00 | {ratio} |\n",
                      said.stdout)
        ratios = [row["predicted_us"] / 50 for row in rows if row["suite"] == "smoke"]
        self.assertRegex(said.stdout,
                         rf"\| smoke \| {len(ratios)} \| 0\.\d+ \| {min(ratios):.3f} \|")


if __name__ == "__main__":
    unittest.main()
