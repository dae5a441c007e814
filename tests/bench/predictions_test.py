#!/usr/bin/env python3
"""usage: predictions_test.py TCC_BENCH

What the prior predicts beside what an H200 measured.
"""

import json
import pathlib
import re
import subprocess
import sys
import unittest

BENCH = sys.argv[1]
ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
RESULTS = ROOT / "bench/results/NVIDIA_H200"
ROW = re.compile(r"\| (\S+) \| (\S+) \| (\S+) \| (\S+) \| (\S+) \|")


class Predictions(unittest.TestCase):
    def test_every_row_that_the_h200_measured_has_a_prediction(self):
        run = subprocess.run([ROOT / "bench/device/predictions.py", BENCH, RESULTS, "--text"],
                             capture_output=True, text=True, check=False)
        self.assertEqual(run.returncode, 0, run.stderr)
        rows = {(match[1], match[2]): float(match[4]) for match in ROW.finditer(run.stdout)}
        suites = json.loads((RESULTS / "run.json").read_text())["suites"]
        measured = {(suite, row["name"]) for suite, content in suites.items()
                    for row in content["rows"]}
        self.assertGreaterEqual(len(measured), 44)
        self.assertLessEqual(measured, set(rows))
        for key, predicted in rows.items():
            # A launch takes 0.68 us, and the slowest network took 3.9 ms.
            self.assertTrue(0.68 < predicted < 39_000, key)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
