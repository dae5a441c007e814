#!/usr/bin/env python3
"""Candidates emitted into a batch, measured by tcc-worker alone over the emulated driver, imported."""

import collections
import json
import os
import pathlib
import shutil
import signal
import sqlite3
import subprocess
import time

from tcc_command import CommandTest, main

ENOUGH = 600  # seconds for what takes a few


class GpuBatch(CommandTest):
    @classmethod
    def setUpClass(cls):
        cls.driver = os.environ.get("TCC_TEST_CUDA_DRIVER", "")
        cls.emulated = {"TCC_CUDA_DRIVER": cls.driver, "TCC_EMULATED_SM": "86"}

    def setUp(self):
        super().setUp()
        if not self.driver:
            self.skipTest("no emulated driver in TCC_TEST_CUDA_DRIVER")
        self.model = self.export("dqn", "--small")
        self.batch = self.folder / "b.tccb"
        self.results = self.folder / "r.jsonl"
        self.database = self.folder / "f.db"
        (self.folder / "elsewhere").mkdir()
        self.worker = self.folder / "elsewhere" / "tcc-worker"
        shutil.copy(pathlib.Path(self.tcc).parent / "tcc-worker", self.worker)

    def emit(self, *options, batch=None, trials=1, expect=0, **environment):
        return self.call("tune", self.model, "--target", "sm_86", "--progress", "none", "--text",
                         "--emit", batch or self.batch, "--trials", trials, *options,
                         expect=expect, **{"TCC_CUDA_DRIVER": "/nowhere/libcuda.so",
                                           **environment})

    def command(self, *options):
        return [self.worker, "--batch", self.batch, "--results", self.results, *map(str, options)]

    def environment(self, **more):
        # Nothing of tcc's can be found but by the worker's own path.
        return {**os.environ, **self.emulated, "TCC_CACHE_DIR": str(self.folder / "cache"), **more}

    def measure(self, *options, expect=0, **environment):
        result = subprocess.run(self.command(*options), capture_output=True, text=True,
                                cwd=self.worker.parent, env=self.environment(**environment),
                                timeout=ENOUGH, check=False)
        self.assertEqual(result.returncode, expect, result.stderr)
        self.error = result.stderr

    def lines(self):
        return [json.loads(line) for line in self.results.read_text().splitlines()]

    def load(self, *options, results=None, **keywords):
        return self.call("db", "import", self.database, results or self.results, "--batch",
                         self.batch, *options, **keywords)

    def rows(self, query):
        connection = sqlite3.connect(self.database)
        self.addCleanup(connection.close)
        return connection.execute(query).fetchall()

    def test_what_is_emitted_here_and_measured_there_is_compiled_here(self):
        said = self.emit(trials=40)
        self.assertRegex(said, r"b\.tccb: \d+ candidates of \d+ kernels\n")
        again = self.folder / "again.tccb"
        for threads in ("1", "2"):
            self.emit("--threads", threads, batch=again, trials=40)
            self.assertEqual(self.batch.read_bytes(), again.read_bytes())
        self.emit("--seed", "1", batch=again, trials=40)
        self.assertNotEqual(self.batch.read_bytes(), again.read_bytes())

        self.measure()
        run, *results = self.lines()
        self.assertRegex(run["device"], r".+, sm_86, \d+ multiprocessors, \d+ MiB of L2")
        self.assertEqual(run["policy"], "warm")
        self.assertIn("ok", {line["status"] for line in results})
        artefacts = {line["artefact"] for line in results}
        self.assertEqual(len(artefacts), len(results))

        self.assertIn(f"{len(results)} new measurements, 0 known", self.load())
        self.assertIn(f"0 new measurements, {len(results)} known", self.load())
        self.call("db", "verify", self.database)
        self.assertLessEqual({row[0] for row in self.rows("SELECT DISTINCT searcher FROM "
                                                          "measurement")},
                             {"constructed", "start", "prior", "random"})
        tasks = self.rows("SELECT count(*) FROM workload")
        self.assertEqual(self.rows("SELECT count(*) FROM measurement WHERE searcher = "
                                   "'constructed'"), tasks)

        # They are records as a search here would make them.
        self.call("tune", self.model, "--target", "sm_86", "--progress", "none", "--db",
                  self.database, "--trials", "1", "--searcher", "random", **self.emulated)
        self.assertEqual(self.rows("SELECT count(*) FROM environment"), [(1,)])

        # What is known of the device is not emitted again but for the references.
        self.emit("--db", self.database, "--device", "sm_86")
        self.results.unlink()
        self.measure()
        self.assertIn(f"{tasks[0][0]} known", self.load())

        with sqlite3.connect(self.database) as connection:
            connection.execute("UPDATE measurement SET seconds = 1e-12 WHERE status = 'ok' AND "
                               "searcher != 'constructed'")
        if not self.has_nvrtc():
            self.skipTest("no NVRTC")
        self.call("compile", self.model, "--target", "sm_86", "-o", self.folder / "m.tcc", "--db",
                  self.database)
        self.assertRegex(self.error, "[1-9][0-9]* of [0-9]+ kernels as they were tuned")

    def test_a_run_that_was_killed_goes_on_where_it_ended(self):
        self.emit()
        with subprocess.Popen(self.command("--visit", 2), cwd=self.worker.parent,
                              env=self.environment(), stderr=subprocess.DEVNULL) as process:
            end = time.monotonic() + ENOUGH
            while not (self.results.exists() and self.results.read_text().count("\n") > 4):
                self.assertIsNone(process.poll())
                self.assertLess(time.monotonic(), end)
                time.sleep(0.01)
            process.send_signal(signal.SIGKILL)
        before = self.results.read_text()
        whole = before[:before.rindex("\n") + 1]
        self.results.write_text(whole + '{"artefact": "12')
        self.measure()
        after = self.results.read_text()
        self.assertTrue(after.startswith(whole))
        artefacts = [line["artefact"] for line in self.lines()[1:]]
        self.assertEqual(len(artefacts), len(set(artefacts)))
        self.assertIn(f"{len(artefacts)} new measurements", self.load())
        # All is known: nothing is added.
        self.measure()
        self.assertEqual(self.results.read_text(), after)

    def test_an_early_end_leaves_every_task_covered(self):
        self.emit()
        self.measure("--visit", 1, "--seconds", "0.000001", expect=6)
        self.assertIn("no candidate of the batch is right so far", self.error)
        self.measure("--visit", 1)
        rounds = [line["task"] for line in self.lines()[1:]]
        # In its first round a task has its reference and one candidate measured.
        counts = collections.Counter()
        for name in rounds:
            if counts[name] == 2:
                break
            counts[name] += 1
        self.assertEqual(set(counts), set(rounds))
        self.assertGreater(len(counts), 1)

    def test_damaged_and_foreign_files_end_in_messages_and_nothing_is_imported(self):
        self.emit()
        self.measure()
        good = self.results.read_text()
        lines = good.splitlines(keepends=True)
        other = self.folder / "other.jsonl"
        last = len(lines)
        swapped = json.loads(lines[1])
        swapped["task"] = "nobody"
        spoiled = [
            ("", "line 1: the line is cut off"),
            (good[:-5], f"line {last}: the line is cut off"),
            (good + lines[-1], f"line {last + 1}: artefact '"),
            (good + '{"kernel": 1}\n', f"line {last + 1}: expected a line with 'artefact'"),
            (good + "\n", f"line {last + 1}: column 1"),
            (good.replace('"ok"', '"fine"'), "status 'fine' is not known"),
            ("".join(lines[1:]), "line 1: expected the line with 'batch' and 'device'"),
            (lines[0] + json.dumps(swapped) + "\n", "the line says 'nobody'"),
            (lines[0] + lines[1].replace('"artefact": "', '"artefact": "0'),
             "is not in the batch"),
        ]
        for text, message in spoiled:
            other.write_text(text)
            self.load(results=other, expect=4)
            self.assertIn(message, self.error)
            self.assertFalse(self.database.exists())
        self.load()
        count = self.rows("SELECT count(*) FROM measurement")
        for text, message in spoiled:
            other.write_text(text)
            self.load(results=other, expect=4)
            self.assertIn(message, self.error)
        self.assertEqual(self.rows("SELECT count(*) FROM measurement"), count)

        whole = self.batch.read_bytes()
        for at in (0, 11, 15, 30, 60, len(whole) // 2, len(whole) - 1):
            self.batch.write_bytes(whole[:at])
            self.load(expect=4)
            self.measure(expect=4)
            self.assertIn("b.tccb", self.error)
        flipped = bytearray(whole)
        flipped[70] ^= 1
        self.batch.write_bytes(flipped)
        self.load(expect=4)
        self.assertIn("does not match its SHA-256", self.error)
        # An artefact is checked when it is measured.
        flipped = bytearray(whole)
        flipped[-1] ^= 1
        self.batch.write_bytes(flipped)
        self.results.unlink()
        self.measure(expect=4)
        self.assertIn("of the batch does not match its SHA-256", self.error)

        self.emit("--seed", "5")
        self.results.write_text(good)
        self.measure(expect=4)
        self.assertIn("line 1: results of batch '", self.error)
        self.assertEqual(self.results.read_text(), good)
        self.load(expect=4)
        self.assertIn("line 1: results of batch '", self.error)

    def test_without_a_device_the_message_says_how_to_go_on(self):
        self.call("tune", self.model, "--db", self.database, "--target", "sm_86", "--trials", "1",
                  TCC_CUDA_DRIVER="/nowhere/libcuda.so", expect=5)
        self.assertIn("/nowhere/libcuda.so", self.error)
        self.assertIn("`tcc tune --emit FILE`", self.error)
        self.emit()
        self.measure(expect=5, TCC_CUDA_DRIVER="/nowhere/libcuda.so")
        self.assertIn("/nowhere/libcuda.so", self.error)
        self.measure("--ordinal", "7", expect=5)
        self.assertIn("no CUDA device 7", self.error)
        self.measure(expect=5, TCC_EMULATED_SM="75")
        self.assertIn("kernels for 'sm_86' do not run on ", self.error)
        self.assertFalse(self.results.exists())

    def test_a_file_that_is_not_of_the_batch_is_refused_as_it_is(self):
        self.emit()
        for text in ("a note without an end", "a note\nwithout an end"):
            self.results.write_text(text)
            self.measure(expect=4)
            self.assertIn("r.jsonl: line 1: ", self.error)
            self.assertEqual(self.results.read_text(), text)
        before = self.batch.read_bytes()
        self.results = self.batch
        self.measure(expect=4)
        self.assertIn("is the batch; expected another file", self.error)
        self.assertEqual(self.batch.read_bytes(), before)

    def test_results_of_another_device_are_not_mixed(self):
        self.emit()
        self.measure()
        text = self.results.read_text()
        self.results.write_text(text.replace(", sm_86, ", ", sm_86, half of ", 1))
        self.measure(expect=4)
        self.assertIn("; this is '", self.error)

    def test_options_that_do_not_fit_are_refused(self):
        refusals = [
            (["--time-budget", "5s"], "--time-budget: --emit measures nothing"),
            (["--searcher", "random"], "--searcher: --emit measures nothing"),
            (["--run", self.folder / "run"], "--run: --emit measures nothing"),
            (["--mix", "1.5"], "--mix 1.5: expected 0 to 1"),
            (["--device", "H200"], "--device: expected --db"),
            (["--policy", "in-place"], "target 'sm_86' has auto, warm, rotate-weights-L2"),
            (["--policy", "abacus"], "--policy: there is no policy 'abacus'; this version has auto, warm"),
        ]
        for options, message in refusals:
            self.emit(*options, expect=2)
            self.assertIn(message, self.error)
        self.call("tune", self.model, "--emit", self.batch, "--trials", "1", expect=2)
        self.assertIn("target 'native' is no GPU", self.error)
        self.call("tune", self.model, "--emit", self.batch, expect=2)
        self.assertIn("--emit: expected --trials", self.error)
        self.call("tune", self.model, "--db", self.database, "--trials", "1", "--text", expect=2)
        self.assertIn("--text: expected --emit", self.error)
        self.assertFalse(self.batch.exists())
        self.measure("--visit", "0", expect=2)
        self.assertIn("--visit 0: expected a value that fits", self.error)
        self.measure("--trials", "1", expect=2)
        self.assertIn("unknown option --trials", self.error)
        self.assertIn("usage: tcc-worker --batch B --results R", self.error)


if __name__ == "__main__":
    main()
