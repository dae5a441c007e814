#!/usr/bin/env python3
"""The tests of ONNX's releases, so that every opset of an operator is run.

onnx_releases.tar.xz holds the tests of ONNX 1.1 to 1.22 that neither a newer release nor Debian's
libonnx-testdata has; scripts/onnx_releases.py packs it. onnx_releases.tsv lists the tests that do
not pass. $TCC_ONNX_RELEASES names a folder to run instead, which holds the large tests too.
"""

import fnmatch
import os
import pathlib
import tarfile
import tempfile

from tcc_command import CommandTest, main

HERE = pathlib.Path(__file__).resolve().parent
FOLDER = os.environ.get("TCC_ONNX_RELEASES")


def expected_differences(target):
    """Rows (release, test, verdict) of the list; the first two are patterns."""
    lines = (HERE / "onnx_releases.tsv").read_text().splitlines()
    rows = [line.split("\t") for line in lines if line and not line.startswith("#")]
    return [tuple(row[1:4]) for row in rows if fnmatch.fnmatchcase(target, row[0])]


def version(release):
    return [int(part) for part in release.split(".")]


class OnnxReleasesTest(CommandTest):
    tests = None  # a folder of releases

    def verdicts(self, release, target):
        lines = self.call("onnx-test", self.tests / release, "--target", target,
                          expect=(0, 1)).splitlines()
        self.assertRegex(lines[-1], r"^\d+ passed, \d+ failed, \d+ skipped$")
        print(f"onnx {release} {target}: {lines[-1]}", flush=True)
        rows = [line.split("\t") for line in lines[:-1]]
        return {test: (verdict, reason) for verdict, test, reason in rows}

    def check_releases(self, target):
        rows = expected_differences(target)
        used, differences = set(), []
        for release in sorted((path.name for path in self.tests.iterdir()), key=version):
            for test, (verdict, reason) in self.verdicts(release, target).items():
                row = next((row for row in rows if fnmatch.fnmatchcase(release, row[0])
                            and fnmatch.fnmatchcase(test, row[1])), (release, test, "PASS"))
                used.add(row)
                if verdict != row[2]:
                    differences.append(f"{release} {test}: {verdict}; expected {row[2]}; {reason}")
        self.assertEqual("\n".join(differences), "")
        if FOLDER:
            self.assertEqual([row for row in rows if row not in used], [], "rows without a test")

    def test_models_of_every_opset_pass_or_differ_as_listed_on_the_interpreter(self):
        self.check_releases("reference")

    def test_models_of_every_opset_pass_or_differ_as_listed_as_machine_code(self):
        self.check_releases("native")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        if not FOLDER:
            with tarfile.open(HERE / "onnx_releases.tar.xz") as archive:
                archive.extractall(folder)
        OnnxReleasesTest.tests = pathlib.Path(FOLDER or folder)
        main()
