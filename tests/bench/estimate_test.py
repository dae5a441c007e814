#!/usr/bin/env python3
"""usage: estimate_test.py TCC_BENCH

tcc-bench estimate reads measurements, plain and packed, predicts each of them and judges the order.
"""

import ctypes
import ctypes.util
import itertools
import json
import lzma
import math
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import unittest

BENCH = sys.argv[1]
TARGET = ["--target", "x86-64-v3"]
FIGURES = ["pair_accuracy", "regret_first", "regret_16", "spearman"]


def product(rows):
    return f"""combiner sum_f32(a: f32 = 0.0; b: f32) = (a + b)
fn kernel(A: f32[{rows}, 12], B: f32[12, 24], C: f32[{rows}, 24]) tensor {{
  for i in 0..{rows} @mm/i {{ for j in 0..24 @mm/j {{ for k in 0..12 @mm/k {{
    block mm(i: spatial {rows} = i, j: spatial 24 = j, k: reduce 12 = k) {{
      reduce sum_f32 init (C[i, j]) with (A[i, k] * B[k, j])
    }}
  }} }} }}
}}
"""


TILED = """tile mm.i.1 1 16
tile mm.j.1 1 24 choice 1 2 4 8
split mm/i [mm.i.1]
split mm/j [mm.j.1]
reorder [mm/i.0, mm/j.0, mm/k, mm/i.1, mm/j.1]
decompose_reduction mm mm/k
vectorize mm/j.1
unroll mm/i.1
"""
IN_ROWS = """tile mm.i.1 1 16
split mm/i [mm.i.1]
parallel mm/i.0
"""


def record(**changes):
    """A measurement; a change to None leaves the field out."""
    fields = {"kernel": "product", "fn": product(16), "trace": TILED,
              "set": {"mm.i.1": 4, "mm.j.1": 8}, "seconds": 1e-6, "noise": 0.02, "threads": 2,
              "policy": "warm", "status": "ok"}
    fields.update(changes)
    return {name: value for name, value in fields.items() if value is not None}


def task(rows, **changes):
    """20 points of two sketches, at most three times as slow as the best."""
    points = [(TILED, {"mm.i.1": i, "mm.j.1": j})
              for i, j in itertools.product([1, 2, 3, 4, 6, 12], [2, 4, 8])]
    points += [(IN_ROWS, {"mm.i.1": i}) for i in [2, 5]]
    draw = random.Random(rows)
    return [record(fn=product(rows), trace=trace, set=sizes, seconds=draw.uniform(1e-6, 2.8e-6),
                   **changes) for trace, sizes in points]


RECORDS = task(16) + task(40) + task(40, threads=1)[:5]
# Records that are not predicted: not timed, a size too few, a value that is no choice, an unknown
# step.
WITHOUT = [record(status="hang", seconds=None), record(set={"mm.i.1": 4}),
           record(set={"mm.i.1": 4, "mm.j.1": 3}), record(trace="fold mm/i\n")]


def lines_of(records):
    return "".join(json.dumps(one) + "\n" for one in records).encode()


def packed_by_zstd(content):
    """None where this machine has no library."""
    name = ctypes.util.find_library("zstd")
    if not name:
        return None
    library = ctypes.CDLL(name)
    for function in [library.ZSTD_compressBound, library.ZSTD_compress]:
        function.restype = ctypes.c_size_t
    library.ZSTD_compressBound.argtypes = [ctypes.c_size_t]
    library.ZSTD_compress.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p,
                                      ctypes.c_size_t, ctypes.c_int]
    room = library.ZSTD_compressBound(len(content))
    packed = ctypes.create_string_buffer(room)
    size = library.ZSTD_compress(packed, room, content, len(content), 3)
    return packed.raw[:size]


def tasks_of(records, predicted):
    """(seconds, prediction) of the points of each task."""
    tasks = {}
    for one, ln_seconds in zip(records, predicted):
        key = (one["fn"], one["threads"])
        tasks.setdefault(key, []).append((one["seconds"], ln_seconds))
    return list(tasks.values())


