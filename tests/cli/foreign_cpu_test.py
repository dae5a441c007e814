#!/usr/bin/env python3
"""Kernels for aarch64 in a worker that qemu runs: networks, and the features of each row."""

import json
import os
import pathlib
import shutil
import struct
import subprocess
import unittest

from tcc_command import ROOT, CommandTest, main

WORKER = ROOT / "build/arm64/bin/tcc-worker"
QEMU = shutil.which("qemu-aarch64")
NETWORKS = ["dqn", "resnet18", "resnet50", "mobilenet_v2", "r3d_18", "dcgan", "vit_b_16", "bert_base",
            "llama_block", "lstm_lm"]
# The CPU of qemu's that has the features of a row and no more, where there is one.
CPUS = {"aarch64-v8.2": "neoverse-n1", "aarch64-v8.6": "max,sve=off", "aarch64-sve": "max,sve512=on",
        "aarch64-sve256": "max,sve256=on,sve512=off"}

CLANG = shutil.which("clang-19") or shutil.which("clang")
LOOP = """
.arch armv8.6-a
.global _start
_start:
  mov x9, #{turns}
  mov x10, sp
1:
  fmla v0.4s, v1.4s, v2.4s
  fmla v3.2d, v1.2d, v2.d[0]
  fmadd s4, s5, s6, s4
  smmla v8.4s, v1.16b, v2.16b
  usmmla v8.4s, v1.16b, v2.16b
  ldr q7, [x10]
  ldr x11, [x10]
  str q7, [x10]
  subs x9, x9, #1
  b.ne 1b
  mov x0, #0
  mov x8, #93
  svc #0
"""


def worker_on(cpu):
    return f"{QEMU} -cpu {cpu} -L /usr/aarch64-linux-gnu '{WORKER}'"


class Absent(CommandTest):
    def test_without_a_worker_the_commands_that_make_one_are_named(self):
        model = self.export("dqn", "--small")
        self.call("check", model, "--target", "aarch64-v8.2", "--emulate", expect=5, PATH="/nowhere",
                  TCC_WORKER_AARCH64="")
        self.assertIn("run scripts/arm64_sysroot.sh, then cmake --preset arm64", self.error)

    def test_an_artefact_for_another_cpu_is_refused_by_both_names(self):
        if os.uname().machine != "x86_64":
            self.skipTest("this machine is another one")
        artefact = self.folder / "m.tcc"
        self.call("compile", self.export("dqn", "--small"), "--target", "aarch64-v8.6", "-o", artefact)
        self.call("run", artefact, "--random", "1", expect=5)
        self.assertIn("kernels are for aarch64; this CPU is x86-64", self.error)

    def test_emulation_is_for_others(self):
        self.call("check", self.export("dqn", "--small"), "--target", "native", "--emulate", expect=2)
        self.assertIn("--emulate runs kernels for GPUs and foreign CPUs; target 'native' is neither",
                      self.error)


@unittest.skipUnless(QEMU and WORKER.exists(),
                     f"no {WORKER} or no qemu-aarch64; scripts/arm64_sysroot.sh and the preset arm64 "
                     "make them")
