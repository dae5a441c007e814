#!/usr/bin/env python3
"""ONNX's own tests of operators: on the interpreter, as machine code, on emulated machines.

The tests are those of Debian's libonnx-testdata, and of $TCC_ONNX_TESTS (a folder with a folder
'node') where that is set.
"""

import os
import pathlib
import re
import shutil

from tcc_command import ROOT, CommandTest, main

DEBIAN = pathlib.Path("/usr/share/libonnx-testdata/data")

# Tests that tcc claims to run and that fail, with the reason. A row that passes is an error too.
KNOWN_FAILURES = {
    # Later versions of ONNX, and tcc, round to nearest even.
    "test_cast_FLOAT_to_BFLOAT16": "ONNX 1.12 made bfloat16 by cutting bits off",
    "test_castlike_BFLOAT16_to_FLOAT": "a file's shape is not the one that the model declares",
    "test_castlike_BFLOAT16_to_FLOAT_expanded": "as above",
    "test_castlike_FLOAT_to_BFLOAT16": "as above",
    "test_castlike_FLOAT_to_BFLOAT16_expanded": "as above",
}

# The same on the interpreter alone.
ON_REFERENCE = {
    # 178.5 exactly: the scale is a double there, a float in ONNX's own evaluation.
    "test_dynamicquantizelinear": "a tie of the rounding falls the other way",
    "test_dynamicquantizelinear_expanded": "as above",
}


class OnnxTest(CommandTest):
    def results(self, folder, target, *options, expect=0):
        """Name to (verdict, reason)."""
        lines = self.call("onnx-test", folder, "--target", target, *options,
                          expect=expect).splitlines()
        self.assertRegex(lines[-1], r"^\d+ passed, \d+ failed, \d+ skipped$")
        rows = [line.split("\t") for line in lines[:-1]]
        counts = [sum(row[0] == verdict for row in rows) for verdict in ("PASS", "FAIL", "SKIP")]
        self.assertEqual(counts, [int(n) for n in re.findall(r"\d+", lines[-1])])
        return {name: (verdict, reason) for verdict, name, reason in rows}

    def copy(self, *names):
        for name in names:
            shutil.copytree(DEBIAN / "node" / name, self.folder / "tests" / name)
        return self.folder / "tests"

    def test_a_wrong_result_fails_and_names_the_element(self):
        tests = self.copy("test_relu", "test_abs")
        shutil.copy(tests / "test_abs/test_data_set_0/output_0.pb",
                    tests / "test_relu/test_data_set_0/output_0.pb")
        results = self.results(tests, "native", expect=1)
        self.assertEqual(results["test_abs"][0], "PASS")
        self.assertEqual(results["test_relu"][0], "FAIL")
        self.assertIn("differs in", results["test_relu"][1])

    def test_what_is_not_supported_is_skipped_with_the_reason(self):
        results = self.results(self.copy("test_relu", "test_adam", "test_identity_sequence"),
                               "reference")
        self.assertEqual(results["test_adam"][0], "SKIP")
        self.assertIn("Adam", results["test_adam"][1])
        self.assertEqual(results["test_identity_sequence"][0], "SKIP")

    def test_a_malformed_model_fails(self):
        tests = self.copy("test_relu")
        (tests / "test_relu/model.onnx").write_bytes(b"\xff\xff\xff")
        self.assertEqual(self.results(tests, "reference", expect=1)["test_relu"][0], "FAIL")

    def test_filter_and_list_choose_tests(self):
        names = self.folder / "names.tsv"
        names.write_text("# test\tclass\ntest_relu\tcore\tRelu\ntest_abs\tcore\tAbs\n\n")
        results = self.results(DEBIAN / "node", "reference", "--list", names)
        self.assertEqual(list(results), ["test_abs", "test_relu"])
        results = self.results(DEBIAN / "node", "reference", "--list", names, "--filter", "^.*abs$")
        self.assertEqual(list(results), ["test_abs"])
        self.call("onnx-test", DEBIAN / "node", "--target", "reference", "--filter", "no such",
                  expect=4)
        self.call("onnx-test", DEBIAN / "node", "--target", "reference", "--filter", "(", expect=2)
        self.call("onnx-test", self.folder / "none", "--target", "reference", expect=4)

    def test_an_input_that_shapes_depend_on_is_named_where_it_is_not_bound(self):
        model = DEBIAN / "node/test_reshape_reduced_dims/model.onnx"
        self.call("check", model, expect=3)
        self.assertIn("--bind shape=", self.error)

    def check_suite(self, data, target, least, *options):
        results = self.results(data / "node", target, *options, expect=1)
        failed = {name: reason for name, (verdict, reason) in results.items()
                  if verdict == "FAIL"}
        known = KNOWN_FAILURES | (ON_REFERENCE if target == "reference" else {})
        self.assertEqual({name: reason for name, reason in failed.items()
                          if name not in known}, {})
        self.assertEqual([name for name in known
                          if name in results and name not in failed], [])
        passed = sum(verdict == "PASS" for verdict, _ in results.values())
        self.assertGreaterEqual(passed, least)

    def test_debians_tests_pass_on_the_interpreter(self):
        self.check_suite(DEBIAN, "reference", 850)

    def test_debians_tests_pass_as_machine_code(self):
        self.check_suite(DEBIAN, "native", 850)

    def test_debians_tests_pass_on_an_emulated_gpu(self):
        self.check_suite(DEBIAN, "sm_86", 850, "--emulate")
        self.call("onnx-test", self.copy("test_relu"), "--target", "sm_86", "--emulate", expect=5,
                  TCC_HOST_CXX="/nowhere/g++")

    def test_debians_tests_pass_on_an_emulated_arm(self):
        worker = ROOT / "build/arm64/bin/tcc-worker"
        if not worker.exists() or not shutil.which("qemu-aarch64"):
            self.skipTest(f"no {worker} or no qemu-aarch64; scripts/arm64_sysroot.sh and the preset "
                          "arm64 make them")
        os.environ["TCC_WORKER_AARCH64"] = ("qemu-aarch64 -cpu neoverse-n1 -L /usr/aarch64-linux-gnu "
                                            f"'{worker}'")
        self.addCleanup(os.environ.pop, "TCC_WORKER_AARCH64")
        self.check_suite(DEBIAN, "aarch64-v8.2", 850, "--emulate")

    def test_newer_tests_pass_where_they_are(self):
        folder = os.environ.get("TCC_ONNX_TESTS")
        if not folder:
            self.skipTest("TCC_ONNX_TESTS is not set")
        self.check_suite(pathlib.Path(folder), "native", 300)


if __name__ == "__main__":
    if not DEBIAN.exists():
        raise SystemExit(f"{DEBIAN} is missing; run scripts/setup.sh")
    main()
