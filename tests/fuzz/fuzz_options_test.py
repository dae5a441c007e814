#!/usr/bin/env python3
"""usage: fuzz_options_test.py TCC_FUZZ

What tcc-fuzz cannot run is refused with a message and tcc's exit codes, and not counted as a failure.
"""

import os
import subprocess
import sys
import unittest

FUZZ = sys.argv[1]

REFUSED = [
    # exit code, options, what is said
    (2, "legality --target sm_99", "--target: unknown target 'sm_99'; expected one of "),
    (2, "legality --target native", "--target: expected a GPU; got 'native'"),
    (2, "cuda --compile-only sm_99", "--compile-only: unknown target 'sm_99'; expected one of "),
    (2, "cuda --compile-only native", "--compile-only: expected a GPU; got 'native'"),
    (5, "cuda --device", "/nowhere/libcuda.so cannot be loaded"),
    (5, "legality --target sm_86", "/nowhere/libnvrtc.so"),
    (2, "expr --points 0", "--points: Value 0 not in range 1 to "),
    (2, "expr --points -1 --seconds 1", "--points: Value -1 not in range 1 to "),
    (2, "expr --seconds -1", "--seconds: Value -1 not in range 0"),
    (2, "input --points -1", "--points: Value -1 not in range 0 to "),
    (2, "input --points 0", "--points 0: nothing is done without --emit"),
    (2, "formulas --points-per-sketch 0", "--points-per-sketch: Value 0 not in range 1 to "),
]
ENVIRONMENT = {"TCC_CUDA_DRIVER": "/nowhere/libcuda.so", "TCC_NVRTC": "/nowhere/libnvrtc.so"}


class Options(unittest.TestCase):
    def test_what_cannot_run_is_refused(self):
        for code, options, message in REFUSED:
            with self.subTest(options):
                run = subprocess.run([FUZZ, *options.split()], capture_output=True, text=True,
                                     check=False, timeout=60, env={**os.environ, **ENVIRONMENT})
                self.assertEqual(run.returncode, code, run.stderr)
                self.assertIn(message, run.stderr)
                self.assertNotIn("passed", run.stdout)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
