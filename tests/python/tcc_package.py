#!/usr/bin/env python3
"""The Python package of the source tree, with the program and the library of a build.

usage: tcc_package.py TCC LIBRARY GPU_ARTEFACTS CUDA_DRIVER [TEST...]

Runs all tests of this folder, or those that are named: module_test.Running.test_...
"""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import numpy as np
from onnx import TensorProto, helper

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PACKAGE = ROOT / "python"
sys.path.insert(0, str(PACKAGE))


def value(name, shape, dtype=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, dtype, shape)


def model(nodes, inputs, outputs, constants=()):
    """An onnx.ModelProto; constants are pairs of a name and an array."""
    initializers = [helper.make_tensor(name, helper.np_dtype_to_tensor_dtype(array.dtype),
                                       array.shape, array.tobytes(), raw=True)
                    for name, array in constants]
    graph = helper.make_graph(nodes, "g", inputs, outputs, initializers)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


def product_model(rows=3):
    """y = x w, of which `rows` rows; w is WEIGHTS."""
    return model([helper.make_node("MatMul", ["x", "w"], ["y"])], [value("x", [rows, 4])],
                 [value("y", [rows, 5])], [("w", WEIGHTS)])


def pair_model():
    """sum = a + b and difference = a - b."""
    names = "a", "b", "sum", "difference"
    tensors = [value(name, [2, 3]) for name in names]
    return model([helper.make_node("Add", ["a", "b"], ["sum"]),
                  helper.make_node("Sub", ["a", "b"], ["difference"])], tensors[:2], tensors[2:])


def cast_model(source, target, shape=(2, 3)):
    """y is x as another type."""
    return model([helper.make_node("Cast", ["x"], ["y"], to=target)], [value("x", shape, source)],
                 [value("y", shape, target)])


WEIGHTS = np.arange(20, dtype=np.float32).reshape(4, 5)


class PackageTest(unittest.TestCase):
    """A test with a folder and a cache of its own."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.set_variable("TCC_CACHE_DIR", str(self.folder / "cache"))

    def set_variable(self, name, text):
        before = os.environ.get(name)
        self.addCleanup(_restore, name, before)
        _restore(name, text)

    def program(self, text):
        """A program that the package starts in tcc's place: a script of sh."""
        path = self.folder / "program"
        path.write_text("#!/bin/sh\n" + text)
        path.chmod(0o755)
        self.set_variable("TCC_PROGRAM", str(path))
        return path

    def run_python(self, text, *arguments, expect=0, **environment):
        """Runs Python code in a process of its own; returns what it prints."""
        result = subprocess.run([sys.executable, "-c", text, *map(str, arguments)],
                                capture_output=True, text=True, timeout=300, check=False,
                                env=self.environment(**environment))
        self.assertEqual(result.returncode, expect, result.stdout + result.stderr)
        self.error = result.stderr
        return result.stdout

    def environment(self, **more):
        return {**os.environ, "PYTHONPATH": str(PACKAGE), **more}

    def tcc(self, *arguments):
        """Runs the build's own program; returns its standard output."""
        return subprocess.run([BUILT["TCC_PROGRAM"], *map(str, arguments)], check=True, timeout=300,
                              stdout=subprocess.PIPE, text=True).stdout


BUILT = {}  # the variables of the environment that name what is built, and other programs


def _restore(name, text):
    if text is None:
        os.environ.pop(name, None)
    else:
        os.environ[name] = text


def main():
    if len(sys.argv) < 5:
        sys.exit(__doc__)
    here = sys.modules["tcc_package"] = sys.modules[__name__]
    paths = [str(pathlib.Path(argument).resolve()) for argument in sys.argv[1:5]]
    here.BUILT = dict(zip(("TCC_PROGRAM", "TCC_LIBRARY", "gpu_artefacts", "TCC_CUDA_DRIVER"),
                          paths))
    for name in ("TCC_PROGRAM", "TCC_LIBRARY"):
        os.environ[name] = here.BUILT[name]
    folder = pathlib.Path(__file__).resolve().parent
    names = sys.argv[5:] or ["discover", "-s", str(folder), "-p", "*_test.py"]
    unittest.main(module=None, argv=[sys.argv[0], *names])


if __name__ == "__main__":
    main()
