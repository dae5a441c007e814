#!/usr/bin/env python3
"""Fills blocks of the pages of docs/ that follow a model by running tcc on the model that they show.

usage: fill_tutorial.py TCC [--check]     --check compares instead of writing; exit code 1 if one differs

A comment above a block says what is in it:

  model: NAME; weights W...; target T             a model as text; its inputs W become initializers
  dump: STAGE [--task T] [--schedule FOLDER]      what tcc dump prints; in "; busiest block" only the
                                                  code with the most arithmetic, in "; function"
                                                  and "; kernel" without the lines before it, in
                                                  "; outer loop" only the kernel's first whole loop
  diff: STAGE FOLDER FOLDER                       between the functions by two schedules; of the
                                                  stage "trace", between the schedules
  trace: FOLDER                                   the schedule itself
  refusal: FOLDER                                 what is said against it
  sketch_rule: output | FILE                      what the program sketch_rule, which lies beside tcc,
                                                  prints, or writes to this file

FOLDER is one of the folder beside the page that is named after it. Needs the package onnx:
build/venv/bin/python scripts/fill_tutorial.py build/release/bin/tcc
"""

import difflib
import math
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import numpy_helper

DOCS = pathlib.Path(__file__).resolve().parent.parent / "docs"
PAGES = [DOCS / "tutorial" / "convolution.md", DOCS / "tutorial" / "schedule.md",
         DOCS / "tutorial" / "cuda.md", DOCS / "add_a_sketch_rule.md"]
MODEL = re.compile(r"<!-- model: (\w+); weights ([\w ]+); target ([\w-]+) -->\n```\n(.*?)^```$",
                   re.S | re.M)
FILLED = re.compile(r"(<!-- (dump|diff|trace|refusal|sketch_rule): ([^;\n]*)(?:; ([\w ]+))? -->\n"
                    r"```\w*\n)(.*?)^```$", re.S | re.M)
ARITHMETIC = re.compile(r"fmadd|fmul")


def write_model(text, weights, path):
    """The model of the page; its weights, inputs in the text, become initializers."""
    model = onnx.parser.parse_model(text)
    for name in weights:
        info = next(value for value in model.graph.input if value.name == name)
        shape = [dim.dim_value for dim in info.type.tensor_type.shape.dim]
        values = (np.arange(math.prod(shape)) % 7 - 3).reshape(shape).astype(np.float32) / 8
        model.graph.initializer.append(numpy_helper.from_array(values, name))
        model.graph.input.remove(info)
    onnx.checker.check_model(model)
    onnx.save(model, path)


def busiest_block(text):
    """The basic block with the most arithmetic: from a label to the first jump."""
    blocks = [[]]
    for line in text.splitlines():
        if re.match(r"\S+:", line):
            blocks.append([])
        blocks[-1].append(line)
        if re.match(r"\s+j\w+\s", line):
            blocks.append([])
    best = max(blocks, key=lambda block: sum(bool(ARITHMETIC.search(line)) for line in block))
    while best and not best[-1].strip():
        best.pop()
    return "\n".join(best) + "\n"


def function_of(text):
    return text[re.search(r"^fn ", text, re.M).start():]


def kernel_of(text):
    return text[re.search(r"^TCC_(ONE_BLOCK_)?KERNEL\(", text, re.M).start():].rstrip() + "\n"


def outer_loop(text):
    return re.search(r"^  for .*?^  }\n", kernel_of(text), re.S | re.M)[0]


PARTS = {"": lambda text: text, "busiest block": busiest_block, "function": function_of,
         "kernel": kernel_of, "outer loop": outer_loop}


class Page:
    """A page, and its model in a folder."""

    def __init__(self, path, tcc, folder):
        self.path, self.tcc = path, tcc
        self.schedules = path.with_suffix("")
        self.text = path.read_text()
        name, weights, self.target, model = MODEL.search(self.text).groups()
        self.model = pathlib.Path(folder) / f"{name}.onnx"
        write_model(model, weights.split(), self.model)

    def call(self, arguments):
        """Of `tcc dump`."""
        words = arguments.split()
        if "--schedule" in words:
            at = words.index("--schedule") + 1
            words[at] = str(self.schedules / words[at])
        return subprocess.run([self.tcc, "dump", self.model, "--target", self.target, "--stage",
                               *words], check=False, capture_output=True, text=True)

    def dump(self, arguments):
        result = self.call(arguments)
        assert result.returncode == 0, f"{self.path.name}: {arguments}: {result.stderr}"
        return result.stdout

    def diff(self, arguments):
        stage, *folders = arguments.split()
        texts = [self.trace(folder) if stage == "trace" else
                 function_of(self.dump(f"{stage} --schedule {folder}")) for folder in folders]
        sides = [text.splitlines(keepends=True) for text in texts]
        lines = list(difflib.unified_diff(*sides, n=1))[2:]
        return "".join("...\n" if line.startswith("@@") else line for line in lines)

    def trace(self, folder):
        files = list((self.schedules / folder).glob("*.trace"))
        return "".join(path.read_text() for path in sorted(files))

    def refusal(self, folder):
        result = self.call(f"scheduled --schedule {folder}")
        assert result.returncode == 4, f"{self.path.name}: {folder} is not refused"
        return result.stderr.replace(f"{self.model}", self.model.name)

    def sketch_rule(self, what):
        folder = self.model.parent / "schedules"
        program = pathlib.Path(self.tcc).parent / "sketch_rule"
        printed = subprocess.run([program, self.model, self.target, folder], check=True,
                                 capture_output=True, text=True).stdout
        return printed if what == "output" else (folder / what).read_text()

    def filled(self):
        def fill(match):
            start, kind, arguments, part = match[1], match[2], match[3], match[4] or ""
            return start + PARTS[part](getattr(self, kind)(arguments)) + "```"

        return FILLED.sub(fill, self.text)


def main(arguments):
    if not arguments or arguments[1:] not in ([], ["--check"]):
        print(__doc__, file=sys.stderr)
        return 2
    failed = 0
    for path in PAGES:
        with tempfile.TemporaryDirectory() as folder:
            page = Page(path, arguments[0], folder)
            result = page.filled()
        if arguments[1:] == []:
            path.write_text(result)
        elif result != page.text:
            print(f"{path.relative_to(DOCS.parent)} is not what tcc prints now; "
                  "run scripts/fill_tutorial.py TCC")
            failed = 1
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
