#!/usr/bin/env python3
"""tcc tune for a GPU, over the emulated driver: measured, resumed, compiled from the records."""

import json
import os
import pathlib
import shlex
import signal
import sqlite3
import subprocess
import time

from tcc_command import CommandTest, main


class GpuTune(CommandTest):
    def setUp(self):
        super().setUp()
        driver = os.environ.get("TCC_TEST_CUDA_DRIVER", "")
        if not driver:
            self.skipTest("no emulated driver in TCC_TEST_CUDA_DRIVER")
        self.emulated = {"TCC_CUDA_DRIVER": driver, "TCC_EMULATED_SM": "86",
                         "TCC_CACHE_DIR": str(self.folder / "cache")}
        self.model = self.export("dqn", "--small")
        self.database = self.folder / "f.db"

    def tune(self, *options, target="sm_86", **keywords):
        return self.call("tune", self.model, "--db", self.database, "--target", target,
                         "--progress", "none", *options, **{**self.emulated, **keywords})

    def rows(self, query):
        connection = sqlite3.connect(self.database)
        self.addCleanup(connection.close)
        return connection.execute(query).fetchall()

    def count(self):
        return self.rows("SELECT count(*) FROM measurement")[0][0]

    def change(self, *statements):
        connection = sqlite3.connect(self.database)
        with connection:
            for statement in statements:
                connection.execute(statement)
        connection.close()

    def compile(self, name, *options, **keywords):
        path = self.folder / name
        self.call("compile", self.model, "--target", "sm_86", "-o", path, "--db", self.database,
                  *options, **keywords)
        return path.read_bytes()

    def test_what_was_tuned_is_recorded_resumed_and_compiled_the_same_everywhere(self):
        said = self.tune("--trials", "24", "--searcher", "random")
        self.assertIn("24 trials", said)
        statuses = {row[0] for row in self.rows("SELECT DISTINCT status FROM measurement")}
        self.assertLessEqual(statuses, {"ok", "slow", "refused", "build-failed", "launch-failed"})
        self.assertIn("ok", statuses)
        (device, compilers, policy, threads), = self.rows(
            "SELECT device, compilers, policy, threads FROM environment")
        self.assertRegex(device, r".+, sm_86, \d+ multiprocessors, \d+ MiB of L2")
        self.assertEqual((compilers, policy, threads), ("CUDA text", "warm", 1))

        before = self.count()
        self.tune("--trials", "1", "--searcher", "auto", "--policy", "warm")
        self.assertGreater(self.count(), before)
        constructed = self.rows("SELECT count(*) FROM measurement WHERE searcher = 'constructed' "
                                "AND series = 0")
        tasks = self.rows("SELECT count(*) FROM workload")
        self.assertEqual(constructed, tasks)

        # Records that are faster than any kernel are taken, without a device.
        self.change("DELETE FROM measurement WHERE series = 1",
                    "UPDATE measurement SET seconds = 1e-12 WHERE status = 'ok' AND "
                    "searcher != 'constructed'")
        if not self.has_nvrtc():
            self.skipTest("no NVRTC")
        tuned = self.compile("1.tcc", TCC_CUDA_DRIVER="/nowhere/libcuda.so")
        self.assertRegex(self.error, "[1-9][0-9]* of [0-9]+ kernels as they were tuned")
        self.assertEqual(tuned, self.compile("2.tcc", "--threads", "1"))
        self.assertEqual(tuned, self.compile("3.tcc", "--threads", "2", **self.emulated))
        self.call("check", self.model, "--target", "sm_86", "--db", self.database, "--emulate")

    def test_a_gpu_of_a_worker_elsewhere_is_named_as_one_of_this_machine(self):
        self.tune("--trials", "8", "--searcher", "random")
        worker = pathlib.Path(self.tcc).parent / "tcc-worker"
        self.tune("--trials", "8", "--searcher", "random", "--seed", "1",
                  TCC_WORKER_COMMAND=f"cat | {shlex.quote(str(worker))} --stdio | cat")
        self.assertIn("not compared inside the network", self.error)
        self.assertEqual(len(self.rows("SELECT * FROM environment")), 1)

    def test_the_winners_are_compared_inside_the_network_as_a_whole(self):
        self.tune("--trials", "9", "--searcher", "random")
        # Records that are faster than any kernel are winners to compare.
        self.change("UPDATE measurement SET seconds = 1e-12 WHERE status = 'ok' AND "
                    "searcher != 'constructed'")
        run = self.folder / "run"
        said = self.tune("--trials", "1", "--searcher", "random", "--run", run)
        self.assertNotIn("not compared in the network", self.error)
        self.assertIn("in the network: constructed ", said)
        result = json.loads((run / "run.json").read_text())
        self.assertGreater(result["network"]["constructed_seconds"], 0)
        self.assertGreater(result["network"]["best_seconds"], 0)
        self.assertLessEqual(result["network"]["best_seconds"],
                             result["network"]["constructed_seconds"])
        # What fell back has a comparison that its constructed candidate won, others have none.
        compared = self.rows("SELECT DISTINCT searcher FROM measurement WHERE series = 1")
        fallen = sum(task["winner"] == "constructed" for task in result["tasks"])
        self.assertEqual(compared, [("constructed",)] if fallen else [])
        count, = self.rows("SELECT count(*) FROM measurement WHERE series = 1")
        self.assertEqual(count[0], fallen)

    def test_records_of_two_gpus_are_told_apart_by_a_part_of_the_name(self):
        self.tune("--trials", "8", "--searcher", "random")
        (device,), = self.rows("SELECT device FROM environment")
        self.change("INSERT INTO environment SELECT id + 100, key || 'x', tcc, target, "
                    "'NVIDIA Other, sm_86', measurer, threads, policy, compilers FROM environment",
                    "INSERT INTO measurement SELECT id + 1000, candidate, environment + 100, "
                    "series, status, seconds, spread, calls, error, canary, build_seconds, "
                    "searcher, message, at FROM measurement")
        self.compile("1.tcc", expect=(0, 5))
        self.assertIn("--device names another", self.error)
        self.compile("2.tcc", "--device", "NVIDIA Other", expect=(0, 5))
        self.assertNotIn("--device names another", self.error)
        path = self.folder / "3.tcc"
        self.call("compile", self.model, "--target", "sm_86", "-o", path, "--db", self.database,
                  "--device", "abacus", expect=2)
        self.assertIn("--device abacus: the database has ", self.error)
        self.assertIn(device, self.error)
        self.assertIn("'NVIDIA Other, sm_86'", self.error)

    def test_what_cannot_be_measured_is_a_message_before_anything_is(self):
        refusals = [
            (dict(target="sm_90a"), 5, "kernels for 'sm_90a' do not run on "),
            (dict(TCC_CUDA_DRIVER="/nowhere/libcuda.so"), 5, "/nowhere/libcuda.so"),
            (dict(target="reference"), 5, "kernels for 'reference' cannot be measured"),
        ]
        for keywords, code, message in refusals:
            self.tune("--trials", "1", expect=code, **keywords)
            self.assertIn(message, self.error)
        options = [
            (["--policy", "in-place"], 2, "target 'sm_86' has auto, warm, rotate-weights-L2"),
            (["--policy", "rotate-64M"], 2, "--policy rotate-64M: target 'sm_86' has auto"),
            (["--device", "first"], 2, "--device first: expected the GPU to measure on as cuda:0"),
            (["--device", "cuda:7"], 5, "no CUDA device 7"),
        ]
        for given, code, message in options:
            self.tune("--trials", "1", *given, expect=code)
            self.assertIn(message, self.error)
        self.tune("--trials", "1", "--device", "cuda:0", target="native", expect=2)
        self.assertIn("--device cuda:0: target 'native' runs on device 'cpu'", self.error)
        self.tune("--trials", "1", "--policy", "rotate-L2", target="native", expect=2)
        self.assertIn("target 'native' has auto, warm, rotate-64M, in-place", self.error)

    def test_a_model_is_trained_on_records_of_a_gpu_and_predicts_for_a_search(self):
        self.tune("--trials", "24", "--searcher", "random")
        records, model = self.folder / "r.jsonl", self.folder / "gpu.model"
        self.call("db", "export", self.database, "-o", records)
        options = ["--records", records, "--target", "sm_86", "--held-out", "0.5", "--json"]
        networks = ["--members", "2", "--epochs", "2"]
        trained = json.loads(self.call("cost-model", "train", *options, *networks, "-o", model))
        self.assertRegex(self.error, "the prior: loss [0-9.]+, fitted [0-9.]+")
        self.assertNotIn("left out", self.error)
        self.assertEqual(trained, json.loads(self.call("cost-model", "eval", model, *options)))
        info = json.loads(self.call("cost-model", "info", model, "--json"))
        self.assertEqual((info["target"], info["features"], info["members"]), ("cuda", 28, 2))
        # Emulated kernels take longer than those of any device.
        self.assertGreater(info["constants"]["launch_seconds"], 2e-6)
        again = self.folder / "again.model"
        self.call("cost-model", "train", *options, *networks, "-o", again)
        self.assertEqual(again.read_bytes(), model.read_bytes())
        self.call("cost-model", "train", *options, *networks, "--no-fit", "--start", model, "-o",
                  again)
        self.assertEqual(again.read_bytes(), model.read_bytes())

        features = self.folder / "f.csv"
        self.call("cost-model", "features", *options[:4], "--start", model, "-o", features)
        head, *rows = features.read_text().splitlines()
        self.assertEqual(head.split(",")[8:11], ["nest", "blocks", "threads"])
        self.assertGreater(len(rows), 10)
        for searcher in ["auto", "gradient"]:
            self.tune("--trials", "3", "--searcher", searcher, "--cost-model", model)
        self.tune("--trials", "1", "--cost-model", model, target="native", expect=2)
        self.assertIn("a cost model of GPUs; expected one of CPUs for target 'native'", self.error)

    def statuses(self):
        return dict(self.rows("SELECT status, count(*) FROM measurement GROUP BY status"))

    def test_a_driver_that_breaks_again_and_again_ends_workers_and_no_search(self):
        # Each worker's driver breaks at its third module: a reference and a candidate have run.
        self.tune("--trials", "10", "--searcher", "random",
                  TCC_EMULATED_FAULT="cuModuleLoadDataEx:3:700:sticky")
        self.assertGreater(self.statuses()["ok"], 3)

    def test_a_kernel_that_hangs_is_recorded_and_not_chosen(self):
        self.tune("--trials", "7", "--searcher", "random", "--run", self.folder / "run",
                  TCC_EMULATED_FAULT="cuEventQuery:45+:600")
        self.assertIn("hang", self.statuses())
        hung, = self.rows("SELECT max(length(message)), count(seconds) FROM measurement "
                          "WHERE status = 'hang'")
        self.assertGreater(hung[0], 0)
        self.assertEqual(hung[1], 0)

    def begin(self, trials):
        """A search that has recorded something and goes on."""
        tuning = subprocess.Popen(
            [self.tcc, "tune", self.model, "--db", self.database, "--target", "sm_86", "--trials",
             str(trials), "--searcher", "random", "--progress", "none"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            env={**os.environ, **self.emulated})
        self.addCleanup(tuning.wait)
        self.addCleanup(tuning.kill)
        end = time.monotonic() + 300
        while not self.database.exists() or self.recorded() < 2:
            self.assertIsNone(tuning.poll(), "the run has ended")
            self.assertLess(time.monotonic(), end, "nothing is recorded")
            time.sleep(0.05)
        return tuning

    def recorded(self):
        try:
            return self.count()
        except sqlite3.OperationalError:  # there is no table yet, or somebody writes
            return 0

    @staticmethod
    def workers_of(process):
        """The ids of the running workers that a process has started."""
        found = []
        for entry in pathlib.Path("/proc").iterdir():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
                name = (entry / "comm").read_text().strip()
            except OSError:
                continue
            if name == "tcc-worker" and int(fields[1]) == process and fields[0] != "Z":
                found.append(int(entry.name))
        return found

    def test_a_killed_tuner_loses_no_record_and_its_workers_end(self):
        tuning = self.begin(500)
        workers = self.workers_of(tuning.pid)
        before = self.rows("SELECT id FROM measurement")
        tuning.kill()
        tuning.wait()
        end = time.monotonic() + 60
        while any(pathlib.Path(f"/proc/{worker}/exe").exists() for worker in workers):
            self.assertLess(time.monotonic(), end, "a worker is left")
            time.sleep(0.05)
        self.tune("--trials", "2", "--searcher", "random")
        self.assertLessEqual(set(before), set(self.rows("SELECT id FROM measurement")))
        self.call("db", "verify", self.database)

    def test_a_search_survives_its_killed_workers(self):
        tuning = self.begin(10)
        for worker in self.workers_of(tuning.pid):
            os.kill(worker, signal.SIGKILL)
        self.assertEqual(tuning.wait(timeout=600), 0)
        self.assertIn("ok", self.statuses())

    def test_a_run_tells_its_device_and_policy(self):
        run = self.folder / "run"
        self.tune("--trials", "2", "--policy", "rotate-L2", "--device", "cuda:0", "--run", run)
        summary = json.loads((run / "run.json").read_text())
        self.assertEqual(summary["environment"]["policy"], "rotate-L2")
        self.assertIn("sm_86", summary["environment"]["device"])
        self.call("report", run, "-o", self.folder / "r.html")


if __name__ == "__main__":
    main()