class Estimate(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def run_bench(self, *arguments):
        return subprocess.run([BENCH, "estimate", *map(str, arguments)], capture_output=True,
                              text=True, check=False, timeout=120)

    def file(self, name, content):
        path = self.folder / name
        path.write_bytes(content)
        return path

    def estimate(self, path, *options):
        run = self.run_bench("--records", path, *TARGET, *options)
        self.assertEqual(run.returncode, 0, run.stderr)
        return run

    def predictions(self, *paths):
        out = self.folder / "predicted"
        run = self.estimate(paths[0], "--predict", out,
                            *itertools.chain(*(["--records", path] for path in paths[1:])))
        return out.read_text().splitlines(), run.stderr

    def refused(self, path, *messages):
        run = self.run_bench("--records", path, *TARGET)
        self.assertGreater(run.returncode, 0, run.stderr)
        self.assertEqual(run.stdout, "")
        for message in messages:
            self.assertIn(message, run.stderr)

    def test_figures_are_those_of_the_predictions(self):
        path = self.file("r.jsonl", lines_of(RECORDS))
        figures = json.loads(self.estimate(path, "--json").stdout)
        self.assertEqual(set(figures), {"tasks", "points", "pairs", *FIGURES})
        for name in FIGURES:
            self.assertEqual(set(figures[name]), {"prior", "again", "random"})
        # A task of 5 points has pairs, and no share in the means.
        self.assertEqual(figures["tasks"], 2)
        self.assertEqual(figures["points"], len(RECORDS))
        lines, _ = self.predictions(path)
        tasks = tasks_of(RECORDS, [float(line.split()[0]) for line in lines])
        right, pairs = 0, 0
        for points in tasks:
            for (a, of_a), (b, of_b) in itertools.combinations(points, 2):
                if abs(math.log(a / b)) > 0.04:
                    right += 0.5 if of_a == of_b else (of_a < of_b) == (a < b)
                    pairs += 1
        self.assertEqual(figures["pairs"], pairs)
        self.assertAlmostEqual(figures["pair_accuracy"]["prior"], right / pairs)
        regrets = [min(points, key=lambda p: (p[1], -p[0]))[0] / min(points)[0] - 1
                   for points in tasks if len(points) >= 16]
        self.assertAlmostEqual(figures["regret_first"]["prior"], sum(regrets) / 2)
        self.assertLess(figures["regret_16"]["random"], figures["regret_first"]["random"])
        self.assertEqual(figures["pair_accuracy"]["random"], 0.5)
        self.assertEqual(figures["spearman"]["random"], 0)

    def test_measuring_again_is_only_as_wrong_as_the_noise(self):
        exact = self.file("exact.jsonl", lines_of(task(16, noise=0)))
        figures = json.loads(self.estimate(exact, "--json").stdout)
        self.assertEqual(figures["pair_accuracy"]["again"], 1)
        self.assertEqual(figures["regret_first"]["again"], 0)
        self.assertEqual(figures["regret_16"]["again"], 0)
        noisy = self.file("noisy.jsonl", lines_of(task(16, noise=0.2)))
        figures = json.loads(self.estimate(noisy, "--json").stdout)
        self.assertGreater(figures["regret_first"]["again"], 0)
        self.assertIn("\nmeasured again ", self.estimate(noisy).stdout)

    def test_records_that_cannot_be_replayed_have_no_figures(self):
        path = self.file("r.jsonl", lines_of(WITHOUT))
        self.refused(path, "unknown step 'fold'", "expected measured points that can be replayed")

    def test_packed_records_give_the_same_figures(self):
        content = lines_of(RECORDS)
        plain = self.estimate(self.file("r.jsonl", content), "--json").stdout
        packed = {"r.jsonl.xz": lzma.compress(content), "r.jsonl.zst": packed_by_zstd(content),
                  "two.jsonl.xz": lzma.compress(content[:3000]) + lzma.compress(content[3000:])}
        for name, archive in packed.items():
            if archive is None:
                continue
            with self.subTest(name):
                self.assertEqual(self.estimate(self.file(name, archive), "--json").stdout, plain)

    def test_every_record_has_a_line_of_predictions(self):
        mixed = [*WITHOUT[:2], *RECORDS[:3], *WITHOUT[2:], record(status="slow"), *RECORDS[20:22]]
        first = self.file("a.jsonl", lines_of(mixed))
        second = self.file("b.jsonl", lines_of(mixed[2:3]))
        lines, errors = self.predictions(first, second)
        self.assertEqual(len(lines), len(mixed) + 1)
        for number, one in enumerate(mixed):
            with self.subTest(number):
                if one in WITHOUT:
                    self.assertEqual(lines[number], "-")
                else:
                    self.assertTrue(re.fullmatch(r"-\d+\.\d{6} -", lines[number]), lines[number])
        self.assertEqual(lines[-1], lines[2])
        self.assertIn("'product': line 1: unknown step 'fold'", errors)

    def test_sizes_may_be_words(self):
        words = record(set=["mm.i.1=4", "mm.j.1=8"])
        lines, _ = self.predictions(self.file("r.jsonl", lines_of([record(), words])))
        self.assertEqual(lines[0], lines[1])

    def test_two_runs_write_the_same_bytes(self):
        path = self.file("r.jsonl", lines_of(RECORDS + WITHOUT))
        runs = []
        for name in ["first", "second"]:
            out = self.folder / name
            run = self.estimate(path, "--predict", out, "--json")
            text = self.estimate(path, "--by-task").stdout
            runs.append((run.stdout, run.stderr, text, out.read_bytes()))
        self.assertEqual(runs[0], runs[1])

    def test_held_out_tasks_are_judged_alone(self):
        path = self.file("r.jsonl", lines_of(RECORDS))
        points = {}
        for share in [0, 0.5, 1]:
            figures = json.loads(self.estimate(path, "--held-out", share, "--json").stdout)
            points[share] = figures["points"]
        self.assertEqual(points[0], 0)
        self.assertEqual(points[1], len(RECORDS))
        # The task of 40 rows is on one side with both numbers of threads.
        self.assertIn(points[0.5], [0, 20, 25, 45])

    def test_wrong_fields_are_refused_by_file_line_and_name(self):
        missing = {"field '" + name + "'": {name: None}
                   for name in ["fn", "set", "seconds", "threads", "status"]}
        wrong = {"field 'fn': expected a text, got 3": {"fn": 3},
                 "field 'trace': expected a text, got an array": {"trace": [1]},
                 "field 'seconds': expected a number, got \"1\"": {"seconds": "1"},
                 "field 'seconds': expected more than 0, got 0": {"seconds": 0},
                 "field 'seconds': expected more than 0, got -1": {"seconds": -1},
                 "field 'noise': expected a number, got \"low\"": {"noise": "low"},
                 "field 'threads': expected 1 to 4096, got 0": {"threads": 0},
                 "field 'policy': expected a text, got true": {"policy": True},
                 "field 'kernel': expected a text, got 3": {"kernel": 3},
                 "field 'set': expected sizes, got 4": {"set": 4},
                 "field 'set': field 'mm.i.1': expected a whole number, got 1.5": {"set": {"mm.i.1": 1.5}},
                 "field 'set': expected texts, got 4": {"set": [4]},
                 "field 'status': 'odd' is not known": {"status": "odd"}}
        for message, changes in {**missing, **wrong}.items():
            with self.subTest(message):
                content = lines_of([RECORDS[0], RECORDS[1], record(**changes), RECORDS[2]])
                self.refused(self.file("bad.jsonl", content), "bad.jsonl:3: ", message)

    def test_what_is_no_measurement_is_refused_by_line(self):
        whole = lines_of(RECORDS[:1])
        for text, message in [(b"nonsense\n", "expected a JSON object"),
                              (b"[1]\n", "expected a JSON object"),
                              (whole[:-10], "expected a JSON object"),
                              (whole.replace(b"product", b"\xff"), "expected a JSON object"),
                              (b"{}\n", "expected a measurement"),
                              (lines_of([record(trace=None)]), "field 'trace' is missing"),
                              (lines_of([record(workload="w")]),
                               "field 'fn': no line before has the function")]:
            with self.subTest(text[:20]):
                path = self.file("bad.jsonl", whole + b"\n" + text)
                self.refused(path, "bad.jsonl:3: ", message)

    def test_damaged_archives_and_missing_files_are_refused_by_name(self):
        content = lines_of(RECORDS)
        by_xz, by_zstd = lzma.compress(content), packed_by_zstd(content)
        archives = {"xz": [by_xz[:-20], by_xz[:len(by_xz) // 2], b"", content],
                    "zst": [] if by_zstd is None else [by_zstd[:-20], b"", content]}
        for kind, variants in archives.items():
            for archive in variants:
                with self.subTest(kind, size=len(archive)):
                    path = self.file(f"cut.jsonl.{kind}", archive)
                    self.refused(path, f"cut.jsonl.{kind}: expected a whole")
        self.refused(self.folder / "nowhere.jsonl", "nowhere.jsonl")

    def test_targets_that_the_records_are_not_of_are_refused(self):
        path = self.file("r.jsonl", lines_of(RECORDS[:1]))
        for target, message in [("abacus", "unknown target 'abacus'"),
                                ("sm_86", "expected loops of a GPU"),
                                ("reference", "--target reference: expected a CPU")]:
            with self.subTest(target):
                run = self.run_bench("--records", path, "--target", target)
                self.assertGreater(run.returncode, 0)
                self.assertIn(message, run.stderr)
                self.assertEqual(run.stdout, "")

    def test_no_records_and_a_share_out_of_range_are_refused(self):
        run = self.run_bench()
        self.assertEqual(run.returncode, 2, run.stderr)
        self.assertIn("expected --records", run.stderr)
        path = self.file("r.jsonl", lines_of(RECORDS[:2]))
        for share in ["2", "-1", "nan", "-nan", "half"]:
            with self.subTest(share):
                run = self.run_bench("--records", path, *TARGET, f"--held-out={share}")
                self.assertEqual(run.returncode, 2, run.stderr)
                self.assertIn("--held-out", run.stderr)
                self.assertEqual(run.stdout, "")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
