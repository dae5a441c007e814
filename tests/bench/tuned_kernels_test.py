#!/usr/bin/env python3
"""usage: tuned_kernels_test.py TCC_BENCH

tcc-bench tuning fills a database, whose schedules tcc-bench kernels measures beside the starts.
"""

import json
import os
import pathlib
import sqlite3
import subprocess
import sys
import tempfile
import unittest

BENCH = sys.argv[1]
SOFTMAX, CONVOLUTION = "softmax_1536x128", "conv1x1_160_960_7"
UNTUNED = "softmax_3200x100"


class TunedKernels(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        cls.database = cls.folder / "f.db"
        cls.tuned = [cls.run_bench("tuning", "--suites", "softmax,conv", "--only", kernel, "--trials",
                                   "8", "--seconds", "60", "--policy", "warm", "--threads", "2",
                                   "--db", cls.database) for kernel in (SOFTMAX, CONVOLUTION)]

    @classmethod
    def run_bench(cls, *arguments):
        # The lock for measuring is in the cache folder: this waits for nobody else's.
        return subprocess.run([BENCH, *map(str, arguments)], capture_output=True, text=True,
                              check=False, timeout=240,
                              env={**os.environ, "TCC_CACHE_DIR": str(cls.folder / "cache")})

    def setUp(self):
        for run in self.tuned:
            self.assertEqual(run.returncode, 0, run.stderr)

    def kernels(self, *options, database=None):
        run = self.run_bench("kernels", "--db", database or self.database, "--threads", "2",
                             "--rounds", "1", "--peer", "none", *options)
        self.assertEqual(run.returncode, 0, run.stderr)
        return run

    def with_slow_starts(self):
        """A copy of the database in which any other schedule is faster."""
        slow = self.folder / "slow_starts.db"
        with sqlite3.connect(self.database) as known, sqlite3.connect(slow) as copy:
            known.backup(copy)
            copy.execute("UPDATE measurement SET status = 'ok' WHERE status = 'slow'")
            copy.execute("UPDATE measurement SET seconds = 1000 WHERE searcher = 'constructed'")
        return slow

    def test_a_kernel_runs_with_the_schedule_of_the_database(self):
        slow = self.with_slow_starts()
        for suite, kernel in [("softmax", SOFTMAX), ("conv", CONVOLUTION)]:
            with self.subTest(kernel):
                run = self.kernels("--suite", suite, "--kernel", kernel, "--json", database=slow)
                self.assertEqual(run.stderr, "")
                row, = json.loads(run.stdout)
                self.assertEqual((row["name"], row["suite"], row["threads"]), (kernel, suite, 2))
                self.assertTrue(row["rules"])
                self.assertGreater(row["ours_us"], 0)
                self.assertNotEqual(row["ours_us"], row["start_us"])

    def test_a_kernel_that_was_not_tuned_keeps_its_start_with_a_warning(self):
        run = self.kernels("--suite", "softmax")
        self.assertIn(f"kernel '{UNTUNED}': '{self.database}' has no measurements of it on 2 threads",
                      run.stderr)
        self.assertNotIn(SOFTMAX, run.stderr)
        self.assertRegex(run.stdout, rf"(?m)^{SOFTMAX} ")
        self.assertRegex(run.stdout, rf"(?m)^{UNTUNED} .* start$")

    def test_other_numbers_of_threads_are_another_environment(self):
        run = self.run_bench("kernels", "--db", self.database, "--threads", "1", "--rounds", "1",
                             "--peer", "none", "--suite", "softmax", "--kernel", SOFTMAX)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn("has no measurements of it on 1 threads", run.stderr)

    def test_kernels_of_several_suites_run_at_once(self):
        run = self.kernels("--suite", "softmax,conv", "--kernel", CONVOLUTION)
        self.assertRegex(run.stdout, rf"(?m)^{CONVOLUTION} ")

    def test_a_missing_database_is_an_error_and_stays_missing(self):
        missing = self.folder / "missing.db"
        run = self.run_bench("kernels", "--suite", "softmax", "--db", missing)
        self.assertEqual(run.returncode, 4, run.stderr)
        self.assertIn(f"cannot read database '{missing}'", run.stderr)
        self.assertFalse(missing.exists())

    def test_an_unknown_kernel_is_a_usage_error(self):
        run = self.run_bench("kernels", "--suite", "softmax,conv", "--kernel", "nothing", "--db",
                             self.database)
        self.assertEqual(run.returncode, 2, run.stderr)
        self.assertIn("no kernel 'nothing' in suite 'softmax,conv'", run.stderr)

    def test_a_search_ends_after_its_seconds(self):
        run = self.run_bench("tuning", "--suites", "softmax", "--only", SOFTMAX, "--trials", "1000000",
                             "--seconds", "1", "--threads", "2")
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertRegex(run.stdout, rf"(?m)^{SOFTMAX} ")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
