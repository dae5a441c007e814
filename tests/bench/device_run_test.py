#!/usr/bin/env python3
"""usage: device_run_test.py PROGRAMS EMULATED_DRIVER FAKE_LIBRARIES

A dry run of bench/device/run.sh over the emulated driver: what it would do on a machine with a GPU.
"""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

PROGRAMS, DRIVER, FAKES = sys.argv[1:4]
# The second operator of suite smoke never ends.
HANGS = {"TCC_CUBLAS": FAKES, "TCC_FAKE_HANG": "cublasSgemmStridedBatched"}
SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "bench/device/run.sh"


class DeviceRun(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.out = pathlib.Path(folder.name) / "out"

    def start(self, *options, **environment):
        return subprocess.Popen(
            [SCRIPT, "--programs", PROGRAMS, "--out", self.out, *options], stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, start_new_session=True,
            env={**os.environ, "TCC_CUDA_DRIVER": DRIVER, "TCC_EMULATED_SM": "86", **environment})

    def script(self, *options, expect=0, **environment):
        run = self.start(*options, **environment)
        output, _ = run.communicate()
        self.assertEqual(run.returncode, expect, output)
        return output

    def report(self):
        return json.loads((self.out / "run.json").read_text())

    def log_of_steps(self):
        return (self.out / "log.txt").read_text()

    def assert_second_operator_hung(self, rows):
        self.assertEqual([(row["name"], row["failure"]) for row in rows],
                         [("matmul_33x20x17", ""), ("matmul_3x8x12x10", "not finished")])
        self.assertGreater(rows[0]["ours_us"], 0)
        self.assertEqual(rows[0]["peer"], "cublas")

    def test_every_step_is_done_and_its_results_are_kept(self):
        output = self.script("--text", "--quick", "--suites", "smoke", "--seconds", "60")
        self.assertIn("all steps went well", output)
        report = self.report()
        self.assertEqual(report["device"], "emulated sm_86")
        self.assertEqual(report["target"], "sm_86")
        self.assertRegex(report["date"], r"^20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
        for key in ["driver", "clocks", "doctor", "devices"]:
            self.assertIn(key, report)
        self.assertEqual([step["name"] for step in report["steps"]],
                         ["tcc-twins", "tcc-fuzz cuda", "check dqn", "profile", "smoke",
                          "compute-sanitizer", "calibrate", "suite smoke"])
        # CUPTI and compute-sanitizer watch real drivers only.
        for step in report["steps"]:
            skipped = step["name"] in ["profile", "compute-sanitizer"]
            expected = {"skipped": True} if skipped else {"exit": 0}
            self.assertLessEqual(expected.items(), step.items())
            self.assertEqual(f"{step['name']}: skipped, " in output, skipped)
        for key in ["fma_gflops", "copy_gbytes", "l2_gbytes", "launch_us"]:
            self.assertGreater(report["calibration"][key], 0)
        twins = {row["name"]: row["result"] for row in report["twins"]["kernels"]}
        self.assertEqual(twins["mma m16n8k16_f16"], "ok")
        log = (self.out / "log.txt").read_text()
        self.assertEqual(log.count("float32 multiply-adds"), 1)  # calibrated once
        rows = report["suites"]["smoke"]["rows"]
        self.assertEqual(len({row["name"] for row in rows}), 12)
        self.assertEqual({row["failure"] for row in rows}, {""})
        self.assertIn("| matmul_33x20x17 |", (self.out / "report.md").read_text())
        self.assertIn("12 of 12 operators measured", log)
        self.assertEqual(sorted(path.name for path in self.out.iterdir()),
                         ["log.txt", "report.md", "run.json"])

    def test_every_tool_of_the_sanitizer_watches_the_operators(self):
        # One that says what it was asked, does it, and finds something with one tool.
        sanitizer = self.out.parent / "sanitizer"
        sanitizer.write_text('#!/bin/bash\necho "asked: $*"\n[ "$2" != racecheck ] || exit "$4"\n'
                             'shift 4\nexec "$@"\n')
        sanitizer.chmod(0o755)
        self.script("--text", "--quick", "--only", "tests", expect=1,
                    COMPUTE_SANITIZER=str(sanitizer))
        steps = {step["name"]: step for step in self.report()["steps"]}
        exits = {tool: steps[f"compute-sanitizer {tool}"]["exit"]
                 for tool in ["memcheck", "racecheck", "synccheck", "initcheck"]}
        self.assertEqual(exits, {"memcheck": 0, "racecheck": 9, "synccheck": 0, "initcheck": 0})
        log = self.log_of_steps()
        self.assertEqual(log.count("asked: --tool"), 4)
        self.assertEqual(log.count("12 of 12 operators measured"), 4)  # one unwatched

    def executable(self, path, text):
        path.parent.mkdir(exist_ok=True)
        path.write_text("#!/bin/bash\n" + text)
        path.chmod(0o755)

    def echoes(self):
        """Programs that only say what they were asked, but for device and networks."""
        programs = self.out.parent / "programs"
        real = f'case $1 in doctor|devices|zoo) exec "{PROGRAMS}/tcc" "$@";; esac\n'
        for name, begin in [("tcc", real), ("tcc-bench", ""), ("tcc-fuzz", ""), ("tcc-twins", "")]:
            self.executable(programs / name, begin + 'echo "asked: $*"\n')
        return programs

    def test_a_whole_run_checks_every_network_and_profiles_one(self):
        self.script("--only", "tests", "--programs", self.echoes())
        listed = subprocess.run([f"{PROGRAMS}/tcc", "zoo", "list"], capture_output=True, text=True,
                                check=True).stdout
        names = [line.split()[0] for line in listed.splitlines()]
        self.assertEqual(len(names), 10)
        steps = [step["name"] for step in self.report()["steps"]]
        self.assertEqual([step.removeprefix("check ") for step in steps if "check " in step], names)
        log = self.log_of_steps()
        self.assertEqual(log.count("asked: check"), 10)
        self.assertEqual(steps[steps.index("compile resnet50") + 1], "profile")
        self.assertRegex(log, r"asked: compile \S+/resnet50.onnx --target sm_86 .*-o \S+.tcc\n")
        self.assertRegex(log, r"asked: bench \S+/resnet50.tcc --iterations 10 --profile --counters "
                              rf"--trace {self.out}/trace.json --json\n")

    def test_kernels_with_wrong_results_are_told_first_and_the_other_steps_are_done(self):
        programs = self.echoes()
        self.executable(programs / "tcc-twins", "echo 'mma a  ok'; echo 'mma b  row 0, column 1'\n"
                                                "echo 'sm_86: 1 right, 1 wrong'; exit 1\n")
        output = self.script("--only", "tests", "--quick", "--programs", programs, expect=1)
        head = self.out / "report.md"
        for text in [output, head.read_text()]:
            self.assertRegex(text, r"\n\*\*tcc-twins failed: .*\n\n    mma b  row 0, column 1\n"
                                   r"    sm_86: 1 right, 1 wrong\n")
            self.assertNotIn("mma a", text)
        steps = {step["name"]: step.get("exit") for step in self.report()["steps"]}
        self.assertEqual((next(iter(steps)), steps["tcc-twins"], steps["smoke"]), ("tcc-twins", 1, 0))
        self.assertIsNone(self.report()["twins"])

    def test_what_nvidia_smi_is_asked_is_of_the_device_that_is_measured(self):
        self.executable(self.out.parent / "path/nvidia-smi", 'echo "asked: $*"\n')
        programs = self.echoes()
        path = f"{self.out.parent}/path:{os.environ['PATH']}"
        for visible, asked in [("", "1"), ("3,2", "2"), ("GPU-4711, GPU-12 ,GPU-5", "GPU-12"),
                               ("3", "none")]:
            with self.subTest(visible):
                self.script("--only", "tests", "--quick", "--programs", programs, PATH=path,
                            TCC_EMULATED_SM="", TCC_CUDA_DEVICE="1", CUDA_VISIBLE_DEVICES=visible)
                report = self.report()
                self.assertEqual(report["device"], "emulated sm_80")
                self.assertIn(f"asked: --id={asked} --query-gpu=clocks.sm,", report["clocks"])
                self.assertIn(f"asked: --id={asked} --query-gpu=driver_version", report["driver"])

    def test_the_sanitizer_of_a_wheel_is_found(self):
        if shutil.which("compute-sanitizer"):
            self.skipTest("the one of PATH comes first")
        programs = self.echoes()
        nvidia = self.out.parent / "venv/lib/python3.11/site-packages/nvidia"
        (nvidia / "cu13").mkdir(parents=True)
        # As version 13 and earlier ones lay it.
        for place in ["cu13/bin", "cu13/compute-sanitizer", "cuda_sanitizer_api/bin"]:
            with self.subTest(place):
                (nvidia / place).parent.mkdir(exist_ok=True)
                tool = nvidia / place / "compute-sanitizer"
                self.executable(tool, f'echo "asked at {place}"\n')
                self.script("--only", "tests", "--quick", "--programs", programs,
                            CUDA_HOME="/nowhere", TCC_VENV=str(nvidia.parents[3]))
                self.assertEqual(self.log_of_steps().count(f"asked at {place}"), 4)
                tool.unlink()

    def test_a_suite_may_be_run_in_numeric_modes(self):
        output = self.script("--text", "--quick", "--only", "suites", "--suites", "smoke:tf32",
                             "--seconds", "400", TCC_CUBLAS=FAKES, TCC_CUBLASLT=FAKES,
                             TCC_CUDNN=FAKES)
        self.assertIn("all steps went well", output)
        report = self.report()
        self.assertEqual(list(report["suites"]), ["smoke:tf32"])
        rows = {row["name"]: row for row in report["suites"]["smoke:tf32"]["rows"]}
        self.assertEqual({row["failure"] for row in rows.values()}, {""})
        self.assertEqual(rows["matmul_33x20x17"]["numeric"], "tf32")
        self.assertEqual(rows["matmul_33x20x17"]["peer_numeric"], "tf32")
        self.assertIn(rows["matmul_33x20x17"]["ceiling"], ["tf32 mma", "copy"])
        self.assertEqual(rows["softmax_5x70"]["numeric"], "strict")
        self.assertGreater(report["calibration"]["mma_gflops"]["tf32"], 0)
        self.assertIn("## smoke:tf32", (self.out / "report.md").read_text())
        self.assertEqual(sorted(path.name for path in self.out.iterdir()),
                         ["log.txt", "report.md", "run.json"])

    def test_without_a_choice_matrix_products_are_measured_in_every_mode_of_the_device(self):
        for target, modes in [("sm_75", ["fp16"]), ("sm_80", ["fp16", "bf16", "tf32", "3xtf32"]),
                              ("sm_90a", ["fp16", "bf16", "tf32", "3xtf32"]),
                              ("sm_86", ["fp16", "bf16", "tf32"])]:
            with self.subTest(target):
                expected = ["resnet50", "matmul", *(f"matmul:{mode}" for mode in modes), "rows",
                            "attention", "mobilenet_v2", "roller", "networks"]
                listed = subprocess.run([SCRIPT, "--list-suites", target], capture_output=True,
                                        text=True, check=True).stdout
                self.assertEqual(listed, ",".join(expected) + "\n")
        for target in ["sm_99", "native", "sm_9", ""]:
            with self.subTest(target):
                listed = subprocess.run([SCRIPT, "--list-suites", target], capture_output=True,
                                        text=True, check=False)
                self.assertEqual((listed.returncode, listed.stdout), (2, ""))
                self.assertIn(f"'{target}' is no target; expected sm_75, ", listed.stderr)
        # Each is begun, and ended at once: nothing but the plan.
        self.script("--text", "--quick", "--only", "suites", "--seconds", "0", "--grace", "0",
                    expect=1)
        self.assertEqual(list(self.report()["suites"]), expected)

    def test_a_step_that_fails_is_told_and_the_others_are_done(self):
        # Machine code, which the emulated driver does not take.
        if subprocess.run([f"{PROGRAMS}/tcc", "doctor"], capture_output=True, text=True,
                          check=False).stdout.find("ok       NVRTC") < 0:
            self.skipTest("no NVRTC")
        output = self.script("--quick", "--suites", "smoke", expect=1)
        self.assertIn("some steps failed", output)
        report = self.report()
        exits = {step["name"]: step.get("exit") for step in report["steps"]}
        self.assertNotEqual(exits["calibrate"], 0)
        self.assertNotEqual(exits["suite smoke"], 0)
        self.assertIsNone(report["calibration"])

    def test_a_suite_that_is_ended_keeps_its_rows(self):
        output = self.script("--text", "--quick", "--only", "suites", "--suites", "smoke",
                             "--seconds", "15", "--grace", "0", expect=1, **HANGS)
        self.assertIn("timed out", output)
        report = self.report()
        step = {step["name"]: step for step in report["steps"]}["suite smoke"]
        self.assertEqual((step["exit"], step["timed_out"]), (124, True))
        self.assertIn("ended after 15 s", step["last_line"])
        self.assert_second_operator_hung(report["suites"]["smoke"]["rows"])
        table = (self.out / "report.md").read_text()
        self.assertIn("| matmul_33x20x17 |", table)
        self.assertIn("| matmul_3x8x12x10 | failed: not finished |", table)

    def test_a_run_that_is_ended_keeps_what_was_measured(self):
        run = self.start("--text", "--quick", "--only", "suites", "--suites", "smoke,rows", **HANGS)
        partial = self.out / "smoke.rows.json"
        begin = time.monotonic()
        while not (partial.exists() and len(json.loads(partial.read_text())) == 2):
            self.assertLess(time.monotonic() - begin, 120)
            time.sleep(0.1)
        # What a run leaves that cannot say farewell.
        self.assert_second_operator_hung(json.loads(partial.read_text()))
        self.assertGreater(self.report()["calibration"]["launch_us"], 0)
        run.send_signal(signal.SIGTERM)
        output, _ = run.communicate()
        self.assertEqual(run.returncode, 1, output)
        self.assertIn("ended from outside", output)
        report = self.report()
        self.assertEqual(list(report["suites"]), ["smoke"])
        self.assert_second_operator_hung(report["suites"]["smoke"]["rows"])
        self.assertEqual(report["steps"][-1]["name"], "suite smoke")
        self.assertFalse(report["steps"][-1]["timed_out"])
        self.assertFalse(partial.exists())

    def test_options_that_it_does_not_know_are_refused_before_anything_is_done(self):
        for options, message in [
                (["--only", "suite"], "--only is 'suite'; expected tests or suites"),
                (["--only"], "--only needs a value"),
                (["--seconds", "long"], "'long' is no number of seconds"),
                (["--fast"], "there is no option '--fast'")]:
            with self.subTest(options):
                output = self.script(*options, expect=2)
                self.assertIn(message, output)
                self.assertIn("usage: run.sh", output)
                self.assertFalse(self.out.exists())

    def test_without_a_gpu_nothing_is_done_and_the_reason_is_given(self):
        output = self.script("--quick", expect=5, TCC_CUDA_DRIVER="/nowhere/libcuda.so.1")
        self.assertIn("no GPU", output)
        self.assertIn("/nowhere/libcuda.so.1", output)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
