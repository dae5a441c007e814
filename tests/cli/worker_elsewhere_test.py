#!/usr/bin/env python3
"""tcc tune with a worker that a command runs, as on another machine, and connections that drop."""

import pathlib
import shlex
import sqlite3
import sys

from tcc_command import CommandTest, main

# Passes on so many bytes of its input to the command, and then is gone; with a flag only once.
DROP = """
import os, subprocess, sys
limit, flag, command = int(sys.argv[1]), sys.argv[2], sys.argv[3:]
if flag and os.path.exists(flag):
    os.execv(command[0], command)
if flag:
    open(flag, "w").close()
worker = subprocess.Popen(command, stdin=subprocess.PIPE)
while limit > 0 and (got := os.read(0, min(limit, 4096))):
    worker.stdin.write(got)
    worker.stdin.flush()
    limit -= len(got)
worker.stdin.close()
sys.exit(worker.wait())
"""


class WorkerElsewhere(CommandTest):
    def setUp(self):
        super().setUp()
        self.model = self.export("dqn", "--small")
        self.database = self.folder / "f.db"
        self.cache = self.folder / "cache"
        worker = pathlib.Path(self.tcc).parent / "tcc-worker"
        self.words = [str(worker), "--stdio"]
        self.worker = shlex.join(self.words)

    def tune(self, *options, **keywords):
        return self.call("tune", self.model, "--db", self.database, "--progress", "none",
                         "--searcher", "random", *options, TCC_CACHE_DIR=str(self.cache),
                         **keywords)

    def dropping(self, limit, flag=""):
        return shlex.join([sys.executable, "-c", DROP, str(limit), str(flag), *self.words])

    def rows(self, query):
        connection = sqlite3.connect(self.database)
        self.addCleanup(connection.close)
        return connection.execute(query).fetchall()

    def compile(self, *options):
        self.call("compile", self.model, "-o", self.folder / "m.tcc", "--db", self.database,
                  *options)
        return self.error

    def test_records_are_of_the_device_that_the_worker_names(self):
        said = self.tune("--trials", "12", TCC_WORKER_COMMAND=self.worker)
        self.assertIn("12 trials", said)
        self.assertIn("not compared inside the network", self.error)
        self.assertFalse((self.cache / "measure-cpu.lock").exists())
        (device, policy), = self.rows("SELECT device, policy FROM environment")
        self.assertEqual(policy, "rotate-64M")
        self.assertNotIn("KiB of L1", device)
        self.assertIn(("ok",), self.rows("SELECT DISTINCT status FROM measurement"))

        # The option goes before the variable, and records of this machine stay apart.
        self.tune("--trials", "2", "--worker", self.worker, TCC_WORKER_COMMAND="exit 1")
        self.assertEqual(len(self.rows("SELECT * FROM environment")), 1)
        self.tune("--trials", "2", "--policy", "rotate-64M")
        self.assertEqual(len(self.rows("SELECT DISTINCT device FROM environment")), 2)

        connection = sqlite3.connect(self.database)
        with connection:
            connection.execute("DELETE FROM measurement WHERE environment != 1")
            connection.execute("UPDATE measurement SET seconds = 1e-12 WHERE status = 'ok' AND "
                               "searcher != 'constructed'")
        connection.close()
        self.assertRegex(self.compile("--device", device), "[1-9][0-9]* of [0-9]+ kernels as they")
        self.assertRegex(self.compile(), "\\b0 of [0-9]+ kernels as they")

    def test_compile_with_a_budget_takes_what_the_worker_measured(self):
        path = self.folder / "m.tcc"
        self.call("compile", self.model, "-o", path, "--trials", "12", "--worker", self.worker)
        self.call("check", self.model, path)

    def test_a_connection_that_drops_once_is_made_again(self):
        self.tune("--trials", "8", "--worker", self.dropping(30000, self.folder / "dropped"))
        self.assertIn("trying once more in a new worker", self.error)
        self.assertIn(("ok",), self.rows("SELECT DISTINCT status FROM measurement"))

    def test_a_connection_that_always_drops_ends_in_a_message(self):
        self.tune("--trials", "4", "--worker", self.dropping(10), expect=5)
        self.assertIn("before it was ready", self.error)
        # Hello comes through, no reference does.
        self.tune("--trials", "4", "--worker", self.dropping(200), expect=(1, 5, 6))
        self.assertIn("the worker ended with exit code 0", self.error)

    def test_what_a_worker_elsewhere_cannot_do_is_refused(self):
        self.tune("--trials", "4", "--worker", self.worker, "--policy", "in-place", expect=2)
        self.assertIn("--policy in-place: a worker elsewhere does not run networks", self.error)
        self.tune("--trials", "4", "--worker", "exit 3", expect=5)
        self.assertIn("worker 'exit 3': ended with exit code 3 before it was ready", self.error)
        self.call("compile", self.model, "-o", self.folder / "m.tcc", "--worker", self.worker,
                  expect=2)
        self.assertIn("--worker: expected a budget", self.error)


if __name__ == "__main__":
    main()
