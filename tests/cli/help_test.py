#!/usr/bin/env python3
"""Completion in shells and the manual, both made from the table of options."""

import re
import shutil
import subprocess

from tcc_command import CommandTest, main

# Sets the variables that bash gives a function for completion, calls it and prints the answers.
BASH = """source <("$1" completion bash) || exit
shift
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
complete -p tcc | grep -q -- '-F _tcc' && _tcc && printf '%s\\n' "${COMPREPLY[@]}"
"""

# Types a line into an interactive zsh and prints what is offered.
ZSH = r"""zmodload zsh/zpty && zpty shell zsh -f -i
zpty -w shell 'PS1=; LISTMAX=9999; stty cols 300; autoload -Uz compinit; compinit -u -D'
zpty -w shell "source <($1 completion zsh); cd $2; PATH=${1:h}:\$PATH"
zpty -w shell 'zstyle ":completion:*" list-separator "#"; print -r READ''Y'
zpty -r shell text '*READY*'
zpty -w -n shell "$3"$'\t'
zpty -r -m shell text "*$4*" && print -r -- found
zpty -d shell
"""

TARGETS = ["native", "vdla", "x86-64-v3", "x86-64-v4", "aarch64-v8.2", "aarch64-v8.6", "aarch64-sve",
           "aarch64-sve256", "reference", "sm_75", "sm_80", "sm_86", "sm_89", "sm_90a",
           "opencl", "opencl-mali-t860", "opencl-mi50"]


class Completion(CommandTest):
    def setUp(self):
        super().setUp()
        for name in ["a.onnx", "b.onnx", "m.tcc", "x.npy", "all.npz", "notes.txt"]:
            (self.folder / name).touch()
        (self.folder / "models").mkdir()

    def offered(self, *words):
        """The answers for a line, in bash's words: '=' is one of its own."""
        result = subprocess.run(["bash", "--norc", "-c", BASH, "bash", self.tcc, self.tcc, *words],
                                capture_output=True, text=True, cwd=self.folder, check=False)
        self.assertEqual((result.returncode, result.stderr), (0, ""), result.stdout)
        return [line for line in result.stdout.splitlines() if line]

    def test_lines_are_completed_in_bash(self):
        commands = [line.split()[2] for line in self.call("--help-markdown").splitlines()
                    if re.fullmatch("## tcc [a-z-]+", line)]
        networks = self.call("zoo", "list").split()
        for words, expected in [
                ([""], commands),
                (["co"], ["compile", "cost-model", "completion"]),
                (["--err"], ["--errors"]),
                (["--errors", "j"], ["json"]),
                (["zoo", ""], ["list", "export"]),
                (["zoo", "export", "res"], [name for name in networks if name.startswith("res")]),
                (["zoo", "export", "dqn", "--s"], ["--small", "--seed"]),
                (["compile", ""], ["a.onnx", "b.onnx", "models"]),
                (["compile", "b"], ["b.onnx"]),
                (["compile", "a.onnx", "--targ"], ["--target"]),
                (["compile", "a.onnx", "--target", ""], TARGETS),
                (["compile", "a.onnx", "--target", "=", "sm_9"], ["sm_90a"]),
                (["compile", "a.onnx", "--target", "="], TARGETS),
                (["compile", "--target", "sm_90a", "-o", "m"], ["m.tcc", "models"]),
                (["compile", "a.onnx", "--bind", "x", "=", ""], ["x.npy", "models"]),
                (["compile", "a.onnx", "--bind", "x", "=", "x"], ["x.npy"]),
                (["compile", "a.onnx", "--schedule", ""], ["models"]),
                (["compile", "a.onnx", "--dim", "N", "=", ""], []),
                (["compile", "a.onnx", "--no-winograd", "--errors", ""], ["text", "json"]),
                (["run", "m.tcc", "--input", "x", "=", ""], ["x.npy", "all.npz", "models"]),
                (["check", "a.onnx", ""], ["m.tcc", "models"]),
                (["check", "a.onnx", "m.tcc", "-"], None),
                (["db", "merge", "one.db", "two.db", "no"], ["notes.txt"]),
                (["db", "verify", "one.db", "no"], []),
                (["completion", ""], ["bash", "zsh"]),
                (["version", ""], ["--errors", "--help"]),
                (["frobnicate", "--frob"], [])]:
            with self.subTest(words=words):
                answers = self.offered(*words)
                if expected is None:
                    self.assertTrue({"--progress", "-v", "--quiet", "--help"} <= set(answers))
                else:
                    self.assertEqual(sorted(answers), sorted(expected))

    def test_names_with_blanks_stay_whole(self):
        (self.folder / "my net.onnx").touch()
        self.assertEqual(self.offered("inspect", "my"), ["my net.onnx"])

    def test_lines_are_completed_in_zsh(self):
        if not shutil.which("zsh"):
            self.skipTest("no zsh")
        for typed, expected in [("tcc comp", "completion"), ("tcc compile --target sm_", "sm_90a"),
                                ("tcc check a.onnx m.", "m.tcc"), ("tcc run --input x=", "all.npz"),
                                ("tcc run --output-dir m", "models"),
                                ("tcc run --thr", "--threads")]:
            with self.subTest(typed=typed):
                result = subprocess.run(["zsh", "-f", "-c", ZSH, "zsh", self.tcc, self.folder,
                                         typed, expected], capture_output=True, text=True,
                                        check=False, timeout=60)
                self.assertEqual(result.stdout, "found\n", result.stderr)


class Manual(CommandTest):
    def setUp(self):
        super().setUp()
        self.pages = self.folder / "new" / "man1"
        self.call("--help-man", self.pages)

    def shown(self, page):
        result = subprocess.run(["groff", "-man", "-Tascii", "-ww", "-rLL=400n", "-P-cbou", page],
                                capture_output=True, text=True, check=False)
        self.assertEqual((result.returncode, result.stderr), (0, ""), page)
        return re.sub(" +", " ", result.stdout)

    def test_every_command_has_a_page_that_groff_has_nothing_to_say_of(self):
        page = self.call("--help-markdown")
        commands = re.findall(r"^## tcc (\S+)$", page, re.M)
        self.assertEqual({path.name for path in self.pages.iterdir()},
                         {"tcc.1", *(f"tcc-{command}.1" for command in commands)})
        text = self.shown(self.pages / "tcc.1")
        for command in commands:
            self.assertIn(f"tcc-{command}(1)", text)
        for code, meaning in re.findall(r"^\| (\d+) \| (.*) \|$", page, re.M):
            self.assertIn(f"{code} {meaning}.", text)

    def test_the_pages_hold_each_option_and_what_it_means(self):
        title = ""
        for line in self.call("--help-markdown").splitlines():
            if line.startswith("## tcc "):
                title = line.split()[2]
                text = self.shown(self.pages / f"tcc-{title}.1")
            elif line.startswith("| `"):
                option, meaning = re.fullmatch(r"\| `(.*)` \| (.*) \|", line).groups()
                with self.subTest(command=title, option=option):
                    self.assertIn(option.replace("\\|", "|"), text)
                    self.assertIn(meaning.replace("\\|", "|") + ".", text)

    def test_a_folder_that_cannot_be_made_is_refused(self):
        self.call("--help-man", "/proc/nowhere", expect=4)
        self.assertIn("/proc/nowhere", self.error)


if __name__ == "__main__":
    main()
