#!/usr/bin/env python3
"""With --errors json the last line on standard error is one object that says what failed."""

import fcntl
import json
import select
import signal
import subprocess
import time

import numpy as np
import onnx
from onnx import TensorProto, helper

from tcc_command import CommandTest, main

PIPE_BYTES = 4096  # the least that a pipe can hold


def model_of(operator, shape):
    tensors = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name in "xy"]
    graph = helper.make_graph([helper.make_node(operator, ["x"], ["y"])], "g", tensors[:1],
                              tensors[1:])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


class ErrorReport(CommandTest):
    def failure(self, *arguments, expect):
        self.call(*arguments, expect=expect)
        return self.last_error(self.error, expect)

    def last_error(self, text, code):
        self.assertTrue(text.endswith("\n"))
        report = json.loads(text.splitlines()[-1])
        self.assertEqual(list(report), ["error"])
        error = report["error"]
        self.assertEqual(list(error), ["code", "kind", "message", "options"])
        self.assertEqual(error["code"], code)
        self.assertNotEqual(error["message"], "")
        return error

    def save(self, operator, shape):
        path = self.folder / "m.onnx"
        onnx.save(model_of(operator, shape), path)
        return path

    def test_a_wrong_command_line_is_a_usage_error_wherever_the_option_stands(self):
        for arguments in [["--errors", "json"], ["--errors", "json", "frobnicate"],
                          ["--errors=json", "run"], ["run", "--errors", "json", "--frobnicate"],
                          ["zoo", "export", "--errors=json"], ["compile", "m.onnx", "--target",
                                                               "vax", "--errors", "json"]]:
            with self.subTest(arguments=arguments):
                error = self.failure(*arguments, expect=2)
                self.assertEqual(error["kind"], "usage")
                self.assertEqual(len(self.error.splitlines()), 1)
        self.call("--errors", "xml", "version", expect=2)
        self.assertIn("--errors: xml not in", self.error)

    def test_a_wrong_value_is_told_with_the_options_name_behind_a_command_too(self):
        for arguments in [["--errors", "json2", "--errors", "json"], ["--errors", "json2"]]:
            self.call("compile", "m.onnx", *arguments, expect=2)
            self.assertIn("--errors: json2 not in {text,json}", self.error)
        self.call("compile", "m.onnx", "--errors", expect=2)
        self.assertIn("--errors: 1 required", self.error)

    def test_every_command_takes_the_option(self):
        for line in self.call("--help-markdown").splitlines():
            if line.startswith("## tcc "):
                self.call(*line.split()[2:], "--errors", "json", "--help")

    def test_what_would_help_is_listed_apart_from_the_message(self):
        path = self.save("Det", ["N", "N"])
        compile_options = ["compile", path, "--target", "sm_75", "-o", self.folder / "m.tcc"]
        error = self.failure(*compile_options, "--errors", "json", expect=3)
        options = ["--dim N=SIZE"]
        self.assertEqual((error["kind"], error["options"]), ("unsupported", options))
        self.assertNotIn("--dim", error["message"])
        self.call(*compile_options, "--errors", "text", expect=3)
        self.assertEqual(self.error.splitlines()[-1],
                         f"tcc: {error['message']} ({', '.join(options)})")

    def test_a_result_of_no_fault_adds_nothing(self):
        self.assertEqual(self.call("version", "--errors", "json"), self.call("version"))
        self.assertEqual(self.error, "")

    def test_bad_files_wrong_results_and_missing_devices_have_their_kinds(self):
        error = self.failure("inspect", "none.onnx", "--errors", "json", expect=4)
        self.assertEqual(error["kind"], "bad_input")
        self.assertIn("none.onnx", error["message"])
        artefact = self.folder / "m.tcc"
        self.call("compile", self.save("Relu", [2]), "--target", "native", "-o", artefact)
        np.save(self.folder / "input_0.npy", np.ones(2, np.float32))
        np.save(self.folder / "output_0.npy", np.zeros(2, np.float32))
        error = self.failure("run", artefact, "--golden", self.folder, "--errors", "json",
                             expect=1)
        self.assertEqual(error["kind"], "wrong_result")
        error = self.failure("tune", self.folder / "m.onnx", "--target", "native", "--trials", 1,
                             "--db", self.folder / "t.db", "--worker", "exit 1",
                             "--errors", "json", expect=5)
        self.assertEqual(error["kind"], "missing")

    def test_text_that_is_not_utf_8_is_replaced(self):
        result = subprocess.run([self.tcc, "inspect", b"\xff.onnx", "--errors", "json"],
                                capture_output=True, check=False)
        self.assertIn("\ufffd", self.last_error(result.stderr.decode(), 4)["message"])

    def test_an_interrupt_is_told_and_ends_the_program_as_a_signal(self):
        with subprocess.Popen([self.tcc, "--errors", "json", "--help-markdown"],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              pipesize=PIPE_BYTES) as process:
            self.assertEqual(fcntl.fcntl(process.stdout, fcntl.F_GETPIPE_SZ), PIPE_BYTES)
            # The program has more to say than the pipe holds, so that it waits.
            select.select([process.stdout], [], [])
            process.send_signal(signal.SIGINT)
            text = process.stderr.read().decode()
            self.assertEqual(process.wait(), -signal.SIGINT)
        self.assertEqual(self.last_error(text, 130)["kind"], "cancelled")

    def test_a_second_interrupt_of_a_tuning_is_told_too(self):
        started = self.folder / "started"
        arguments = ["tune", self.save("Relu", [2]), "--db", self.folder / "t.db", "--trials", "1",
                     "--worker", f"exec cat >'{started}'", "--errors", "json"]
        with subprocess.Popen([self.tcc, *map(str, arguments)], stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, text=True) as process:
            while not started.exists():
                time.sleep(0.01)
            # The first one only asks for an end, which waits for the worker.
            while process.poll() is None:
                process.send_signal(signal.SIGINT)
                time.sleep(0.05)
            self.assertEqual(process.returncode, -signal.SIGINT)
            self.assertEqual(self.last_error(process.stderr.read(), 130)["kind"], "cancelled")


if __name__ == "__main__":
    main()
