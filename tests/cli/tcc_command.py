"""Runs the tcc executable; the tests of the command line share it."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import troubleshooting

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


class CommandTest(unittest.TestCase):
    """A test with a folder of its own; `tcc` is set by main()."""

    tcc = None

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def call(self, *arguments, expect=0, cwd=None, **environment):
        """Standard output; fails unless the exit code is the expected one, or one of a tuple."""
        result = subprocess.run([self.tcc, *map(str, arguments)], capture_output=True, text=True,
                                cwd=cwd, timeout=900, check=False,
                                env={**os.environ, **environment})
        self.assertIn(result.returncode, expect if isinstance(expect, tuple) else (expect,),
                      f"{arguments}\n{result.stdout}\n{result.stderr}")
        self.error = result.stderr
        self.expect_explained(result.returncode, result.stderr)
        return result.stdout

    def expect_explained(self, code, error):
        """Fails unless one entry of docs/troubleshooting.md tells of the message of exits 3, 4, 5."""
        message = troubleshooting.message_of(error)
        if code not in troubleshooting.CODES or not message:
            return
        found = [entry.pattern for entry in troubleshooting.fitting(code, message)]
        self.assertEqual(len(found), 1, f"docs/troubleshooting.md, exit code {code}: {message}\n"
                         + "\n".join(found))

    def has_nvrtc(self):
        checks = json.loads(self.call("doctor", "--json"))
        return any(row["name"] == "NVRTC" and row["status"] == "ok" for row in checks)

    def export(self, network, *options):
        path = self.folder / f"{network}.onnx"
        self.call("zoo", "export", network, "-o", path, *options)
        return path


def main():
    CommandTest.tcc = pathlib.Path(sys.argv.pop(1)).resolve()
    unittest.main()
