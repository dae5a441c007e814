#!/usr/bin/env python3
"""usage: fleet_scaling.py [--tcc FILE] [--seconds 0.05] [--each 60] [--simulate 1000] [--json]

Measurements a second of a fleet of 1 to 8 workers, and the claims that its database bears. A server
in a temporary folder, the workers and their stand-ins are all on this machine. A stand-in is what
`tcc worker` starts in place of tcc-worker: it answers after --seconds, so that what is seen is the
queue and not kernels. Each worker has --each candidates that are in the queue before it starts.

The simulation runs the worker's own statements by pgbench: 100 connections in one process claim, and
report 16 results for each claim, for 1,000 workers, over 200,000 candidates of 100 tasks; first all that
the server can, then half of that. Latencies are those of the claims.
Needs PostgreSQL's programs, pgbench among them (Debian: postgresql).
"""

import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import postgres_server

ROOT = pathlib.Path(__file__).resolve().parent.parent
CONNECTIONS = 100
TASKS, JOBS_OF_A_TASK = 100, 2000
RESULTS_OF_A_CLAIM = 16

# Frames as runtime/measure/measure_protocol.h has them: Ready to Hello, Measured to Task and Measure.
STAND_IN = """#!{python} -IS
import os, struct, time
def read(count):
    got = b""
    while len(got) < count:
        more = os.read(3, count - len(got))
        if not more:
            os._exit(0)
        got += more
    return got
def send(kind, payload):
    os.write(3, struct.pack("<II", kind, len(payload)) + payload)
while True:
    kind, length = struct.unpack("<II", read(8))
    payload = read(length)
    if kind == 1:
        send(2, payload[:8] + struct.pack("<I", 8) + b"stand-in" + b"\\0")
        continue
    if kind == 4:
        time.sleep({seconds})
    send(5, (payload[:8] if kind == 4 else bytes(8)) +
         struct.pack("<BddqddI", 0, 1e-3, 0, 1, 0, 0, 0))
"""

ADD_TASKS = """
INSERT INTO task SELECT sha256(('task ' || n)::bytea), 'task ' || n, message, reference
  FROM (SELECT * FROM task WHERE name NOT LIKE 'task %' LIMIT 1) one, generate_series(1, {tasks}) n;
INSERT INTO blob SELECT sha256(('blob ' || n)::bytea), '' FROM generate_series(1, {jobs}) n
  ON CONFLICT DO NOTHING;
INSERT INTO job(device, task, artefact, stop_beyond, wanted_until)
  SELECT device.id, sha256(('task ' || t)::bytea), sha256(('blob ' || n)::bytea), 0,
         now() + interval '1 h'
  FROM device, generate_series(1, {tasks}) t, generate_series(1, {jobs}) n;
ANALYZE job;
"""


def statement(name):
    """One of the worker's own statements."""
    text = (ROOT / "search/fleet/fleet_worker.cc").read_text()
    return re.search(rf'{name} = R"\((.*?)\)"', text, re.S)[1]


