#!/usr/bin/env python3
"""What somebody sees who types tcc for the first time."""

import json
import re
import shlex
import subprocess

from tcc_command import CommandTest, main


class FirstTry(CommandTest):
    def test_the_commands_that_the_help_names_run_one_after_another(self):
        text = self.call("--help").split("A first try:\n")[1]
        commands = [line.split("     ")[0].strip() for line in text.splitlines() if line.strip()]
        self.assertEqual([line.split()[:2] for line in commands],
                         [["tcc", "zoo"], ["tcc", "compile"], ["tcc", "run"]])
        for command in commands:
            words = shlex.split(re.sub(" {2,}.*", "", command))
            self.call(*words[1:], cwd=self.folder)
        self.assertTrue((self.folder / "resnet50.tcc").exists())

    def test_the_version_is_an_option_too(self):
        self.assertEqual(self.call("--version"), self.call("version"))

    def test_an_artefact_is_told_in_columns_and_readable_units(self):
        model = self.export("dqn")
        artefact = self.folder / "dqn.tcc"
        self.call("compile", model, "--target", "native", "-o", artefact)
        facts = json.loads(self.call("inspect", artefact, "--json"))
        text = self.call("inspect", artefact)
        mib = facts["weights_bytes"] / 2**20
        self.assertRegex(text, rf"(?m)^weights +{mib:.2f} MiB$")
        lines = text.split("\nkernels\n")[1].splitlines()
        ends = {line.rindex("FLOP") for line in lines if "FLOP " in line}
        self.assertEqual(len(ends), 1, text)
        self.assertEqual(len(lines), len(facts["kernels"]) + 1)
        for kernel in facts["kernels"]:
            self.assertIn(kernel["name"] + ": ", text)
        self.assertNotIn("null", text)

    def test_a_model_is_told_in_readable_units(self):
        model = self.export("dqn")
        flops = json.loads(self.call("inspect", model, "--json"))["flops"]
        self.assertRegex(self.call("inspect", model),
                         rf"(?m)^flops +{re.escape(f'{flops / 1e6:.1f}')} MFLOP$")

    def test_compiling_without_output_and_target_writes_beside_the_model_for_this_cpu(self):
        self.export("dqn", "--small").rename(self.folder / "a.b.onnx")
        elsewhere = self.folder / "elsewhere"
        elsewhere.mkdir()
        self.call("compile", self.folder / "a.b.onnx", cwd=elsewhere)
        artefact = self.folder / "a.b.tcc"
        summary = json.loads(self.call("inspect", artefact, "--json"))
        self.assertEqual(summary["device"], "cpu")
        self.assertEqual(list(elsewhere.iterdir()), [])

    def test_compiling_ends_with_what_was_written(self):
        model = self.export("dqn", "--small")
        artefact = self.folder / "m.tcc"
        self.assertEqual(self.call("compile", model, "--target", "native", "-o", artefact), "")
        last = self.error.splitlines()[-1]
        kernels = len(json.loads(self.call("inspect", artefact, "--json"))["kernels"])
        self.assertRegex(last, rf"^tcc: wrote {re.escape(str(artefact))}, [\d.]+ (B|[KM]iB), "
                               rf"{kernels} kernels, \d+\.\d s$")
        self.call("compile", model, "--target", "native", "-o", artefact, "--progress", "json")
        told = json.loads(self.error.splitlines()[-1])
        self.assertEqual(told["file"], str(artefact))
        self.assertEqual(told["bytes"], artefact.stat().st_size)
        self.assertEqual(told["kernels"], kernels)
        self.call("compile", model, "--target", "native", "-o", artefact, "--progress", "none")
        self.assertEqual(self.error, "")

    def test_running_without_inputs_says_that_they_are_random(self):
        artefact = self.folder / "m.tcc"
        self.call("compile", self.export("dqn", "--small"), "--target", "native",
                  "-o", artefact)
        silent = self.call("run", artefact, "--random", "0")
        self.assertEqual(self.error, "")
        self.assertEqual(self.call("run", artefact), silent)
        self.assertIn("random inputs of seed 0", self.error)

    def test_a_command_that_is_missing_is_asked_for(self):
        found = subprocess.run([self.tcc], capture_output=True, text=True, check=False)
        self.assertEqual(found.returncode, 2)
        self.assertIn("A first try:", found.stderr)


if __name__ == "__main__":
    main()
