#!/usr/bin/env python3
"""The repository keeps to its budget of lines, and the report fails where a tree does not."""

import contextlib
import io
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "scripts"))
sys.dont_write_bytecode = True
import size_report  # noqa: E402

# 5 lines of product and 3 of tests: other kinds of files do not count.
TREE = {"ir/expr.cc": "a\nb\n", "scripts/run.sh": "a\nb\nc", "tests/ir/expr_test.cc": "a\n" * 3,
        "docs/page.md": "a\n" * 100}


def report(product, tests, untracked=()):
    """(exit code, stdout, stderr) for TREE with such limits."""
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        budget = json.dumps({"product": product, "tests": tests})
        for path, text in {**TREE, size_report.BUDGET: budget, **dict(untracked)}.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text)
        subprocess.run(["git", "init", "-q"], cwd=root, check=True)
        subprocess.run(["git", "add", *TREE, size_report.BUDGET], cwd=root, check=True)
        out, error = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(error):
            code = size_report.main(root)
    return code, out.getvalue(), error.getvalue()


class SizeReport(unittest.TestCase):
    @unittest.skipUnless((ROOT / ".git").exists(), "a source archive has no list of tracked files")
    def test_the_repository_keeps_to_its_budget(self):
        totals = size_report.totals_of(size_report.lines_of_files(ROOT))
        budget = json.loads((ROOT / size_report.BUDGET).read_text())
        self.assertEqual(size_report.over_budget(totals, budget), [])

    def test_a_tree_at_its_limits_passes_and_shows_both_totals(self):
        code, out, error = report(5, 3)
        self.assertEqual((code, error), (0, ""))
        self.assertIn("product: 5 lines of at most 5\n", out)
        self.assertIn("tests: 3 lines of at most 3\n", out)

    def test_a_tree_above_a_limit_fails_and_names_number_limit_and_file(self):
        for product, tests, name, total, limit in [(4, 3, "product", 5, 4), (5, 1, "tests", 3, 1)]:
            with self.subTest(name):
                code, _, error = report(product, tests)
                self.assertEqual(code, 1)
                self.assertEqual(error.count("\n"), 1, error)
                self.assertIn(f"{name}: {total} lines, {total - limit} more than the limit of {limit}",
                              error)
                self.assertIn(size_report.BUDGET, error)

    def test_a_source_archive_without_git_passes(self):
        with tempfile.TemporaryDirectory() as root, contextlib.redirect_stdout(io.StringIO()):
            self.assertEqual(size_report.main(pathlib.Path(root)), 0)

    def test_files_that_git_does_not_track_are_not_counted(self):
        code, _, error = report(5, 3, untracked=[("ir/draft.cc", "a\n" * 50)])
        self.assertEqual((code, error), (0, ""))


if __name__ == "__main__":
    unittest.main()
