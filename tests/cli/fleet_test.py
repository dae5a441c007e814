#!/usr/bin/env python3
"""tcc tune --fleet and tcc worker, over a PostgreSQL server of their own."""

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
import unittest

from tcc_command import ROOT, CommandTest, main

sys.path.insert(0, str(ROOT / "bench"))
sys.dont_write_bytecode = True
import postgres_server  # noqa: E402
from fleet_scaling import STAND_IN  # noqa: E402

ENOUGH = int(os.environ.get("ENOUGH", "120"))  # seconds for what takes a few
LEASE = "2"

# What the roles of `tcc worker --sql` may not do.
DENIED = {
    "ann": ["SELECT bytes FROM blob", "SELECT message FROM task", "SELECT worker FROM job",
            "UPDATE job SET state = 'done'", "UPDATE job SET artefact = artefact", "DELETE FROM job",
            "INSERT INTO result VALUES (1, 'ok', 1, 1, 1, 1, 1, '', '')", "DELETE FROM result",
            "INSERT INTO device(text, protocol, ready) VALUES ('', 3, '')",
            "UPDATE version SET version = 2", "CREATE TABLE mine(x int)"],
    "bob": ["SELECT seconds FROM result", "UPDATE result SET seconds = 0", "DELETE FROM result",
            "INSERT INTO blob VALUES ('', '')", "INSERT INTO task SELECT * FROM task",
            "INSERT INTO job(device) VALUES (1)", "UPDATE job SET artefact = task",
            "UPDATE job SET wanted_until = now()", "DELETE FROM job", "UPDATE device SET ready = ''",
            "UPDATE version SET version = 2", "CREATE TABLE mine(x int)"],
}


