#!/usr/bin/env python3
"""The schedules of docs/tutorial/cuda.md are on the page, and their text computes the product."""

import re
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from page import ROOT, PageTest, main

FOLDER = ROOT / "docs" / "tutorial" / "cuda"
# The page's size, and one that no tile divides.
SIZES = [(256, 256, 256), (100, 120, 36)]


class Cuda(PageTest):
    def product(self, rows, columns, depth):
        """C = A B with a constant B."""
        draw = np.random.default_rng(rows)
        b = draw.integers(-9, 10, (depth, columns)).astype(np.float32)
        graph = helper.make_graph(
            [helper.make_node("MatMul", ["A", "B"], ["C"], name="mm")], "product",
            [helper.make_tensor_value_info("A", TensorProto.FLOAT, (rows, depth))],
            [helper.make_tensor_value_info("C", TensorProto.FLOAT, (rows, columns))],
            [numpy_helper.from_array(b, "B")])
        path = self.folder / "product.onnx"
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)],
                                    ir_version=8), path)
        return path

    def test_the_blocks_are_what_tcc_prints(self):
        page = FOLDER.with_suffix(".md").read_text()
        shown = re.findall(r"--schedule (\w+);", page)
        self.assertEqual(set(shown), {path.name for path in FOLDER.iterdir()})
        self.run_command(sys.executable, ROOT / "scripts" / "fill_tutorial.py", self.tcc, "--check")

    def test_the_text_computes_the_product(self):
        for size in SIZES:
            model = self.product(*size)
            for folder in sorted(FOLDER.iterdir()):
                with self.subTest(schedule=folder.name, size=size):
                    self.run_command(self.tcc, "check", model, "--target", "sm_86", "--schedule",
                                     folder, "--emulate")


if __name__ == "__main__":
    main()
