#!/usr/bin/env python3
"""usage: bench_gpu_test.py TCC_BENCH EMULATED_DRIVER FAKE_LIBRARIES

tcc-bench on a GPU, which is the emulated driver, with libraries that are fakes: they log what they
are asked for and compute it.
"""

import collections
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest

BENCH, DRIVER, FAKES = sys.argv[1:4]
PEERS = {"TCC_CUBLAS": FAKES, "TCC_CUBLASLT": FAKES, "TCC_CUDNN": FAKES}


class BenchOnGpu(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def bench(self, *options, expect=0, sm=86, **environment):
        """The rows of smoke's operators by their names, and the fakes' calls in their order."""
        log, rows = self.folder / "calls", self.folder / "rows.json"
        run = subprocess.run(
            [BENCH, "kernels", "--suite", "smoke", "--target", f"sm_{sm}", "--text", "--quick",
             "--rounds", "1", "--json", str(rows), *options],
            capture_output=True, text=True, check=False,
            env={**os.environ, "TCC_CUDA_DRIVER": DRIVER, "TCC_EMULATED_SM": str(sm),
                 "TCC_FAKE_LOG": str(log), **environment})
        self.assertEqual(run.returncode, expect, run.stderr)
        self.stderr = run.stderr
        by_name = collections.defaultdict(dict)
        for row in json.loads(rows.read_text()) if expect == 0 else []:
            by_name[row["name"]][row["peer"]] = row
        return by_name, log.read_text().splitlines() if log.exists() else []

    def test_a_matrix_product_is_compared_with_cublas(self):
        rows, calls = self.bench("--kernel", "matmul_33x20x17", "--peer", "cublas", **PEERS)
        row = rows["matmul_33x20x17"]["cublas"]
        self.assertIn(row["peer_algorithm"].split(" (")[0], ["SGEMM", "GemmEx"])
        self.assertEqual(row["peer_numeric"], "strict")
        self.assertGreater(row["ours_us"], 0)
        self.assertGreater(row["peer_us"], 0)
        self.assertAlmostEqual(row["ratio"], row["ours_us"] / row["peer_us"])
        self.assertEqual(row["flops"], 2 * 33 * 20 * 17)
        self.assertLess(row["peer_error"], 1)  # a sum in float64, rounded once
        self.assertEqual(calls[:4], ["cublasCreate", "cublasSetStream",
                                     f"cublasSetWorkspace {64 << 20}", "cublasSetMathMode 0"])
        # In either order: each four times to see which is faster, that one for the check, the
        # warming up, the graph and its first replays, which launch nothing.
        self.assertEqual(set(calls[4:]), {"cublasSgemm", "cublasGemmEx compute 68"})

    def test_products_of_many_matrices_are_one_call(self):
        rows, calls = self.bench("--kernel", "matmul_3x8x12x10", "--peer", "cublas", **PEERS)
        self.assertIn("SgemmStridedBatched", rows["matmul_3x8x12x10"]["cublas"]["peer_algorithm"])
        self.assertEqual(set(calls[4:]), {"cublasSgemmStridedBatched"})

    def test_every_algorithm_that_cublaslt_names_is_timed_and_a_wrong_one_is_not_taken(self):
        for name in ["matmul_33x20x17", "matmul_3x8x12x10"]:
            rows, calls = self.bench("--kernel", name, "--peer", "cublaslt", **PEERS)
            row = rows[name]["cublaslt"]
            self.assertEqual(row["peer_algorithm"],
                             "algorithm 10, tile 1, stages 6, split-K 2 (of 2)")
            self.assertIn("cublasLtMatmulAlgoGetHeuristic 64", calls)
            self.assertIn("cublasLtMatmul algorithm 12", calls)
            self.assertNotIn("cublasLtMatmul algorithm 11", calls)

    def test_a_convolution_is_compared_with_every_strict_engine_of_cudnn_in_both_layouts(self):
        for name in ["conv", "conv_dw_3x3_8_8_8s2_n1"]:
            (self.folder / "calls").unlink(missing_ok=True)
            rows, calls = self.bench("--kernel", name, "--peer", "cudnn", **PEERS)
            algorithm = rows[name]["cudnn"]["peer_algorithm"]
            self.assertRegex(algorithm, r"^engine (1|3), N(CHW|HWC)(, Winograd)? \(of 6\)$")
            self.assertEqual("engine 3" in algorithm, "Winograd" in algorithm)
            executed = {call for call in calls if call.startswith("cudnnBackendExecute")}
            self.assertEqual(executed, {f"cudnnBackendExecute engine {e}" for e in (1, 3, 5)})
            self.assertEqual(calls[:2], ["cudnnCreate", "cudnnSetStream"])

    def test_relu_is_compared_with_cudnn(self):
        rows, _ = self.bench("--kernel", "relu", "--peer", "cudnn", **PEERS)
        self.assertEqual(rows["relu"]["cudnn"]["peer_error"], 0)

    def test_pooling_is_compared_with_cudnn_in_both_layouts(self):
        rows, calls = self.bench("--kernel", "average_pool", "--peer", "cudnn", **PEERS)
        row = rows["average_pool"]["cudnn"]
        self.assertRegex(row["peer_algorithm"], r"^PoolingForward, N(CHW|HWC) \(of 2\)$")
        self.assertLess(row["peer_error"], 1)
        self.assertEqual(set(calls[2:]),
                         {"cudnnPoolingForward NCHW", "cudnnPoolingForward NHWC"})

    def test_softmax_is_compared_with_cudnn_in_both_modes(self):
        rows, calls = self.bench("--kernel", "softmax_5x70", "--peer", "cudnn", **PEERS)
        self.assertRegex(rows["softmax_5x70"]["cudnn"]["peer_algorithm"],
                         r"^SoftmaxForward, (instances|channels) \(of 2\)$")
        self.assertEqual(set(calls[2:]),
                         {"cudnnSoftmaxForward mode 0", "cudnnSoftmaxForward mode 1"})

    def test_sums_are_compared_with_cudnn(self):
        for name in ["sum_5x70", "sum_2_3"]:
            rows, calls = self.bench("--kernel", name, "--peer", "cudnn", **PEERS)
            self.assertEqual(rows[name]["cudnn"]["peer_algorithm"], "ReduceTensor (of 1)")
            self.assertEqual(rows[name]["cudnn"]["peer_numeric"], "strict")
            self.assertIn("cudnnReduceTensor", calls)

    def test_layer_normalization_is_compared_with_every_engine_of_cudnn(self):
        rows, calls = self.bench("--kernel", "layer_norm_5x70", "--peer", "cudnn", **PEERS)
        self.assertRegex(rows["layer_norm_5x70"]["cudnn"]["peer_algorithm"],
                         r"^engine (1|3), .*\(of 3\)$")
        self.assertIn("cudnnBackendExecute engine 5", calls)

    def test_attention_is_compared_with_two_products_and_a_softmax(self):
        rows, calls = self.bench("--kernel", "attention_1x2x10x8", "--peer", "cublas+cudnn", **PEERS)
        row = rows["attention_1x2x10x8"]["cublas+cudnn"]
        self.assertRegex(row["peer_algorithm"], r"^SgemmStridedBatched twice, SoftmaxForward, "
                                                r"(instances|channels) \(of 2\)$")
        self.assertLess(row["peer_error"], 1)
        product, softmax = "cublasSgemmStridedBatched", "cudnnSoftmaxForward mode"
        self.assertIn([product, softmax + " 0", product],
                      [calls[i:i + 3] for i in range(len(calls))])

    def test_libraries_that_are_missing_are_notes_that_say_where_they_were_sought(self):
        nowhere = {name: "/nowhere/library.so" for name in PEERS}
        rows, calls = self.bench("--kernel", "matmul_33x20x17", **nowhere)
        self.assertEqual(calls, [])
        row = rows["matmul_33x20x17"][None]
        self.assertGreater(row["ours_us"], 0)
        self.assertEqual(len(row["notes"]), 2)
        for name in ["TCC_CUBLAS", "TCC_CUBLASLT"]:
            self.assertIn(f"{name} is /nowhere/library.so, which cannot be opened", self.stderr)

    def test_a_library_without_a_device_is_a_note(self):
        """The real libraries refuse the emulated driver; here another one stands for them."""
        rows, _ = self.bench("--kernel", "matmul_33x20x17", "--peer", "cublas",
                             TCC_CUBLAS=DRIVER)
        self.assertIn(f"{DRIVER} has no cublasGetStatusString; expected cuBLAS of version 12 or 13",
                      rows["matmul_33x20x17"][None]["notes"][0])

    def test_every_kind_of_operator_is_right_and_has_its_share_of_the_ceiling(self):
        table = self.folder / "table.md"
        rows, _ = self.bench("--markdown", str(table), **PEERS)
        self.assertGreaterEqual(len(rows), 12)
        for name, by_peer in rows.items():
            for row in by_peer.values():
                self.assertEqual(row["failure"], "")
                self.assertGreater(row["ours_us"], 0)
                self.assertGreater(row["percent_of_peak"], 0, name)
                self.assertGreater(row["predicted_us"], 0, name)
        alone = {name for name, by_peer in rows.items() if None in by_peer}
        self.assertEqual(alone, {"dqn"})
        lines = table.read_text().splitlines()
        self.assertTrue(lines[0].startswith("| operator | numeric | us |"))
        self.assertEqual({line.count("|") for line in lines}, {16})
        self.assertEqual(len(lines), 2 + sum(len(by_peer) for by_peer in rows.values()))
        self.assertIn("12 of 12 operators measured, 0 failed, 0 left out", self.stderr)

    def rows_of(self, name, mode, *options, **environment):
        """By the name of a peer and its arithmetic."""
        rows = self.folder / "rows.json"
        _, calls = self.bench("--kernel", name, "--numeric", mode, *options,
                              **{**PEERS, **environment})
        return {(row["peer"], row.get("peer_numeric")): row
                for row in json.loads(rows.read_text())}, calls

    def test_a_product_in_a_mode_meets_peers_and_a_ceiling_of_the_same_mode(self):
        name = "matmul_33x20x17"
        expected = {
            # mode: what cuBLAS and cuBLASLt are asked for, the ceiling, the largest error of a
            # product (docs/numeric.md)
            "tf32": ({("tf32", 77, "")}, "tf32 mma", 2.0**-10),
            "fp16": ({("fp16", 74, ""), ("fp16, stored so", 68, " half")}, "f16 mma", 2.0**-10),
            "bf16": ({("bf16", 75, ""), ("bf16, stored so", 68, " bfloat16")}, "bf16 mma", 2.0**-7),
        }
        for mode, (ways, ceiling, bound) in expected.items():
            with self.subTest(mode):
                (self.folder / "calls").unlink(missing_ok=True)
                rows, calls = self.rows_of(name, mode)
                names = {numeric for numeric, _, _ in ways}
                self.assertEqual(set(rows), {(peer, numeric) for peer in ["cublas", "cublaslt"]
                                             for numeric in names})
                for row in rows.values():
                    self.assertEqual((row["numeric"], row["failure"]), (mode, ""))
                    self.assertIn(row["ceiling"], [ceiling, "copy"])
                    self.assertGreater(row["peak_gflops"], 0)
                    # In units of eps; strict ones are below 1. What a mode rounds is seen.
                    for error in [row["error"], row["peer_error"]]:
                        self.assertGreater(error, 20)
                        self.assertLess(error, bound * 2**23 + 50)
                self.assertEqual({call for call in calls if call.startswith("cublasGemmEx")},
                                 {f"cublasGemmEx compute {compute}{stored}"
                                  for _, compute, stored in ways})
                self.assertNotIn("cublasSgemm", calls)
                self.assertEqual({call for call in calls if "DescCreate" in call},
                                 {f"cublasLtMatmulDescCreate compute {compute}"
                                  for _, compute, _ in ways})
                self.assertEqual({call for call in calls if "cublasLtMatmul algorithm 10" in call},
                                 {f"cublasLtMatmul algorithm 10{stored}" for _, _, stored in ways})

    def test_three_products_of_tf32_meet_what_is_as_exact(self):
        rows, calls = self.rows_of("matmul_33x20x17", "3xtf32")
        self.assertEqual(set(rows), {("cublas", "strict"), ("cublaslt", "strict")})
        for row in rows.values():
            self.assertEqual(row["numeric"], "3xtf32")
            self.assertIn(row["ceiling"], ["tf32 mma / 3", "copy"])
            self.assertLess(row["error"], 10)
        self.assertIn("cublasSgemm", calls)
        self.assertIn("cublasGemmEx compute 78", calls)  # which this device does not have
        self.assertNotIn("notes", row)

    def test_products_of_many_matrices_have_a_mode_too(self):
        rows, calls = self.rows_of("matmul_3x8x12x10", "fp16", "--peer", "cublas")
        self.assertEqual(set(rows), {("cublas", "fp16"), ("cublas", "fp16, stored so")})
        self.assertEqual(set(calls[4:]), {"cublasGemmStridedBatchedEx compute 74",
                                          "cublasGemmStridedBatchedEx compute 68 half"})

    def test_a_convolution_in_a_mode_may_use_engines_with_tensor_cores(self):
        rows, calls = self.rows_of("conv", "tf32", "--peer", "cudnn")
        (peer, numeric), row = *rows.keys(), *rows.values()
        self.assertEqual(peer, "cudnn")
        self.assertIn(numeric, ["tf32", "strict"])  # whichever engine is the fastest
        self.assertRegex(row["peer_algorithm"], r"\(of 8\)$")
        self.assertIn("cudnnBackendExecute engine 2", calls)
        self.assertGreater(row["error"], 10)
        # Of 16 bits in memory also those without a note.
        rows, _ = self.rows_of("conv", "bf16", "--peer", "cudnn")
        self.assertEqual(len(rows), 2)
        self.assertIn(("cudnn", "bf16, stored so"), rows)
        self.assertGreater(rows["cudnn", "bf16, stored so"]["peer_error"], 10)
        rows, calls = self.rows_of("conv", "3xtf32", "--peer", "cudnn")
        self.assertEqual(set(rows), {("cudnn", "strict")})

    def test_what_has_nothing_to_round_stays_strict_in_any_mode(self):
        for name, peer in [("softmax_5x70", "cudnn"), ("attention_1x2x10x8", "cublas+cudnn")]:
            rows, _ = self.rows_of(name, "fp16")
            row = rows[peer, "strict"]
            self.assertEqual(row["numeric"], "strict")
            self.assertIn(row["ceiling"], ["fma", "copy"])

    def test_an_operator_that_is_not_finished_is_of_the_mode_that_was_asked_for(self):
        rows = self.folder / "unfinished.json"
        run = subprocess.Popen(
            [BENCH, "kernels", "--suite", "smoke", "--kernel", "matmul_33x20x17", "--target",
             "sm_86", "--text", "--quick", "--peer", "cublas", "--numeric", "fp16", "--json", rows],
            stderr=subprocess.DEVNULL,
            env={**os.environ, "TCC_CUDA_DRIVER": DRIVER, "TCC_EMULATED_SM": "86",
                 "TCC_FAKE_HANG": "cublasCreate", **PEERS})
        try:
            begin = time.monotonic()
            while not rows.exists():
                self.assertLess(time.monotonic() - begin, 120)
                time.sleep(0.1)
            row = json.loads(rows.read_text())[0]
        finally:
            run.kill()
            run.wait()
        self.assertEqual((row["failure"], row["numeric"]), ("not finished", "fp16"))

    def test_a_mode_without_tensor_cores_of_the_target_is_refused(self):
        for sm, mode, known in [(75, "tf32", "strict, fp16"), (75, "bf16", "strict, fp16"),
                                (75, "3xtf32", "strict, fp16")]:
            self.bench("--numeric", mode, expect=2, sm=sm)
            self.assertIn(f"--numeric {mode}: sm_75 has no tensor cores for it; it has {known}",
                          self.stderr)
        self.bench("--numeric", "int8", expect=2)
        self.assertIn("unknown numeric mode 'int8'; expected one of strict, 3xtf32, tf32, bf16,"
                      " fp16",
                      self.stderr)
        rows, _ = self.bench("--kernel", "matmul_33x20x17", "--numeric", "fp16", "--peer", "none",
                             sm=75)
        self.assertEqual(rows["matmul_33x20x17"][None]["numeric"], "fp16")

    def test_calibration_tells_the_rate_of_tensor_cores_by_the_type_of_operands(self):
        for sm, types in [(75, ["f16", "s8"]), (80, ["f16", "bf16", "tf32", "s8"])]:
            run = subprocess.run(
                [BENCH, "calibrate", "--target", f"sm_{sm}", "--text", "--quick", "--json"],
                capture_output=True, text=True, check=True,
                env={**os.environ, "TCC_CUDA_DRIVER": DRIVER, "TCC_EMULATED_SM": str(sm)})
            peaks = json.loads(run.stdout)["mma_gflops"]
            self.assertEqual(list(peaks), types)
            self.assertGreater(min(peaks.values()), 0)

    def test_a_budget_leaves_operators_out_and_says_so(self):
        self.bench("--seconds", "0.001", "--peer", "none")
        self.assertRegex(self.stderr, r"1 of 12 operators measured, 0 failed, 11 left out for time")

    def test_an_unknown_peer_is_refused(self):
        self.bench("--peer", "nobody", expect=2)
        self.assertIn("no peer 'nobody' for sm_86; there are none, cublas, cublaslt, cudnn, "
                      "cublas+cudnn",
                      self.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