class Fleet(CommandTest):
    @classmethod
    def setUpClass(cls):
        reason = postgres_server.missing()
        if reason:
            print(f"fleet_test: skipped: {reason}", file=sys.stderr)
            raise unittest.SkipTest(f"no server to test with: {reason}")
        cls.server = postgres_server.Server()
        cls.addClassCleanup(cls.server.close)

    def setUp(self):
        super().setUp()
        self.model = self.export("dqn", "--small")
        self.name = self.id().rsplit(".", 1)[-1].removeprefix("test_")[:60]
        self.server.sql(f"CREATE DATABASE {self.name}")
        self.url = self.server.url(self.name)
        self.started = 0

    def start(self, *arguments, **variables):
        """A process of tcc that can be killed; its words are in the file `said`."""
        self.started += 1
        said = self.folder / f"said{self.started}"
        # A cache of its own has a lock of its own: several processes measure at once.
        environment = {**os.environ, "TCC_CACHE_DIR": str(self.folder / f"cache{self.started}"),
                       **variables}
        with said.open("w") as file:
            process = subprocess.Popen([self.tcc, *map(str, arguments)], env=environment,
                                       stdout=file, stderr=subprocess.STDOUT)
        process.said = said
        self.addCleanup(self.end, process)
        return process

    @staticmethod
    def end(process):
        if process.poll() is None:
            process.kill()
        process.wait()

    def worker(self, *options, url=None, **variables):
        return self.start("worker", "--fleet", url or self.url, "--threads", "1", *options,
                          **variables)

    def registered_worker(self, *options, **variables):
        worker = self.worker(*options, **variables)
        self.wait_for(lambda: "measures on" in worker.said.read_text())
        return worker

    def tuning(self, file, *options, url=None, trials=16):
        return self.start("tune", self.model, "--db", self.folder / file, "--fleet",
                          url or self.url, "--progress", "none", "--searcher", "random",
                          "--trials", trials, *options)

    def finish(self, process, expect=0):
        self.assertEqual(process.wait(timeout=ENOUGH), expect, process.said.read_text())
        return process.said.read_text()

    def wait_for(self, true, pause=0.02):
        end = time.monotonic() + ENOUGH
        while not (found := true()):
            self.assertLess(time.monotonic(), end, "it does not happen")
            time.sleep(pause)
        return found

    def rows(self, query):
        said = self.server.sql(f"SET search_path TO tcc_fleet; {query}", self.name).stdout
        return [line.split("|") for line in said.splitlines()]

    def number(self, query):
        return int(self.rows(query)[0][0])

    def held_by(self, worker):
        """Jobs that the process holds. One that is stopped holds them until they are taken."""
        return [row[0] for row in self.rows(f"SELECT id FROM job WHERE state = 'leased' AND "
                                            f"worker LIKE '%:{worker.pid}:%' ORDER BY id")]

    def stop_with_a_lease(self, worker):
        def stopped_holding():
            worker.send_signal(signal.SIGSTOP)
            if self.held_by(worker):
                return True
            worker.send_signal(signal.SIGCONT)
            return False
        self.wait_for(stopped_holding)

    def recorded(self, file):
        """{(variant, schedule): (status, seconds)} of what was measured."""
        connection = sqlite3.connect(self.folder / file)
        self.addCleanup(connection.close)
        return {row[0]: row[1:] for row in connection.execute(
            "SELECT candidate, status, seconds FROM measurement WHERE "
            "status NOT IN ('refused', 'build-failed')")}

    def check_records(self, file):
        """Every measurement in SQLite is a result of the fleet."""
        known = {(status, float(seconds)) for status, seconds in
                 self.rows("SELECT status, seconds FROM result")}
        recorded = self.recorded(file)
        self.assertGreater(len(recorded), 0)
        for status, seconds in recorded.values():
            self.assertIn((status, seconds or 0), known)

    def check_each_has_one_result(self):
        self.assertEqual(self.rows("SELECT id FROM job WHERE (state = 'done') <> "
                                   "EXISTS (SELECT FROM result WHERE job = job.id)"), [])
        return self.number("SELECT count(*) FROM result")

    def test_two_tuners_share_three_workers_and_measure_nothing_twice(self):
        sql = self.call("worker", "--sql")
        for _ in range(2):  # it may be run again
            self.server.sql(sql, self.name)
        self.server.sql("DROP ROLE IF EXISTS ann, bob; CREATE ROLE ann LOGIN IN ROLE tcc_tuner;"
                        "CREATE ROLE bob LOGIN IN ROLE tcc_worker;")
        ann, bob = (self.server.url(self.name, user) for user in ("ann", "bob"))
        workers = [self.worker(url=bob) for _ in range(3)]
        self.wait_for(lambda: self.rows("SELECT id FROM device"))
        tunings = [self.tuning(file, url=ann) for file in ("a.db", "b.db")]
        for tuning, file in zip(tunings, ("a.db", "b.db")):
            self.assertIn("16 trials: ", self.finish(tuning))
            self.check_records(file)
        results = self.check_each_has_one_result()
        self.assertEqual(self.number("SELECT count(*) FROM job WHERE attempts <> 1"), 0)
        self.assertEqual(self.number("SELECT count(DISTINCT (device, task, artefact)) FROM job"),
                         self.number("SELECT count(*) FROM job"))

        # A tuner without records finds the results there, and a resumed one goes on.
        for worker in workers:
            worker.send_signal(signal.SIGTERM)
            self.finish(worker)
        shutil.copy(self.folder / "a.db", self.folder / "c.db")
        self.finish(self.tuning("d.db", trials=4))
        self.assertEqual(self.check_each_has_one_result(), results)
        self.worker()
        before = self.recorded("c.db")
        self.assertIn("8 trials: ", self.finish(self.tuning("c.db", trials=8)))
        after = self.recorded("c.db")
        self.assertLess(len(before), len(after))
        self.assertEqual(before, {key: after[key] for key in before})

        for user, statements in DENIED.items():
            for statement in statements:
                said = self.server.sql(f"SET search_path TO tcc_fleet; {statement}", self.name, user,
                                       check=False)
                with self.subTest(user=user, statement=statement):
                    self.assertRegex(said.stderr, "permission denied")

    def test_what_a_killed_or_stopped_worker_held_is_measured_by_another(self):
        first, second = self.registered_worker("--lease", LEASE), None
        tuning = self.tuning("a.db", trials=24)
        self.stop_with_a_lease(first)
        held = self.held_by(first)
        second = self.worker("--lease", LEASE)
        taken = self.wait_for(lambda: self.rows(
            f"SELECT id FROM job WHERE id IN ({','.join(held)}) AND "
            f"worker NOT LIKE '%:{first.pid}:%'"))
        self.wait_for(lambda: not self.held_by(first))
        first.send_signal(signal.SIGCONT)
        self.wait_for(lambda: "lost its lease; the result is dropped" in first.said.read_text())
        for (job,) in taken:
            self.wait_for(lambda job=job: self.rows(f"SELECT job FROM result WHERE job = {job}"))
            (worker,), = self.rows(f"SELECT worker FROM result WHERE job = {job}")
            self.assertNotIn(f":{first.pid}:", worker)

        third = self.tuning("b.db", "--seed", "9", trials=40)
        self.stop_with_a_lease(second)
        held = self.held_by(second)
        second.kill()
        for process in (tuning, third):
            self.finish(process)
        self.check_each_has_one_result()
        self.assertEqual(self.rows(f"SELECT id FROM job WHERE id IN ({','.join(held)}) AND "
                                   f"(state <> 'done' OR attempts < 2)"), [])
        self.check_records("a.db")
        self.check_records("b.db")

    def test_a_result_is_not_taken_while_another_worker_has_the_lease(self):
        worker = self.registered_worker()
        tuning = self.tuning("a.db", trials=24)
        self.stop_with_a_lease(worker)
        held = ",".join(self.held_by(worker))
        self.rows("UPDATE job SET worker = 'another', lease_until = now() + interval '1 h' "
                  f"WHERE id IN ({held})")
        worker.send_signal(signal.SIGCONT)
        self.wait_for(lambda: "lost its lease; the result is dropped" in worker.said.read_text())
        self.assertEqual(self.rows(f"SELECT DISTINCT state, worker FROM job WHERE id IN ({held})"),
                         [["leased", "another"]])
        self.assertEqual(self.rows(f"SELECT job FROM result WHERE job IN ({held})"), [])
        self.rows(f"UPDATE job SET lease_until = now() WHERE id IN ({held})")
        self.finish(tuning)
        self.check_each_has_one_result()
        self.check_records("a.db")

    def test_the_lease_of_a_long_measurement_is_renewed(self):
        stand_in = self.folder / "stand_in"
        stand_in.write_text(STAND_IN.format(python=sys.executable, seconds=2))
        stand_in.chmod(0o755)
        self.registered_worker("--lease", LEASE, TCC_WORKER=str(stand_in))
        self.tuning("a.db")
        seen = {}  # when each attempt's lease was to end as it was first seen

        def is_renewed():
            for job, attempts, until in self.rows(
                    "SELECT id, attempts, lease_until FROM job WHERE state = 'leased'"):
                if seen.setdefault((job, attempts), until) != until:
                    return True
            return False
        self.wait_for(is_renewed)

    def test_a_server_that_restarts_loses_nothing(self):
        worker = self.registered_worker()
        tuning = self.tuning("a.db", trials=24)
        self.wait_for(lambda: self.number("SELECT count(*) FROM result") > 2)
        worker.send_signal(signal.SIGSTOP)  # so that the server goes while both want something
        self.server.stop()
        worker.send_signal(signal.SIGCONT)
        self.wait_for(lambda: all("connecting again" in process.said.read_text()
                                  for process in (worker, tuning)))
        self.server.start()
        self.assertIn("24 trials: ", self.finish(tuning))
        self.check_each_has_one_result()
        self.check_records("a.db")
        self.assertNotIn("fault", [row[0] for row in self.rows("SELECT status FROM result")])

    def test_jobs_that_are_not_wanted_or_cost_two_workers_are_not_run(self):
        for worker in [self.worker("--idle-exit") for _ in range(4)]:  # all of them are the first
            self.finish(worker)
        self.assertEqual(self.number("SELECT count(*) FROM device"), 1)
        tuning = self.tuning("a.db")
        self.wait_for(lambda: self.rows("SELECT id FROM job"))
        tuning.kill()
        self.rows("UPDATE job SET wanted_until = now() - interval '1 s'")
        self.finish(self.worker("--idle-exit"))
        self.assertEqual(self.rows("SELECT DISTINCT state, attempts FROM job"), [["queued", "0"]])

        # Wanted again, but two workers were lost with it.
        self.rows("UPDATE job SET attempts = 2, state = 'leased', worker = 'x', lease_until = now()")
        tuning = self.tuning("a.db")
        self.registered_worker()
        self.wait_for(lambda: self.rows("SELECT job FROM result"))
        self.assertEqual(self.rows("SELECT status, message FROM result ORDER BY job LIMIT 1"),
                         [["fault", "2 workers that measured it were lost"]])
        self.finish(tuning)

    def test_errors_name_host_and_database_and_no_password(self):
        def refused(*arguments, expect, **environment):
            self.call(*arguments, expect=expect, **environment)
            self.assertNotIn("hunter2", self.error)
            return self.error

        def worker(url, expect, **environment):
            return refused("worker", "--fleet", url, expect=expect, **environment)

        self.assertIn("fleet '/nowhere/db'",
                      worker("postgresql://u@/db?host=/nowhere", 5, PGPASSWORD="hunter2"))
        self.assertIn("PGPASSWORD", worker("postgresql://u:hunter2@h/db", 2))
        self.assertIn("PGPASSWORD", worker("postgresql://u@h/db?password=hunter2", 2))
        for url in ("postgresql://u:hunter2@[h/db", "host=h password=hunter2", "mysql://u:hunter2@h"):
            self.assertIn("expected postgresql://", worker(url, 2))
        tune = ["tune", self.model, "--db", self.folder / "a.db", "--trials", "4", "--fleet"]
        self.assertIn("no worker for target 'native'", refused(*tune, self.url, expect=5))
        self.assertIn("no --worker", refused(*tune, self.url, "--worker", "x", expect=2))
        self.assertIn("have their own", refused(*tune, self.url, "--threads", "2", expect=2))
        self.assertIn("--emit", refused("tune", self.model, "--emit", "x", "--trials", "4", "--fleet",
                                        self.url, expect=2))
        self.finish(self.worker("--idle-exit"))
        self.assertIn("no worker on 'PDP-11'",
                      refused(*tune, self.url, "--device", "PDP-11", expect=5))
        self.finish(self.start("worker", "--fleet", self.url, "--threads", "2", "--idle-exit"))
        self.assertIn("2 threads'", refused(*tune, self.url, expect=2))
        self.rows("UPDATE version SET version = 99")
        self.assertIn("its tables are of version 99; this tcc has version 1", worker(self.url, 5))


if __name__ == "__main__":
    main()
