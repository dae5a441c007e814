#!/usr/bin/env python3
"""Follows docs/add_an_operator.md: changes a copy of the sources, builds tcc from it, runs a model."""

import json
import re
import shlex

import numpy as np
import onnx
from onnx import TensorProto, helper

from page import ROOT, PageTest, main

STEP = re.compile(r'^<!-- (\S+): (before|instead of) "([^\n]*)" -->\n```cpp\n(.*?)^```$', re.S | re.M)


def changed(text, place, anchor, code):
    """The source text after a step of the page."""
    assert text.count(anchor) == 1, f"{anchor!r} is there {text.count(anchor)} times"
    if place == "instead of":
        return text.replace(anchor, code.rstrip("\n"))
    return text.replace(anchor, code + anchor)


class AddOperator(PageTest):
    def patched_sources(self):
        """Only what changed, by its path from the root; the rest is read from the repository."""
        steps = STEP.findall((ROOT / "docs" / "add_an_operator.md").read_text())
        self.assertEqual(len(steps), 5)
        sources = {}
        for path, place, anchor, code in steps:
            text = sources.get(path) or (ROOT / path).read_text()
            sources[path] = changed(text, place, anchor.replace('\\"', '"'), code)
        for path, text in sources.items():
            (self.folder / path).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / path).write_text(text)
        return sources

    def compile(self, path, command):
        """Compiles the file as the build did, but from the changed sources."""
        words = shlex.split(command)
        source, output = words[-1], words[words.index("-o") + 1]
        copy = self.folder / path
        if not copy.exists():
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_text((ROOT / path).read_text())
        result = self.folder / (path.replace("/", "_") + ".o")
        words = [str(copy) if word == source else str(result) if word == output else word
                 for word in words]
        at = next(i for i, word in enumerate(words) if word.startswith("-I"))
        words[at:at] = [f"-I{self.folder}", "-O0"]
        words = [word for word in words if not re.fullmatch(r"-O[123]", word)]
        self.run_command(*words, cwd=self.build)
        return result

    def build_tcc(self, sources):
        """Objects of changed files go before the libraries that hold the old ones."""
        commands = {entry["file"]: entry["command"]
                    for entry in json.loads((self.build / "compile_commands.json").read_text())}
        # Tables with a row for each kind are made by this macro.
        users = [str(path.relative_to(ROOT)) for folder in ["ir", "models", "lower"]
                 for path in (ROOT / folder).rglob("*.cc") if "TCC_OP_KINDS" in path.read_text()]
        self.assertTrue(users)
        files = sorted({path for path in sources if path.endswith(".cc")} | set(users))
        objects = [self.compile(path, commands[str(ROOT / path)]) for path in files]
        target = self.tcc.relative_to(self.build)
        link = self.run_command("ninja", "-C", self.build, "-t", "commands", target)
        link = link.strip().splitlines()[-1]
        program = self.folder / "tcc"
        self.assertIn(f" -o {target} ", link)
        link = link.replace(f" -o {target} ", f" {shlex.join(map(str, objects))} -o {program} ")
        self.run_command("sh", "-c", link, cwd=self.build)
        return program

    def model(self):
        """y = SquaredDifference(a, b), with b broadcast."""
        def info(name, shape):
            return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
        graph = helper.make_graph([helper.make_node("SquaredDifference", ["a", "b"], ["y"])], "g",
                                  [info("a", [2, 3]), info("b", [3])], [info("y", [2, 3])])
        path = self.folder / "model.onnx"
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)],
                                    ir_version=8), path)
        return path

    def test_the_steps_of_the_page_give_a_working_operator(self):
        tcc = self.build_tcc(self.patched_sources())
        self.assertIn("SquaredDifference", self.run_command(tcc, "ops"))
        model = self.model()
        a = np.array([[1, -2, 3], [4.5, 0, -6]], np.float32)
        b = np.array([0.5, 2, -1], np.float32)
        np.save(self.folder / "a.npy", a)
        np.save(self.folder / "b.npy", b)
        for target in ["native", "reference"]:
            self.run_command(tcc, "compile", model, "--target", target, "-o",
                             self.folder / "m.tcc")
            self.run_command(tcc, "run", self.folder / "m.tcc",
                             "--input", f"a={self.folder}/a.npy",
                             "--input", f"b={self.folder}/b.npy", "--output-dir", self.folder)
            np.testing.assert_array_equal(np.load(self.folder / "output_0.npy"), (a - b) ** 2)


if __name__ == "__main__":
    main()
