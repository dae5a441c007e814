#!/usr/bin/env python3
"""What the system does not give, threads and memory, is gone without or refused; nothing aborts."""

import json
import resource
import subprocess

import numpy
import onnx
from onnx import TensorProto, helper

from tcc_command import CommandTest, main

# No thread can be made: a thread's stack is as large as the limit of stacks says.
NO_THREADS = {resource.RLIMIT_STACK: 1 << 46}
MEMORY = 1 << 30
SHORT_MEMORY = {resource.RLIMIT_AS: MEMORY}


class Limits(CommandTest):
    def limited(self, limits, *arguments, expect=0):
        """Standard output under the given soft limits."""

        def limit():
            for which, value in limits.items():
                resource.setrlimit(which, (value, resource.getrlimit(which)[1]))

        result = subprocess.run([self.tcc, *map(str, arguments)], capture_output=True, text=True,
                                timeout=900, check=False, preexec_fn=limit)
        self.assertEqual(result.returncode, expect,
                         f"{arguments}\n{result.stdout}\n{result.stderr}")
        self.error = result.stderr
        self.expect_explained(result.returncode, result.stderr)
        return result.stdout

    def skip_under_sanitizers(self):
        """Their own address space is larger than any limit here."""
        result = subprocess.run(["bash", "-c", f"ulimit -v {MEMORY >> 10}; '{self.tcc}' version"],
                                capture_output=True, check=False)
        if result.returncode != 0:
            self.skipTest("the program takes more address space by itself")

    def add_model(self, rows):
        """y = x + b for tensors of `rows` times 1024 floats."""
        path = self.folder / "add.onnx"
        tensors = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [rows, 1024])
                   for name in ["x", "b", "y"]]
        graph = helper.make_graph([helper.make_node("Add", ["x", "b"], ["y"])], "add", tensors[:2],
                                  tensors[2:])
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), path)
        return path

    def zeros(self, name, rows):
        """An array that takes no room on the disk."""
        path = self.folder / name
        numpy.lib.format.open_memmap(path, mode="w+", dtype=numpy.float32, shape=(rows, 1024))
        return path

    def test_one_to_eight_threads_run_and_bench_with_the_same_result(self):
        model, artefact = self.export("dqn", "--small"), self.folder / "m.tcc"
        results = set()
        for threads in range(1, 9):
            self.call("compile", model, "--target", "native", "-o", artefact, "--threads", threads)
            results.add(self.call("run", artefact, "--random", 3, "--threads", threads))
            report = json.loads(self.call("bench", artefact, "--threads", threads, "--iterations",
                                          3, "--json"))
            self.assertEqual(report["threads"], threads)
        self.assertEqual(len(results), 1)

    def test_where_no_thread_can_be_made_everything_runs_on_one(self):
        model, artefact = self.export("dqn", "--small"), self.folder / "m.tcc"
        self.call("compile", model, "--target", "native", "-o", artefact)
        expected = artefact.read_bytes(), self.call("run", artefact, "--random", 3)
        artefact.unlink()
        self.limited(NO_THREADS, "compile", model, "--target", "native", "-o", artefact,
                     "--threads", 8)
        self.assertEqual(artefact.read_bytes(), expected[0])
        self.assertEqual(self.limited(NO_THREADS, "run", artefact, "--random", 3, "--threads", 8),
                         expected[1])
        report = json.loads(self.limited(NO_THREADS, "bench", artefact, "--threads", 8,
                                         "--iterations", 3, "--json"))
        self.assertEqual(report["threads"], 1)
        self.limited(NO_THREADS, "check", model, "--threads", 8)

    def test_where_fewer_threads_can_be_made_the_others_do_the_work(self):
        self.skip_under_sanitizers()
        model, artefact = self.export("dqn", "--small"), self.folder / "m.tcc"
        self.call("compile", model, "--target", "native", "-o", artefact)
        expected = self.call("run", artefact, "--random", 3)
        # Room for three stacks, and for the work besides.
        few = {resource.RLIMIT_STACK: 512 << 20, resource.RLIMIT_AS: 2 << 30}
        self.assertEqual(self.limited(few, "run", artefact, "--random", 3, "--threads", 64),
                         expected)
        report = json.loads(self.limited(few, "bench", artefact, "--threads", 64, "--iterations",
                                         3, "--json"))
        self.assertIn(report["threads"], range(2, 64))

    def test_an_input_that_memory_is_too_short_for_ends_with_4(self):
        self.skip_under_sanitizers()
        rows = (MEMORY * 6 // 10) // 4096
        model, artefact = self.add_model(rows), self.folder / "m.tcc"
        self.call("compile", model, "--target", "native", "-o", artefact)
        x = self.zeros("x.npy", rows)
        self.limited(SHORT_MEMORY, "run", artefact, "--input", f"x={x}", "--input", f"b={x}",
                     expect=4)
        self.assertIn(f"{x}: no memory for the array, which takes {rows * 4096} bytes", self.error)
        self.limited(SHORT_MEMORY, "run", artefact, "--random", 1, expect=4)
        self.assertIn("no memory for", self.error)
        self.limited(SHORT_MEMORY, "compile", model, "--target", "native", "-o", artefact,
                     "--bind", f"b={x}", expect=4)
        self.assertIn("no memory for the array", self.error)

    def test_a_compilation_that_memory_is_too_short_for_leaves_what_was_there(self):
        self.skip_under_sanitizers()
        rows = (MEMORY * 6 // 10) // 4096
        model, artefact = self.add_model(rows), self.folder / "m.tcc"
        x = self.zeros("x.npy", rows)
        artefact.write_bytes(b"old")
        before = sorted(self.folder.iterdir())
        self.limited(SHORT_MEMORY, "compile", model, "--target", "native", "-o", artefact,
                     "--bind", f"b={x}", expect=4)
        self.assertEqual(artefact.read_bytes(), b"old")
        self.assertEqual(sorted(self.folder.iterdir()), before)

    def test_a_file_that_grows_beyond_its_limit_ends_with_4_and_leaves_what_was_there(self):
        model, artefact = self.export("dqn"), self.folder / "m.tcc"
        artefact.write_bytes(b"old")
        before = sorted(self.folder.iterdir())
        small_files = {resource.RLIMIT_FSIZE: 10240}
        self.limited(small_files, "compile", model, "--target", "native", "-o", artefact, expect=4)
        self.assertIn(f"cannot write '{artefact}': File too large", self.error)
        self.limited(small_files, "zoo", "export", "dqn", "-o", artefact, expect=4)
        self.assertEqual(artefact.read_bytes(), b"old")
        self.assertEqual(sorted(self.folder.iterdir()), before)

    def test_work_that_memory_is_too_short_for_ends_with_4(self):
        self.skip_under_sanitizers()
        rows = (MEMORY // 5) // 4096
        self.limited(SHORT_MEMORY, "check", self.add_model(rows), "--target", "reference", expect=4)
        self.assertRegex(self.error, "out of memory|no memory")
        self.assertNotIn("bug", self.error)
        self.limited(SHORT_MEMORY, "check", self.folder / "add.onnx", "--target", "reference",
                     "--errors", "json", expect=4)
        self.assertEqual(json.loads(self.error.splitlines()[-1])["error"]["kind"], "no_memory")


if __name__ == "__main__":
    main()
