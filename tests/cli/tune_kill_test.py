#!/usr/bin/env python3
"""tcc tune loses no recorded trial: its processes are killed, its disk fills up or is read-only.

TCC_KILL_ROUNDS is the number of kills (8), TCC_KILL_SEED chooses their moments (1).
"""

import contextlib
import ctypes
import os
import pathlib
import random
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
import unittest

from tcc_command import CommandTest, main

ROUNDS = int(os.environ.get("TCC_KILL_ROUNDS", "8"))
SEED = int(os.environ.get("TCC_KILL_SEED", "1"))

ENOUGH = 300  # seconds for what takes a few
ORPHAN_SECONDS = 2
MANY_TRIALS = 200  # more than a run gets to before it is killed
FEW_TRIALS = 40    # a run gets to its end
ROUNDS_OF_A_FILE = 10  # then a new one, as small kernels have few candidates
MARK = "TCC_KILL_TEST"

PR_CAPBSET_DROP = 24
CAP_DAC_OVERRIDE = 1


def drop_override():
    """Makes the modes of files bind root, from the next exec on."""
    ctypes.CDLL(None).prctl(PR_CAPBSET_DROP, CAP_DAC_OVERRIDE, 0, 0, 0)


def can_write_in_spite_of_modes(path):
    probe = "import os, sys; sys.exit(os.access(sys.argv[1], os.W_OK))"
    return subprocess.run([sys.executable, "-c", probe, path], preexec_fn=drop_override,
                          check=False).returncode != 0


