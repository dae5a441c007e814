#!/usr/bin/env python3
"""tcc tune: candidates are measured, remembered, and used by compile --db."""

import json
import os
import re
import shlex
import signal
import sqlite3
import subprocess
import time

from tcc_command import CommandTest, main


class Tune(CommandTest):
    def setUp(self):
        super().setUp()
        self.model = self.export("dqn", "--small")
        self.database = self.folder / "f.db"

    def tune(self, *options, **keywords):
        return self.call("tune", self.model, "--db", self.database, "--progress", "none", *options,
                         **keywords)

    def rows(self, query):
        connection = sqlite3.connect(self.database)
        self.addCleanup(connection.close)
        return connection.execute(query).fetchall()

    def count(self):
        return self.rows("SELECT count(*) FROM measurement")[0][0]

    # Every task of the model gets records that are faster than any kernel, and no comparison.
    def plant_fast_records(self):
        connection = sqlite3.connect(self.database)
        with connection:
            connection.execute("DELETE FROM measurement WHERE series = 1")
            connection.execute("UPDATE measurement SET seconds = 1e-12 WHERE status = 'ok' AND "
                               "searcher != 'constructed'")
        connection.close()

    def compile(self, name, *options, **keywords):
        path = self.folder / name
        self.call("compile", self.model, "-o", path, *options, **keywords)
        return path.read_bytes()

    def test_what_was_tuned_is_compiled_and_right(self):
        said = self.tune("--trials", "24", "--searcher", "random")
        self.assertIn("24 trials", said)
        # Candidates that lower like measured ones are recorded, and are no trials.
        self.assertGreaterEqual(self.count(), 24)
        self.assertEqual(self.rows("SELECT DISTINCT status FROM measurement WHERE "
                                   "searcher = 'constructed'"), [("ok",)])
        self.plant_fast_records()
        self.compile("1.tcc", "--db", self.database)
        self.assertRegex(self.error, "[1-9][0-9]* of [0-9]+ kernels as they were tuned")
        self.assertNotEqual(self.compile("3.tcc", "--db", self.database, "--notes", "none"),
                            self.compile("4.tcc", "--notes", "none"))
        self.compile("2.tcc")
        self.call("check", self.model, self.folder / "1.tcc")
        self.assertLessEqual(self.records("1.tcc"), {key for key, in self.rows(
            "SELECT key FROM workload")})
        self.assertTrue(self.records("1.tcc"))
        self.assertFalse(self.records("2.tcc"))

    def records(self, artefact):
        """The workloads whose measurements the kernels of an artefact come from, by its notes."""
        path = self.folder / artefact
        kernels = json.loads(self.call("inspect", path, "--json"))["kernels"]
        notes = [json.loads(self.call("inspect", path, "--json", "--kernel", kernel["name"]))
                 for kernel in kernels]
        self.assertEqual([row["tuned"] for row in notes], [row["record"] is not None
                                                           for row in notes])
        return {row["record"] for row in notes if row["tuned"]}

    def test_the_same_database_gives_the_same_bytes_and_starts_no_worker(self):
        self.tune("--trials", "12")
        self.plant_fast_records()
        absent = {"TCC_WORKER": "/nonexistent"}
        first = self.compile("1.tcc", "--db", self.database, "--threads", "1", **absent)
        second = self.compile("2.tcc", "--db", self.database, "--threads", "2", **absent)
        self.assertEqual(first, second)

    def test_a_run_goes_on_where_the_last_one_ended(self):
        self.tune("--trials", "10", "-v")
        self.assertNotIn("in the database", self.error)
        known = self.rows("SELECT count(*) FROM measurement WHERE series = 0")[0][0]
        self.tune("--trials", "10", "-v")
        self.assertIn(f"tcc: {known} candidates were in the database", self.error)
        self.assertGreaterEqual(self.count(), 20)
        repeated = self.rows("SELECT candidate FROM measurement GROUP BY candidate, environment, "
                             "series HAVING count(*) > 1")
        self.assertEqual(repeated, [])

    def test_records_serve_equal_kernels_of_a_network_with_other_names(self):
        self.tune("--trials", "12")
        self.plant_fast_records()
        self.compile("1.tcc", "--db", self.database)
        said = self.error
        seeded = self.folder / "other.onnx"
        self.call("zoo", "export", "dqn", "--small", "--seed", "9", "-o", seeded)
        self.model = seeded
        self.compile("2.tcc", "--db", self.database)
        used = [line for line in self.error.splitlines() if "tuned" in line]
        self.assertEqual(used, [line for line in said.splitlines() if "tuned" in line])

    def test_a_record_that_does_not_fit_is_warned_of(self):
        self.tune("--trials", "12")
        self.plant_fast_records()
        connection = sqlite3.connect(self.database)
        with connection:
            connection.execute("UPDATE candidate SET decisions = replace(decisions, '=', '=9')")
        connection.close()
        self.compile("1.tcc", "--db", self.database)
        self.assertIn("warning", self.error)
        self.call("check", self.model, self.folder / "1.tcc")

    def test_an_interrupt_keeps_what_was_measured(self):
        run = self.folder / "run"
        tuning = subprocess.Popen([self.tcc, "tune", self.model, "--db", self.database,
                                   "--time-budget", "10m", "--progress", "none", "--run", run],
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        end = time.monotonic() + 120
        while time.monotonic() < end:
            if self.database.exists() and self.has_rows():
                break
            time.sleep(0.05)
        tuning.send_signal(signal.SIGINT)
        said, error = tuning.communicate(timeout=120)
        self.assertEqual(tuning.returncode, 0, error)
        self.assertIn("sum of runs", said)
        self.assertGreater(self.count(), 0)
        told, events = self.read_run(run)
        self.assertEqual((told["state"], told["budget"]), ("interrupted", {"seconds": 600}))
        self.assertEqual(events[-1]["state"], "interrupted")

    def test_a_budget_that_ends_before_anything_is_measured_is_told_as_such(self):
        artefact = self.folder / "1.tcc"
        for command in [["compile", self.model, "-o", artefact],
                        ["compile", self.model, "-o", artefact, "--db", self.database],
                        ["tune", self.model, "--db", self.database]]:
            with self.subTest(command=command):
                said = self.call(*command, "--time-budget", "1ms", "--errors", "json", expect=6)
                self.assertEqual(said, "")
                error = json.loads(self.error.splitlines()[-1])["error"]
                self.assertEqual(error["kind"], "budget")
                self.assertIn("the budget ended without a valid kernel", error["message"])
        self.assertFalse(artefact.exists())

    def test_an_interrupt_before_anything_is_measured_is_told_as_such(self):
        artefact = self.folder / "1.tcc"
        worker = self.tcc.parent / "tcc-worker"
        for name, *command in [["tune", "--db", self.database], ["compile", "-o", artefact]]:
            started, go, run = (self.folder / f"{name}.{end}" for end in ["started", "go", "run"])
            waits = (f"touch '{started}'; until [ -e '{go}' ]; do sleep 0.05; done; "
                     f"exec '{worker}' --stdio")
            arguments = [name, self.model, *command, "--time-budget", "10m", "--run", run,
                         "--worker", waits, "--errors", "json"]
            with self.subTest(name), subprocess.Popen(
                    [self.tcc, *map(str, arguments)], stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE, text=True) as process:
                self.addCleanup(process.kill)
                while not started.exists() and process.poll() is None:
                    time.sleep(0.01)
                process.send_signal(signal.SIGINT)
                go.touch()
                said, error = process.communicate(timeout=120)
                self.assertEqual((process.returncode, said), (130, ""), error)
                self.assertEqual(json.loads(error.splitlines()[-1])["error"]["kind"], "cancelled")
                self.assertEqual(self.read_run(run)[0]["state"], "interrupted")
        self.assertFalse(artefact.exists())

    def test_an_interrupted_compile_writes_its_file_with_what_was_measured(self):
        artefact = self.folder / "1.tcc"
        with subprocess.Popen([self.tcc, "compile", self.model, "-o", artefact, "--db",
                               self.database, "--time-budget", "10m", "--progress", "none"],
                              stderr=subprocess.PIPE, text=True) as process:
            self.addCleanup(process.kill)
            while process.poll() is None and not (self.database.exists() and self.has_rows()):
                time.sleep(0.05)
            process.send_signal(signal.SIGINT)
            _, error = process.communicate(timeout=120)
            self.assertEqual(process.returncode, 0, error)
        self.call("check", self.model, artefact)

    def has_rows(self):
        try:
            return self.count() > 3
        except sqlite3.OperationalError:
            return False

    def test_links_planted_in_the_shared_temporary_folder_are_not_written_through(self):
        shared, theirs = self.folder / "shared", self.folder / "theirs"
        shared.mkdir()
        theirs.write_text("precious")
        # The number of the process is known before it starts; so was the name of its file.
        planted = shlex.join(["ln", "-s", str(theirs), str(shared)]) + "/tcc-network-$$-1.tcc"
        tune = shlex.join(map(str, [self.tcc, "tune", self.model, "--db", self.database,
                                    "--trials", "12", "--searcher", "random"]))
        subprocess.run(["sh", "-c", f"{planted} && exec {tune}"], check=True, capture_output=True,
                       timeout=900, env={**os.environ, "TMPDIR": str(shared)})
        self.assertEqual(theirs.read_text(), "precious")
        left = list(shared.iterdir())
        self.assertEqual(len(left), 1, left)
        self.assertTrue(left[0].is_symlink())

    def test_compile_with_a_budget_tunes_first(self):
        self.compile("1.tcc", "--trials", "8", "--db", self.database)
        self.assertGreaterEqual(self.count(), 8)
        self.compile("2.tcc", "--trials", "6")
        self.assertIn("kernels as they were tuned", self.error)
        self.call("check", self.model, self.folder / "2.tcc")

    # run.json and the events of a run that is over.
    def read_run(self, run):
        self.assertEqual(sorted(path.name for path in run.iterdir()),
                         ["events.jsonl", "run.json", "worker.log"])
        lines = (run / "events.jsonl").read_text().splitlines()
        return json.loads((run / "run.json").read_text()), [json.loads(line) for line in lines]

    def test_a_folder_tells_of_the_run(self):
        run = self.folder / "runs" / "first"
        run.parent.mkdir()
        self.tune("--trials", "12", "--searcher", "random", "--seed", "3", "--run", run)
        told, events = self.read_run(run)
        self.assertEqual(told["state"], "ended")
        self.assertEqual(told["arguments"][1:3], ["tune", str(self.model)])
        self.assertEqual(told["environment"]["policy"], "in-place")
        self.assertGreaterEqual(told["environment"]["threads"], 1)
        self.assertEqual((told["searcher"], told["seed"], told["budget"]),
                         ("random", 3, {"trials": 12}))
        self.assertEqual(told["database"], str(self.database))
        self.assertEqual(told["trials"], 12)
        self.assertEqual(sum(told["statuses"].values()), 12)
        self.assertEqual(sum(task["trials"] for task in told["tasks"]), 12)
        for task in told["tasks"]:
            self.assertGreater(task["constructed_seconds"], 0)
            self.assertLessEqual(task["best_seconds"], task["constructed_seconds"])

        self.assertEqual((events[0]["kind"], events[-1]["kind"]), ("begin", "end"))
        trials = [event for event in events if event["kind"] == "trial"]
        self.assertEqual([event["trials"] for event in trials], list(range(1, 13)))
        self.assertEqual({event["task"] for event in trials},
                         {task["name"] for task in told["tasks"] if task["trials"] > 0})
        self.assertEqual({event["status"] for event in trials}, set(told["statuses"]))
        seconds = [event["seconds"] for event in events]
        self.assertEqual(seconds, sorted(seconds))
        self.assertLessEqual(seconds[-1], told["elapsed_seconds"])

    def test_a_folder_takes_one_run(self):
        run = self.folder / "run"
        self.tune("--trials", "2", "--run", run)
        before = {path.name: path.read_bytes() for path in run.iterdir()}
        rows = self.count()
        self.tune("--trials", "2", "--run", run, expect=2)
        self.assertIn(str(run / "run.json"), self.error)
        self.assertIn("another folder", self.error)
        self.assertEqual({path.name: path.read_bytes() for path in run.iterdir()}, before)
        self.assertEqual(self.count(), rows)
        self.tune("--trials", "2", "--run", self.model, expect=4)
        self.assertIn(str(self.model), self.error)

    def test_a_run_folder_in_a_folder_that_is_missing_is_refused_as_an_output_is(self):
        run = self.folder / "absent" / "first"
        for path in [run, f"{run}/", run / "inner"]:
            self.tune("--trials", "2", "--run", path, expect=4)
            self.assertIn(f"--run: cannot make folder '{path}'", self.error)
            self.assertIn("No such file or directory", self.error)
            self.assertFalse(self.database.exists())
            self.call("compile", self.model, "-o", self.folder / "1.tcc", "--trials", "2", "--run",
                      path, expect=4)
            self.assertFalse((self.folder / "1.tcc").exists())
        self.call("compile", self.model, "-o", run, expect=4)
        self.assertIn("No such file or directory", self.error)
        self.assertFalse(run.parent.exists())
        run.parent.mkdir()
        self.tune("--trials", "2", "--run", f"{run}/")
        self.read_run(run)
        self.call("tune", self.model, "--db", self.database, "--trials", "2", "--progress", "none",
                  "--run", "here", cwd=self.folder)
        self.read_run(self.folder / "here")

    def test_a_run_that_fails_is_told_of_too(self):
        run = self.folder / "run"
        self.tune("--trials", "2", "--run", run, expect=5, TCC_WORKER="/nonexistent")
        told = json.loads((run / "run.json").read_text())
        self.assertEqual(told["state"], "failed")
        self.assertIn("/nonexistent", told["message"])

    def test_compile_has_a_folder_of_its_run_too(self):
        run = self.folder / "run"
        self.compile("1.tcc", "--trials", "4", "--run", run)
        told, events = self.read_run(run)
        self.assertIsNone(told["database"])
        self.assertEqual(sum(event["kind"] == "trial" for event in events), told["trials"])
        other = self.folder / "other"
        self.call("compile", self.model, "-o", self.folder / "2.tcc", "--run", other, expect=2)
        self.assertIn("--trials", self.error)
        self.assertFalse(other.exists())

    def test_progress_tells_how_much_of_the_budget_is_spent(self):
        self.call("tune", self.model, "--db", self.database, "--trials", "6", "--progress", "json")
        lines = [json.loads(line) for line in self.error.splitlines()]
        searching = [line for line in lines if line.get("stage") == "tuning"]
        self.assertGreaterEqual(len(searching), 1)
        for line in searching:
            self.assertEqual((line["total"], line["unit"]), (6, "trials"))
            self.assertEqual(line["done"], line["trials"])
            self.assertIn("best", line)
        self.call("tune", self.model, "--db", self.database, "--trials", "6", "--progress", "plain")
        self.assertRegex(self.error, r"tcc: tuning: [0-9]+ of 6 trials, [0-9]+ s, [0-9.]+ a second")

    def test_progress_shows_the_last_state_of_a_search(self):
        options = ["tune", self.model, "--db", self.database, "--searcher", "random", "--trials"]
        said = self.call(*options, "12", "--progress", "json")
        trials = int(re.search(r"^([0-9]+) trials: ", said, re.MULTILINE)[1])
        lines = [json.loads(line) for line in self.error.splitlines()]
        told = [line["trials"] for line in lines if line.get("stage") == "tuning"]
        self.assertEqual(told[-1], trials)
        self.assertEqual(told, sorted(set(told)))
        said = self.call(*options, "12", "--progress", "plain")
        trials = int(re.search(r"^([0-9]+) trials: ", said, re.MULTILINE)[1])
        told = [int(count) for count in re.findall(r"tcc: tuning: ([0-9]+) of 12 ", self.error)]
        self.assertEqual(told[-1], trials)
        self.assertEqual(told, sorted(set(told)))

    def test_candidates_are_timed_as_the_policy_says(self):
        for policy in ["rotate-64M", "warm"]:
            run = self.folder / policy
            self.tune("--trials", "10", "--policy", policy, "--run", run)
            told, _ = self.read_run(run)
            self.assertEqual(told["environment"]["policy"], policy)
            self.assertEqual(sum(told["statuses"].values()), 10)
        self.assertEqual(self.rows("SELECT DISTINCT policy FROM environment ORDER BY policy"),
                         [("rotate-64M",), ("warm",)])
        self.tune("--trials", "4", "--policy", "guess", expect=2)
        for known in ["guess", "auto", "in-place", "rotate-64M", "warm"]:
            self.assertIn(known, self.error)

    def test_what_cannot_be_tuned_is_refused_by_name(self):
        self.tune(expect=2)
        self.assertIn("--time-budget", self.error)
        self.tune("--time-budget", "soon", expect=2)
        self.assertIn("soon", self.error)
        self.tune("--trials", "4", "--time-budget", "1s", expect=2)
        self.tune("--trials", "4", "--searcher", "oracle", expect=2)
        self.assertIn("coordinate", self.error)
        self.tune("--trials", "4", expect=5, TCC_WORKER="/nonexistent")
        self.assertIn("/nonexistent", self.error)
        self.tune("--trials", "4", "--target", "sm_86", expect=5)
        self.call("compile", self.model, "-o", self.folder / "m.tcc", "--db",
                  self.folder / "absent.db", expect=4)
        self.assertIn("absent.db", self.error)
        foreign = self.folder / "foreign.db"
        foreign.write_text("my notes")
        self.call("tune", self.model, "--db", foreign, "--trials", "2", expect=4)
        self.assertEqual(foreign.read_text(), "my notes")


if __name__ == "__main__":
    main()
