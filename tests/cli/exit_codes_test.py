#!/usr/bin/env python3
"""What a user can get wrong ends with the exit code of the contract and one message on stderr."""

import json
import os
import subprocess

from tcc_command import CommandTest, main


class ExitCodes(CommandTest):
    def refused(self, code, message, *arguments):
        self.assertEqual(self.call(*arguments, expect=code), "")
        self.assertTrue(self.error.startswith("tcc: "), self.error)
        self.assertIn(message, self.error)

    def test_help_and_version_are_data(self):
        self.assertIn("compile", self.call("--help"))
        self.assertIn("--target", self.call("compile", "--help"))
        self.assertIn("artefact version", self.call("version"))

    def test_wrong_command_lines_end_with_2(self):
        self.refused(2, "command", )
        self.refused(2, "frobnicate", "frobnicate")
        self.refused(2, "--target", "dump", "m.onnx", "--stage", "graph")
        self.refused(2, "unknown target 'vax'",
                     "compile", "m.onnx", "--target", "vax", "-o", "m.tcc")
        self.refused(2, "--threads", "run", "m.tcc", "--threads", "-1")
        for value in ["-1", "nan", "x"]:
            self.refused(2, f"at least 0, got '{value}'", "run", "m.tcc", "--rtol", value)
        self.refused(2, "--stage", "dump", "m.onnx", "--target", "native", "--stage", "soup")
        self.refused(2, "--random", "run", "m.tcc", "--random", "1", "--golden", "g")
        self.refused(2, "lenet", "zoo", "export", "lenet", "-o", self.folder / "m.onnx")

    def test_negative_seeds_are_refused_and_do_not_wrap_around(self):
        for value in ["-1", "1.5", "18446744073709551616", "x"]:
            self.refused(2, f"got '{value}'", "run", "m.tcc", "--random", value)
            self.refused(2, f"got '{value}'", "zoo", "export", "dqn", "-o", "m.onnx",
                         "--seed", value)

    def test_failed_writes_to_standard_output_are_errors(self):
        model = self.export("dqn", "--small")
        for arguments in [["--help"], ["version"], ["ops", "--markdown"], ["--help-markdown"],
                          ["dump", model, "--target", "native", "--stage", "asm"]]:
            with self.subTest(arguments=arguments), open("/dev/full", "w") as full:
                result = subprocess.run([self.tcc, *map(str, arguments)], stdout=full,
                                        stderr=subprocess.PIPE, text=True, check=False)
                self.assertEqual(result.returncode, 4, result.stderr)
                self.assertIn("could not write", result.stderr)

    def test_options_of_dimensions_are_checked(self):
        model = self.export("dqn", "--small")
        for option, value in [("--dim", "N"), ("--dim", "N=-3"), ("--dim", "N=x"),
                              ("--shape", "x=1xx3"), ("--bind", "=f.npy")]:
            self.refused(2, option, "compile", model, "--target", "native", "-o", "m.tcc",
                         option, value)

    def test_a_task_that_is_not_there_is_refused_at_every_stage_of_tasks(self):
        model = self.export("dqn", "--small")
        for stage in ["fused", "tensor", "lowered", "asm"]:
            self.refused(2, "no task 'nope'", "dump", model, "--target", "native",
                         "--stage", stage, "--task", "nope")

    def test_features_of_later_versions_are_refused_by_name(self):
        model = self.export("dqn", "--small")
        compile_options = ["compile", model, "--target", "native", "-o", self.folder / "m.tcc"]
        self.refused(2, "--searcher", *compile_options, "--searcher", "guess")
        self.refused(2, "unknown numeric mode", *compile_options, "--numeric", "sloppy")
        self.refused(2, "--emulate", "check", model, "--emulate")
        self.assertFalse((self.folder / "m.tcc").exists())

    def test_empty_values_are_not_taken_for_options_that_are_not_given(self):
        model = self.export("dqn", "--small")
        for option in ["-o", "--db", "--run", "--cost-model", "--time-budget", "--schedule",
                       "--dim"]:
            self.refused(2, "expected a value, got ''", "compile", model, "--target", "native",
                         option, "")

    def test_options_of_a_search_are_refused_where_nothing_is_measured(self):
        compile_command = ["compile", self.export("dqn", "--small"), "--target", "native",
                           "-o", self.folder / "m.tcc"]
        model = self.folder / "my.model"
        self.call("devices", "calibrate", "-o", model)
        for option, value in [("--searcher", "random"), ("--policy", "warm"), ("--seed", "3"),
                              ("--run", self.folder / "run"), ("--cost-model", model)]:
            self.refused(2, f"{option}: expected a budget", *compile_command, option, value)
        self.assertFalse((self.folder / "m.tcc").exists())

    def test_bad_files_end_with_4(self):
        bad = self.folder / "bad.onnx"
        self.refused(4, "bad.onnx", "compile", bad, "--target", "native", "-o", "m.tcc")
        bad.write_bytes(os.urandom(1000))
        self.refused(4, "", "compile", bad, "--target", "native", "-o", self.folder / "m.tcc")
        self.refused(4, "", "run", bad)
        self.refused(4, "", "inspect", bad)
        self.assertEqual([path.name for path in self.folder.iterdir()], ["bad.onnx"])

    def test_a_truncated_artefact_is_refused(self):
        model = self.export("dqn", "--small")
        artefact = self.folder / "m.tcc"
        self.call("compile", model, "--target", "reference", "-o", artefact)
        whole = artefact.read_bytes()
        artefact.write_bytes(whole[:-64])
        self.refused(4, "", "run", artefact)
        artefact.write_bytes(whole[:300] + bytes([whole[300] ^ 1]) + whole[301:])
        self.refused(4, "", "run", artefact)

    def test_progress_that_is_asked_for_is_told_of_short_work_too(self):
        model = self.export("dqn", "--small")
        compile_options = ["compile", model, "--target", "native", "-o", self.folder / "m.tcc"]
        self.assertEqual(self.call(*compile_options, "--progress", "json"), "")
        stages = [json.loads(line)["stage"] for line in self.error.splitlines()]
        self.assertEqual(stages[0], "graph")
        self.assertEqual(stages.count("code"), 1)
        self.call(*compile_options, "--progress", "plain")
        self.assertIn("tcc: graph", self.error)
        self.call(*compile_options, "--progress", "none")
        self.assertEqual(self.error, "")

    def test_verbose_tells_the_time_of_each_stage_once_and_quiet_tells_nothing(self):
        model = self.export("dqn", "--small")
        stages = ["import", "graph", "schedule", "code", "plan"]
        for command, last in [(["compile", model, "-o", self.folder / "m.tcc"], ["writing"]),
                              (["check", model], ["load", "run", "reference"])]:
            self.call(*command, "-v", "--progress", "none")
            lines = [line.split(": ") for line in self.error.splitlines()]
            self.assertEqual([line[1] for line in lines], [*stages, *last])
            for line in lines:
                self.assertRegex(line[2], r"^\d+\.\d{3} s$")
            self.call(*command, "--quiet")
            self.assertEqual(self.error, "")
            self.refused(2, "excludes", *command, "-q", "-v")
            self.refused(2, "excludes", *command, "-q", "--progress", "json")
        self.call("compile", model, "-o", self.folder / "m.tcc", "-v", "--progress", "json")
        notes = [json.loads(line).get("note", "") for line in self.error.splitlines()]
        self.assertEqual([note.split(": ")[0] for note in notes if note], [*stages, "writing"])

    def test_nothing_is_left_where_writing_fails(self):
        model = self.export("dqn", "--small")
        self.call("compile", model, "--target", "reference", "-o",
                  self.folder / "none" / "m.tcc", expect=4)
        self.assertIn("none", self.error)
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()), ["dqn.onnx"])

    def test_a_pipe_or_device_is_not_replaced_by_a_file(self):
        pipe = self.folder / "pipe"
        os.mkfifo(pipe)
        self.refused(4, "not a regular file", "zoo", "export", "dqn", "--small", "-o", pipe)
        self.assertTrue(pipe.is_fifo())

    def test_inputs_that_do_not_fit_end_with_4(self):
        model = self.export("dqn", "--small")
        artefact = self.folder / "m.tcc"
        self.call("compile", model, "--target", "reference", "-o", artefact)
        self.refused(4, "none.npy", "run", artefact, "--input", f"x={self.folder}/none.npy")
        self.refused(4, "golden", "run", artefact, "--golden", self.folder / "golden")

    def test_operators_are_listed(self):
        self.assertIn("Conv ", self.call("ops"))
        self.assertIn("MaxPool", [row["name"] for row in json.loads(self.call("ops", "--json"))])


if __name__ == "__main__":
    main()
