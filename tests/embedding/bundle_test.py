#!/usr/bin/env python3
"""What scripts/bundle.sh lays out, and the programs without LLVM: what they need, that they write
what this build's tcc writes, and that they run where there is nothing but glibc.

usage: bundle_test.py BUILD_FOLDER CMAKE C_COMPILER
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
GLIBC = re.compile(r"lib(c|m|dl|pthread)\.so\.\d|ld-linux-x86-64\.so\.2")
NEWEST_GLIBC = (2, 35)
PARTS = ["LLVM", "LLD", "Abseil", "Protocol Buffers", "OpenSSL", "SQLite", "zlib", "Zstandard",
         "liblzma", "fmt", "JSON for Modern C++", "CLI11", "Eigen", "libstdc++, libgcc"]
# Inside a mount namespace, so that nothing of this machine changes.
ENTER = """
mount --rbind /proc "$0/proc" && mount --bind /dev/null "$0/dev/null" && exec chroot "$0" "$@"
"""


def run(*arguments, expect=0, **options):
    """Standard output and error; fails unless the exit code is the expected one."""
    result = subprocess.run(list(map(str, arguments)), stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True, check=False, timeout=600, **options)
    if result.returncode != expect:
        raise AssertionError(f"{arguments}: exit code {result.returncode}\n{result.stdout[-8000:]}")
    return result.stdout


def libraries(file):
    return re.findall(r"NEEDED.*\[(.*)\]", run("readelf", "-d", "--wide", file))


class Bundle(unittest.TestCase):
    build = cmake = compiler = None

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        cls.said = run(ROOT / "scripts/bundle.sh", "--folder", "--build", cls.build, "--out",
                       cls.folder)
        (cls.bundle,) = cls.folder.glob("tensor-tcc-*-linux-x86_64")
        cls.tcc = cls.bundle / "bin/tcc"

    def check_glibc_alone(self, program):
        self.assertEqual([name for name in libraries(program) if not GLIBC.fullmatch(name)], [])
        versions = re.findall(r"GLIBC_(\d+)\.(\d+)", run("readelf", "-V", "--wide", program))
        self.assertLessEqual(max((int(a), int(b)) for a, b in versions), NEWEST_GLIBC)

    def test_programs_need_glibc_alone(self):
        for name in ["tcc.1", "tcc-compile.1"]:
            self.assertTrue((self.bundle / "share/man/man1" / name).exists())
        for name in ["tcc", "tcc-worker"]:
            self.check_glibc_alone(self.bundle / "bin" / name)
            self.assertIn(f"\n{name}: ", self.said)

    def test_third_party_names_every_part_with_its_version_and_licence(self):
        text = (self.bundle / "THIRD_PARTY").read_text()
        for part in PARTS:
            self.assertRegex(text, rf"(?m)^{re.escape(part)} +\S+ \S*\d\S* +[\w ]+")
        for licence in ["Apache License", "Mozilla Public License", "LLVM Exceptions", "zlib",
                        "GCC RUNTIME LIBRARY EXCEPTION"]:
            self.assertIn(licence.lower(), text.lower())

    def test_a_c_program_and_ctypes_run_an_artefact_with_the_abseil_beside_the_library(self):
        model, artefact = self.folder / "dqn.onnx", self.folder / "dqn.tcc"
        run(self.tcc, "zoo", "export", "dqn", "--small", "-o", model)
        run(self.tcc, "compile", model, "-o", artefact)
        packages = {"PATH": os.environ["PATH"],
                    "PKG_CONFIG_PATH": str(self.bundle / "lib/pkgconfig")}
        flags = run("pkg-config", "--cflags", "--libs", "tcc-c", env=packages).split()
        program = self.folder / "run_from_c"
        run(self.compiler, ROOT / "examples/run_from_c/main.c", "-o", program, *flags)
        beside = {"LD_LIBRARY_PATH": str(self.bundle / "lib")}
        said = run(program, artefact, env=beside)
        self.assertRegex(said, r"^\w+ sum \S+\n")
        library = self.bundle / "lib/libtcc_runtime.so"
        script = pathlib.Path(__file__).with_name("run_by_ctypes.py")
        self.assertEqual(run(sys.executable, script, library, artefact, env={}),
                         said.splitlines(keepends=True)[0])
        loaded = re.findall(r"=> (\S*/)libabsl\S* ", run("ldd", program, env={**packages, **beside}))
        self.assertEqual({pathlib.Path(path).resolve() for path in loaded},
                         {(self.bundle / "lib/tcc").resolve()})

    def test_artefacts_are_those_of_this_build_to_the_byte(self):
        own = self.build / "bin/tcc"
        networks = run(own, "zoo", "list").split()
        self.assertGreaterEqual(len(networks), 10)
        for network in networks:
            with self.subTest(network):
                model = self.folder / f"{network}.onnx"
                run(self.tcc, "zoo", "export", network, "--small", "-o", model)
                made = []
                for program in [own, self.tcc]:
                    artefact = self.folder / f"{network}.tcc"
                    run(program, "compile", model, "-o", artefact)
                    made.append(artefact.read_bytes())
                self.assertTrue(made[0] == made[1], "artefacts differ")

    def bare_machine(self):
        """A root folder with the programs, and glibc's files where this machine has them."""
        root = self.folder / "machine"
        for name in ["bin", "proc", "dev", "tmp"]:
            (root / name).mkdir(parents=True)
        (root / "dev/null").touch()
        for program in ["tcc", "tcc-worker"]:
            shutil.copy(self.bundle / "bin" / program, root / "bin")
        files = re.findall(r"(/\S+) \(0x", run("ldd", self.tcc))
        self.assertEqual(len(files), 3, files)
        for file in files:
            copy = root / file.lstrip("/")
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(file, copy)
        return root

    def test_it_exports_compiles_checks_and_tunes_on_a_machine_with_glibc_alone(self):
        root = self.bare_machine()
        enter = ["unshare", "-m" if os.geteuid() == 0 else "-rm", "sh", "-c", ENTER, root]
        environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}
        probe = subprocess.run([*enter, "/bin/tcc", "--version"], env=environment, text=True,
                               stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, check=False)
        confined = probe.returncode == 0
        if not confined:
            enter, environment = ["env", "-i"], {"PATH": os.environ["PATH"]}

        def call(*words, expect=0):
            program = "/bin/tcc" if confined else root / "bin/tcc"
            return run(*enter, program, *words, env=environment, cwd=root / "tmp", expect=expect)

        def path(name):
            return f"/tmp/{name}" if confined else root / "tmp" / name

        call("zoo", "export", "dqn", "--small", "-o", path("dqn.onnx"))
        call("compile", path("dqn.onnx"), "-o", path("dqn.tcc"))
        self.assertIn(" 0 differ", call("check", path("dqn.onnx"), path("dqn.tcc")))
        call("tune", path("dqn.onnx"), "--db", path("dqn.db"), "--trials", "2", "--progress", "none")
        self.assertRegex(call("db", "stats", path("dqn.db"), "--json"), r'"measurements": *[2-9]')
        if not confined:
            reason = probe.stderr.strip() or "it failed without a word"
            print(f"bundle_test: ran with an empty environment alone: {reason}", file=sys.stderr)
            self.skipTest(f"there is no chroot here: {reason}")
        self.assertIn("libpq.so.5 was not found",
                      call("worker", "--fleet", "postgresql://ann@db/fleet", expect=5))

    def test_programs_without_llvm_need_glibc_alone_and_run_what_was_compiled(self):
        run(self.cmake, "--build", self.build, "--target", "tcc_portable")
        program = self.build / "portable/tcc"
        self.check_glibc_alone(program)
        model, artefact = self.folder / "portable.onnx", self.folder / "portable.tcc"
        run(program, "zoo", "export", "dqn", "--small", "-o", model)
        self.assertIn("has no LLVM", run(program, "compile", model, "-o", artefact, expect=5))
        for compiler, target in [(program, "reference"), (self.tcc, "native")]:
            run(compiler, "compile", model, "--target", target, "-o", artefact)
            self.assertIn("f32", run(program, "run", artefact, "--random", "1"))


if __name__ == "__main__":
    Bundle.build = pathlib.Path(sys.argv[1]).resolve()
    Bundle.cmake, Bundle.compiler = sys.argv[2:4]
    del sys.argv[1:4]
    unittest.main()
