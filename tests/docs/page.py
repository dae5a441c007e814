"""Pages of docs/ and what their tests are given; shared by the tests in this folder."""

import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def blocks(page, language):
    """Contents of the fenced blocks of a language."""
    text = (ROOT / "docs" / page).read_text()
    return re.findall(rf"^```{language}\n(.*?)^```$", text, flags=re.S | re.M)


class PageTest(unittest.TestCase):
    """A test with a folder of its own; main() sets what the build has."""

    compiler = tcc = build = None

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def run_command(self, *arguments, cwd=None):
        result = subprocess.run(list(map(str, arguments)), capture_output=True, text=True,
                                check=False, cwd=cwd, timeout=600)
        self.assertEqual(result.returncode, 0, f"{arguments}\n{result.stdout}\n{result.stderr}")
        return result.stdout


def main():
    PageTest.build, PageTest.tcc, PageTest.compiler = (
        pathlib.Path(sys.argv.pop()).resolve() for _ in range(3))
    unittest.main()