class Fleet:
    def __init__(self, options, folder):
        self.tcc, self.folder = options.tcc, folder
        stand_in = folder / "stand_in"
        stand_in.write_text(STAND_IN.format(python=sys.executable, seconds=options.seconds))
        stand_in.chmod(0o755)
        self.environment = {**os.environ, "TCC_WORKER": str(stand_in)}
        self.server = postgres_server.Server("max_connections=200")

    def sql(self, text):
        return self.server.sql(f"SET search_path TO tcc_fleet; {text}").stdout.split()

    def worker(self, number, *options):
        environment = {**self.environment, "TCC_CACHE_DIR": str(self.folder / f"cache{number}")}
        return subprocess.Popen([self.tcc, "worker", "--fleet", self.server.url(), "--threads", "1",
                                 *options], env=environment, stderr=subprocess.DEVNULL)

    def make_task(self):
        """A task as a tuner writes it, which the others are copies of."""
        self.worker(0, "--idle-exit").wait()
        model = self.folder / "dqn.onnx"
        subprocess.run([self.tcc, "zoo", "export", "dqn", "--small", "-o", model], check=True)
        worker = self.worker(0)
        subprocess.run([self.tcc, "tune", model, "--db", self.folder / "f.db", "--trials", "1",
                        "--fleet", self.server.url(), "--progress", "none"], check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        worker.terminate()
        worker.wait()

    def empty(self):
        self.sql("TRUNCATE result, job; DELETE FROM task WHERE name LIKE 'task %';")

    def rate(self, workers, each):
        """Measurements a second while all workers are busy or have been."""
        self.empty()
        self.sql(ADD_TASKS.format(tasks=1, jobs=workers * each))
        processes = [self.worker(n, "--idle-exit") for n in range(workers)]
        for process in processes:
            process.wait()
        count, seconds = self.sql("SELECT count(*), extract(epoch FROM max(at) - min(at)) FROM "
                                  "result")[0].split("|")
        return (int(count) - 1) / float(seconds)

    def simulate(self, workers, seconds, rate=0):
        """{name: number} of the database alone, `rate` transactions a second; 0: all it can."""
        self.empty()
        self.sql(ADD_TASKS.format(tasks=TASKS, jobs=JOBS_OF_A_TASK))
        device, = self.sql("SELECT id FROM device LIMIT 1")
        each = workers // CONNECTIONS
        me = "('w' || :w)"
        one = f"(SELECT id FROM job WHERE worker = {me} AND state = 'leased' ORDER BY id LIMIT 1)"
        values = {"kClaim": [device, me, "''", "'30 s'"],
                  "kReport": [one, me, "'ok'", "1", "0", "1", "0", "0", "''"]}
        scripts = []
        for (name, parameters), weight in zip(values.items(), (1, RESULTS_OF_A_CLAIM)):
            text = statement(name)
            for i, value in enumerate(parameters, 1):
                text = text.replace(f"${i}", value)
            file = self.folder / f"{name}.sql"
            file.write_text(f"\\set w :client_id * {each} + random(0, {each - 1})\n{text.strip()};\n")
            scripts += ["-f", f"{file}@{weight}"]
        for old in self.folder.glob("log*"):
            old.unlink()
        subprocess.run([postgres_server.program("pgbench"), "-n", "-c", str(CONNECTIONS), "-j", "1",
                        "-T", str(seconds), "-l", "--log-prefix", self.folder / "log", *scripts,
                        *(["-R", str(rate)] if rate else []),
                        self.server.url() + "&options=-csearch_path%3Dtcc_fleet"],
                       check=True, stdout=subprocess.DEVNULL)
        rows = [line.split() for file in self.folder.glob("log*") for line in
                file.read_text().splitlines()]
        claims = sorted(int(row[2]) / 1e3 for row in rows if row[3] == "0")
        results, = self.sql("SELECT count(*) FROM result")
        return {"workers": workers, "connections": CONNECTIONS, "rate": len(rows) / seconds,
                "claims_per_s": len(claims) / seconds, "results_per_s": int(results) / seconds,
                "median_ms": claims[len(claims) // 2], "p99_ms": claims[len(claims) * 99 // 100]}


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tcc", type=os.path.abspath, default="build/release/bin/tcc")
    parser.add_argument("--seconds", type=float, default=0.05)
    parser.add_argument("--each", type=int, default=60)
    parser.add_argument("--simulate", type=int, default=1000, help="workers; 0: none")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if reason := postgres_server.missing():
        sys.exit(f"fleet_scaling: {reason}")
    with tempfile.TemporaryDirectory() as name:
        fleet = Fleet(options, pathlib.Path(name))
        try:
            fleet.make_task()
            rates = {n: fleet.rate(n, options.each) for n in range(1, 9)}
            simulation = []
            if options.simulate:
                simulation.append(fleet.simulate(options.simulate, 15))
                simulation.append(fleet.simulate(options.simulate, 15, simulation[0]["rate"] / 2))
        finally:
            fleet.server.close()
    if options.json:
        print(json.dumps({"rates": rates, "simulation": simulation}, indent=2))
        return
    for workers, rate in rates.items():
        print(f"{workers} workers  {rate:6.1f} measurements/s  "
              f"{rate * options.seconds / workers:4.0%} of {workers} x {1 / options.seconds:g}/s")
    for row in simulation:
        print("{workers} workers over {connections} connections: {claims_per_s:.0f} claims/s, "
              "{results_per_s:.0f} results/s, a claim takes {median_ms:.1f} ms, p99 {p99_ms:.1f} ms"
              .format(**row))


if __name__ == "__main__":
    main()
