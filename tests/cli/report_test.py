#!/usr/bin/env python3
"""tcc report: the folder of a run becomes one page that stands alone."""

import html.parser
import json
import os
import re
import shutil
import subprocess
import sys

from tcc_command import CommandTest, main

VOID = {"meta", "br", "hr", "img", "input", "link"}
HOSTILE = "</td><script>alert('1')</script>&amp;\"<img src=x onerror=alert(2)>"
CHROMES = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"]
WIDTHS = [1280, 400]


class Page(html.parser.HTMLParser):
    """Elements, text and attributes of a page; complains of tags that do not balance."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.attributes, self.text, self.problems = [], [], [], [], []
        self.plots = []  # the shapes of each SVG: paths that draw data, and circles
        self.feed(text)
        self.close()
        self.problems += [f"<{tag}> stays open" for tag in self.open]

    def handle_starttag(self, tag, attributes):
        self.handle_startendtag(tag, attributes)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.tags.append(tag)
        self.attributes += attributes
        if tag == "svg":
            self.plots.append([])
        style = dict(attributes).get("class") or ""
        if tag in ("circle", "rect") or (tag == "path" and ("line" in style.split() or "cross" in style)):
            self.plots[-1].append(dict(attributes))

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.problems.append(f"</{tag}> at {self.getpos()}")

    def handle_data(self, data):
        if self.open[-1:] != ["style"]:
            self.text.append(data)

    def said(self):
        return "".join(self.text)


def trial(number, task="k", searcher="random", status="ok", measured=1e-4, best=1e-4, **more):
    return {"seconds": 0.5 * number, "kind": "trial", "trials": number, "task": task,
            "searcher": searcher, "status": status, "measured_seconds": measured,
            "best_seconds": best, "constructed_seconds": 1e-4, **more}


def task(name="k", best=5e-5, **more):
    return {"name": name, "key": "0", "runs": 2, "constructed_seconds": 1e-4, "best_seconds": best,
            "best_searcher": "random", "in_place_ratio": 0.5, "winner": "random", "trials": 2,
            "problem": None, "flops": 1e6, "moved_bytes": 4096,
            "constructed_schedule": "split i 4\nset t 4\n",
            "best_schedule": "split i 8\nset t 4\n", **more}


def ended(tasks, **more):
    return {"tcc": "0.1.0", "state": "ended", "arguments": ["tcc", "tune", "m.onnx"],
            "environment": {"target": "native", "device": "a CPU", "threads": 2,
                            "policy": "in-place"},
            "seed": 3, "budget": {"trials": 2}, "elapsed_seconds": 2.5, "policy": "in-place",
            "network": {"constructed_seconds": 3e-4, "best_seconds": 2e-4}, "tasks": tasks, **more}


class Report(CommandTest):
    def setUp(self):
        super().setUp()
        self.run_folder = self.folder / "run"
        self.output = self.folder / "report.html"

    def write_run(self, summary, events, cut=b""):
        self.run_folder.mkdir(exist_ok=True)
        if not isinstance(summary, (bytes, str)):
            summary = json.dumps(summary)
        if isinstance(summary, str):
            summary = summary.encode()
        (self.run_folder / "run.json").write_bytes(summary)
        lines = [event if isinstance(event, bytes) else json.dumps(event).encode()
                 for event in events]
        (self.run_folder / "events.jsonl").write_bytes(b"".join(b + b"\n" for b in lines) + cut)

    def report(self, what=None, *options):
        """The page of the run, or of another input, which is checked for all that every page must
        keep."""
        self.assertEqual(self.call("report", what or self.run_folder, "-o", self.output, *options),
                         "")
        text = self.output.read_text(encoding="utf-8")
        page = Page(text)
        self.assertEqual(page.problems, [])
        self.assertNotIn("script", page.tags)
        self.assertNotIn("img", page.tags)
        for name, value in page.attributes:
            self.assertNotIn(name, ["src", "href", "xlink:href", "action", "data", "srcset"])
            self.assertFalse(name.startswith("on"), (name, value))
        self.assertIn(("name", "viewport"), page.attributes)
        for word in ["url(", "@import", "\x00"]:
            self.assertNotIn(word, text)
        for shapes in page.plots:
            self.assertTrue(shapes)
            for shape in shapes:
                for value in shape.values():
                    self.assertNotRegex(value, "nan|inf")
        return page

    def assert_stands_alone(self):
        text = self.output.read_text(encoding="utf-8")
        for word in ["http", "src=", "<script"]:
            self.assertNotIn(word, text)

    def refused(self, *said, output=None, expect=4):
        self.call("report", self.run_folder, "-o", output or self.output, expect=expect)
        for word in said:
            self.assertIn(word, self.error)

    def tune(self):
        model = self.export("dqn", "--small")
        self.call("tune", model, "--db", self.folder / "f.db", "--trials", "24", "--progress",
                  "none", "--run", self.run_folder)
        return json.loads((self.run_folder / "run.json").read_text())

    def test_a_run_of_a_network_becomes_a_page(self):
        told = self.tune()
        page = self.report()
        self.assert_stands_alone()
        self.assertGreaterEqual(len(page.plots), 2)
        said = page.said()
        self.assertIn("24 trials", said)
        self.assertIn(told["environment"]["device"], said)
        self.assertIn(str(self.run_folder), said)  # the command line
        for row in told["tasks"]:
            self.assertIn(row["name"], said)
            self.assertGreaterEqual(row["flops"], 0)
            if row["best_searcher"] == "constructed":
                self.assertEqual(row["constructed_schedule"], row["best_schedule"])
        self.assertTrue(any(row["constructed_schedule"] for row in told["tasks"]))
        self.assertTrue(any(row["best_schedule"] for row in told["tasks"]))
        for name in {json.loads(line).get("searcher") for line in
                     (self.run_folder / "events.jsonl").read_text().splitlines()} - {None}:
            self.assertIn(name, said)

    def test_figures_are_those_of_the_events(self):
        self.write_run(
            ended([task("same0", 1e-4, in_place_ratio=None, winner=None,
                        best_schedule="split i 4\nset t 4\n"), task("faster0")]),
            [{"seconds": 0, "kind": "begin"},
             trial(1, "faster0", "constructed", fma_gflops=100.0),
             trial(2, "faster0", "random", measured=5e-5, best=5e-5),
             trial(3, "faster0", "tile", "wrong", None, 5e-5, message="element 3 is off"),
             trial(4, "faster0", "tile", "wrong", None, 5e-5, message="element 4 is off"),
             {"seconds": 2, "kind": "warning", "message": "too hot"},
             {"seconds": 2.5, "kind": "end", "state": "ended"}])
        page = self.report()
        self.assert_stands_alone()
        said = page.said()
        for text in ["2.00x", "0.693", "element 3 is off", "too hot", "20.0 %", "split i 8",
                     "Sum of runs: constructed 400 us, best 300 us, 1.33x",
                     "In the network: constructed 300 us, best 200 us, 1.50x"]:
            self.assertIn(text, said)
        self.assertNotIn("element 4 is off", said)
        self.assertLess(said.index("faster0"), said.index("same0"))
        # The network, the searchers, and the one kernel that became faster.
        self.assertEqual(len(page.plots), 3)
        self.assertEqual([value for name, value in page.attributes
                          if (name, value) == ("class", "differs")], ["differs"] * 2)

    def test_names_are_text_whatever_they_hold(self):
        for name in [HOSTILE, "nul\u0000 and bell\u0007", "\u202eleft", "x" * 5000]:
            self.write_run(
                ended([task(name, best_searcher=name, winner="other", problem=name,
                            best_schedule=name)],
                      arguments=["tcc", name], environment={"device": name, "target": [name, [1]]},
                      message=name),
                [trial(1, name, name, measured=5e-5, best=5e-5),
                 trial(2, name, "random", "fault", None, 5e-5, message=name),
                 {"seconds": 2, "kind": "warning", "message": name}])
            page = self.report()
            if name == HOSTILE:
                self.assertIn(name, page.said())

    def test_bytes_that_are_no_text_are_replaced(self):
        self.write_run(ended([]), [])
        summary = (self.run_folder / "run.json").read_bytes().replace(b"a CPU", b"a \xff\xc3 CPU")
        event = json.dumps(trial(1, "name")).encode().replace(b"name", b"na\xed\xa0\x80me")
        self.write_run(summary, [event])
        said = self.report().said()
        self.assertIn("a \ufffd\ufffd CPU", said)
        self.assertIn("na\ufffd\ufffd\ufffdme", said)

    def test_a_run_without_trials_has_a_page(self):
        self.write_run(ended([task(best=1e-4)]), [{"seconds": 0, "kind": "begin"}])
        page = self.report()
        self.assertEqual(len(page.plots), 1)
        self.assertIn("There was no trial", page.said())
        self.write_run({"state": "running"}, [])
        self.assertEqual(self.report().plots, [])
        self.write_run({"state": "failed", "message": "no worker"}, [])
        self.assertIn("no worker", self.report().said())

    def test_a_killed_run_shows_its_events_and_its_last_line_may_be_cut(self):
        whole = [trial(1, searcher="constructed"), trial(2, measured=5e-5, best=5e-5)]
        line = json.dumps(trial(3, measured=2e-5, best=2e-5)).encode()
        for length in [0, 1, 20, len(line) - 1]:
            self.write_run({"state": "running"}, whole, cut=line[:length])
            page = self.report()
            self.assertIn("2 trials", page.said())
            self.assertIn("each counts once", page.said())
            self.assertEqual(len(page.plots), 3)
        self.write_run({"state": "running"}, whole, cut=b"12")
        self.report()

    def test_an_interrupted_run_says_so(self):
        self.write_run(ended([task(in_place_ratio=None, winner=None)], state="interrupted",
                             network={"constructed_seconds": None, "best_seconds": None}),
                       [trial(1, measured=5e-5, best=5e-5)])
        said = self.report().said()
        self.assertIn("interrupted", said)
        self.assertNotIn("In the network:", said)

    def test_many_searchers_and_kernels_each_have_a_colour_and_a_plot(self):
        events, tasks = [], []
        for i in range(40):
            tasks.append(task(f"kernel{i}"))
            events.append(trial(2 * i + 1, f"kernel{i}", f"searcher{i}", measured=5e-5, best=5e-5))
            events.append(trial(2 * i + 2, f"kernel{i}", f"searcher{i}", "hang", None, 5e-5))
        self.write_run(ended(tasks), events)
        page = self.report()
        self.assertEqual(len(page.plots), 42)
        text = self.output.read_text()
        for i in range(40):
            self.assertEqual(text.count(f".s{i} {{"), 1)

    def test_many_trials_are_thinned_out_and_improvements_are_kept(self):
        events = [trial(i, measured=8e-5 if i == 777 else 2e-4, best=8e-5 if i >= 777 else 1e-4)
                  for i in range(1, 5001)]
        self.write_run(ended([task()]), events)
        circles = [shape for shape in self.report().plots[-1] if "cx" in shape]
        self.assertLessEqual(len(circles), 1001)
        self.assertEqual(sum(float(shape["r"]) == 4 for shape in circles), 1)

    def test_extreme_figures_are_drawn(self):
        for seconds in [1e-18, 1e-9, 1e20]:
            self.write_run(ended([task(best=seconds, runs=1e24, flops=1e24)], elapsed_seconds=1e24),
                           [trial(1, searcher="constructed", fma_gflops=1e-18),
                            trial(2, measured=seconds, best=seconds)])
            self.report()

    def test_what_is_no_run_is_refused_by_name(self):
        self.refused(str(self.run_folder), "not found")
        accepted = "; expected a compiled model, or a folder that tcc tune --run made"
        self.refused(accepted)
        os.mkfifo(self.run_folder)
        self.refused("not a folder" + accepted)
        self.run_folder.unlink()
        self.run_folder.mkdir()
        self.refused("run.json")
        (self.run_folder / "run.json").write_text('{"state": "ended"}')
        self.refused("events.jsonl")
        self.assertFalse(self.output.exists())

    def test_a_file_that_is_no_compiled_model_is_told_what_is_accepted(self):
        accepted = "; expected a compiled model, or a folder that tcc tune --run made"
        model = self.export("dqn", "--small")
        magic = self.compiled("dqn").read_bytes()[:7]
        for name, content, said in [
                ("gen.py", b"import onnx\n", "not a tcc artefact"),
                ("copy.onnx", model.read_bytes(),
                 "not a tcc artefact but an ONNX model, which has to be compiled first"),
                ("short.tcc", magic, "not a tcc artefact"),
                ("empty.tcc", b"", "not a tcc artefact but an empty file")]:
            with self.subTest(name):
                file = self.folder / name
                file.write_bytes(content)
                self.call("report", file, "-o", self.output, expect=4)
                self.assertEqual(self.error, f"tcc: {file}: {said}{accepted}\n")

    def test_a_broken_file_is_refused_by_its_line_and_field(self):
        for summary in ["", "{", "[]", "[" * 100000, '{"state": 3}', "{}", '{"state": "\\ud800"}']:
            self.write_run(summary, [])
            self.refused("run.json")
        for field, value in [("tasks", {}), ("tasks", [3]), ("network", 7),
                             ("elapsed_seconds", -1)]:
            self.write_run(ended([]) | {field: value}, [])
            self.refused("run.json", "task 1" if value == [3] else field)
        for field, value in [("runs", "two"), ("trials", 1.5), ("best_seconds", 1e300),
                             ("name", None)]:
            self.write_run(ended([task(), task("b") | {field: value}]), [])
            self.refused("task 2", field)
        for broken in [b"{", b"3", b"", b'{"seconds": 1}', b'{"kind": "trial", "seconds": -1}',
                       b'{"kind": "trial", "seconds": 1, "task": 3}', b"[" * 100000]:
            self.write_run(ended([]), [trial(1), broken, trial(2)])
            self.refused("events.jsonl", "line 2")
        self.assertFalse(self.output.exists())

    def test_an_unknown_state_is_refused_with_those_that_there_are(self):
        self.write_run(ended([], state="paused"), [])
        self.refused("run.json", "field 'state': expected one of running, ended, interrupted, "
                     "failed, got \"paused\"")
        self.write_run(ended([]), [trial(1), {"seconds": 2, "kind": "end", "state": "paused"}])
        self.refused("events.jsonl", "line 2", "field 'state'", "got \"paused\"")
        self.write_run(ended([]), [trial(1, status="fine")])
        self.refused("events.jsonl", "line 1", "field 'status': expected one of ok, slow, ",
                     "got \"fine\"")
        self.assertFalse(self.output.exists())

    def test_a_negative_count_is_refused(self):
        for fields, field in [({"trials": -1}, "trials"), ({"copied": -2}, "copied"),
                              ({"statuses": {"ok": -3}}, "ok"), ({"statuses": 7}, "statuses"),
                              ({"budget": {"trials": -4}}, "budget/trials"),
                              ({"budget": {"seconds": -5}}, "budget/seconds"),
                              ({"environment": {"threads": -6}}, "environment/threads"),
                              ({"phases": {"build": -0.5}}, "phases/build")]:
            with self.subTest(field):
                self.write_run(ended([]) | fields, [])
                self.refused("run.json", f"field '{field}': expected ", "got -"
                             if field != "statuses" else "an object")
        self.write_run(ended([task(trials=-1)]), [])
        self.refused("run.json", "task 1", "field 'trials': expected a whole number", "got -1")
        self.write_run(ended([]), [trial(1), trial(2) | {"trials": -2}])
        self.refused("events.jsonl", "line 2", "field 'trials': expected a whole number", "got -2")

    def test_a_trial_number_that_comes_twice_is_refused(self):
        for numbers, said in [([1, 2, 2], "expected 3 or more after trial 2, got 2"),
                              ([1, 3, 2], "expected 4 or more after trial 3, got 2"),
                              ([0], "expected 1 or more after trial 0, got 0")]:
            with self.subTest(numbers):
                self.write_run(ended([]), [trial(number) for number in numbers])
                self.refused("events.jsonl", f"line {len(numbers)}: field 'trials': {said}")
        without = {name: value for name, value in trial(1).items() if name != "trials"}
        self.write_run(ended([]), [without])
        self.refused("events.jsonl", "line 1", "field 'trials' is missing")

    def test_a_page_that_cannot_be_written_is_refused_and_the_old_one_stays(self):
        self.write_run(ended([task()]), [trial(1)])
        self.refused("absent", output=self.folder / "absent" / "report.html")
        self.refused(str(self.folder), output=self.folder)
        self.call("report", self.run_folder, expect=2)
        before = (self.run_folder / "run.json").read_bytes()
        self.refused("run.json", output=self.run_folder / "run.json", expect=2)
        self.assertEqual((self.run_folder / "run.json").read_bytes(), before)
        self.report()
        page = self.output.read_bytes()
        self.write_run("{", [])
        self.refused("run.json")
        self.assertEqual(self.output.read_bytes(), page)

    def compiled(self, network, *options):
        artefact = self.folder / f"{network}.tcc"
        self.call("compile", self.export(network, "--small"), "--target", "native", "-o", artefact,
                  *options)
        return artefact

    def test_a_compiled_model_becomes_a_page(self):
        artefact = self.compiled("resnet18")
        facts = json.loads(self.call("inspect", artefact, "--json"))
        page = self.report(artefact)
        self.assert_stands_alone()
        said = page.said()
        self.assertIn("Compiled model resnet18", said)
        for kernel in facts["kernels"]:
            schedule = json.loads(self.call("inspect", artefact, "--json", "--kernel",
                                            kernel["name"]))["schedule"]
            self.assertIn(schedule, said)
        for node in ["layer2.0.conv1", "layer4.1.relu"]:
            self.assertIn(node, said)
        self.assertEqual(len(page.plots), 1)  # the arena
        boxes = [shape for shape in page.plots[0] if "width" in shape]
        self.assertGreater(len(boxes), 10)
        for box in boxes:
            self.assertGreater(float(box["width"]), 0)
            self.assertGreaterEqual(float(box["y"]), 0)

    def test_kernels_of_a_compiled_model_are_timed_on_request(self):
        artefact = self.compiled("dqn")
        page = self.report(artefact, "--time", "--threads", "1")
        self.assertEqual(len(page.plots), 2)  # the roofline and the arena
        circles = [shape for shape in page.plots[0] if "cx" in shape]
        flops = [kernel["flops"] for kernel in
                 json.loads(self.call("inspect", artefact, "--json"))["kernels"]]
        self.assertEqual(len(circles), sum(work > 0 for work in flops))
        self.assertRegex(page.said(), r"on 1 thread of \S")
        self.assertIn("of its bound", page.said())

    def test_peaks_on_a_busy_machine_come_with_a_warning_on_the_page_and_on_standard_error(self):
        artefact = self.compiled("dqn")
        hogs = [subprocess.Popen([sys.executable, "-c", "while True: pass"])
                for _ in os.sched_getaffinity(0)]
        try:
            page = self.report(artefact, "--time", "--threads", "1")
        finally:
            for hog in hogs:
                hog.kill()
                hog.wait()
        told = re.search(r"other processes took \d+ % of the CPUs.*", self.error)
        self.assertIsNotNone(told, self.error)
        self.assertIn(told[0], page.said())

    def test_the_calls_and_the_work_of_a_timed_loop_are_those_of_a_run(self):
        artefact = self.compiled("lstm_lm")
        kernels = json.loads(self.call("bench", artefact, "--iterations", 1, "--warm-up", 0,
                                       "--json"))["kernels"]
        said = self.report(artefact, "--time").said()
        calls = sum(kernel["calls"] for kernel in kernels)
        self.assertGreater(calls, len(kernels) + 10)
        self.assertIn(f"called {calls} times in a run", said)
        work = sum(kernel["calls"] * kernel["flops"] for kernel in kernels)
        figure, unit = re.search(r"([\d.]+) ([kMG])FLOP in a run", said).groups()
        factor = {"k": 1e3, "M": 1e6, "G": 1e9}[unit]
        self.assertAlmostEqual(float(figure) * factor / work, 1, delta=0.01)
        self.assertNotIn("in a run", self.report(artefact).said())

    def test_each_row_of_a_timed_loop_agrees_with_itself(self):
        self.report(self.compiled("lstm_lm"), "--time")
        table = self.output.read_text().split("<h2>Kernels</h2>")[1].split("</table>")[0]
        rows = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row) for row in table.split("<tr>")[1:]]
        place = rows[0].index
        rows = [row for row in rows[1:] if row[place("GFLOP/s")]]
        self.assertTrue(rows)
        for row in rows:
            number, unit = row[place("work of a call")].split()
            work = float(number) * {"FLOP": 1, "kFLOP": 1e3, "MFLOP": 1e6}[unit]
            gflops = (int(row[place("calls in a run")]) * work
                      / (float(row[place("us in a run")]) * 1e3))
            self.assertAlmostEqual(float(row[place("GFLOP/s")]) / gflops, 1, delta=0.1)

    def test_a_loops_nodes_are_under_their_loop(self):
        said = self.report(self.compiled("lstm_lm")).said()
        self.assertIn("Loop", said)
        self.assertIn("  lstm1/Gemm", said)

    def test_every_colour_of_the_arena_is_in_its_legend(self):
        for network in ["lstm_lm", "resnet18"]:
            self.report(self.compiled(network))
            arena = self.output.read_text().split("<h2>Arena</h2>")[1].split("</section>")[0]
            legend = set(re.findall(r'class="swatch (\w+)"', arena))
            drawn = set(re.findall(r'<rect class="box (\w+)"', arena))
            self.assertTrue(drawn)
            self.assertLessEqual(drawn, legend)

    def test_the_summary_has_the_features_of_the_target(self):
        artefact = self.folder / "m.tcc"
        self.call("compile", self.export("dqn", "--small"), "--target", "x86-64-v3", "-o", artefact)
        features = json.loads(self.call("inspect", artefact, "--json"))["cpu_features"]
        self.assertIn("avx2", features)
        self.assertIn(", ".join(features), self.report(artefact).said())

    def test_a_compiled_model_without_notes_says_so(self):
        page = self.report(self.compiled("dqn", "--notes", "none"))
        self.assertIn("compiled without notes", page.said())
        self.assertEqual(page.plots, [])

    def test_names_of_a_compiled_model_are_text_whatever_they_hold(self):
        import onnx  # pylint: disable=import-outside-toplevel
        model = onnx.load(self.export("dqn", "--small"))
        model.graph.name = HOSTILE
        for node in model.graph.node:
            node.name += HOSTILE
        for value in [*model.graph.input, *model.graph.output]:
            name, value.name = value.name, value.name + HOSTILE
            for node in model.graph.node:
                for names in [node.input, node.output]:
                    for i, other in enumerate(names):
                        if other == name:
                            names[i] = value.name
        path, artefact = self.folder / "hostile.onnx", self.folder / "hostile.tcc"
        onnx.save(model, path)
        self.call("compile", path, "--target", "native", "-o", artefact)
        self.assertIn(HOSTILE, self.report(artefact).said())

    def test_a_compiled_model_is_not_overwritten_by_its_page(self):
        artefact = self.compiled("dqn")
        before = artefact.read_bytes()
        self.call("report", artefact, "-o", artefact, expect=2)
        self.assertEqual(artefact.read_bytes(), before)
        artefact.write_bytes(before[:-1])
        self.call("report", artefact, "-o", self.output, expect=4)
        self.write_run(ended([]), [])
        self.call("report", self.run_folder, "-o", self.output, "--time", expect=2)
        self.assertIn("expected a compiled model", self.error)

    def wide_run(self):
        long = "layer_with_a_very_long_name_" * 12
        events = [trial(1, long, "constructed")]
        events += [trial(i, long, f"searcher{i}", "fault", None, 1e-4, message="m" * 900)
                   for i in range(2, 20)]
        events.append(trial(20, long, measured=5e-5, best=5e-5))
        self.write_run(ended([task(long, best_schedule=f"split {'i' * 400} 8\n")],
                             arguments=["tcc", "/long" * 200]), events)
        self.report()

    def test_a_chrome_shows_it_without_complaint_or_overflow(self):
        browser = next(filter(None, map(shutil.which, CHROMES)), None)
        if not browser:
            self.skip_aloud(f"no browser is here; looked for {', '.join(CHROMES)}")
        self.wide_run()
        self.assert_fits(browser)
        self.report(self.compiled("resnet18"), "--time")
        wide, _ = self.assert_fits(browser)
        # No column is cut off where there is room, and plots fill their boxes.
        self.assertEqual(wide["data-beyond"], "0")
        self.assertGreater(float(wide["data-filled"]), 0.95)

    def assert_fits(self, browser):
        """What is seen of the page at each width."""
        # A frame is as wide as it says, a window is not where it is narrow.
        frames = "".join(f'<iframe style="width:{width}px;height:4000px;border:0"></iframe>'
                         for width in WIDTHS)
        outer = self.folder / "frames.html"
        outer.write_text(f"""<!DOCTYPE html><meta charset="utf-8"><body>{frames}<script>
            const page = {json.dumps(self.output.read_text()).replace("<", chr(92) + "u003c")};
            for (const frame of document.querySelectorAll("iframe")) {{
              frame.onload = () => {{
                const seen = frame.contentDocument;
                frame.dataset.seen = seen.scrollingElement.scrollWidth;
                frame.dataset.beyond = Math.max(0, ...Array.from(
                    seen.querySelectorAll(".scroll"), box => box.scrollWidth - box.clientWidth));
                frame.dataset.filled = Math.min(1, ...Array.from(
                    seen.querySelectorAll("figure"), box =>
                    box.querySelector("svg").clientWidth / (box.clientWidth - 20)));
              }};
              frame.srcdoc = page;
            }}</script>""")
        result = subprocess.run(
            [browser, "--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr",
             f"--user-data-dir={self.folder / 'profile'}", "--virtual-time-budget=5000",
             "--window-size=1600,1000", "--dump-dom", outer.as_uri()],
            capture_output=True, text=True, timeout=120, check=False)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertNotIn("CONSOLE", result.stderr)
        seen = [dict(attributes) for attributes in frames_of(result.stdout)]
        self.assertEqual(len(seen), len(WIDTHS))
        for width, frame in zip(WIDTHS, seen):
            self.assertLessEqual(int(frame["data-seen"]), width)
        return seen

    def skip_aloud(self, reason):
        print(f"{self.id()}: {reason}")
        self.skipTest(reason)


def frames_of(text):
    """The attributes of each frame."""
    found = []

    class Frames(html.parser.HTMLParser):
        def handle_starttag(self, tag, attributes):
            if tag == "iframe":
                found.append(attributes)

    Frames().feed(text)
    return found


if __name__ == "__main__":
    main()
