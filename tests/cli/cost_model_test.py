#!/usr/bin/env python3
"""tcc cost-model: models are trained on measurements, judged, shown and refused."""

import csv
import hashlib
import json
import lzma
import pathlib
import subprocess
import tempfile
from xml.etree import ElementTree

from tcc_command import CommandTest, main

SVG = "{http://www.w3.org/2000/svg}"


class CostModel(CommandTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.shared = pathlib.Path(folder.name)
        cls.records = cls.shared / "records.jsonl"
        cls.model = cls.shared / "first.model"
        dqn = cls.shared / "dqn.onnx"
        for arguments in [["zoo", "export", "dqn", "--small", "-o", dqn],
                          ["tune", dqn, "--db", cls.shared / "f.db", "--trials", "60", "--policy",
                           "rotate-64M", "--searcher", "random", "--progress", "none"],
                          ["db", "export", cls.shared / "f.db", "-o", cls.records],
                          ["cost-model", "train", "--records", cls.records, "--epochs", "2",
                           "--members", "2", "-o", cls.model]]:
            subprocess.run([cls.tcc, *arguments], check=True, capture_output=True, timeout=900)

    def cost_model(self, *arguments, **keywords):
        return self.call("cost-model", *arguments, **keywords)

    def lines(self):
        return self.records.read_text().splitlines()

    def plain_record(self, **changes):
        """A measurement that stands for itself, made of the export's."""
        objects = [json.loads(line) for line in self.lines()]
        functions = {o["function"]: o["text"] for o in objects if "function" in o}
        first = next(o for o in objects if "trace" in o and o["status"] == "ok")
        sizes = dict(word.split("=") for word in first["set"])
        record = {"kernel": "k", "fn": functions[first["fn"]], "trace": first["trace"],
                  "set": {name: int(value) for name, value in sizes.items()},
                  "seconds": first["seconds"], "noise": 0.02, "threads": 2,
                  "policy": "rotate-64M", "status": "ok"}
        record.update(changes)
        return {name: value for name, value in record.items() if value is not None}

    def refused_record(self, message, text):
        path = self.folder / "bad.jsonl"
        path.write_text(text)
        self.cost_model("eval", self.model, "--records", path, expect=4)
        self.assertIn("bad.jsonl:1: ", self.error)
        self.assertIn(message, self.error)

    def test_training_twice_gives_the_same_bytes(self):
        again, other = self.folder / "again.model", self.folder / "other.model"
        options = ["--records", self.records, "--epochs", "2", "--members", "2"]
        self.cost_model("train", *options, "-o", again)
        self.assertEqual(again.read_bytes(), self.model.read_bytes())
        self.cost_model("train", *options, "--seed", "7", "-o", other)
        self.assertNotEqual(other.read_bytes(), self.model.read_bytes())

    def test_judging_prints_all_figures(self):
        figures = json.loads(self.cost_model("eval", self.model, "--records", self.records,
                                             "--held-out", "1", "--json"))
        self.assertGreater(figures["points"], 20)
        for name in ["pair_accuracy", "regret_first", "regret_16", "spearman"]:
            # The start has a regret only where a task has enough points.
            self.assertEqual(set(figures[name]) - {"start"}, {"prior", "model", "random"})
        self.assertEqual(figures["pair_accuracy"]["random"], 0.5)
        packed = self.folder / "records.jsonl.xz"
        packed.write_bytes(lzma.compress(self.records.read_bytes()))
        self.assertEqual(figures, json.loads(
            self.cost_model("eval", self.model, "--records", packed, "--held-out", "1", "--json")))

    def circles(self, *arguments, title):
        """Circles of the plot that eval draws, by what they predict by: the colour."""
        plot = self.folder / "plot.svg"
        self.cost_model("eval", self.model, *arguments, "--plot", plot)
        root = ElementTree.parse(plot).getroot()
        self.assertEqual(root.tag, SVG + "svg")
        for word in ["href", "url(", "@import", "<!", "<image", "<script"]:
            self.assertNotIn(word, plot.read_text())
        texts = [text.text for text in root.iter(SVG + "text")]
        self.assertIn(title, texts)
        for text in ["prior", "model", "measured time", "predicted time"]:
            self.assertIn(text, texts)
        for circle in root.iter(SVG + "circle"):
            for coordinate in ["cx", "cy"]:
                self.assertTrue(0 < float(circle.get(coordinate)) < 720, circle.attrib)
        groups = [group for group in root.iter(SVG + "g") if group.find(SVG + "circle") is not None]
        return {group.get("fill"): len(group.findall(SVG + "circle")) for group in groups}

    def test_a_plot_has_each_point_by_the_prior_and_by_the_model(self):
        records = self.folder / "records.jsonl"
        seconds = [1e-6, 2e-5, 3e-4, 4e-3]
        lines = [json.dumps(self.plain_record(seconds=s)) + "\n" for s in seconds]
        records.write_text("".join(lines))
        circles = self.circles("--records", records, "--held-out", "1",
                               title="Predicted and measured time: 4 points of 1 task")
        self.assertEqual(len(circles), 2)
        self.assertEqual(set(circles.values()), {4})
        self.assertEqual({}, self.circles("--records", records, "--held-out", "0",
                                          title="Predicted and measured time: 0 points of 0 tasks"))

    def test_a_plot_of_many_points_is_thinned_out(self):
        records = self.folder / "records.jsonl"
        lines = [json.dumps(self.plain_record(seconds=s)) + "\n" for s in [1e-5, 3e-5]]
        records.write_text("".join(lines * 2500))
        circles = self.circles("--records", records, "--held-out", "1", title="Predicted and "
                               "measured time: 5000 points of 1 task, 4000 drawn")
        self.assertEqual(set(circles.values()), {4000})

    def test_a_plot_that_cannot_be_written_is_refused(self):
        self.cost_model("eval", self.model, "--records", self.records, "--plot",
                        self.folder / "none" / "plot.svg", expect=4)
        self.assertIn("none/plot.svg", self.error)

    def test_info_shows_the_constants_of_the_prior(self):
        info = json.loads(self.cost_model("info", self.model, "--json"))
        self.assertEqual(info["members"], 2)
        self.assertGreater(info["constants"]["l2_bytes"], 0)
        self.assertIn("memory_rate", self.cost_model("info", self.model))

    def test_damaged_models_are_refused_by_name(self):
        whole = self.model.read_bytes()
        broken = self.folder / "broken.model"
        for content, message in [(whole[:-1], "damaged"), (whole[:50], "cut off"),
                                 (b"\x7fELF" + whole, "expected a cost model"),
                                 (whole.replace(b"row bodies", b"row todies"), "damaged"),
                                 (b"", "empty")]:
            broken.write_bytes(content)
            self.cost_model("info", broken, expect=4)
            self.assertIn("broken.model", self.error)
            if content:
                self.assertIn(message, self.error)

    def test_wrong_records_are_refused_by_line(self):
        self.refused_record("expected a JSON object", "nonsense\n")
        self.refused_record("field 'seconds' is missing",
                            json.dumps(self.plain_record(seconds=None)) + "\n")
        for field, value, message in [("seconds", 0, "expected more than 0"),
                                      ("seconds", "1", "expected a number"),
                                      ("status", "odd", "'odd' is not known"),
                                      ("set", 4, "expected sizes"),
                                      ("set", {"a": 1.5}, "expected a whole number"),
                                      ("threads", 0, "expected 1 to 4096"),
                                      ("fn", 3, "expected a text"),
                                      ("device", 3, "expected a text"),
                                      ("target", True, "expected a text")]:
            self.refused_record(message, json.dumps(self.plain_record(**{field: value})) + "\n")

    def test_a_field_that_is_nested_deeper_than_the_stack_is_refused(self):
        deep = "[" * 500000 + "]" * 500000
        self.refused_record("field 'status': expected a text, got an array",
                            f'{{"status": {deep}}}\n')

    def test_a_trace_with_a_size_of_a_huge_range_is_predicted(self):
        trace = "tile huge 1 1099511627776\n" + self.plain_record()["trace"]
        sizes = {**self.plain_record()["set"], "huge": 1}
        path = self.folder / "huge.jsonl"
        path.write_text(json.dumps(self.plain_record(trace=trace, set=sizes)) + "\n")
        self.cost_model("eval", self.model, "--records", path, "--target", "native",
                        "--held-out", "1")
        self.assertEqual(self.error, "")

    def judge(self, *records):
        """Figures of all tasks of these plain records."""
        path = self.folder / "judged.jsonl"
        path.write_text("".join(json.dumps(record) + "\n" for record in records))
        return json.loads(self.cost_model("eval", self.model, "--records", path, "--target",
                                          "native", "--held-out", "1", "--json"))

    def unreplayed(self, reason, *records):
        """Records of which none can be replayed are refused by both, with their number."""
        path, model = self.folder / "odd.jsonl", self.folder / "odd.model"
        path.write_text("".join(json.dumps(record) + "\n" for record in records))
        plural = "" if len(records) == 1 else "s"
        for arguments in [["eval", self.model], ["train", "-o", model],
                          ["train", "--no-fit", "-o", model]]:
            self.cost_model(*arguments, "--records", path, expect=4)
            self.assertIn(f"got none in {len(records)} timed record{plural}; 'k': {reason}",
                          self.error)
        self.assertFalse(model.exists())

    def test_points_of_two_devices_or_targets_make_no_pairs(self):
        times = [1e-6, 2e-6]
        self.assertEqual(self.judge(*[self.plain_record(seconds=s) for s in times])["pairs"], 1)
        for field, values in [("device", ["zen", "xeon"]), ("target", ["native", "x86-64-v3"])]:
            mixed = [self.plain_record(seconds=s, **{field: value})
                     for s, value in zip(times, values)]
            self.assertEqual(self.judge(*mixed)["pairs"], 0)
            self.assertEqual(self.judge(*mixed, *mixed)["points"], 4)

    def test_points_of_two_devices_in_an_export_make_no_pairs(self):
        lines = [json.loads(line) for line in self.lines()[:-1]]
        for number, line in enumerate(line for line in lines if "trace" in line):
            line["device"] = f"machine {number}"
        text = "".join(json.dumps(line) + "\n" for line in lines)
        end = json.loads(self.lines()[-1])
        end["sha256"] = hashlib.sha256(text.encode()).hexdigest()
        path = self.folder / "devices.jsonl"
        path.write_text(text + json.dumps(end) + "\n")
        figures = json.loads(self.cost_model("eval", self.model, "--records", path, "--target",
                                             "native", "--held-out", "1", "--json"))
        self.assertGreater(figures["points"], 20)
        self.assertEqual(figures["pairs"], 0)

    def eval_and_train(self, *records, expect=0, target=None):
        """What is said on standard error, by both, about plain records, three times of each."""
        path, model = self.folder / "of.jsonl", self.folder / "of.model"
        path.write_text("".join(json.dumps({**record, "seconds": seconds}) + "\n"
                                for record in records for seconds in [1e-6, 2e-6, 4e-6]))
        options = ["--records", path, "--held-out", "0", *(["--target", target] if target else [])]
        said = []
        for arguments in [["eval", self.model],
                          ["train", "--no-fit", "--epochs", "1", "--members", "1", "-o", model]]:
            self.cost_model(*arguments, *options, expect=expect)
            said.append(self.error)
        return said

    def test_records_of_another_cpu_are_not_taken_for_this_one(self):
        of_other = self.plain_record(target="native", device="znver9, 1 KiB of L1")
        for error in self.eval_and_train(of_other, expect=2):
            self.assertIn("measured on 'znver9, 1 KiB of L1', and this CPU is '", error)
            self.assertIn("expected --target", error)
        for target in ["native", "x86-64-v3"]:
            for error in self.eval_and_train(of_other, target=target):
                self.assertNotIn("znver9", error)

    def test_records_that_do_not_name_their_cpu_are_warned_of(self):
        own = next(o for o in map(json.loads, self.lines()) if "device" in o)
        known = self.plain_record(target="native", device=own["device"])
        for error in self.eval_and_train(known):
            self.assertNotIn("which CPU", error)
        for error in self.eval_and_train(known, self.plain_record()):
            self.assertIn("tcc: warning: 3 of 6 records do not say which CPU they were measured on",
                          error)

    def test_records_of_two_targets_need_the_one_to_judge_by(self):
        records = [self.plain_record(target=target) for target in ["x86-64-v3", "x86-64-v4"]]
        for error in self.eval_and_train(*records, expect=2):
            self.assertIn("of the targets x86-64-v3, x86-64-v4; expected --target", error)
        for record in records:
            for error in self.eval_and_train(record):
                self.assertNotIn("which CPU", error)

    def test_records_of_a_gpu_are_not_predicted_for_a_cpu(self):
        of_gpu = self.plain_record(target="sm_86")
        self.unreplayed("measured on target 'sm_86'; expected a CPU (1 of 1 point)", of_gpu)
        fn = ("fn copy(A: f32[7], B: f32[7]) tensor { for i in 0..7 @c/i { "
              "block c(i: spatial 7 = i) { B[i] = A[i] * 2.0 } } }")
        bound = self.plain_record(fn=fn, trace="bind c/i threadIdx.x\n", set={})
        self.unreplayed("loop 'c/i' is bound to threadIdx.x; expected loops of a CPU (2 of 2 "
                        "points)", bound, bound)
        self.judge(of_gpu, self.plain_record())
        self.assertEqual(self.error, "tcc: warning: left out: 'k': measured on target 'sm_86'; "
                         "expected a CPU (1 of 1 point)\n")

    def test_points_that_cannot_be_placed_are_told_once_with_their_number(self):
        trace, sizes = self.plain_record()["trace"], self.plain_record()["set"]
        lacking = self.plain_record(trace="tile lacking 1 8\n" + trace)
        self.judge(lacking, *[self.plain_record(trace=lacking["trace"],
                                                set={**sizes, "lacking": value})
                              for value in [1, 9, 0, 8]], lacking)
        self.assertEqual(self.error, "tcc: warning: left out: 'k': size 'lacking' has no value (2 "
                         "of 6 points)\ntcc: warning: left out: 'k': size 'lacking' has a value "
                         "that 'tile lacking 1 8' does not allow (2 of 6 points)\n")

    def test_records_of_which_none_can_be_replayed_are_refused(self):
        self.unreplayed("line 1: unknown step 'fold'",
                        *[self.plain_record(trace="fold c/i\n", threads=t) for t in [1, 2, 3]])

    def test_figures_without_pairs_are_null(self):
        arguments = ["eval", self.model, "--records", self.records, "--held-out", "0"]
        figures = json.loads(self.cost_model(*arguments, "--json"))
        self.assertEqual(figures["pairs"], 0)
        for name in ["pair_accuracy", "regret_first", "regret_16", "spearman"]:
            self.assertEqual(figures[name], {"prior": None, "model": None, "random": None})
        rows = self.cost_model(*arguments).splitlines()[1:]
        self.assertEqual([row.split() for row in rows],
                         [[name, "0", "0", "0", "-", "-", "-", "-"]
                          for name in ["prior", "model", "random"]])

    def test_few_points_of_each_task_are_trained_on(self):
        few = self.folder / "few.model"
        self.cost_model("train", "--records", self.records, "--epochs", "1", "--members", "1",
                        "--most-points", "1", "-o", few)
        self.assertTrue(few.exists())

    def test_a_fit_starts_from_the_constants_of_a_model(self):
        def constants(model):
            return json.loads(self.cost_model("info", model, "--json"))["constants"]

        kept = self.folder / "kept.model"
        options = ["--records", self.records, "--epochs", "1", "--members", "1", "-o", kept]
        self.cost_model("train", *options, "--no-fit", "--start", self.model)
        self.assertEqual(constants(kept), constants(self.model))
        self.cost_model("train", *options, "--no-fit")
        self.assertNotEqual(constants(kept), constants(self.model))
        kept.unlink()
        self.cost_model("train", *options, "--start", self.folder / "none.model", expect=4)
        self.assertIn("none.model", self.error)
        self.assertFalse(kept.exists())

    def test_cut_off_or_changed_exports_are_refused(self):
        lines = self.lines()
        bad = self.folder / "bad.jsonl"
        for changed, message in [(lines[:-1], "expected the end of the export"),
                                 (lines[:-2], "expected the end of the export"),
                                 ([*lines[:-2], lines[-1]], "the checksum of the lines before"),
                                 ([line.replace('"searcher": "random"', '"searcher": "chance"')
                                   for line in lines], "the checksum of the lines before")]:
            bad.write_text("\n".join(changed) + "\n")
            self.cost_model("eval", self.model, "--records", bad, expect=4)
            self.assertIn("bad.jsonl:", self.error)
            self.assertIn(message, self.error)

    def test_a_measurement_may_say_cold_in_place_of_a_policy(self):
        points = []
        for options in [{"policy": "rotate-64M"}, {"policy": None, "cold": True},
                        {"policy": "warm"}, {"policy": None, "cold": False}]:
            path = self.folder / "one.jsonl"
            path.write_text(json.dumps(self.plain_record(**options)) + "\n")
            points.append(self.cost_model("eval", self.model, "--records", path, "--held-out", "1",
                                          "--json"))
        self.assertEqual(points[0], points[1])
        self.assertEqual(points[2], points[3])

    def test_cut_off_archives_are_refused_by_name(self):
        packed = self.folder / "cut.jsonl.xz"
        packed.write_bytes(lzma.compress(self.records.read_bytes())[:-20])
        self.cost_model("eval", self.model, "--records", packed, expect=4)
        self.assertIn("cut.jsonl.xz: expected a whole xz file", self.error)

    def test_a_model_of_cpus_is_refused_for_a_gpu(self):
        message = "a cost model of CPUs; expected one of GPUs for target 'sm_86'"
        output = self.folder / "m"
        for arguments in [["eval", self.model], ["train", "-o", output, "--start", self.model]]:
            self.cost_model(*arguments, "--records", self.records, "--target", "sm_86", expect=2)
            self.assertIn(message, self.error)
        self.assertFalse(output.exists())
        self.call("tune", self.export("dqn", "--small"), "--db", self.folder / "f.db", "--trials",
                  "1", "--target", "sm_86", "--cost-model", self.model, expect=2)
        self.assertIn(message, self.error)

    def test_features_of_records_are_written_in_their_order(self):
        measured = [o for o in map(json.loads, self.lines()) if "trace" in o]
        path = self.folder / "features.csv"
        options = ["features", "--records", self.records, "-o", path]
        self.cost_model(*options)
        with path.open(newline="") as file:
            rows = list(csv.DictReader(file))
        names = [line.split()[0] for line in self.cost_model("features").splitlines()]
        self.assertEqual(list(rows[0])[9:], names)
        records = [int(row["record"]) for row in rows]
        self.assertEqual(records, sorted(records))
        timed = [n for n, one in enumerate(measured)
                 if one["status"] in ["ok", "slow"] and one["series"] == 0]
        self.assertEqual(sorted(set(records)), timed)
        for row in rows:
            of_record = measured[int(row["record"])]
            self.assertEqual(float(row["measured_seconds"]), of_record["seconds"])
        self.cost_model(*options, "--start", self.model)
        with path.open(newline="") as file:
            self.assertNotEqual([row["ln_prior"] for row in csv.DictReader(file)],
                                [row["ln_prior"] for row in rows])
        self.cost_model(*options[:3], expect=2)
        self.assertIn("--records: expected -o", self.error)

    def test_features_of_a_target_are_listed(self):
        of_gpu = self.cost_model("features", "--target", "sm_90a")
        self.assertTrue(of_gpu.startswith("blocks "))
        self.assertIn("\nfma_share ", of_gpu)
        self.assertTrue(self.cost_model("features").startswith("useful "))
        self.cost_model("features", "--target", "reference", expect=4)
        self.assertIn("expected a CPU or a GPU", self.error)

    def test_options_out_of_range_are_refused(self):
        self.cost_model("eval", self.model, "--records", self.records, "--held-out", "2", expect=4)
        self.assertIn("--held-out 2: expected 0 to 1", self.error)
        self.cost_model("eval", self.model, "--records", self.records, "--target", "reference",
                        expect=4)
        self.assertIn("expected a CPU or a GPU", self.error)
        self.cost_model("train", "--records", self.records, "-o", self.folder / "none" / "m",
                        expect=4)
        self.assertIn("none/m", self.error)
        self.assertNotIn("loss", self.error)
        empty = self.folder / "empty.jsonl"
        empty.write_text("")
        self.cost_model("train", "--records", empty, "-o", self.folder / "m", expect=4)
        self.assertIn("expected measured points", self.error)
        self.assertFalse((self.folder / "m").exists())


if __name__ == "__main__":
    main()
