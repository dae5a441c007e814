#!/usr/bin/env python3
"""usage: bare_machine_test.py TCC TCC_BENCH

Compiling for GPUs where nothing but scripts/setup.sh has installed anything: the environment is
empty, and folders of a CUDA toolkit are hidden, so that a library which only a search path finds is
missed here as on a fresh machine.
"""

import glob
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

TCC, BENCH = (pathlib.Path(path).resolve() for path in sys.argv[1:3])
LDCONFIG = shutil.which("ldconfig", path="/sbin:/usr/sbin:" + os.environ.get("PATH", ""))
ROOT = os.geteuid() == 0
# A mount that only the program sees.
APART = ["unshare", "--mount", *([] if ROOT else ["--user", "--map-root-user"])]


def toolkit_paths():
    """Folders of toolkits, and files of NVRTC in folders that the system needs too."""
    listed = subprocess.run([LDCONFIG, "-p"], capture_output=True, text=True, check=True).stdout
    files = [pathlib.Path(path).resolve()
             for path in re.findall(r"=> (\S*/libnvrtc\S+)$", listed, re.M)]
    folders = {file.parent for file in files if "cuda" in str(file.parent)}
    folders |= {pathlib.Path(path).resolve()
                for path in glob.glob("/usr/local/cuda*") + glob.glob("/opt/cuda*")}
    outermost = {folder for folder in folders if folders.isdisjoint(folder.parents)}
    return sorted(outermost), sorted({file for file in files if outermost.isdisjoint(file.parents)})


class BareMachine(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        folders, files = toolkit_paths()
        cls.hide = [f"mount -t tmpfs none '{path}'" for path in folders]
        cls.hide += [f"mount --bind /dev/null '{path}'" for path in files]
        if cls.hide and subprocess.run([*APART, "true"], check=False).returncode != 0:
            raise unittest.SkipTest("a toolkit is installed, and mounting over it is not allowed")

    def run_bare(self, program, *arguments, **environment):
        words = ["env", "-i", *(f"{name}={value}" for name, value in environment.items()),
                 str(program), *map(str, arguments)]
        if self.hide:
            words = [*APART, "sh", "-ec", "\n".join([*self.hide, 'exec "$@"']), "sh", *words]
        return subprocess.run(words, capture_output=True, text=True, check=False, cwd=self.folder,
                              timeout=600)

    def compile_first_kernel(self, **environment):
        return self.run_bare(BENCH, "kernels", "--suite", "smoke", "--target", "sm_86", "--kernel",
                             "matmul_33x20x17", "--compile-only", **environment)

    def nvrtc(self):
        found = self.run_bare(TCC, "doctor", "--json")
        return next(row for row in json.loads(found.stdout) if row["name"] == "NVRTC")

    def test_the_first_kernel_of_a_suite_compiles(self):
        found = self.compile_first_kernel()
        self.assertEqual(found.returncode, 0, found.stdout + found.stderr)

    def test_nvrtc_of_the_venv_compiles_for_every_target(self):
        check = self.nvrtc()
        self.assertEqual(check["status"], "ok", check)
        self.assertIn("site-packages/nvidia", check["detail"])
        self.assertIn("compiles for sm_75, sm_80, sm_86, sm_89, sm_90a", check["detail"])

    def test_machine_code_is_shown(self):
        exported = self.run_bare(TCC, "zoo", "export", "dqn", "--small", "-o", "dqn.onnx")
        self.assertEqual(exported.returncode, 0, exported.stderr)
        shown = self.run_bare(TCC, "dump", "dqn.onnx", "--target", "sm_86", "--stage", "asm")
        self.assertEqual(shown.returncode, 0, shown.stderr)
        self.assertIn("FFMA", shown.stdout)

    def test_an_nvrtc_without_its_second_library_compiles_nothing(self):
        """Else another copy of that library would be within reach, and the tests above void."""
        alone = self.folder / "alone" / "libnvrtc.so.13"
        alone.parent.mkdir()
        shutil.copy(self.nvrtc()["detail"].split(", ")[1], alone)
        found = self.compile_first_kernel(TCC_NVRTC=alone)
        self.assertNotEqual(found.returncode, 0)
        self.assertIn("libnvrtc-builtins", found.stderr)


if __name__ == "__main__":
    del sys.argv[1:3]
    unittest.main()
