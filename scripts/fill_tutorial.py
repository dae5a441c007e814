#!/usr/bin/env python3
"""Fills the dumps of docs/tutorial/convolution.md by running tcc on the model that the page shows.

usage: fill_tutorial.py TCC [--check]     --check compares instead of writing; exit code 1 if it differs

Needs the package onnx: build/venv/bin/python scripts/fill_tutorial.py build/release/bin/tcc
"""

import math
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import numpy_helper

PAGE = pathlib.Path(__file__).resolve().parent.parent / "docs" / "tutorial" / "convolution.md"
MODEL = re.compile(r"<!-- model -->\n```\n(.*?)^```$", re.S | re.M)
DUMP = re.compile(r"(<!-- dump: (\w+)(?: --task (\w+))?(; busiest block)? -->\n```\n)(.*?)^```$",
                  re.S | re.M)
WEIGHTS = ["w", "b"]
ARITHMETIC = re.compile(r"fmadd|fmul")


def write_model(text, path):
    """The model of the page; its weights, inputs in the text, become initializers."""
    model = onnx.parser.parse_model(text)
    for name in WEIGHTS:
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


def filled(page, tcc, folder):
    model = pathlib.Path(folder) / "convolution.onnx"
    write_model(MODEL.search(page)[1], model)

    def fill(match):
        command = [tcc, "dump", model, "--target", "x86-64-v3", "--stage", match[2]]
        command += ["--task", match[3]] if match[3] else []
        text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        return match[1] + (busiest_block(text) if match[4] else text) + "```"

    return DUMP.sub(fill, page)


def main(arguments):
    if not arguments or arguments[1:] not in ([], ["--check"]):
        print(__doc__, file=sys.stderr)
        return 2
    page = PAGE.read_text()
    with tempfile.TemporaryDirectory() as folder:
        result = filled(page, arguments[0], folder)
    if arguments[1:] == []:
        PAGE.write_text(result)
    elif result != page:
        print("docs/tutorial/convolution.md is not what tcc prints now; "
              "run scripts/fill_tutorial.py TCC")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
