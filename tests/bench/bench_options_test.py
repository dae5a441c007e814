#!/usr/bin/env python3
"""usage: bench_options_test.py TCC_BENCH

An option of `tcc-bench kernels` that would change nothing is refused before anything is measured.
"""

import subprocess
import sys
import unittest

BENCH = sys.argv[1]

REFUSED = [
    # options, what is said
    ("--suite smoke --traces .", "--traces has no meaning for operators on a CPU"),
    ("--suite smoke --stage asm", "--stage has no meaning for operators on a CPU"),
    ("--suite smoke --sketch 0 --target sm_86", "--sketch has no meaning for operators on a GPU"),
    ("--suite smoke --threads 2 --target sm_86", "--threads has no meaning for operators on a GPU"),
    ("--suite smoke --threads 1,2", "--threads has 2 numbers; operators take one"),
    ("--suite smoke --text", "--text is for GPUs, not native"),
    ("--suite smoke --compile-only --text", "--text is for GPUs, not native"),
    ("--suite smoke --compile-only --rounds 3", "--rounds has no meaning for --compile-only"),
    ("--suite smoke --compile-only --peer none", "--peer has no meaning for --compile-only"),
    ("--suite smoke --compile-only --markdown", "--markdown has no meaning for --compile-only"),
    ("--suite smoke --compile-only --quick", "--quick has no meaning for --compile-only"),
    ("--suite gemm --seconds 3", "--seconds has no meaning for a suite of schedules"),
    ("--suite gemm --numeric tf32", "--numeric has no meaning for a suite of schedules"),
    ("--suite smoke --numeric int8", "unknown numeric mode 'int8'"),
    ("--suite gemm --compile-only", "--compile-only has no meaning for a suite of schedules"),
    ("--suite gemm --text", "--text has no meaning for a suite of schedules"),
    ("--suite gemm --quick", "--quick has no meaning for a suite of schedules"),
    ("--suite gemm --markdown", "--markdown has no meaning for a suite of schedules"),
    ("--suite gemm --target sm_86", "suite 'gemm' is for native"),
    ("--suite gemm --traces .", "--traces is for suite traces, not gemm"),
    ("--traces . --sketch 0", "--traces excludes --sketch"),
    ("--traces . --trace x.trace", "--traces excludes --trace"),
    ("--trace x.trace --sketch 0", "--trace excludes --sketch"),
    ("--stage lowered --json", "--json has no meaning for --stage"),
    ("--stage lowered --rounds 3", "--rounds has no meaning for --stage"),
    ("--stage lowered --threads 1", "--threads has no meaning for --stage"),
    ("--stage lowered --peer none", "--peer has no meaning for --stage"),
    ("--rounds 0", "--rounds: Value 0 not in range 1 to 1000"),
    ("--threads 0", "--threads: Value 0 not in range 1 to 1024"),
    ("--suite smoke --seconds -1", "--seconds: Value -1 not in range 0"),
    ("--suite nothing", "no suite 'nothing'"),
]


class Options(unittest.TestCase):
    def test_an_option_that_would_change_nothing_is_refused(self):
        for options, message in REFUSED:
            with self.subTest(options):
                run = subprocess.run([BENCH, "kernels", *options.split()], capture_output=True,
                                     text=True, check=False, timeout=60)
                self.assertEqual(run.returncode, 2, run.stderr)
                self.assertIn(message, run.stderr)

    def test_a_descent_without_a_kernel_is_refused(self):
        for check in [[], ["--gradient-check"]]:
            run = subprocess.run([BENCH, "descend", "--network", "dqn", "--kernel", "foo", *check],
                                 capture_output=True, text=True, check=False, timeout=60)
            self.assertEqual(run.returncode, 4, run.stderr)
            self.assertIn("--kernel 'foo'", run.stderr)

    def test_help_tells_how_often_is_measured(self):
        run = subprocess.run([BENCH, "kernels", "--help"], capture_output=True, text=True,
                             check=True)
        self.assertRegex(run.stdout, r"--rounds INT=9 ")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
