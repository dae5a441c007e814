#!/usr/bin/env python3
"""`tcc bench`: loads, percentiles and what it measures. Nothing here depends on how fast anything is."""

import json
import math
import os
import re
import struct

from tcc_command import CommandTest, main

FIRST_LINE = re.compile(r"\d+ runs, \d+ threads: min \d+\.\d{3,} ms, median \d+\.\d{3,} ms, "
                        r"p90 \d+\.\d{3,} ms, p99 \d+\.\d{3,} ms")
QUICK = ["--warm-up", "1"]


def npy(path, shape, values):
    """Writes an array of f32 without NumPy."""
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode()
                     + struct.pack(f"<{len(values)}f", *values))


class Bench(CommandTest):
    def setUp(self):
        super().setUp()
        self.model = self.export("dqn", "--small")

    def compiled(self, target="native"):
        path = self.folder / f"{target}.tcc"
        self.call("compile", self.model, "--target", target, "-o", path, "--progress", "none")
        return path

    def bench(self, *arguments, **keywords):
        return json.loads(self.call("bench", *arguments, "--json", *QUICK, **keywords))

    def refused(self, message, *arguments, expect=2):
        self.call("bench", *arguments, expect=expect)
        self.assertIn(message, self.error)

    def check_report(self, report):
        """What holds for every report; the number of its runs."""
        self.assertEqual(report["schema"], "tcc.bench/1")
        self.assertEqual(report["samples"], sum(report["stream_runs"]))
        self.assertGreaterEqual(report["samples"], report["iterations"])
        self.assertGreater(report["throughput_per_s"], 0)
        told = [ms for ms in report["percentiles"].values() if ms is not None]
        times = [report["min_ms"], *told, report["max_ms"]]
        self.assertEqual(times, sorted(times))
        self.assertLessEqual(report["p90_ms"], report["p99_ms"])
        for percent, ms in report["percentiles"].items():
            beyond = report["samples"] * (1 - float(percent) / 100)
            self.assertEqual(ms is None, beyond < 1 - 1e-9, percent)
        environment = report["environment"]
        self.assertTrue(environment["cpu"])
        self.assertEqual(environment["threads"], report["threads"])
        self.assertIn(f"tcc {environment['version']}\n", self.call("version"))
        others = environment["percent_of_others"]
        self.assertTrue(others is None or 0 <= others <= 100)
        return report["samples"]

    def test_the_first_line_stays_and_percentiles_and_throughput_follow(self):
        text = self.call("bench", self.compiled(), "--threads", 2, *QUICK).splitlines()
        self.assertRegex(text[0], FIRST_LINE)
        self.assertEqual(text[0].split(":")[0], "50 runs, 2 threads")
        self.assertEqual(text[1].split(), ["percentile", "ms", "runs", "beyond"])
        self.assertEqual([line.split()[0] for line in text[2:6]], ["p50", "p90", "p95", "p99"])
        self.assertEqual([line.split()[2] for line in text[2:6]], ["25", "5", "2", "0"])
        self.assertEqual(text[5].split()[1], "-")
        self.assertRegex(text[6], r"^throughput [\d.]+ runs/s, 1 stream x 2 threads$")
        self.assertEqual(len(text), 7)

    def test_a_percentile_is_told_where_a_run_lies_beyond_it(self):
        report = self.bench(self.compiled(), "--iterations", 200, "--percentiles", "50,99,99.5,99.9")
        self.assertEqual(self.check_report(report), 200)
        self.assertEqual(list(report["percentiles"]), ["50", "99", "99.5", "99.9"])
        self.assertIsNotNone(report["percentiles"]["99.5"])
        self.assertIsNone(report["percentiles"]["99.9"])

    def test_the_median_and_the_p50_are_one_number(self):
        report = self.bench(self.compiled(), "--iterations", 4)
        self.assertEqual(report["median_ms"], report["percentiles"]["50"])
        text = self.call("bench", self.compiled(), "--iterations", 4, *QUICK).splitlines()
        median = re.search(r"median ([\d.]+) ms", text[0])[1]
        self.assertEqual(text[2].split()[:2], ["p50", median])

    def test_streams_share_the_threads_and_all_of_them_run(self):
        artefact = self.compiled()
        for streams, threads, each in [(1, 3, 3), (2, 4, 2), (4, 2, 1), (3, 1, 1)]:
            with self.subTest(streams=streams, threads=threads):
                report = self.bench(artefact, "--streams", streams, "--threads", threads)
                self.check_report(report)
                self.assertEqual(report["threads"], streams * each)
                self.assertEqual(len(report["stream_runs"]), streams)
                self.assertTrue(all(report["stream_runs"]), report["stream_runs"])
        text = self.call("bench", artefact, "--streams", 4, "--threads", 4, *QUICK)
        self.assertIn(" runs/s, 4 streams x 1 thread\n", text)

    def test_streams_that_do_not_share_the_threads_evenly_are_warned_of(self):
        artefact = self.compiled()
        for threads, told in [(1, True), (3, True), (4, False)]:
            with self.subTest(threads=threads):
                self.call("bench", artefact, "--streams", 2, "--threads", threads, *QUICK)
                self.assertEqual("each run on" in self.error, told)
                warning = f"2 streams of 1 thread each run on 2 threads, not on {threads}\n"
                self.assertEqual(warning in self.error, told)

    def test_short_times_and_low_rates_have_three_digits(self):
        text = self.call("bench", self.compiled(), "--threads", 1, "--rate", 1e-9, "--iterations", 1,
                         *QUICK).splitlines()
        self.assertRegex(text[0], FIRST_LINE)
        for number in re.findall(r"([\d.]+) ms", text[0]):
            self.assertGreaterEqual(len(number.replace(".", "").lstrip("0")), 3, text[0])
        self.assertRegex(text[-1], r"^throughput (0\.00000000100) runs/s of \1 that arrive, 1 stream")

    def test_requests_that_arrive_are_all_served(self):
        report = self.bench(self.compiled(), "--rate", 400, "--duration", 0.25, "--streams", 2)
        self.assertEqual(self.check_report(report), 100)
        self.assertEqual(report["rate_per_s"], 400)
        # The last request arrives after 99 of 400 parts of a second: no rate is higher.
        self.assertLessEqual(report["throughput_per_s"], 100 / (99 / 400))
        text = self.call("bench", self.compiled(), "--rate", 1000, *QUICK)
        self.assertRegex(text, r"throughput [\d.]+ runs/s of 1000 that arrive, 1 stream x")

    def test_a_duration_takes_at_least_the_iterations(self):
        artefact = self.compiled()
        report = self.bench(artefact, "--duration", 0.2, "--iterations", 2)
        runs = self.check_report(report)
        self.assertGreaterEqual(runs / report["throughput_per_s"], 0.2)
        report = self.bench(artefact, "--duration", 0, "--iterations", 12)
        self.assertEqual(self.check_report(report), 12)

    def test_others_are_told_of_where_the_time_was_long_enough(self):
        report = self.bench(self.compiled(), "--duration", 0.3)
        self.assertIsNotNone(report["environment"]["percent_of_others"])
        busy = report["environment"]["percent_of_others"] > 5
        self.assertEqual("other processes took" in self.error, busy)

    def test_a_model_is_compiled_first_and_only_in_memory(self):
        before = sorted(self.folder.iterdir())
        text = self.call("bench", self.model, *QUICK)
        self.assertRegex(text, FIRST_LINE)
        self.assertRegex(self.error, r"tcc: compiled for native in [\d.]+ s, \d+ kernels; no file")
        self.assertEqual(sorted(self.folder.iterdir()), before)
        report = self.bench(self.model, "--progress", "none", "--numeric", "bf16")
        self.check_report(report)
        self.assertEqual(report["target"], "native")
        self.assertNotIn("compiled", self.error)
        kernels = [kernel["name"] for kernel in report["kernels"]]
        self.assertTrue(kernels)

    def test_the_interpreter_is_a_target_too(self):
        report = self.bench(self.model, "--target", "reference", "--iterations", 1, "--streams", 2)
        self.check_report(report)
        self.assertEqual(report["target"], "reference")

    def test_options_of_compiling_are_refused_for_a_compiled_model(self):
        artefact = self.compiled()
        for options, message in [(["--dim", "N=1"], "--dim is for a model that is compiled now"),
                                 (["--shape", "x=1"], "--shape is for"),
                                 (["--bind", "x=y.npy"], "--bind is for"),
                                 (["--allow-symlinks"], "--allow-symlinks is for"),
                                 (["--external-data-dir", "."], "--external-data-dir is for"),
                                 (["--target", "native"], "expected a compiled model or --target"),
                                 (["--db", "m.db"], "has its schedules already"),
                                 (["--schedule", "."], "has its schedules already"),
                                 (["--numeric", "fp16"], "a compiled one says its own")]:
            self.refused(message, artefact, *options)

    def test_inputs_are_those_that_are_given(self):
        artefact = self.compiled()
        entry = json.loads(self.call("inspect", artefact, "--json"))["inputs"][0]
        shape = tuple(map(int, re.fullmatch(r"f32\[([\dx]+)\]", entry["type"])[1].split("x")))
        good, short = self.folder / "x.npy", self.folder / "short.npy"
        npy(good, shape, [0.5] * math.prod(shape))
        npy(short, (1,), [0.5])
        self.check_report(self.bench(artefact, "--input", f"{entry['name']}={good}"))
        self.check_report(self.bench(artefact, "--random", 7))
        self.refused(entry["name"], artefact, "--input", f"{entry['name']}={short}", expect=4)
        self.refused("unknown", artefact, "--input", f"unknown={good}", expect=4)
        self.refused("--random", artefact, "--input", f"{entry['name']}={good}", "--random", 7)

    def test_numbers_out_of_range_are_refused_before_anything_is_compiled(self):
        for options, message in [(["--percentiles", "100"], "above 0 and below 100, got '100'"),
                                 (["--percentiles", "90,50"], "expected ascending percentages"),
                                 (["--rate", "-1"], "--rate: expected 0 to 1000000, got -1"),
                                 (["--warm-up", "1e9"], "--warm-up: expected 0 to 60000"),
                                 (["--duration", "nan"], "--duration: expected 0 to 3600"),
                                 (["--streams", "0"], "--streams"),
                                 (["--iterations", "0"], "--iterations")]:
            self.refused(message, "nowhere.onnx", *options)

    def test_a_trace_has_a_track_a_thread_and_opens_by_perfettos_rules(self):
        trace = self.folder / "t.json"
        self.call("bench", self.compiled(), "--threads", 2, "--streams", 1, "--trace", trace, *QUICK)
        events = json.loads(trace.read_text())["traceEvents"]
        needed = {"M": {"args"}, "X": {"ts", "dur", "cat", "args"}, "C": {"ts", "args"},
                  "s": {"ts", "id", "cat"}, "f": {"ts", "id", "cat", "bp"}}
        for event in events:
            self.assertLessEqual({"name", "pid", "tid"} | needed[event["ph"]], set(event))
            self.assertGreaterEqual(event.get("ts", 0), 0)
            self.assertGreaterEqual(event.get("dur", 0), 0)
        names = {event["tid"]: event["args"]["name"] for event in events
                 if event["name"] == "thread_name"}
        self.assertEqual(names, {0: "thread 0, the caller", 1: "thread 1"})
        kernels = json.loads(self.call("inspect", self.compiled(), "--json"))["kernels"]
        calls = [event["name"] for event in events if event.get("cat") == "kernel"]
        self.assertEqual(set(calls), {kernel["name"] for kernel in kernels})

    def test_what_is_neither_compiled_nor_a_model_is_refused(self):
        other = self.folder / "other"
        other.write_text("text")
        self.refused("other", other, expect=4)
        self.refused("nowhere.tcc", "nowhere.tcc", expect=4)

    def test_a_gpus_streams_share_its_weights(self):
        driver = os.environ.get("TCC_TEST_CUDA_DRIVER", "")
        if not driver:
            self.skipTest("no emulated driver in TCC_TEST_CUDA_DRIVER")
        report = self.bench(self.model, "--target", "sm_86", "--iterations", 4, "--streams", 2,
                            TCC_CUDA_DRIVER=driver, TCC_EMULATED_SM="86")
        self.check_report(report)
        self.assertTrue(all(report["stream_runs"]))
        self.assertEqual(report["environment"]["gpu"], "emulated sm_86")


if __name__ == "__main__":
    main()
