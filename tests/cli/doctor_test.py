#!/usr/bin/env python3
"""tcc doctor says what it finds, where it sought what is missing, and ends with 5 if it matters."""

import json
import os
import subprocess

from tcc_command import CommandTest, main


class Doctor(CommandTest):
    def doctor(self, expect=0, **environment):
        result = subprocess.run([self.tcc, "doctor", "--json"], capture_output=True, text=True,
                                env={**os.environ, **environment}, check=False)
        self.assertEqual(result.returncode, expect, result.stderr)
        self.error = result.stderr
        self.expect_explained(result.returncode, result.stderr)
        return {check["name"]: check for check in json.loads(result.stdout)}

    def test_every_check_is_ok_or_missing(self):
        checks = self.doctor()
        for name in ["tcc", "code generator", "CPU", "threads", "temporary folder", "cache folder",
                     "loading of kernels", "NVIDIA driver", "NVRTC", "OpenCL driver",
                     "host compiler", "aarch64 worker"]:
            self.assertIn(checks[name]["status"], ["ok", "missing"])
            self.assertTrue(checks[name]["detail"])
        self.assertIn("LLVM 19.", checks["code generator"]["detail"])
        lines = self.call("doctor").splitlines()
        self.assertEqual(len(lines), len(checks))
        for line in lines:
            self.assertRegex(line, r"^(ok|missing) ")

    def test_a_missing_temporary_folder_matters(self):
        checks = self.doctor(expect=5, TMPDIR="/nowhere")
        self.assertEqual(checks["temporary folder"]["status"], "missing")
        self.assertIn("TMPDIR", checks["temporary folder"]["detail"])
        self.assertIn("temporary folder", self.error)

    def test_a_missing_library_says_where_it_was_sought(self):
        checks = self.doctor(TCC_NVRTC="/nowhere/libnvrtc.so")
        self.assertEqual(checks["NVRTC"]["status"], "missing")
        self.assertIn("/nowhere/libnvrtc.so", checks["NVRTC"]["detail"])
        checks = self.doctor(TCC_VENV="/no/venv")
        if checks["NVRTC"]["status"] == "missing":
            self.assertIn("scripts/setup.sh", checks["NVRTC"]["detail"])

    def test_an_nvrtc_that_compiles_nothing_is_not_ok(self):
        library = os.environ.get("TCC_TEST_NVRTC")
        if not library:
            self.skipTest("no NVRTC with faults in TCC_TEST_NVRTC")
        for fault, message in [("builtins", "failed to open libnvrtc-builtins"),
                               ("arch", "NVRTC 13.0 has no sm_75; it has 50")]:
            check = self.doctor(TCC_NVRTC=library, TCC_FAKE_NVRTC=fault)["NVRTC"]
            self.assertEqual(check["status"], "missing")
            self.assertIn(message, check["detail"])

    def test_an_nvrtc_that_is_ok_names_what_it_compiles_for(self):
        check = self.doctor()["NVRTC"]
        if check["status"] == "ok":
            self.assertRegex(check["detail"], r", compiles for (sm_\d+a?, )*sm_\d+a?$")

    def test_the_cache_folder_follows_the_variables_in_their_order(self):
        home = {"HOME": str(self.folder / "home"), "XDG_CACHE_HOME": "", "TCC_CACHE_DIR": ""}
        self.assertIn(f"{self.folder}/home/.cache/tcc", self.doctor(**home)["cache folder"]["detail"])
        home["XDG_CACHE_HOME"] = str(self.folder / "xdg")
        self.assertIn(f"{self.folder}/xdg/tcc", self.doctor(**home)["cache folder"]["detail"])
        home["TCC_CACHE_DIR"] = str(self.folder / "own")
        self.assertIn(f"{self.folder}/own (", self.doctor(**home)["cache folder"]["detail"])

    def test_a_driver_says_which_cuda_it_supports_and_which_devices_it_has(self):
        driver = {"TCC_CUDA_DRIVER": os.environ.get("TCC_TEST_CUDA_DRIVER", "")}
        if not driver["TCC_CUDA_DRIVER"]:
            self.skipTest("no emulated driver in TCC_TEST_CUDA_DRIVER")
        check = self.doctor(**driver, TCC_EMULATED_SM="86")["NVIDIA driver"]
        self.assertEqual(check, {"name": "NVIDIA driver", "status": "ok", "needed": False, "detail":
                                 "supports CUDA 13.0; device 0 (emulated sm_86, sm_86)"})
        check = self.doctor(**driver, TCC_EMULATED_SM="86,89")["NVIDIA driver"]
        self.assertEqual(check["status"], "missing")
        self.assertIn("TCC_EMULATED_SM is '86,89'; expected one of 75, 80, 86,", check["detail"])

    def test_an_opencl_driver_names_its_devices_or_what_to_install(self):
        listed = [row for row in json.loads(self.call("devices", "--json")) if row["name"] == "opencl"]
        check = self.doctor()["OpenCL driver"]
        self.assertEqual((check["status"], check["needed"]), ("ok" if listed else "missing", False))
        for row in listed:
            self.assertIn(f"device {row['ordinal']} ({row['model']}, OpenCL ", check["detail"])
            self.assertIn(f"{row['platform']} {row['driver']}", check["detail"])
        check = self.doctor(TCC_OPENCL_DRIVER="/nowhere/libOpenCL.so")["OpenCL driver"]
        self.assertEqual(check["status"], "missing")
        self.assertIn("/nowhere/libOpenCL.so", check["detail"])
        self.assertIn("pocl-opencl-icd", check["detail"])

    def test_devices_are_listed(self):
        rows = json.loads(self.call("devices", "--json"))
        names = [row["name"] for row in rows]
        self.assertEqual([name for name in names if name not in ("cuda", "opencl")],
                         ["cpu", "vdla", "reference"])
        self.assertGreaterEqual(rows[0]["threads"], 1)
        self.assertTrue(self.call("devices").startswith("cpu "))


if __name__ == "__main__":
    main()
