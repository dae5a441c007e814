#!/usr/bin/env python3
"""The wheel that scripts/wheel.sh makes, installed offline into a virtual environment of its own.

usage: wheel_test.py WHEEL_SH_OPTIONS...
"""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import zipfile

import numpy

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent.parent
OPTIONS = sys.argv[1:]

USE = """
import sys, tcc
assert "numpy" not in sys.modules
import numpy
assert tcc.__file__.startswith(sys.prefix), tcc.__file__
x = numpy.ones((1, 4, 44, 44), numpy.float32)
loaded = tcc.load("m.tcc")
compiled = tcc.compile("m.onnx")
assert (loaded(x) == compiled(x)).all()
print(tcc.tune("m.onnx", database="m.db", trials=2).trials, loaded(x).shape)
"""


class Wheel(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        subprocess.run([ROOT / "scripts" / "wheel.sh", "--out", cls.folder, *OPTIONS], check=True,
                       timeout=900)
        (cls.wheel,) = cls.folder.glob("*.whl")
        cls.venv = cls.folder / "venv"
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", cls.venv], check=True,
                       timeout=300)
        subprocess.run([sys.executable, "-m", "pip", "--python", cls.venv / "bin" / "python",
                        "install", "--quiet", "--no-index", "--no-deps",
                        "--disable-pip-version-check", cls.wheel], check=True, timeout=300)
        # NumPy is the one of this environment.
        site = next(cls.venv.glob("lib/python3*/site-packages"))
        (site / "numpy.pth").write_text(str(pathlib.Path(numpy.__file__).parent.parent))

    def call(self, *words, expect=0):
        """Runs a program of the environment, as from a shell that knows nothing else of tcc."""
        variables = {name: text for name, text in os.environ.items()
                     if not name.startswith(("TCC_", "PYTHON", "LD_"))}
        result = subprocess.run(
            [self.venv / "bin" / words[0], *words[1:]], capture_output=True, text=True,
            check=False, timeout=300, cwd=self.folder,
            env={**variables, "TCC_CACHE_DIR": str(self.folder / "cache")})
        self.assertEqual(result.returncode, expect, result.stdout + result.stderr)
        self.error = result.stderr
        return result.stdout

    def test_it_fits_every_python_and_says_which_machines(self):
        self.assertRegex(self.wheel.name, r"^tcc-.*-py3-none-manylinux_2_35_x86_64\.whl$")
        with zipfile.ZipFile(self.wheel) as archive:
            entries = {entry.filename: entry for entry in archive.infolist()}
        for name in ("tcc/bin/tcc", "tcc/bin/tcc-worker"):
            self.assertEqual(entries[name].external_attr >> 16 & 0o111, 0o111, name)
        self.assertIn("tcc/py.typed", entries)
        modules = {str(path.relative_to(ROOT / "python"))
                   for path in (ROOT / "python" / "tcc").rglob("*.py")}
        self.assertLessEqual(modules, entries.keys())
        licences = {pathlib.PurePath(name).name for name in entries if "/licenses/" in name
                    and not name.endswith("/")}
        self.assertEqual(licences, {"LICENSE", "NOTICE", "THIRD_PARTY"})

    def test_the_library_brings_what_debian_has_and_other_systems_lack(self):
        with zipfile.ZipFile(self.wheel) as archive:
            brought = [pathlib.PurePath(name).name for name in archive.namelist()
                       if name.startswith("tcc.libs/") and not name.endswith("/")]
        self.assertTrue(brought)
        for name in brought:
            self.assertRegex(name, r"^libabsl_\w+-[0-9a-f]{8}\.so")

    def test_the_program_and_the_package_work_together(self):
        self.assertRegex(self.call("tcc", "version"), "^tcc ")
        self.call("tcc", "zoo", "export", "dqn", "--small", "-o", "m.onnx")
        self.call("tcc", "compile", "m.onnx")
        self.assertEqual(self.call("python", "-c", USE), "2 (1, 6)\n")
        self.call("tcc", "frobnicate", expect=2)
        self.assertIn("tcc --help", self.error)
        self.assertRegex(self.call("python", "-m", "tcc", "version"), "^tcc ")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
