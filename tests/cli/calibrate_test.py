#!/usr/bin/env python3
"""tcc devices calibrate: the constants of this CPU are measured, shown and written as a model."""

import json
import math
import os
import pathlib
import subprocess
import tempfile

from tcc_command import CommandTest, main

MEASURED = ["hertz", "l1_bytes", "l2_bytes", "l2_rate"]  # on any CPU
NEVER_MEASURED = ["fma_latency", "gather_cycles", "usable", "call_seconds", "overlap"]


class Calibrate(CommandTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.model = pathlib.Path(folder.name) / "cpu.model"
        threads = str(min(2, len(os.sched_getaffinity(0))))
        result = subprocess.run([cls.tcc, "devices", "calibrate", "--threads", threads, "--json",
                                 "-o", cls.model], check=True, capture_output=True, timeout=900)
        cls.printed = json.loads(result.stdout)
        cls.constants = {row["name"]: row for row in cls.printed["constants"]}

    def test_every_constant_has_a_value_a_unit_and_a_source(self):
        self.assertTrue(self.printed["model"])
        self.assertIn(self.printed["threads"], [1, 2])
        for name, row in self.constants.items():
            self.assertEqual(set(row), {"name", "value", "unit", "source"})
            self.assertTrue(row["unit"], name)
            self.assertTrue(math.isfinite(row["value"]) and row["value"] > 0, row)
            self.assertIn(row["source"], ["measured", "start value"])
        for name in MEASURED:
            self.assertEqual(self.constants[name]["source"], "measured", name)
        for name in NEVER_MEASURED:
            self.assertEqual(self.constants[name]["source"], "start value", name)
        self.assertTrue(1e8 < self.constants["hertz"]["value"] < 1e11)

    def test_the_file_is_a_cost_model_with_the_printed_constants(self):
        info = json.loads(self.call("cost-model", "info", self.model, "--json"))
        self.assertEqual(info["members"], 0)
        self.assertTrue(info["on_prior"])
        self.assertEqual(info["constants"],
                         {name: row["value"] for name, row in self.constants.items()})
        text = self.call("cost-model", "info", self.model)
        for name in self.constants:
            self.assertIn(f"\n{name} ", text)

    def test_without_a_file_it_prints_a_table(self):
        lines = self.call("devices", "calibrate", "--threads", "1", cwd=self.folder).splitlines()
        self.assertEqual(lines[0].split(), ["constant", "value", "unit", "source"])
        self.assertEqual([line.split()[0] for line in lines[1:]], list(self.constants))
        self.assertRegex(lines[1], r"^hertz +\S+ +Hz +measured$")
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_more_threads_than_cpus_are_refused(self):
        threads = len(os.sched_getaffinity(0)) + 1
        self.call("devices", "calibrate", "--threads", str(threads), expect=2)
        self.assertIn(f"--threads {threads}: expected at most", self.error)

    def test_a_path_that_cannot_be_written_is_refused_before_anything_is_measured(self):
        self.assertEqual(self.call("devices", "calibrate", "-o", self.folder / "none" / "m",
                                   expect=4), "")
        self.assertIn("none/m", self.error)
        self.call("devices", "calibrate", "-o", self.folder, expect=4)
        self.call("devices", "calibrate", "--threads", "-1", expect=2)

    def test_devices_are_listed_as_without_the_command(self):
        rows = json.loads(self.call("devices", "--json"))
        self.assertEqual(list(rows[0]), ["name", "model", "threads", "vector_bytes"])
        self.assertEqual(rows[0]["name"], "cpu")
        self.assertEqual(rows[0]["model"], self.printed["model"])
        self.call("devices", "measure", expect=2)


if __name__ == "__main__":
    main()
