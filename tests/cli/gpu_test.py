#!/usr/bin/env python3
"""Compiling for GPUs on machines without one."""

import json
import os
import unittest.mock

from tcc_command import CommandTest, main

TARGETS = ["sm_75", "sm_80", "sm_86", "sm_89", "sm_90a"]
# Of machine code; tcc inspect has them for every kernel of a GPU.
FIELDS = ["registers", "shared_bytes", "spill_bytes", "local_bytes", "ffma_share",
          "load_bytes_widest", "waves"]


class GpuTest(CommandTest):
    def compile(self, model, target, name, *options, **keywords):
        path = self.folder / name
        self.call("compile", model, "--target", target, "-o", path, *options, **keywords)
        return path


class OwnCache(GpuTest):
    """Tests that depend on what the cache of compiled programs holds: each begins with an empty one."""

    def setUp(self):
        super().setUp()
        self.cache = self.folder / "cache"
        patch = unittest.mock.patch.dict(os.environ, {"TCC_CACHE_DIR": str(self.cache)})
        patch.start()
        self.addCleanup(patch.stop)

    def test_without_nvrtc_the_message_says_what_to_do(self):
        model = self.export("dqn", "--small")
        self.compile(model, "sm_86", "m.tcc", expect=5, TCC_NVRTC="/nowhere/libnvrtc.so")
        self.assertIn("/nowhere/libnvrtc.so", self.error)
        self.assertFalse((self.folder / "m.tcc").exists())

    def test_a_library_that_is_no_nvrtc_is_told_what_it_lacks(self):
        model = self.export("dqn", "--small")
        self.compile(model, "sm_86", "m.tcc", expect=5, TCC_NVRTC="libm.so.6")
        self.assertIn("libm.so.6 has no nvrtcVersion; expected NVRTC 11.2 or newer", self.error)

    def test_an_nvrtc_at_fault_is_a_missing_toolchain(self):
        model = self.export("dqn", "--small")
        library = os.environ.get("TCC_TEST_NVRTC")
        if not library:
            self.skipTest("no NVRTC with faults in TCC_TEST_NVRTC")
        for fault, message in [
                ("arch", "NVRTC 13.0 has no sm_86; it has 50; set TCC_NVRTC"),
                ("builtins", f"NVRTC 13.0 ({library}) compiles nothing: "
                 "NVRTC_ERROR_BUILTIN_OPERATION_FAILURE: nvrtc: error: failed to open libnvrtc-"),
                ("cubin", f"NVRTC 13.0 ({library}) gave no cubin for sm_86 that can be read: ")]:
            at_fault = {"TCC_NVRTC": library, "TCC_FAKE_NVRTC": fault}
            self.compile(model, "sm_86", "m.tcc", "--progress", "plain", expect=5, **at_fault)
            self.assertIn(message, self.error)
            self.assertNotIn("code of other schedules", self.error)
            if fault == "cubin":
                continue  # which PTX needs not
            self.call("dump", model, "--target", "sm_86", "--stage", "ptx", expect=5, **at_fault)
            self.assertIn(message, self.error)
        self.assertEqual([path for path in (self.cache / "nvrtc").iterdir()
                          if not path.name.startswith("compiler-")], [])

    def test_the_artefact_is_the_same_cold_and_warm_and_for_any_number_of_threads(self):
        if not self.has_nvrtc():
            self.skipTest("no NVRTC: nothing is compiled for a GPU")
        model = self.export("dqn", "--small")
        first = self.compile(model, "sm_86", "1.tcc", "--threads", 1).read_bytes()
        programs = list((self.cache / "nvrtc").iterdir())
        self.assertTrue(programs)
        self.assertEqual(first, self.compile(model, "sm_86", "2.tcc", "--threads", 3).read_bytes())
        self.assertEqual(programs, list((self.cache / "nvrtc").iterdir()))
        for program in programs:
            program.write_bytes(b"not a program")
        self.assertEqual(first, self.compile(model, "sm_86", "3.tcc").read_bytes())
        self.assertEqual(first, self.compile(model, "sm_86", "4.tcc",
                                             TCC_CACHE_DIR="/proc/nowhere").read_bytes())

    def test_a_warm_cache_needs_no_nvrtc(self):
        if not self.has_nvrtc():
            self.skipTest("no NVRTC: nothing is compiled for a GPU")
        model = self.export("dqn", "--small")
        made = self.compile(model, "sm_86", "1.tcc", "-v").read_bytes()
        self.assertNotIn("in the cache", self.error)
        self.compile(model, "sm_86", "2.tcc", "-v")
        self.assertRegex(self.error, r"tcc: machine code of (\d+) of \1 kernels was in the cache\n")
        absent = {"TCC_NVRTC": "/nowhere/libnvrtc.so"}
        self.assertEqual(made, self.compile(model, "sm_86", "2.tcc", **absent).read_bytes())
        # What is not there is still asked of NVRTC.
        self.compile(model, "sm_89", "3.tcc", expect=5, **absent)
        self.assertIn("/nowhere/libnvrtc.so", self.error)

    def test_programs_of_nvrtcs_own_cache_are_described_too(self):
        library = os.environ.get("TCC_TEST_CACHING_NVRTC")
        if not self.has_nvrtc() or not library:
            self.skipTest("no NVRTC, or none with a cache in TCC_TEST_CACHING_NVRTC")
        checks = json.loads(self.call("doctor", "--json"))
        path = next(check["detail"] for check in checks if check["name"] == "NVRTC").split(", ")[1]
        model = self.export("dqn", "--small")
        artefact = self.compile(model, "sm_86", "m.tcc", TCC_NVRTC=library, TCC_REAL_NVRTC=path)
        for kernel in json.loads(self.call("inspect", artefact, "--json"))["kernels"]:
            self.assertLess(0, kernel["registers"])


