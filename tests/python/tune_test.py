"""Tuning: what it returns, and how its progress is shown."""

import contextlib
import io
import json
import sys
import types

import numpy as np

import tcc
from tcc import _progress
from tcc_package import WEIGHTS, PackageTest, product_model


class Tuning(PackageTest):
    def test_a_search_is_summed_up_and_its_records_are_compiled_with(self):
        database, run = self.folder / "m.db", self.folder / "run"
        seen = []
        summary = tcc.tune(product_model(64), database=database, trials=6, seed=1, run=run,
                           progress=seen.append)
        self.assertEqual((summary.trials, summary.interrupted), (6, False))
        self.assertEqual(sum(summary.statuses.values()), 6)
        (kernel,) = summary.kernels
        self.assertEqual(kernel.trials, 6)
        self.assertGreater(kernel.constructed_seconds, 0)
        self.assertGreaterEqual(kernel.constructed_seconds, kernel.best_seconds)
        self.assertGreaterEqual(summary.gain, 1)
        self.assertEqual(json.loads((run / "run.json").read_text())["trials"], 6)
        self.assertEqual((seen[-1].stage, seen[-1].done, seen[-1].unit), ("tuning", 6, "trials"))
        module = tcc.compile(product_model(64), database=database)
        x = np.ones((64, 4), np.float32)
        np.testing.assert_array_equal(module(x), x @ WEIGHTS)

    def test_a_search_goes_on_where_it_ended(self):
        database = self.folder / "m.db"
        tcc.tune(product_model(64), database=str(database), trials=3)
        tcc.tune(product_model(64).SerializeToString(), database=database, seconds=0.2)
        self.assertGreater(len(self.tcc("db", "export", database).splitlines()), 4)

    def test_without_a_budget_the_keywords_are_named(self):
        with self.assertRaisesRegex(tcc.UsageError, "expected a budget: trials or seconds"):
            tcc.tune(product_model(), database=self.folder / "m.db")


class Terminal(io.StringIO):
    def isatty(self):
        return True


class Showing(PackageTest):
    HALF = {"stage": "tuning", "done": 31, "total": 60, "unit": "s", "seconds": 31.0,
            "trials": 120, "best": {"task": "conv_3", "gain": 1.42}}
    TEXT = ("tuning [################              ] 31 of 60 s, 120 trials, "
            "last gain 1.42x of conv_3")

    def shown(self, stream, *reports):
        with contextlib.redirect_stderr(stream), _progress.listening(True) as listen:
            for report in reports:
                listen(report)
        return stream.getvalue()

    def test_a_terminal_has_a_line_that_is_rewritten(self):
        later = {**self.HALF, "done": 60}
        said = self.shown(Terminal(), self.HALF, later)
        first, second, third = said.split("\r\x1b[K")
        self.assertEqual((first, second), ("", self.TEXT))
        self.assertTrue(third.startswith("tuning [##############################] 60 of 60 s"))
        self.assertTrue(third.endswith("conv_3\n"))
        self.assertEqual(self.shown(Terminal(), {**self.HALF, "seconds": 0.1}), "")

    def test_a_file_gets_a_line_for_each_stage_and_few_more(self):
        stage = {"stage": "code", "done": 1, "total": 4, "seconds": 1.0}
        said = self.shown(io.StringIO(), stage, {**stage, "done": 2}, self.HALF)
        self.assertEqual(said, f"tcc: code [########                      ] 1 of 4\n"
                               f"tcc: {self.TEXT}\n")

    def test_a_notebook_updates_one_cell(self):
        calls = []
        handle = types.SimpleNamespace(update=lambda data, raw: calls.append(("update", data)))

        def display(data, raw, display_id):
            calls.append(("display", data))
            return handle

        ipython = types.ModuleType("IPython")
        ipython.get_ipython = lambda: types.SimpleNamespace(kernel=object())
        module = types.ModuleType("IPython.display")
        module.display = display
        for name, stand_in in (("IPython", ipython), ("IPython.display", module)):
            self.addCleanup(sys.modules.pop, name)
            sys.modules[name] = stand_in
        self.assertEqual(self.shown(Terminal(), self.HALF, self.HALF), "")
        self.assertEqual(calls, [("display", {"text/plain": self.TEXT}),
                                 ("update", {"text/plain": self.TEXT})])
        ipython.get_ipython = lambda: types.SimpleNamespace()  # a shell on a terminal
        self.assertIn(self.TEXT, self.shown(Terminal(), self.HALF))
