#!/usr/bin/env python3
"""Follows docs/add_an_operator.md: changes a copy of the sources, builds tcc from it, runs a model."""

import re

import numpy as np
import onnx
from onnx import TensorProto, helper

from page import ROOT, main
from patched_sources import PatchedSources


class AddOperator(PatchedSources):
    def build_tcc(self, sources):
        """Objects of changed files go before the libraries that hold the old ones."""
        # Tables with a row for each kind are made by these macros.
        users = [str(path.relative_to(ROOT)) for folder in ["ir", "models", "graph"]
                 for path in (ROOT / folder).rglob("*.cc")
                 if re.search("TCC_(OP|SCALAR)_KINDS|FindScalarKind", path.read_text())]
        self.assertTrue(users)
        files = sorted({path for path in sources if path.endswith(".cc")} | set(users))
        objects = [self.compile(path) for path in files]
        return self.link(self.tcc.relative_to(self.build), objects)

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
        tcc = self.build_tcc(self.patch("add_an_operator.md", 3))
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
