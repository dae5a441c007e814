#!/usr/bin/env python3
"""usage: device_pack_test.py PROGRAMS EMULATED_DRIVER

bench/device/pack.sh over the programs of this build: the archive, unpacked elsewhere, is all that a
machine needs.
"""

import os
import pathlib
import subprocess
import sys
import tarfile
import tempfile
import unittest

PROGRAMS, DRIVER = sys.argv[1:3]
SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "bench/device/pack.sh"
ABSENT = {"TCC_NVRTC": "none"}


def outcome(command, **environment):
    # A cache that the environment names is not that of the pack.
    run = subprocess.run(list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                         text=True, check=False,
                         env={**os.environ, "TCC_CACHE_DIR": "", **environment})
    return run.returncode, run.stdout


class DevicePack(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        """Packs suite smoke for sm_86, and unpacks it into .pack."""
        if "ok       NVRTC" not in outcome([f"{PROGRAMS}/tcc", "doctor"])[1]:
            raise unittest.SkipTest("no NVRTC")
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        out = cls.folder / "here/pack"
        out.parent.mkdir()
        code, cls.said = outcome([SCRIPT, "--target", "sm_86", "--suites", "smoke", "--out", out,
                                  "--programs", PROGRAMS], TCC_POINTS="5")
        if "is too large" in cls.said:
            raise unittest.SkipTest("programs of this build are larger than those that are packed")
        assert code == 0, cls.said
        there = cls.folder / "there"
        with tarfile.open(f"{out}.tar.gz") as archive:
            archive.extractall(there)
        cls.pack = there / "pack"

    def test_the_unpacked_archive_needs_no_nvrtc_and_nothing_beside_it(self):
        pack, said = self.pack, self.said
        self.assertLessEqual({"bin", "cache", "run.sh"}, {path.name for path in pack.iterdir()})
        self.assertEqual(sorted(path.name for path in (pack / "bin").iterdir()),
                         ["tcc", "tcc-bench", "tcc-fuzz", "tcc-twins"])
        self.assertRegex(said, r"tcc: \d+ MB, needs GLIBC_2\.\d+")
        self.assertRegex(said, r"pack: \d+ MiB, of which \d\d+ programs \d+ KiB")

        smoke = [pack / "bin/tcc-bench", "kernels", "--suite", "smoke", "--target", "sm_86",
                 "--compile-only"]
        code, output = outcome(smoke, TCC_CACHE_DIR=str(pack / "cache"), **ABSENT)
        self.assertEqual(code, 0, output)
        # A cache without them makes a difference.
        code, output = outcome(smoke, TCC_CACHE_DIR=str(self.folder / "empty"), **ABSENT)
        self.assertNotEqual(code, 0, output)
        self.assertIn("NVRTC", output)

    def test_the_unpacked_run_finds_its_programs_and_cache(self):
        pack = self.pack
        environment = {"TCC_CUDA_DRIVER": DRIVER, "TCC_EMULATED_SM": "86"}
        run = [pack / "run.sh", "--quick", "--only", "suites", "--suites", "smoke"]
        code, output = outcome([*run, "--text"], **environment)
        self.assertEqual(code, 0, output)
        self.assertTrue((pack / "results/emulated_sm_86/run.json").exists())
        # The emulated driver takes text alone: machine code comes as far as its loader.
        code, output = outcome(run, **environment, **ABSENT)
        self.assertEqual(code, 1, output)
        log = (pack / "results/emulated_sm_86/log.txt").read_text()
        self.assertIn("runs CUDA text only", log)
        self.assertNotIn("NVRTC", log.partition("== calibrate")[2])

    def test_every_step_finds_its_programs_in_the_cache(self):
        # The emulated driver takes no machine code: steps fail, but only where they load it.
        run = [self.pack / "run.sh", "--quick", "--suites", "smoke", "--seconds", "5"]
        environment = {"TCC_CUDA_DRIVER": DRIVER, "TCC_EMULATED_SM": "86",
                       "TCC_NVRTC": "/nowhere/libnvrtc.so"}
        for cache, needs_nvrtc in [(self.folder / "empty", True), (self.pack / "cache", False)]:
            with self.subTest(cache.name):
                out = self.folder / f"results-{cache.name}"
                code, output = outcome([*run, "--out", out], TCC_CACHE_DIR=str(cache),
                                       **environment)
                self.assertEqual(code, 1, output)
                log = (out / "log.txt").read_text()
                self.assertEqual("/nowhere/libnvrtc.so" in log, needs_nvrtc)
                if not needs_nvrtc:
                    self.assertIn("runs CUDA text only", log)

    def test_a_campaign_is_packed_with_its_batches_and_finds_its_programs(self):
        out = self.folder / "campaign/pack"
        out.parent.mkdir()
        code, said = outcome([SCRIPT, "--campaign", "--target", "sm_86", "--suites", "smoke",
                              "--networks", "dqn", "--candidates", "8", "--out", out,
                              "--programs", PROGRAMS])
        self.assertEqual(code, 0, said)
        self.assertRegex(said, r"dqn\.strict\.tccb: \d+ candidates of \d+ kernels")
        self.assertRegex(said, r"batches: \d+ KiB")
        self.assertRegex(said, r"pack\.tar\.xz: \d+ MiB")
        there = self.folder / "there/campaign"
        with tarfile.open(f"{out}.tar.xz") as archive:
            archive.extractall(there)
        pack = there / "pack"
        self.assertEqual(sorted(path.name for path in pack.iterdir()),
                         ["batches", "bin", "cache", "campaign.sh", "steps.sh",
                          "torch_networks.py"])
        self.assertEqual(sorted(path.name for path in (pack / "bin").iterdir()),
                         ["tcc", "tcc-bench", "tcc-twins", "tcc-worker"])
        # The emulated driver takes text alone: machine code comes as far as its loader.
        code, said = outcome([pack / "campaign.sh", "--quick"], TCC_CUDA_DRIVER=DRIVER,
                             TCC_EMULATED_SM="86", **ABSENT)
        self.assertEqual(code, 1, said)
        self.assertIn("nothing runs here", said)
        with tarfile.open(pack / "results/emulated_sm_86/results.tar.xz") as archive:
            log = archive.extractfile("files/log.txt").read().decode()
        self.assertIn("runs CUDA text only", log.partition("== check dqn")[2])

    def test_an_option_that_it_does_not_know_is_refused(self):
        code, said = outcome([SCRIPT, "--fast"])
        self.assertEqual(code, 2)
        self.assertIn("usage: pack.sh", said)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
