#!/usr/bin/env python3
"""usage: bench_options_test.py TCC_BENCH

An option that would change nothing, and a value that nothing has, are refused before anything is
measured.
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
    ("--suite bits --numeric tf32", "--numeric has no meaning for suite bits"),
    ("--suite bits --db f.db", "--db has no meaning for suite bits"),
    ("--suite bits --peer none", "--peer has no meaning for suite bits"),
    ("--suite bits --target sm_86", "suite 'bits' is for this CPU, not sm_86"),
    ("--suite bits --kernel nothing", "no kernel 'nothing' in suite 'bits'"),
    ("--traces . --sketch 0", "--traces excludes --sketch"),
    ("--traces . --trace x.trace", "--traces excludes --trace"),
    ("--trace x.trace --sketch 0", "--trace excludes --sketch"),
    ("--db f.db --traces .", "--traces has no meaning for --db"),
    ("--db f.db --trace x.trace", "--trace has no meaning for --db"),
    ("--db f.db --sketch 0", "--sketch has no meaning for --db"),
    ("--db f.db --stage asm", "--stage has no meaning for --db"),
    ("--suite smoke --db f.db", "--db has no meaning for operators on a CPU"),
    ("--suite gemm,nothing --db f.db", "no suite 'nothing'"),
    ("--suite gemm --kernel nothing --db f.db", "no kernel 'nothing' in suite 'gemm'"),
    ("--suite gemm --peer nobody --db f.db", "no peer 'nobody'"),
    ("--suite gemm,conv", "no suite 'gemm,conv'"),
    ("--stage lowered --json", "--json has no meaning for --stage"),
    ("--stage lowered --rounds 3", "--rounds has no meaning for --stage"),
    ("--stage lowered --threads 1", "--threads has no meaning for --stage"),
    ("--stage lowered --peer none", "--peer has no meaning for --stage"),
    ("--rounds 0", "--rounds: Value 0 not in range 1 to 1000"),
    ("--threads 0", "--threads: Value 0 not in range 1 to 1024"),
    ("--suite smoke --seconds -1", "--seconds: Value -1 not in range 0"),
    ("--suite smoke --seconds nan", "--seconds: expected a number, got 'nan'"),
    ("--suite nothing", "no suite 'nothing'"),
    ("--suite smoke --kernel nothing", "no operator 'nothing' in suite 'smoke'"),
    ("--suite gemm --kernel nothing", "no kernel 'nothing' in suite 'gemm'"),
    ("--suite gemm --peer nobody", "no peer 'nobody'"),
]

MISUSED = [
    # subcommand and options, what is said
    ("", "subcommand"),
    ("nothing", ""),
    ("calibrate --target abacus", "unknown target 'abacus'"),
    ("calibrate --target native", "--target native: expected a GPU"),
    ("estimate", "expected --records"),
    ("estimate --records r.jsonl --held-out nan", "--held-out: expected a number, got 'nan'"),
    ("estimate --records r.jsonl --json --by-task", "expected without --json"),
    ("features --network nothing", "no network 'nothing'"),
    ("features --target reference", "--target reference: expected a CPU or a GPU"),
    ("lattice --kernels nothing --db absent/f.db", "kernel 'nothing': expected one of the suites"),
    ("search --kernels nothing --db absent/f.db", "kernel 'nothing': expected one of the suites"),
    ("search --kernels x --db absent/f.db --searchers guess", "there is no searcher 'guess'"),
    ("search --kernels x --db absent/f.db --model m.tcm", "--model"),
    ("search --kernels x --db absent/f.db --estimates odd", "--estimates"),
    ("tuning --suites nothing", "no suite 'nothing'"),
    ("tuning --only nothing", "--only 'nothing'"),
    ("tuning --searcher guess", "there is no searcher 'guess'"),
    ("tuning --trials 0", "--trials"),
    ("tuning --threads -1", "--threads"),
    ("tuning --seconds 0", "--seconds"),
    ("tuning --seconds nan", "--seconds: expected a number, got 'nan'"),
    ("tuning --policy in-place", "--policy"),
]


class Options(unittest.TestCase):
    def test_an_option_that_would_change_nothing_is_refused(self):
        for options, message in REFUSED:
            with self.subTest(options):
                run = subprocess.run([BENCH, "kernels", *options.split()], capture_output=True,
                                     text=True, check=False, timeout=60)
                self.assertEqual(run.returncode, 2, run.stderr)
                self.assertIn(message, run.stderr)

    def test_a_usage_error_ends_with_2_as_that_of_tcc_does(self):
        for arguments, message in MISUSED:
            with self.subTest(arguments):
                run = subprocess.run([BENCH, *arguments.split()], capture_output=True, text=True,
                                     check=False, timeout=60)
                self.assertEqual(run.returncode, 2, run.stderr)
                self.assertIn(message, run.stderr)

    def test_help_tells_how_often_is_measured(self):
        run = subprocess.run([BENCH, "kernels", "--help"], capture_output=True, text=True,
                             check=True)
        self.assertRegex(run.stdout, r"--rounds INT=9 ")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