class Gpu(GpuTest):
    def test_every_kernel_of_every_small_network_is_described(self):
        if not self.has_nvrtc():
            self.skipTest("no NVRTC: nothing is compiled for a GPU")
        for network in self.call("zoo", "list").split("\n"):
            name = network.split()[0] if network.split() else ""
            if not name:
                continue
            model = self.export(name, "--small")
            for target in TARGETS if name == "dqn" else ["sm_75", "sm_90a"]:
                artefact = self.compile(model, target, "m.tcc", "--progress", "none")
                summary = json.loads(self.call("inspect", artefact, "--json"))
                self.assertEqual((summary["target"], summary["device"]), (target, "cuda"))
                self.assertTrue(summary["kernels"])
                compiler = summary["properties"]["code_compiler"]
                self.assertRegex(compiler, f"^NVRTC [0-9.]+ of [0-9]+ bytes, {target}, .*-Xptxas=-v")
                for kernel in summary["kernels"]:
                    with self.subTest(network=name, target=target, kernel=kernel["name"]):
                        for field in FIELDS:
                            self.assertIsNotNone(kernel[field], field)
                        self.assertLess(0, kernel["registers"])
                        self.assertLessEqual(kernel["registers"], 255)
                        self.assertEqual(kernel["spill_bytes"], 0)
                        self.assertEqual(kernel["warnings"], 0)
                        self.assertLessEqual(0, kernel["ffma_share"])
                        self.assertLessEqual(kernel["ffma_share"], 1)

    def test_launches_count_parts_and_trips_of_loops(self):
        if not self.has_nvrtc():
            self.skipTest("no NVRTC: nothing is compiled for a GPU")
        model = self.export("lstm_lm", "--small")
        summary = json.loads(self.call("inspect", self.compile(model, "sm_86", "m.tcc"), "--json"))
        kernels = summary["kernels"]
        self.assertEqual(summary["launches"], sum(kernel["launches"] for kernel in kernels))
        # Two layers of five steps, whose three kernels are called once in a loop each.
        steps = [kernel for kernel in kernels if kernel["launches"] >= 5 * kernel["calls"]]
        self.assertEqual(sum(kernel["calls"] for kernel in steps), 6, kernels)
        self.assertEqual(summary["calls"] - 6 + 5 * 6, summary["launches"])
        path = self.folder / "cpu.tcc"
        self.call("compile", model, "-o", path)
        summary = json.loads(self.call("inspect", path, "--json"))
        self.assertNotIn("launches", summary)
        self.assertEqual({kernel["launches"] for kernel in summary["kernels"]}, {None})

    def test_a_kernel_that_spills_is_warned_of(self):
        if not self.has_nvrtc():
            self.skipTest("no NVRTC: nothing is compiled for a GPU")
        model, traces = self.export("dqn", "--small"), self.folder / "traces"
        self.compile(model, "sm_86", "m.tcc")
        self.assertNotIn("warning", self.error)
        self.call("dump", model, "--target", "sm_86", "--stage", "scheduled", "--output-dir",
                  traces)
        # 10 x 10 x 4 sums a thread.
        path = traces / "x_repacked_repack_conv_relu.trace"
        trace = path.read_text().splitlines()
        sizes = {"h.2": 1, "h.4": 10, "w.2": 1, "w.4": 10, "o.2": 1, "o.4": 4, "c.1": 1, "c.2": 1,
                 "kw.1": 1}
        for tile, value in sizes.items():
            name = f"set conv1.{tile} "
            self.assertTrue(any(line.startswith(name) for line in trace), tile)
            trace = [f"{name}{value}" if line.startswith(name) else line for line in trace]
        path.write_text("\n".join(trace) + "\n")
        artefact = self.compile(model, "sm_86", "m.tcc", "--schedule", traces)
        kernels = json.loads(self.call("inspect", artefact, "--json"))["kernels"]
        spilled = {kernel["name"]: kernel["spill_bytes"] for kernel in kernels}[path.stem]
        self.assertGreater(spilled, 0)
        warning = (f"tcc: warning: kernel '{path.stem}' spills {spilled} bytes with 255 registers; "
                   "it is kept since its schedule was given")
        self.compile(model, "sm_86", "m.tcc", "--schedule", traces)
        self.assertEqual([line for line in self.error.splitlines() if "warning" in line], [warning])
        self.compile(model, "sm_86", "m.tcc", "--schedule", traces, "--progress", "json")
        self.assertEqual([json.loads(line)["warning"] for line in self.error.splitlines()
                          if "warning" in line], [warning.removeprefix("tcc: warning: ")])

    def test_without_a_driver_running_ends_with_5(self):
        checks = {row["name"]: row["status"] for row in json.loads(self.call("doctor", "--json"))}
        if checks["NVRTC"] != "ok" or checks["NVIDIA driver"] == "ok":
            self.skipTest("no NVRTC, or a GPU")
        artefact = self.compile(self.export("dqn", "--small"), "sm_86", "m.tcc")
        self.call("run", artefact, "--random", 1, expect=5)
        self.assertIn("cuda", self.error)

    def test_a_model_is_checked_on_the_emulated_gpu(self):
        model = self.export("dqn", "--small")
        emulated = ["check", model, "--target", "sm_86", "--emulate"]
        self.call(*emulated, expect=5, TCC_HOST_CXX="/nowhere/g++")
        self.assertIn("/nowhere/g++", self.error)
        self.call(*emulated, expect=5, TCC_HOST_CXX="false")
        self.assertIn("false compiles nothing for the emulated GPU (exit status 1)", self.error)
        self.assertIn("it said: nothing", self.error)
        for folder in ["/nowhere", "/proc"]:
            self.call(*emulated, expect=5, TMPDIR=folder)
            self.assertIn(f"cannot make a folder in {folder} ", self.error)
            self.assertIn("set TMPDIR", self.error)
        self.call(*emulated)
        self.call(*emulated, TCC_EMULATED_SM="86")
        self.call(*emulated, expect=5, TCC_EMULATED_SM="80")
        self.assertIn("no sm_86 is emulated; unset TCC_EMULATED_SM", self.error)
        for value in ["foo", "86,89", "87", "90a", "0"]:
            self.call(*emulated, expect=5, TCC_EMULATED_SM=value)
            self.assertIn(f"TCC_EMULATED_SM is '{value}'; expected one of 75, 80, 86,", self.error)
        self.call("check", model, "--target", "native", "--emulate", expect=2)
        artefact = self.folder / "native.tcc"
        self.call("compile", model, "--target", "native", "-o", artefact)
        self.call("check", model, artefact, "--emulate", expect=2)
        self.assertIn("target 'native' is neither", self.error)
        if self.has_nvrtc():
            artefact = self.folder / "sm_86.tcc"
            self.call("compile", model, "--target", "sm_86", "-o", artefact)
            self.call("check", model, artefact, "--emulate", expect=2)
            self.assertIn("not an artefact", self.error)

    def test_small_networks_are_right_on_the_emulated_gpu(self):
        for line in self.call("zoo", "list").splitlines():
            name = line.split()[0]
            with self.subTest(network=name):
                self.call("check", self.export(name, "--small"), "--target", "sm_86", "--emulate")


if __name__ == "__main__":
    main()
