#!/usr/bin/env python3
"""What setup.sh would install, and what quickstart.sh says and does, with every program but the
shell's own a stand-in that notes how it was called: nothing is installed or built."""

import os
import pathlib
import shutil
import subprocess
import tarfile
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
STAND_IN = '#!/bin/sh\necho "$(basename "$0") $*" >>"$CALLS"\n'
REAL = ["bash", "sh", "env", "dirname", "basename", "grep", "cat", "sort", "head", "awk", "mkdir",
        "realpath", "rm", "tar", "gzip"]


class Setup(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "bin").mkdir()
        for name in REAL:
            (self.folder / "bin" / name).symlink_to(shutil.which(name))
        for name in ["apt-get", "cmake", "ninja"]:
            self.stand_in(f"bin/{name}")
        self.stand_in("bin/dpkg-query", "exit 1\n")  # nothing is installed
        self.stand_in("bin/id", "echo 0\n")
        self.stand_in("bin/nproc", "echo 2\n")
        (self.folder / "scripts").mkdir()
        for name in ["setup.sh", "quickstart.sh"]:
            shutil.copy(ROOT / "scripts" / name, self.folder / "scripts" / name)

    def stand_in(self, path, rest=""):
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(STAND_IN + rest)
        file.chmod(0o755)

    def run_script(self, name, *arguments, expect=0):
        calls = self.folder / "calls"
        calls.write_text("")
        result = subprocess.run([self.folder / "scripts" / name, *arguments], capture_output=True,
                                text=True, check=False, timeout=60,
                                env={"PATH": f"{self.folder / 'bin'}", "CALLS": f"{calls}",
                                     "HOME": os.environ.get("HOME", "/"), "TCC_JOBS": "2"})
        self.assertEqual(result.returncode, expect, result.stdout + result.stderr)
        self.output = result.stdout
        return calls.read_text().splitlines()

    def installed(self, calls):
        (line,) = [call for call in calls if call.startswith("apt-get install ")]
        return {word for word in line.split()[2:] if not word.startswith("-")}

    def test_setting_up_for_the_build_alone_installs_nothing_of_the_tests(self):
        build = self.installed(self.run_script("setup.sh", "--only", "build"))
        self.assertIn("llvm-19-dev", build)
        self.assertFalse((self.folder / "build" / "venv").exists())
        self.stand_in("bin/python3")
        self.stand_in("build/venv/bin/pip")
        calls = self.run_script("setup.sh")
        everything = self.installed(calls)
        self.assertLess(build, everything)
        self.assertLessEqual({"catch2", "clang-tidy-19", "strace", "python3"}, everything - build)
        self.assertTrue([call for call in calls if call.startswith("pip install ")])

    def test_another_part_than_the_build_is_refused(self):
        self.assertEqual(self.run_script("setup.sh", "--only", "tests", expect=2), [])

    def test_the_quickstart_begins_with_its_minutes_and_builds_no_tests(self):
        self.stand_in("build/release/bin/tcc")
        calls = self.run_script("quickstart.sh")
        first = self.output.splitlines()[0]
        self.assertRegex(first, r"^quickstart: \d+ to \d+ minutes on 2 CPUs")
        self.assertIn(first.split(" CPUs")[0].removeprefix("quickstart: ") + " CPUs",
                      (ROOT / "README.md").read_text())
        self.assertNotIn("catch2", self.installed(calls))
        (configure,) = [call for call in calls if call.startswith("cmake ")]
        self.assertIn("-DTCC_TESTS=OFF", configure.split())
        commands = [call.split()[1] for call in calls if call.startswith("tcc ")]
        self.assertEqual(commands, ["zoo", "compile", "run", "bench", "check"])

    def test_the_quickstart_with_a_bundle_installs_and_builds_nothing(self):
        self.stand_in("tensor-tcc-9.9/bin/tcc")
        with tarfile.open(self.folder / "bundle.tar.gz", "w:gz") as archive:
            archive.add(self.folder / "tensor-tcc-9.9", "tensor-tcc-9.9")
        calls = self.run_script("quickstart.sh", "--bundle", self.folder / "bundle.tar.gz")
        self.assertEqual([call.split()[:2] for call in calls],
                         [["tcc", word] for word in ["zoo", "compile", "run", "bench", "check"]])
        self.assertEqual(self.run_script("quickstart.sh", "--bundle", expect=2), [])


if __name__ == "__main__":
    unittest.main()
