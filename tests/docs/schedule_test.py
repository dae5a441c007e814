#!/usr/bin/env python3
"""The schedules of docs/tutorial/schedule.md are on the page, compile, and run right."""

import re
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from page import ROOT, PageTest, main

FOLDER = ROOT / "docs" / "tutorial" / "schedule"
# The page's size, but for the plain loops, which take seconds; and one that no tile divides.
SIZES = [(1024, 1024, 1024), (100, 1000, 300)]


class Schedule(PageTest):
    def product(self, rows, columns, depth):
        """C = A B with a constant B, integers whose sums f32 holds; the model, and C by numpy."""
        draw = np.random.default_rng(rows)
        a = draw.integers(-9, 10, (rows, depth)).astype(np.float32)
        b = draw.integers(-9, 10, (depth, columns)).astype(np.float32)
        graph = helper.make_graph(
            [helper.make_node("MatMul", ["A", "B"], ["C"], name="mm")], "product",
            [helper.make_tensor_value_info("A", TensorProto.FLOAT, a.shape)],
            [helper.make_tensor_value_info("C", TensorProto.FLOAT, (rows, columns))],
            [numpy_helper.from_array(b, "B")])
        path = self.folder / "product.onnx"
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)],
                                    ir_version=8), path)
        np.save(self.folder / "a.npy", a)
        return path, a @ b

    def run_schedule(self, model, folder):
        artefact = self.folder / "product.tcc"
        self.run_command(self.tcc, "compile", model, "--target", "native", "--schedule", folder,
                         "--notes", "none", "-o", artefact)
        self.run_command(self.tcc, "run", artefact, "--input", f"A={self.folder}/a.npy",
                         "--threads", 2, "--output-dir", self.folder)
        return np.load(self.folder / "output_0.npy"), artefact.read_bytes()

    def test_the_blocks_are_what_tcc_prints(self):
        page = FOLDER.with_suffix(".md").read_text()
        shown = re.findall(r"<!-- trace: (\w+) -->", page)
        self.assertEqual(sorted(shown), sorted(path.name for path in FOLDER.iterdir()))
        self.run_command(sys.executable, ROOT / "scripts" / "fill_tutorial.py", self.tcc, "--check")

    def test_the_schedules_compute_the_product(self):
        for size in SIZES:
            model, expected = self.product(*size)
            for folder in sorted(FOLDER.iterdir()):
                if folder.name == "refused" or (folder.name == "loops" and size == SIZES[0]):
                    continue
                with self.subTest(schedule=folder.name, size=size):
                    got, _ = self.run_schedule(model, folder)
                    np.testing.assert_array_equal(got, expected)

    def test_sizes_by_name_give_the_code_of_sizes_by_number(self):
        model, _ = self.product(*SIZES[1])
        artefacts = [self.run_schedule(model, FOLDER / name)[1] for name in ["parallel", "sizes"]]
        self.assertEqual(*artefacts)


if __name__ == "__main__":
    main()
