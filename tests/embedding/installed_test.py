#!/usr/bin/env python3
"""Projects of examples/, on_gpu and a tutorial, built against an installed tcc.

usage: installed_test.py BUILD_FOLDER CMAKE COMPILER GPU_ARTEFACTS EMULATED_DRIVER
"""

import json
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
    build = cmake = compiler = gpu_artefacts = driver = None

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
        cls.generator = re.search(r"^CMAKE_GENERATOR:INTERNAL=(.*)$", cache, re.M)[1]
        cls.c_compiler = re.search(r"^CMAKE_C_COMPILER:\w+=(.*)$", cache, re.M)[1]
        cls.sanitized = "TCC_SANITIZE:BOOL=ON" in cache
        cls.flags = ["-fsanitize=address,undefined"] if cls.sanitized else []
        cls.model = cls.folder / "dqn.onnx"
        cls.run_command(cls.prefix / "bin" / "tcc", "zoo", "export", "dqn", "--small", "-o",
                        cls.model)

    @classmethod
    def run_command(cls, *arguments, expect=0):
        result = subprocess.run(list(map(str, arguments)), capture_output=True, text=True,
                                check=False, env=getattr(cls, "environment", None), timeout=300)
        if (result.returncode == 0) != (expect == 0):
            raise AssertionError(f"{arguments}\n{result.stdout}\n{result.stderr}")
        return result.stdout if expect == 0 else result.stderr

    def build_by_cmake(self, example, projects=ROOT / "examples"):
        folder = self.folder / f"{example}-cmake"
        self.run_command(self.cmake, "-G", self.generator, "-S", projects / example, "-B", folder,
                         f"-DCMAKE_PREFIX_PATH={self.prefix}",
                         f"-DCMAKE_CXX_COMPILER={self.compiler}",
                         f"-DCMAKE_C_COMPILER={self.c_compiler}",
                         "-DCMAKE_CXX_FLAGS=" + " ".join(self.flags),
                         "-DCMAKE_C_FLAGS=" + " ".join(self.flags))
        self.run_command(self.cmake, "--build", folder)
        return folder / example

    def build_by_pkg_config(self, example, package, compiler=None, source="main.cc"):
        """`compiler`: the command of another one than that of C++."""
        flags = self.run_command("pkg-config", "--cflags", "--libs", package).split()
        program = self.folder / f"{example}-pkg-config"
        self.run_command(*(compiler or [self.compiler]), "-Wall", "-Wextra", "-Werror", *self.flags,
                         ROOT / "examples" / example / source, "-o", program, *flags)
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
        c99 = [self.c_compiler, "-std=c99", "-pedantic"]
        for program in [self.build_by_cmake("run_from_c"),
                        self.build_by_pkg_config("run_from_c", "tcc-c", c99, "main.c")]:
            answers.add(self.run_command(program, artefact, 2).strip())
            self.check_no_compiler(program)
        for program in [self.build_by_cmake("compile_from_c"),
                        self.build_by_pkg_config("compile_from_c", "tcc-compile-c", c99, "main.c")]:
            answers.add(self.run_command(program, self.model).strip())
        self.assertEqual(len(answers), 1, answers)

    def test_a_program_that_loads_the_runtime_by_its_name_computes_the_same(self):
        if self.sanitized:
            self.skipTest("Python holds no sanitizer's runtime, which the library would need")
        artefact = self.folder / "by_name.tcc"
        self.run_command(self.prefix / "bin" / "tcc", "compile", self.model, "-o", artefact)
        script = pathlib.Path(__file__).with_name("run_by_ctypes.py")
        for library in ["libtcc_runtime.so", "libtcc.so"]:
            sums = self.run_command(sys.executable, script, self.libraries / library, artefact,
                                    "threads=1", "map-weights=true")
            program = self.build_by_pkg_config("run_only", "tcc_runtime")
            self.assertEqual(sums.splitlines(),
                             self.run_command(program, artefact, 1).splitlines()[:-1])
        error = self.run_command(sys.executable, script, self.libraries / "libtcc_runtime.so",
                                 self.model, expect=1)
        self.assertIn(str(self.model), error)
        error = self.run_command(sys.executable, script, self.libraries / "libtcc_runtime.so",
                                 artefact, "target=native", expect=1)
        self.assertEqual(error, "there is no option 'target'; expected one of threads, map-weights, "
                         "device\n")

    def test_a_program_tunes_a_network_with_the_worker_that_is_installed(self):
        program = self.build_by_cmake("tune")
        database, artefact = self.folder / "f.db", self.folder / "tuned.tcc"
        for _ in range(2):
            lines = self.run_command(program, self.model, database, 12, artefact).splitlines()
            self.assertEqual(lines[-1], "12 trials")
            kernels = [re.fullmatch(r"(\w+): (\d+) trials, constructed \S+ us, best \S+ us by \w+",
                                    line) for line in lines[:-1] if not line.startswith("in the")]
            self.assertNotIn(None, kernels, lines)
            self.assertEqual(sum(int(kernel[2]) for kernel in kernels), 12)
        tcc = self.prefix / "bin" / "tcc"
        self.run_command(tcc, "check", self.model, artefact)
        stats = json.loads(self.run_command(tcc, "db", "stats", database, "--json"))
        self.assertGreaterEqual(stats["measurements"], 24)

    def test_the_manual_and_the_scripts_for_shells_are_installed_as_the_program_writes_them(self):
        tcc, share = self.prefix / "bin" / "tcc", self.prefix / "share"
        for shell, path in [("bash", "bash-completion/completions/tcc"),
                            ("zsh", "zsh/site-functions/_tcc")]:
            self.assertEqual((share / path).read_text(),
                             self.run_command(tcc, "completion", shell))
        self.run_command(tcc, "--help-man", self.folder / "man1")
        self.assertEqual(*[{page.name: page.read_text() for page in folder.iterdir()}
                           for folder in [share / "man" / "man1", self.folder / "man1"]])

    def check_no_compiler(self, program):
        """Neither what the program names nor what that needs in turn is a compiler's library."""
        for binary in [program, self.libraries / "libtcc_runtime.so"]:
            needed = self.run_command("readelf", "-d", "--wide", binary)
            self.assertIn("NEEDED", needed)
            self.assertIsNone(COMPILERS_LIBRARY.search(needed), needed)
        loaded = self.run_command("ldd", program)
        self.assertIn("libtcc_runtime.so", loaded)
        self.assertIsNone(COMPILERS_LIBRARY.search(loaded), loaded)

    def test_models_run_in_a_stream_and_on_device_memory_of_the_program_s(self):
        """The emulated driver has sm_75, 80, 86, 89 and 90; the artefacts are for sm_86."""
        program = self.build_by_cmake("on_gpu", pathlib.Path(__file__).resolve().parent)
        self.run_command(self.gpu_artefacts, self.folder)
        wanted, other = "device 2 (emulated sm_86, sm_86)", "device 0 (emulated sm_75, sm_75)"
        for name, size, given, values, wrong_shape in [
                ("network", 0, "[1x4x44x44]", 4 * 44 * 44,
                 "input 'x': expected f32[1x4x44x44], got f32[1]"),
                ("free_dimension", 300, "[N]", 300, "'x': f32[1] takes 4 bytes, got 1200")]:
            with self.subTest(name):
                path = self.folder / f"{name}.tcc"
                shape, count = given.replace("N", str(size)), 4 * values
                lines = self.run_on_gpu(program, path, 2, 0, size)
                host = re.sub("0x[0-9a-f]+", "HOST", lines.pop(18))
                # Enqueued three times: launched kernel by kernel, recorded, replayed.
                self.assertEqual(lines, [
                    f"device 99: 5 {path}: there is no CUDA device 99; the driver has 5",
                    f"another device: 5 {path}: the kernels are for sm_86; {other} does not run "
                    "them; compile for target sm_75 (CompileOptions::target)",
                    "device: 0 ", "on device 2",
                    *["enqueue: 0 ", "run: 0 ", "same"] * 3,
                    f"type: 4 input 'x': expected f32{given}, got f64{shape}",
                    f"shape: 4 {wrong_shape}",
                    f"size: 4 'x': f32{shape} takes {count} bytes, got {count - 4}",
                    "alignment: 4 'x' lies 4 above a multiple of 16",
                    f"memory: 4 'x': expected memory of {wanted}, got memory of {other}",
                    "none: 4 input 'x' has no memory",
                    f"stream: 4 the stream is of {other}; expected one of {wanted}",
                    "default stream: 0 "])
                self.assertRegex(host, f"^host: 4 'x': expected memory of {re.escape(wanted)}, "
                                 "got HOST: cuPointerGetAttribute failed with ")

    def run_on_gpu(self, *arguments):
        environment = {**self.environment, "TCC_CUDA_DRIVER": self.driver}
        environment.pop("TCC_EMULATED_SM", None)
        result = subprocess.run(list(map(str, arguments)), capture_output=True, text=True,
                                check=False, env=environment, timeout=300)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        return result.stdout.splitlines()

    def test_a_program_with_a_sketch_rule_of_its_own_builds_against_the_developer_s_libraries(self):
        program = self.build_by_cmake("sketch_rule", ROOT / "docs" / "tutorial")
        schedules = self.folder / "schedules"
        lines = self.run_command(program, self.model, "native", schedules).splitlines()
        self.assertTrue(any(line.endswith(": skinny") for line in lines), lines)
        artefact = self.folder / "scheduled.tcc"
        tcc = self.prefix / "bin" / "tcc"
        self.run_command(tcc, "compile", self.model, "--target", "native", "--schedule", schedules,
                         "-o", artefact)
        self.run_command(tcc, "check", self.model, artefact)

    def test_a_program_with_a_searcher_of_its_own_builds_against_the_developer_s_libraries(self):
        program = self.build_by_cmake("searcher", ROOT / "docs" / "tutorial")
        folder = self.folder / "searchers"
        folder.mkdir()
        # A program that is linked with archives does not know where tcc is installed.
        lines = self.run_command("env", f"TCC_WORKER={self.prefix / 'bin' / 'tcc-worker'}", program,
                                 self.model, folder, 12).splitlines()
        self.assertGreater(len(lines), 1)
        self.assertEqual(sorted(path.name for path in folder.glob("*.db")),
                         ["climb.db", "random.db"])

    def test_every_header_of_the_developer_s_libraries_can_be_included(self):
        folder = self.prefix / "include" / "tcc-developer"
        headers = [str(path.relative_to(folder)) for path in sorted(folder.rglob("*.h"))]
        self.assertIn("models/onnx/import_onnx.h", headers)
        project = self.folder / "headers"
        project.mkdir()
        (project / "headers.cc").write_text("".join(f'#include "{name}"\n' for name in headers))
        # No C++20 but for what the target asks for.
        (project / "CMakeLists.txt").write_text(
            "cmake_minimum_required(VERSION 3.25)\nproject(headers LANGUAGES C CXX)\n"
            "find_package(tcc 0.1 REQUIRED COMPONENTS developer)\n"
            "add_library(headers OBJECT headers.cc)\n"
            "target_link_libraries(headers PRIVATE tcc-developer::tcc_api)\n")
        self.build_by_cmake("headers", self.folder)

    def test_libraries_export_the_api_and_nothing_else_of_tcc(self):
        for library in ["libtcc.so", "libtcc_runtime.so"]:
            text = self.run_command("nm", "-D", "--defined-only", "--demangle",
                                    self.libraries / library)
            own = [line for line in text.splitlines() if "tcc::" in line or "absl::" in line]
            exported = [line for line in own if "tcc::v1::" not in line]
            self.assertEqual(exported, [], library)
            self.assertTrue(any("tcc::v1::Module::Load" in line for line in own), library)
            # Of C what the headers declare.
            headers = ["tcc_c.h"] + (["tcc_compile_c.h"] if library == "libtcc.so" else [])
            text_of_headers = "".join((ROOT / "api" / name).read_text() for name in headers)
            declared = re.findall(r"^TCC_API [\w* ]*?(\w+)\(", text_of_headers, re.M)
            self.assertIn("tcc_module_run", declared)
            self.assertEqual(sorted(re.findall(r" T (tcc_\w+)$", text, re.M)), sorted(declared))

    def test_another_minor_version_is_refused_before_1_0(self):
        folder = self.folder / "other-version"
        folder.mkdir()
        text = (ROOT / "examples" / "run_only" / "CMakeLists.txt").read_text()
        (folder / "CMakeLists.txt").write_text(text.replace("tcc 0.1", "tcc 0.2"))
        error = self.run_command(self.cmake, "-G", self.generator, "-S", folder, "-B",
                                 folder / "build", f"-DCMAKE_PREFIX_PATH={self.prefix}", expect=1)
        self.assertIn('requested version "0.2"', error)

    def test_a_bad_model_ends_with_its_code(self):
        self.model.with_name("bad.onnx").write_text("no model")
        program = self.build_by_pkg_config("compile_and_run", "tcc")
        result = subprocess.run([program, self.folder / "bad.onnx"], env=self.environment,
                                capture_output=True, text=True, check=False)
        self.assertEqual(result.returncode, 4, result.stderr)
        self.assertIn("bad.onnx", result.stderr)


if __name__ == "__main__":
    (Installed.build, Installed.cmake, Installed.compiler, Installed.gpu_artefacts,
     Installed.driver) = sys.argv[1:6]
    del sys.argv[1:6]
    unittest.main()
