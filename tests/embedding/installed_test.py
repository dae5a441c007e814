#!/usr/bin/env python3
"""The projects of examples/, built against an installed tcc by CMake and by pkg-config.

usage: installed_test.py BUILD_FOLDER CMAKE COMPILER
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
COMPILERS_LIBRARY = re.compile(r"llvm|lld|clang|nvrtc|protobuf", re.I)


class Installed(unittest.TestCase):
    build = cmake = compiler = None

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        # Installed to one place and moved to another: nothing may hold an absolute path.
        cls.run_command(cls.cmake, "--install", cls.build, "--prefix", cls.folder / "before")
        cls.prefix = cls.folder / "prefix"
        (cls.folder / "before").rename(cls.prefix)
        cls.libraries = next(cls.prefix.rglob("libtcc_runtime.so")).parent
        cls.environment = {**os.environ, "LD_LIBRARY_PATH": str(cls.libraries),
                           "PKG_CONFIG_PATH": str(cls.libraries / "pkgconfig")}
        # As the libraries were built; a sanitizer's runtime must be in the program too.
        cache = (pathlib.Path(cls.build) / "CMakeCache.txt").read_text()
        sanitized = "TCC_SANITIZE:BOOL=ON" in cache
        cls.flags = ["-fsanitize=address,undefined"] if sanitized else []
        cls.model = cls.folder / "dqn.onnx"
        cls.run_command(cls.prefix / "bin" / "tcc", "zoo", "export", "dqn", "--small", "-o",
                        cls.model)

    @classmethod
    def run_command(cls, *arguments, expect=0):
        result = subprocess.run(list(map(str, arguments)), capture_output=True, text=True,
                                check=False, env=getattr(cls, "environment", None), timeout=300)
        if (result.returncode == 0) != (expect == 0):
            raise AssertionError(f"{arguments}\n{result.stdout}\n{result.stderr}")
        return result.stdout

    def build_by_cmake(self, example):
        folder = self.folder / f"{example}-cmake"
        self.run_command(self.cmake, "-S", ROOT / "examples" / example, "-B", folder,
                         f"-DCMAKE_PREFIX_PATH={self.prefix}",
                         f"-DCMAKE_CXX_COMPILER={self.compiler}",
                         "-DCMAKE_CXX_FLAGS=" + " ".join(self.flags))
        self.run_command(self.cmake, "--build", folder)
        return folder / example

    def build_by_pkg_config(self, example, package):
        flags = self.run_command("pkg-config", "--cflags", "--libs", package).split()
        program = self.folder / f"{example}-pkg-config"
        self.run_command(self.compiler, "-Wall", "-Wextra", "-Werror", *self.flags,
                         ROOT / "examples" / example / "main.cc", "-o", program, *flags)
        return program

    def test_examples_build_and_agree_however_they_are_built(self):
        artefact = self.folder / "dqn.tcc"
        answers = set()
        for program in [self.build_by_cmake("compile_and_run"),
                        self.build_by_pkg_config("compile_and_run", "tcc")]:
            text = self.run_command(program, self.model, artefact)
            self.assertRegex(text, r"^\w+ sum \S+\n0 tensors copied\n$")
            answers.add(text.splitlines()[0])
        for program in [self.build_by_cmake("run_only"),
                        self.build_by_pkg_config("run_only", "tcc_runtime")]:
            answers.add(self.run_command(program, artefact, 2).splitlines()[0])
            self.check_no_compiler(program)
        self.assertEqual(len(answers), 1, answers)

    def check_no_compiler(self, program):
        """Neither what the program names nor what that needs in turn is a compiler's library."""
        for binary in [program, self.libraries / "libtcc_runtime.so"]:
            needed = self.run_command("readelf", "-d", "--wide", binary)
            self.assertIn("NEEDED", needed)
            self.assertIsNone(COMPILERS_LIBRARY.search(needed), needed)
        loaded = self.run_command("ldd", program)
        self.assertIn("libtcc_runtime.so", loaded)
        self.assertIsNone(COMPILERS_LIBRARY.search(loaded), loaded)

    def test_libraries_export_the_api_and_nothing_else_of_tcc(self):
        for library in ["libtcc.so", "libtcc_runtime.so"]:
            text = self.run_command("nm", "-D", "--defined-only", "--demangle",
                                    self.libraries / library)
            own = [line for line in text.splitlines() if "tcc::" in line or "absl::" in line]
            exported = [line for line in own if "tcc::v1::" not in line]
            self.assertEqual(exported, [], library)
            self.assertTrue(any("tcc::v1::Module::Load" in line for line in own), library)

    def test_another_minor_version_is_refused_before_1_0(self):
        folder = self.folder / "other-version"
        folder.mkdir()
        text = (ROOT / "examples" / "run_only" / "CMakeLists.txt").read_text()
        (folder / "CMakeLists.txt").write_text(text.replace("tcc 0.1", "tcc 0.2"))
        self.run_command(self.cmake, "-S", folder, "-B", folder / "build",
                         f"-DCMAKE_PREFIX_PATH={self.prefix}", expect=1)

    def test_a_bad_model_ends_with_its_code(self):
        self.model.with_name("bad.onnx").write_text("no model")
        program = self.build_by_pkg_config("compile_and_run", "tcc")
        result = subprocess.run([program, self.folder / "bad.onnx"], env=self.environment,
                                capture_output=True, text=True, check=False)
        self.assertEqual(result.returncode, 4, result.stderr)
        self.assertIn("bad.onnx", result.stderr)


if __name__ == "__main__":
    Installed.compiler, Installed.cmake, Installed.build = (sys.argv.pop() for _ in range(3))
    unittest.main()