class ForeignCpu(CommandTest):
    def check(self, model, target, *options, cpu=None, expect=0):
        environment = {"TCC_WORKER_AARCH64": worker_on(cpu or CPUS[target])}
        return self.call("check", model, "--target", target, "--emulate", *options, expect=expect,
                         **environment)

    def test_networks_agree_with_the_interpreter(self):
        for network in NETWORKS:
            model = self.export(network, "--small")
            for target in CPUS:
                with self.subTest(network=network, target=target):
                    self.assertRegex(self.check(model, target), r"\d+ elements, 0 differ")

    def test_numeric_modes_are_within_their_bounds(self):
        model = self.export("bert_base", "--small")
        for numeric in ["bf16", "fp16", "tf32"]:
            with self.subTest(numeric=numeric):
                said = self.check(model, "aarch64-v8.6", "--numeric", numeric)
                self.assertRegex(said, r"\d+ elements, 0 differ")

    def test_an_artefact_runs_on_two_threads(self):
        model, artefact = self.export("resnet18", "--small"), self.folder / "m.tcc"
        self.call("compile", model, "--target", "aarch64-v8.2", "-o", artefact)
        said = self.call("check", model, artefact, "--emulate", "--threads", "2",
                         TCC_WORKER_AARCH64=worker_on("neoverse-n1"))
        self.assertRegex(said, r"\d+ elements, 0 differ")

    def test_instructions_are_counted_to_the_digit(self):
        model = self.export("dqn", "--small")
        counted = [json.loads(self.call("bench", model, "--target", "aarch64-v8.2", "--emulate",
                                        "--json", TCC_WORKER_AARCH64=worker_on("neoverse-n1")))
                   for _ in range(2)]
        self.assertEqual(counted[0], counted[1])
        total = counted[0]["total"]
        # A product is an instruction's or a part of one's; padding multiplies by 0.
        flops = sum(row["flops"] * row["calls"] for row in counted[0]["kernels"])
        self.assertGreaterEqual(2.4 * total["multiply_adds"], flops)
        self.assertGreaterEqual(4 * total["multiplies"], total["multiply_adds"])
        for part in ["vector", "loads", "stores", "branches"]:
            self.assertGreater(total["all"], total[part])
        self.assertGreater(total["percent_of_peak"], 5)
        table = self.call("bench", model, "--target", "aarch64-v8.2", "--emulate",
                          TCC_WORKER_AARCH64=worker_on("neoverse-n1"))
        self.assertIn("cycles at the rates of neoverse-n1", table)
        for target, said in [("native", "is none"),
                             ("aarch64-sve", "knows no core to count for target 'aarch64-sve'; "
                                             "expected aarch64-v8.2 or aarch64-v8.6")]:
            self.call("bench", model, "--target", target, "--emulate", expect=2)
            self.assertIn(said, self.error)
        self.call("bench", model, "--target", "aarch64-v8.2", "--emulate", "--rate", "5", expect=2)
        self.assertIn("--rate: --emulate counts one run on one thread", self.error)

    @unittest.skipUnless(CLANG, "no clang")
    def test_a_loop_of_known_instructions_counts_its_turns_times_them(self):
        counted = [self.count_loop(turns) for turns in [1000, 2000]]
        # A turn: 10 instructions, 5 of vectors, 2 loads, 1 store, 1 branch; 5 multiply 71 pairs.
        self.assertEqual([b - a for a, b in zip(*counted)],
                         [10000, 5000, 2000, 1000, 1000, 5000, 71000])

    def count_loop(self, turns):
        source, program, counts = [self.folder / f"loop{turns}.{end}" for end in ["s", "out", "counts"]]
        source.write_text(LOOP.format(turns=turns))
        subprocess.run([CLANG, "--target=aarch64-linux-gnu", "-fuse-ld=lld", "-nostdlib", "-static",
                        source, "-o", program], check=True)
        plugin = pathlib.Path(self.tcc).resolve().parents[1] / "lib/libtcc_qemu_counts.so"
        subprocess.run([QEMU, program], check=True,
                       env={**os.environ, "QEMU_PLUGIN": str(plugin), "TCC_COUNTS": str(counts)})
        return struct.unpack("=7Q", counts.read_bytes()[:56])

    def test_tuning_by_counts_is_the_same_to_the_digit(self):
        model = self.export("dqn", "--small")
        said = [self.call("tune", model, "--target", "aarch64-v8.2", "--emulate", "--db",
                          self.folder / f"{run}.db", "--trials", "12", "--seed", "3",
                          "--searcher", "random", "--quiet",
                          TCC_WORKER_AARCH64=worker_on("neoverse-n1")) for run in range(2)]
        # One line tells where the seconds of tuning went.
        found = [[line for line in text.splitlines() if not line.startswith("seconds")]
                 for text in said]
        self.assertEqual(found[0], found[1])
        self.assertRegex(said[0], r"sum of runs: constructed [0-9.]+ us, best [0-9.]+ us")
        exported = self.folder / "records.jsonl"
        self.call("db", "export", self.folder / "0.db", "-o", exported)
        self.assertIn("counts:neoverse-n1", exported.read_text())
        self.check(model, "aarch64-v8.2", "--db", self.folder / "0.db")
        self.call("tune", model, "--target", "native", "--emulate", "--db", self.folder / "x.db",
                  "--trials", "1", expect=2)

    def test_every_length_of_vectors_is_right_or_refused(self):
        model = self.export("vit_b_16", "--small")
        for bits in [128, 256, 512, 1024, 2048]:
            with self.subTest(bits=bits):
                cpu = f"max,sve-default-vector-length={bits // 8}"
                said = self.check(model, "aarch64-sve", cpu=cpu)
                self.assertRegex(said, r"\d+ elements, 0 differ")
                self.check(model, "aarch64-sve256", cpu=cpu, expect=0 if bits == 256 else 5)
                if bits != 256:
                    self.assertIn("the kernels need sve256, which this CPU lacks", self.error)

    def test_kernels_for_more_than_the_cpu_has_are_refused(self):
        model = self.export("dqn", "--small")
        self.check(model, "aarch64-v8.6", cpu="neoverse-n1", expect=5)
        self.assertIn("the kernels need i8mm, bf16, which this CPU lacks", self.error)
        self.check(model, "aarch64-v8.2", cpu="cortex-a53", expect=5)
        self.assertIn("the kernels need lse, rdm, dotprod, fullfp16, which", self.error)


if __name__ == "__main__":
    main()
