#!/usr/bin/env python3
"""usage: search_test.py TCC_BENCH

tcc-bench lattice measures a small space whole, tcc-bench search compares searchers on it.
"""

import collections
import csv
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

BENCH = sys.argv[1]
KERNEL = "softmax_1536x128"
SPACE = ["--kernels", KERNEL, "--most", "20"]
SEEDS, TRIALS = 2, 8


class Search(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        cls.database = cls.folder / "f.db"
        cls.measured = cls.run_bench("lattice", *SPACE, "--db", cls.database)

    @classmethod
    def run_bench(cls, *arguments):
        # The lock for measuring is in the cache folder: this waits for nobody else's.
        return subprocess.run([BENCH, *map(str, arguments)], capture_output=True, text=True,
                              check=False, timeout=240,
                              env={**os.environ, "TCC_CACHE_DIR": str(cls.folder / "cache")})

    def setUp(self):
        self.assertEqual(self.measured.returncode, 0, self.measured.stderr)

    def search(self, *options):
        run = self.run_bench("search", *SPACE, "--db", self.database, "--seeds", SEEDS, "--trials",
                             TRIALS, *options)
        self.assertEqual(run.returncode, 0, run.stderr)
        return run.stdout

    def curves(self, *options):
        """ln regret after each trial, by searcher and seed."""
        path = self.folder / "c.csv"
        self.search("--csv", path, *options)
        with path.open(newline="") as file:
            rows = list(csv.DictReader(file))
        curves = collections.defaultdict(list)
        for row in rows:
            self.assertEqual(row["kernel"], KERNEL)
            curve = curves[row["searcher"], row["seed"]]
            curve.append(float(row["ln_regret"]))
            self.assertEqual(int(row["trial"]), len(curve))
        return dict(curves)

    def refused(self, message, command, *arguments, expect=2):
        run = self.run_bench(command, *arguments)
        self.assertEqual(run.returncode, expect, run.stderr)
        self.assertIn(message, run.stderr)

    def test_a_lattice_is_measured_once(self):
        self.assertRegex(self.measured.stdout,
                         rf"^{KERNEL}: \d+ sketches, \d+ points, 0 of them measured")
        again = self.run_bench("lattice", *SPACE, "--db", self.database)
        self.assertEqual(again.returncode, 0, again.stderr)
        self.assertRegex(again.stdout, r" ([1-9]\d*) points, \1 of them measured")

    def test_every_run_has_a_line_for_each_trial(self):
        path = self.folder / "lines.csv"
        out = self.search("--csv", path)
        lines = path.read_text().splitlines()
        self.assertEqual(lines[0], "kernel,searcher,estimates,seed,trial,ln_regret")
        searchers = {line.split(",")[1] for line in lines[1:]}
        self.assertLessEqual({"random", "coordinate", "evolutionary", "annealing", "gradient",
                              "auto"}, searchers)
        self.assertEqual(len(lines), 1 + len(searchers) * SEEDS * TRIALS)
        for searcher in searchers:
            self.assertRegex(out, rf"(?m)^  {searcher} +\d")

    def test_no_run_gets_worse_with_more_trials(self):
        curves = self.curves()
        for run, curve in curves.items():
            with self.subTest(run):
                self.assertEqual(len(curve), TRIALS)
                self.assertEqual(curve, sorted(curve, reverse=True))
                self.assertGreaterEqual(curve[-1], 0)
        self.assertEqual({seed for _, seed in curves}, {str(seed + 1) for seed in range(SEEDS)})
        # The first trial is the start of the first sketch, whoever searches.
        self.assertEqual(len({curve[0] for curve in curves.values()}), 1)

    def test_chosen_searchers_run_the_same_twice(self):
        chosen = ["--searchers", "random,gradient", "--batch", "4"]
        first = self.curves(*chosen)
        self.assertEqual({searcher for searcher, _ in first}, {"random", "gradient"})
        self.assertEqual(self.curves(*chosen), first)

    def test_searchers_may_know_no_formulas(self):
        path = self.folder / "nearest.csv"
        self.search("--searchers", "annealing", "--estimates", "nearest", "--csv", path)
        lines = path.read_text().splitlines()[1:]
        self.assertEqual(len(lines), SEEDS * TRIALS)
        for line in lines:
            self.assertTrue(line.startswith(f"{KERNEL},annealing,nearest,"), line)

    def test_a_database_without_the_lattice_is_refused_by_kernel(self):
        self.refused("there is no database", "search", *SPACE, "--db", self.folder / "empty.db",
                     expect=4)
        self.assertFalse((self.folder / "empty.db").exists())
        self.refused("kernel 'softmax_3200x100': ", "search", "--kernels", "softmax_3200x100",
                     "--most", "20", "--db", self.database, expect=4)

    def test_unknown_names_are_refused(self):
        options = ["--db", self.folder / "none.db"]
        for command in ["lattice", "search"]:
            with self.subTest(command):
                self.refused("kernel 'softmax_1x1': expected one of the suites", command,
                             "--kernels", f"{KERNEL},softmax_1x1", *options)
        self.refused("there is no searcher 'guess'", "search", *SPACE, "--searchers",
                     "random,guess", *options)
        self.assertFalse((self.folder / "none.db").exists())

    def test_a_model_without_full_estimates_is_refused(self):
        self.refused("--model", "search", *SPACE, "--db", self.database, "--model", "m.tcm")
        for estimates in ["full", "full-online"]:
            self.refused("--model", "search", *SPACE, "--db", self.database, "--estimates",
                         estimates)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