def processes_with(mark):
    """(id, name) of the running processes that have inherited the mark in their environment."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        # A process may end meanwhile; one that waits to be collected has no environment.
        with contextlib.suppress(OSError):
            if mark.encode() in (entry / "environ").read_bytes().split(b"\0"):
                found.append((int(entry.name), (entry / "comm").read_text().strip()))
    return found


def measurements_in(path):
    """The rows by number; {}: there is no table yet; None: a writer has the file for itself."""
    connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=ENOUGH)
    try:
        return {row[0]: row for row in connection.execute(
            "SELECT * FROM measurement WHERE series = 0")}
    except sqlite3.OperationalError as error:
        return {} if "no such table" in str(error) else None
    finally:
        connection.close()


class TuneKill(CommandTest):
    def setUp(self):
        super().setUp()
        self.model = self.export("dqn", "--small")
        self.database = self.folder / "f.db"
        self.mark = f"{MARK}={os.getpid()}-{self.id()}"
        name, value = self.mark.split("=")
        # A cache of its own has a lock of its own: other tests that tune are not waited for.
        self.environment = {**os.environ, name: value, "TCC_CACHE_DIR": str(self.folder / "cache")}
        self.copies = 0
        self.known = {}  # measurements that must stay

    def start(self, trials, **options):
        tuning = subprocess.Popen([self.tcc, "tune", self.model, "--db", self.database,
                                   "--trials", str(trials), "--progress", "none"],
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                  env=self.environment, **options)
        self.addCleanup(self.end, tuning)
        return tuning

    def end(self, tuning):
        if tuning.returncode is None:
            tuning.kill()
            tuning.communicate()

    def finish(self, tuning, expect=0):
        """Standard output and error of a run that ends by itself."""
        said, error = tuning.communicate(timeout=ENOUGH)
        self.assertEqual(tuning.returncode, expect, f"{said}\n{error}")
        return said, error

    def workers(self):
        return [process for process, name in processes_with(self.mark) if name == "tcc-worker"]

    def await_no_process(self):
        end = time.monotonic() + ORPHAN_SECONDS
        while processes_with(self.mark):
            self.assertLess(time.monotonic(), end, processes_with(self.mark))
            time.sleep(0.01)

    def await_rows(self, tuning, count):
        """Waits until a run has recorded so many measurements; fails if it ends before."""
        end = time.monotonic() + ENOUGH
        before = len(self.known)
        while self.remember_rows() < before + count:
            self.assertIsNone(tuning.poll(), "the run has ended")
            self.assertLess(time.monotonic(), end, "nothing is recorded")
            time.sleep(0.02)

    def remember_rows(self):
        """Reads beside the tuner. What a reader has seen was acknowledged."""
        rows = measurements_in(self.database) if self.database.exists() else {}
        if rows:
            self.assertEqual(self.known, {number: rows.get(number) for number in self.known})
            self.known = rows
        return len(self.known)

    def check_database(self):
        """Looks at a copy, so that the next run finds the file and its log as they were left."""
        self.copies += 1
        copy = self.folder / f"copy{self.copies}"
        copy.mkdir()
        for suffix in ("", "-wal", "-journal"):
            with contextlib.suppress(FileNotFoundError):
                shutil.copyfile(f"{self.database}{suffix}", copy / f"f.db{suffix}")
        connection = sqlite3.connect(copy / "f.db")
        with contextlib.closing(connection):
            self.assertEqual(connection.execute("PRAGMA integrity_check").fetchall(), [("ok",)])
            self.assertEqual(connection.execute("PRAGMA foreign_key_check").fetchall(), [])
            tables = connection.execute("SELECT name FROM sqlite_master WHERE "
                                        "name = 'measurement'").fetchall()
            if not tables:
                self.assertEqual(self.known, {})
                return
            # A comparison in place takes the place of the one before.
            rows = {row[0]: row for row in connection.execute(
                "SELECT * FROM measurement WHERE series = 0")}
            self.assertEqual(self.known, {number: rows.get(number) for number in self.known})
            twice = connection.execute(
                "SELECT candidate, environment, series FROM measurement "
                "GROUP BY candidate, environment, series HAVING count(*) > 1").fetchall()
            self.assertEqual(twice, [])
            # A kill is nobody's fault.
            blamed = connection.execute("SELECT * FROM measurement WHERE "
                                        "message LIKE '%SIGKILL%'").fetchall()
            self.assertEqual(blamed, [])
        self.known = rows
        self.assertEqual(list(self.database.parent.glob("*.damaged*")), [])

    def kill_parent(self, choice):
        tuning = self.start(MANY_TRIALS)
        if choice.random() < 0.3:
            time.sleep(choice.uniform(0, 0.6))  # still without a measurement
        else:
            self.await_rows(tuning, choice.randint(1, 40))
            time.sleep(choice.uniform(0, 0.1))
        self.remember_rows()
        self.assertIsNone(tuning.poll())
        tuning.kill()
        tuning.communicate(timeout=ENOUGH)
        self.await_no_process()

    # A worker that has measured is ready. One that is killed before that cannot be started.
    def kill_worker(self, choice):
        tuning = self.start(FEW_TRIALS)
        self.await_rows(tuning, choice.randint(1, 8))
        time.sleep(choice.uniform(0, 0.03))
        workers = self.workers()
        while not workers:  # a new one is being started
            self.assertIsNone(tuning.poll(), "the run has ended with its worker alive")
            workers = self.workers()
        self.assertLessEqual(len(workers), 2)  # one for candidates, one for the network
        os.kill(choice.choice(workers), signal.SIGKILL)
        said, _ = self.finish(tuning)
        self.assertRegex(said, f"(?m)^{FEW_TRIALS} trials: ")
        self.await_no_process()

    def test_no_kill_loses_a_trial(self):
        choice = random.Random(SEED)
        victims = [self.kill_worker if i % 3 == 2 else self.kill_parent for i in range(ROUNDS)]
        choice.shuffle(victims)
        for i, kill in enumerate(victims):
            if i % ROUNDS_OF_A_FILE == 0:
                self.database = self.folder / f"{i}.db"
                self.known = {}
            with self.subTest(round=i, victim=kill.__name__, seed=SEED):
                before = len(self.known)
                kill(choice)
                self.check_database()
                if kill == self.kill_worker:
                    self.assertGreaterEqual(len(self.known), before + FEW_TRIALS)
        self.finish(self.start(4))
        self.check_database()

    def tune_with_modes(self):
        """The error of a run that is refused, without root's right to write everywhere."""
        _, error = self.finish(self.start(4, preexec_fn=drop_override), expect=4)
        self.assertIn(str(self.database), error)

    def test_a_database_that_cannot_be_written_is_refused_by_name(self):
        self.finish(self.start(4))
        before = self.database.read_bytes()
        self.database.chmod(0o444)
        if can_write_in_spite_of_modes(self.database):
            self.skipTest("this user can write a read-only file")
        with self.subTest("file"):
            self.tune_with_modes()
        self.database.chmod(0o644)
        with self.subTest("folder"):
            self.folder.chmod(0o555)
            self.addCleanup(self.folder.chmod, 0o755)
            self.tune_with_modes()
        self.assertEqual(self.database.read_bytes(), before)

    def test_a_full_disk_keeps_what_was_recorded(self):
        disk = self.folder / "disk"
        disk.mkdir()
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", disk],
                                 capture_output=True, text=True, check=False)
        if mounted.returncode != 0:
            self.skipTest(f"mounting is refused: {mounted.stderr.strip()}")
        self.addCleanup(subprocess.run, ["umount", "--lazy", disk], check=True)
        self.database = disk / "f.db"
        self.finish(self.start(6))
        self.check_database()
        self.assertGreaterEqual(len(self.known), 6)

        # The rest of the disk but for what opening takes and a few trials.
        free = shutil.disk_usage(disk).free
        (disk / "filler").write_bytes(bytes(max(free - (256 << 10), 0)))
        tuning = self.start(MANY_TRIALS)
        _, error = tuning.communicate(timeout=ENOUGH)
        self.assertGreater(tuning.returncode, 0, error)
        self.assertRegex(error, re.escape(str(self.database)) + ".*no space left")
        self.await_no_process()
        self.check_database()

        before = len(self.known)
        (disk / "filler").unlink()
        self.finish(self.start(2))
        self.check_database()
        self.assertGreater(len(self.known), before)


if __name__ == "__main__":
    main()
