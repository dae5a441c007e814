"""The preset `portable` builds, needs glibc alone, and compiles and runs a network.

Its objects are those of the preset `release`: with ccache it takes seconds, without it minutes.
"""
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[1]
PROGRAM = ROOT / "build/portable/bin/tcc"
OF_GLIBC = re.compile(r"lib(c|m|dl|pthread|rt)\.so\.\d|ld-linux-x86-64\.so\.2")


class Portable(unittest.TestCase):
    def call(self, *arguments, cwd=ROOT):
        environment = os.environ | {"CCACHE_BASEDIR": str(ROOT), "CCACHE_NOHASHDIR": "1"}
        result = subprocess.run([str(a) for a in arguments], cwd=cwd, env=environment,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.assertEqual(result.returncode, 0, f"{arguments}\n{result.stdout[-8000:]}")
        return result.stdout

    def test_the_program_links_and_runs_with_glibc_alone(self):
        self.call("cmake", "--preset", "portable")
        self.call("ninja", "-C", ROOT / "build/portable", "-j", "1", "tcc")
        needed = re.findall(r"NEEDED.*\[(.*)\]", self.call("readelf", "-d", PROGRAM))
        self.assertEqual([name for name in needed if not OF_GLIBC.fullmatch(name)], [])
        with tempfile.TemporaryDirectory() as folder:
            self.call(PROGRAM, "zoo", "export", "dqn", "--small", "-o", "dqn.onnx", cwd=folder)
            self.call(PROGRAM, "compile", "dqn.onnx", "--target", "reference", "-o", "dqn.tcc",
                      cwd=folder)
            self.assertIn("f32", self.call(PROGRAM, "run", "dqn.tcc", "--random", "1", cwd=folder))


if __name__ == "__main__":
    unittest.main()
