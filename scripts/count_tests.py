#!/usr/bin/env python3
"""Counts the single tests inside a CTest run.

usage: count_tests.py REPORT.xml [NAME=STATUS ...]
Reads CTest's JUnit report; each entry's output tells its own cases (Catch2, unittest, or a last
line 'N passed, N failed'). A NAME=STATUS is a step that is no test, with its exit status: it counts
as one failure unless the status is 0. Prints a line an entry, then 'N passed, N failed' as the last
line; exits 1 if anything failed or nothing ran. Skipped tests are counted as neither.
"""

import re
import sys
import xml.etree.ElementTree as ElementTree

LAST_LINE = re.compile(r"^(\d+) passed, (\d+) failed(?:, (\d+) skipped)?\s*\Z", re.M)
CATCH_PASSED = re.compile(r"^All tests passed \(\d+ assertions? in (\d+) test cases?\)", re.M)
CATCH_CASES = re.compile(r"^test cases:\s*(\d+)(.*)$", re.M)
CATCH_NONE = re.compile(r"^No tests ran", re.M)
UNITTEST_RAN = re.compile(r"^Ran (\d+) tests? in", re.M)


def number(pattern, text):
    match = re.search(pattern, text)
    return int(match.group(1)) if match else 0


def cases(output):
    """(passed, failed, skipped) as the program itself reports it, or None when it does not."""
    if match := LAST_LINE.search(output.rstrip() + "\n"):
        return int(match[1]), int(match[2]), int(match[3] or 0)
    if match := CATCH_PASSED.search(output):
        return int(match[1]), 0, 0
    if CATCH_NONE.search(output):
        return 0, 1, 0
    if match := CATCH_CASES.search(output):
        failed = number(r"\| *(\d+) failed(?! as)", match[2])
        return int(match[1]) - failed, failed, 0
    if match := UNITTEST_RAN.search(output):
        tail = output[match.end():]
        failed = number(r"failures=(\d+)", tail) + number(r"errors=(\d+)", tail)
        skipped = number(r"skipped=(\d+)", tail)
        return max(int(match[1]) - failed - skipped, 0), failed, skipped
    return None


def entry_result(entry):
    """A CTest entry's (passed, failed, skipped); its own word never hides a bad exit."""
    status = entry.get("status")
    if status == "disabled" or entry.find("skipped") is not None and status != "fail":
        # CTest calls an executable that could not be built "not run": that is a failure.
        message = (entry.find("skipped").get("message") or "") if status != "disabled" else ""
        return (0, 0, 1) if status == "disabled" or "SKIP" in message else (0, 1, 0)
    good = status == "run"
    passed, failed, skipped = cases(entry.findtext("system-out") or "") or (int(good), 0, 0)
    return passed, failed if good else max(failed, 1), skipped


def main(arguments):
    report, *steps = arguments
    rows = [(step.split("=")[0], (0, 1, 0)) for step in steps if not step.endswith("=0")]
    try:
        rows += [(entry.get("name"), entry_result(entry))
                 for entry in ElementTree.parse(report).getroot().iter("testcase")]
    except (OSError, ElementTree.ParseError) as error:
        print(f"no test report: {error}")
        rows.append(("ctest", (0, 1, 0)))
    for name, (passed, failed, skipped) in rows:
        print(f"{'FAIL' if failed else 'ok':<5}{name}: {passed} passed, {failed} failed"
              + (f", {skipped} skipped" if skipped else ""))
    passed = sum(row[1][0] for row in rows)
    failed = sum(row[1][1] for row in rows)
    skipped = sum(row[1][2] for row in rows)
    if skipped:
        print(f"skipped: {skipped}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
