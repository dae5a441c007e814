#!/usr/bin/env python3
"""usage: device_campaign_test.py PROGRAMS EMULATED_DRIVER

bench/device/campaign.sh over the emulated driver: whole, without NVRTC, with steps that fail or
hang, and ended from outside. Two files are there at each end.
"""

import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
import unittest

PROGRAMS, DRIVER = sys.argv[1:3]
FOLDER = pathlib.Path(__file__).resolve().parents[2] / "bench/device"
EMULATED = {"TCC_CUDA_DRIVER": DRIVER, "TCC_EMULATED_SM": "86", "TCC_CACHE_DIR": ""}
# What a real device would be asked is asked of the real program.
ASK = f'case $1 in doctor|devices|zoo) exec "{PROGRAMS}/tcc" "$@";; esac\n'
STEPS = ["tcc-twins", "check dqn", "first candidates", "calibrate", "batch d", "import d",
         "sample dqn", "tune dqn", "compile dqn", "bench dqn", "check tuned dqn", "torch",
         "suite smoke"]


def has_nvrtc():
    said = subprocess.run([f"{PROGRAMS}/tcc", "doctor"], capture_output=True, check=False).stdout
    return b"ok       NVRTC" in said


class DeviceCampaign(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.out = self.folder / "out"
        (self.folder / "batches").mkdir()

    def start(self, *options, programs=PROGRAMS, **environment):
        return subprocess.Popen(
            [FOLDER / "campaign.sh", "--programs", programs, "--out", self.out, "--batches",
             self.folder / "batches", "--quick", *options],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True,
            env={**os.environ, **EMULATED, **environment})

    def campaign(self, *options, expect=0, **keywords):
        run = self.start(*options, **keywords)
        output, _ = run.communicate()
        self.assertEqual(run.returncode, expect, output)
        return output

    def program(self, name, text):
        path = self.folder / "programs" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/bash\n{text}\necho \"asked: $*\"\n")
        path.chmod(0o755)

    def fakes(self, tcc="", bench="", worker="", twins=""):
        """Programs that say what they were asked, but for device and networks; a Python without
        torch, and a batch. The worker leaves a line."""
        self.program("tcc", ASK + tcc)
        self.program("tcc-bench", bench)
        self.program("tcc-twins", twins)
        self.program("tcc-worker", 'echo measured >"$6"\n' + worker)
        self.program("python3", "exit 1")
        (self.folder / "batches/d.tccb").write_text("candidates")
        programs = self.folder / "programs"
        return {"programs": programs, "TCC_VENV": "/nowhere",
                "PATH": f"{programs}:{os.environ['PATH']}"}

    def both_files(self):
        """(the archive's files by name, the report), which are all that is there."""
        self.assertEqual(sorted(path.name for path in self.out.iterdir()),
                         ["report.md", "results.tar.xz"])
        with tarfile.open(self.out / "results.tar.xz") as archive:
            files = {member.name.removeprefix("files/"): archive.extractfile(member).read()
                     for member in archive if member.isfile()}
        return files, (self.out / "report.md").read_text()

    def steps(self, files):
        return {step["name"]: step for step in json.loads(files["run.json"])["steps"]}

    def test_every_step_is_done_and_its_results_are_in_the_archive(self):
        tcc, model = f"{PROGRAMS}/tcc", self.folder / "dqn.onnx"
        for command in [[tcc, "zoo", "export", "dqn", "--small", "-o", model],
                        [tcc, "tune", model, "--target", "sm_86", "--trials", "8", "--text",
                         "--emit", self.folder / "batches/d.tccb", "--progress", "none"]]:
            subprocess.run(command, check=True, capture_output=True)
        output = self.campaign("--text")
        self.assertIn("all steps went well", output)
        files, report = self.both_files()
        steps = self.steps(files)
        expected = [step for step in STEPS if step not in ["compile dqn", "bench dqn"]] + ["export"]
        if not has_nvrtc():
            for step in ["sample dqn", "tune dqn", "check tuned dqn"]:
                expected.remove(step)
            expected.insert(0, "sample and tune")
        self.assertEqual(list(steps), expected)
        for name, step in steps.items():
            self.assertIn(name, report)
            self.assertEqual(step.get("exit"), None if "skipped" in step else 0, step)
        lines = files["d.batch.jsonl"].decode().splitlines()
        self.assertGreater(len(lines), 8)
        records = [json.loads(line) for line in files["campaign.jsonl"].decode().splitlines()]
        self.assertGreaterEqual(len(records), len(lines) - 1)
        self.assertIn({"name": "mma m16n8k16_f16", "result": "ok"},
                      json.loads(files["twins.json"])["kernels"])
        self.assertGreater(json.loads(files["calibration.json"])["launch_us"], 0)
        self.assertEqual(len(json.loads(files["smoke.rows.json"])), 12)
        self.assertIn("| matmul_33x20x17 |", report)
        self.assertRegex(report, r"measurements +\d+")
        if has_nvrtc():
            self.assertIn("runs/tune-dqn/run.json", files)

    def seconds_of_the_batch(self, **environment):
        self.campaign(**self.fakes(), **environment)
        files, _ = self.both_files()
        log = files["log.txt"].decode()
        seconds = re.findall(r"asked: --batch \S+/d.tccb .*--seconds (\d+)", log)
        self.assertEqual(len(seconds), 2)  # the first candidates, then all
        return int(seconds[1]), self.steps(files)

    def test_without_nvrtc_batches_get_the_time_of_what_compiles(self):
        seconds, steps = self.seconds_of_the_batch(TCC_NVRTC="none")
        self.assertGreater(seconds, 300)
        skipped = [name for name, step in steps.items() if "skipped" in step]
        self.assertEqual(skipped, ["sample and tune", "check dqn", "torch"])
        self.assertEqual([name for name in steps if name not in skipped],
                         ["tcc-twins", "first candidates", "calibrate", "batch d", "import d", "suite smoke"])
        if not has_nvrtc():
            self.skipTest("no NVRTC to compare with")
        seconds, steps = self.seconds_of_the_batch()
        self.assertLess(seconds, 100)
        self.assertEqual(list(steps), STEPS)

    def test_steps_that_hang_or_fail_are_told_and_the_others_are_done(self):
        if not has_nvrtc():
            self.skipTest("no NVRTC: nothing is tuned")
        fakes = self.fakes(tcc="[ $1 != tune ] || exec sleep 1000",
                           bench="[ $1 != calibrate ] || exit 3")
        self.campaign("--seconds", "20", expect=1, **fakes)
        files, report = self.both_files()
        steps = self.steps(files)
        self.assertEqual(list(steps), STEPS)
        self.assertEqual(steps["calibrate"]["exit"], 3)
        for name in ["sample dqn", "tune dqn"]:
            self.assertEqual((steps[name]["exit"], steps[name]["timed_out"]), (124, True))
            self.assertRegex(report, rf"{name} +exit 124, .* timed out")
        for name in ["batch d", "import d", "compile dqn", "check tuned dqn", "suite smoke"]:
            self.assertEqual(steps[name]["exit"], 0)

    def test_where_nothing_runs_the_campaign_ends(self):
        output = self.campaign("--text", expect=1, **self.fakes(tcc="[ $1 != check ] || exit 1"))
        self.assertIn("nothing runs here", output)
        files, report = self.both_files()
        self.assertIn("nothing runs here", report)
        self.assertEqual([name for name in self.steps(files) if name != "sample and tune"],
                         ["tcc-twins", "check dqn"])

    def test_kernels_with_wrong_results_are_told_first_and_the_other_steps_are_done(self):
        fakes = self.fakes(twins="echo 'mma a  ok'; echo 'mma b  row 0, column 1'; exit 1")
        output = self.campaign("--text", expect=1, **fakes)
        files, report = self.both_files()
        for text in [output, report]:
            self.assertRegex(text, r"\n\*\*tcc-twins failed: .*\n\n    mma b  row 0, column 1\n\n")
            self.assertNotIn("mma a", text)
        exits = {name: step.get("exit") for name, step in self.steps(files).items()}
        self.assertEqual((exits["tcc-twins"], exits["check dqn"], exits["suite smoke"]), (1, 0, 0))

    def test_a_campaign_that_is_ended_keeps_what_was_measured(self):
        fakes = self.fakes(bench='[ $1 != calibrate ] || { echo part >"${@: -1}"; '
                                 'exec sleep 1000; }')
        run = self.start("--text", **fakes)
        partial = self.out / "files/calibration.json"
        begin = time.monotonic()
        while not (partial.exists() and partial.read_text()):
            self.assertLess(time.monotonic() - begin, 120)
            time.sleep(0.1)
        # What a campaign leaves that is killed.
        self.assertIn("first candidates", (self.out / "report.md").read_text())
        with tarfile.open(self.out / "results.tar.xz") as archive:
            self.assertIn("files/d.batch.jsonl", archive.getnames())
        run.send_signal(signal.SIGTERM)
        output, _ = run.communicate()
        self.assertEqual(run.returncode, 1, output)
        files, report = self.both_files()
        self.assertIn("ended from outside", report)
        self.assertEqual(files["calibration.json"], b"part\n")
        self.assertEqual(files["d.batch.jsonl"], b"measured\n")
        self.assertEqual(list(self.steps(files))[-1], "calibrate")

    def test_an_archive_that_would_be_too_large_leaves_the_largest_file_out(self):
        fakes = self.fakes(bench='[ $1 != kernels ] || head -c 17000000 /dev/urandom >'
                                 '"$(dirname "${@: -1}")/noise"')
        self.campaign("--text", **fakes)
        files, report = self.both_files()
        self.assertIn("left out of the archive: files/noise\n", report)
        self.assertNotIn("noise", files)
        self.assertIn("d.batch.jsonl", files)

    def test_options_that_it_does_not_know_are_refused_before_anything_is_done(self):
        for options, message in [(["--seconds", "long"], "'long' is no number of seconds"),
                                 (["--out"], "--out needs a value"),
                                 (["--fast"], "there is no option '--fast'")]:
            with self.subTest(options):
                output = self.campaign(*options, expect=2)
                self.assertIn(message, output)
                self.assertIn("usage: campaign.sh", output)
                self.assertFalse(self.out.exists())

    def test_without_torch_nothing_is_measured_beside_it_and_the_reason_is_given(self):
        (self.folder / "torch.py").write_text("raise ImportError('none here')\n")
        run = subprocess.run([sys.executable, FOLDER / "torch_networks.py", "resnet50"],
                             capture_output=True, text=True, check=False,
                             env={**os.environ, "PYTHONPATH": str(self.folder)})
        self.assertEqual((run.returncode, run.stdout), (5, ""))
        self.assertIn("no torch: none here", run.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
