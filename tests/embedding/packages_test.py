#!/usr/bin/env python3
"""The Debian packages that cpack makes: what they are called, what is in them, and that it runs.

usage: packages_test.py BUILD_FOLDER CMAKE CPACK
"""

import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

NAMES = ["libtensor-tcc-dev", "libtensor-tcc-runtime0.1", "libtensor-tcc0.1", "tensor-tcc"]


def run(*arguments, **options):
    result = subprocess.run(list(map(str, arguments)), stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True, check=False, timeout=300, **options)
    if result.returncode != 0:
        raise AssertionError(f"{arguments}: exit code {result.returncode}\n{result.stdout[-8000:]}")
    return result.stdout


def files(root):
    return {str(path.relative_to(root)) for path in root.rglob("*") if not path.is_dir()}


class Packages(unittest.TestCase):
    build = cmake = cpack = None

    @classmethod
    def setUpClass(cls):
        absent = [name for name in ("dpkg-deb", "dpkg-shlibdeps") if not shutil.which(name)]
        if absent:
            print(f"packages_test: skipped: {absent} are not installed", file=sys.stderr)
            raise unittest.SkipTest(f"{absent} are not installed")
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        run(cls.cpack, "-B", cls.folder / "packed", cwd=cls.build)
        cls.packages = {}
        for path in (cls.folder / "packed").glob("*.deb"):
            name = cls.field(path, "Package")
            cls.packages[name] = path
            run("dpkg-deb", "-x", path, cls.folder / name)

    @staticmethod
    def field(path, name):
        return run("dpkg-deb", "-f", path, name).strip()

    def test_names_and_relations_keep_clear_of_the_tiny_c_compiler(self):
        self.assertEqual(sorted(self.packages), NAMES)
        tool, dev = self.packages["tensor-tcc"], self.packages["libtensor-tcc-dev"]
        self.assertEqual(self.field(tool, "Conflicts"), "tcc")
        self.assertEqual(self.field(dev, "Conflicts"), "libtcc-dev")
        self.assertIn("libtensor-tcc0.1 (= 0.1", self.field(dev, "Depends"))
        self.assertIn("libllvm19", self.field(self.packages["libtensor-tcc0.1"], "Depends"))
        self.assertNotIn("llvm", self.field(self.packages["libtensor-tcc-runtime0.1"], "Depends"))
        self.assertNotIn("libpq", self.field(tool, "Depends"))

    def test_every_installed_file_is_in_one_package(self):
        run(self.cmake, "--install", self.build, "--prefix", self.folder / "installed")
        installed = {name for name in files(self.folder / "installed")
                     if "tcc-developer" not in name and "tccDeveloper" not in name}
        packed = [name.replace(".1.gz", ".1") for package in self.packages
                  for name in files(self.folder / package / "usr")]
        self.assertEqual(sorted(packed), sorted(installed))
        self.assertTrue((self.folder / "tensor-tcc/usr/share/man/man1/tcc.1.gz").exists())
        self.assertLessEqual({f"share/doc/{name}/copyright" for name in NAMES}, installed)

    def test_what_is_packed_runs(self):
        root = self.folder / "machine"
        for path in self.packages.values():
            run("dpkg-deb", "-x", path, root)
        self.assertEqual([path for path in root.rglob("*") if not path.exists()], [])
        tcc = root / "usr/bin/tcc"
        run(tcc, "zoo", "export", "dqn", "--small", "-o", self.folder / "dqn.onnx")
        run(tcc, "compile", self.folder / "dqn.onnx", "-o", self.folder / "dqn.tcc")
        self.assertIn("f32", run(tcc, "run", self.folder / "dqn.tcc", "--random", "1"))
        for library in root.rglob("libtcc*.so"):
            run(sys.executable, "-c", f"import ctypes; ctypes.CDLL('{library}')")


if __name__ == "__main__":
    Packages.build, Packages.cmake, Packages.cpack = sys.argv[1:4]
    del sys.argv[1:4]
    unittest.main()
