#!/usr/bin/env python3
"""The count that scripts/test.sh ends with tells the truth about each kind of test program."""

import contextlib
import io
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "scripts"))
sys.dont_write_bytecode = True
import count_tests  # noqa: E402


def entry(status, output, inner=""):
    return (f'<testcase name="x" status="{status}">{inner}'
            f"<system-out>{output}</system-out></testcase>")


def count(*entries, steps=()):
    """(exit code, last line) for a report of these entries."""
    with tempfile.NamedTemporaryFile("w", suffix=".xml") as report:
        report.write(f"<testsuite>{''.join(entries)}</testsuite>")
        report.flush()
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            code = count_tests.main([report.name, *steps])
    return code, out.getvalue().splitlines()[-1]


class Count(unittest.TestCase):
    def test_catch2_cases_are_counted_singly(self):
        self.assertEqual(count(entry("run", "All tests passed (9 assertions in 4 test cases)")),
                         (0, "4 passed, 0 failed"))
        self.assertEqual(count(entry("fail", "test cases: 5 | 3 passed | 2 failed\n")),
                         (1, "3 passed, 2 failed"))

    def test_unittest_cases_are_counted_singly(self):
        self.assertEqual(count(entry("run", "Ran 3 tests in 0.1s\n\nOK (skipped=1)")),
                         (0, "2 passed, 0 failed"))
        self.assertEqual(count(entry("fail", "Ran 3 tests in 1s\n\nFAILED (failures=1, errors=1)")),
                         (1, "1 passed, 2 failed"))

    def test_a_last_line_in_our_own_form_is_believed(self):
        self.assertEqual(count(entry("run", "seed 1\n100 passed, 0 failed, 2 skipped\n")),
                         (0, "100 passed, 0 failed"))

    def test_a_crash_after_good_words_still_fails(self):
        self.assertEqual(count(entry("fail", "All tests passed (9 assertions in 4 test cases)")),
                         (1, "4 passed, 1 failed"))

    def test_what_could_not_be_built_or_ran_nothing_fails(self):
        missing = '<skipped message="Unable to find executable"/>'
        self.assertEqual(count(entry("notrun", "", missing))[0], 1)
        self.assertEqual(count(entry("run", "No tests ran\n"))[0], 1)
        self.assertEqual(count()[0], 1)

    def test_a_skip_is_neither_and_a_failed_step_is_one(self):
        skip = entry("notrun", "SKIP no gpu", '<skipped message="SKIP_RETURN_CODE=77"/>')
        good = entry("run", "")
        self.assertEqual(count(good, skip), (0, "1 passed, 0 failed"))
        self.assertEqual(count(good, steps=["build=1"]), (1, "1 passed, 1 failed"))


if __name__ == "__main__":
    unittest.main()
