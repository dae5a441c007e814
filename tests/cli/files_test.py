#!/usr/bin/env python3
"""Files that tcc writes: whole or not at all, never over what it reads, nothing left behind."""

import json
import os
import pathlib
import shlex
import shutil
import signal
import stat
import subprocess
import time
import zipfile

import numpy
import onnx

from tcc_command import CommandTest, main


COMPILE = ["compile", "--target", "native"]


class Files(CommandTest):
    def names(self, folder=None):
        return sorted(path.name for path in (folder or self.folder).iterdir())

    def refused(self, code, message, *arguments):
        self.assertEqual(self.call(*arguments, expect=code), "")
        self.assertIn(message, self.error)

    def test_a_dash_is_no_files_name_wherever_a_file_is_written(self):
        model = self.export("dqn", "--small")
        artefact, database = self.folder / "m.tcc", self.folder / "m.db"
        self.call("compile", model, "-o", artefact)
        self.call("tune", model, "--db", database, "--trials", 1)
        before = self.names()
        output = json.loads(self.call("inspect", artefact, "--json"))["outputs"][0]["name"]
        for command in [["compile", model, "-o", "-"], ["report", artefact, "-o", "-"],
                        ["zoo", "export", "dqn", "--small", "-o", "-"],
                        ["bench", artefact, "--trace", "-"],
                        ["run", artefact, "--output", f"{output}=-"],
                        ["tune", model, "--db", "-", "--trials", 1],
                        ["cost-model", "train", "--records", database, "-o", "-"]]:
            with self.subTest(command=command):
                self.assertEqual(self.call(*command, expect=2, cwd=self.folder), "")
                self.assertIn("cannot write '-': expected a file, not standard output", self.error)
                self.assertEqual(self.names(), before)
        self.assertTrue(self.call("db", "export", database, "-o", "-", cwd=self.folder))
        self.call("compile", model, "-o", "./-", cwd=self.folder)
        self.assertIn("-", self.names())

    def test_a_compilation_that_is_interrupted_leaves_no_files(self):
        model = self.export("resnet18")
        out, scratch = self.folder / "out", self.folder / "scratch"
        out.mkdir()
        scratch.mkdir()
        command = [self.tcc, "compile", str(model), "--target", "native", "-o",
                   str(out / "m.tcc"), "--progress", "json"]
        environment = {**os.environ, "TMPDIR": str(scratch)}

        def stop(when, number):
            process = subprocess.Popen(command, stdout=subprocess.DEVNULL,
                                       stderr=subprocess.DEVNULL, env=environment)
            while process.poll() is None and not when():
                pass
            process.send_signal(number)
            process.wait()
            self.assertIn(self.names(out), [[], ["m.tcc"]])
            self.assertEqual(self.names(scratch), [])
            (out / "m.tcc").unlink(missing_ok=True)

        start = time.monotonic()
        stop(lambda: False, signal.SIGINT)
        whole = time.monotonic() - start
        for number in [signal.SIGINT, signal.SIGTERM]:
            stop(lambda: any(scratch.iterdir()), number)
            stop(lambda: any(out.iterdir()), number)
            for share in [0.1, 0.5, 0.8, 0.9, 0.95]:
                end = time.monotonic() + whole * share
                stop(lambda end=end: time.monotonic() > end, number)

    def test_no_scratch_has_a_name_that_could_be_left(self):
        strace = shutil.which("strace")
        if strace is None:
            self.skipTest("strace is missing")
        model = self.export("dqn", "--small")
        out, scratch = self.folder / "out", self.folder / "scratch"
        out.mkdir()
        scratch.mkdir()
        log = self.folder / "log"
        subprocess.run([strace, "-f", "-e", "trace=mkdir,mkdirat,open,openat,creat,link,linkat,"
                        "rename", "-o", log, self.tcc, "compile", model, "--target", "native",
                        "-o", out / "m.tcc"], check=True, capture_output=True,
                       env={**os.environ, "TMPDIR": str(scratch)})
        made = [line for line in log.read_text().splitlines()
                if ("mkdir" in line or "O_CREAT" in line) and str(self.folder) in line]
        self.assertEqual(made, [], "a file or folder is made under a name before it is whole")

    def test_the_model_is_not_overwritten_by_what_is_compiled(self):
        model = self.export("dqn", "--small")
        before = model.read_bytes()
        link, hard, here = (self.folder / name for name in ["l.tcc", "h.tcc", "m.tcc"])
        link.symlink_to(model)
        os.link(model, hard)
        shutil.copy(model, here)
        for output in [model, link, hard, self.folder / "." / "dqn.onnx"]:
            self.refused(2, "expected another file", *COMPILE, model, "-o", output)
        # What would be written without -o.
        self.refused(2, "expected another file", *COMPILE, here)
        self.assertEqual(model.read_bytes(), before)

    def test_weights_schedules_and_bound_arrays_are_not_overwritten(self):
        small = self.export("dqn", "--small")
        model, data = self.folder / "external.onnx", self.folder / "w.data"
        onnx.save_model(onnx.load(small), model, save_as_external_data=True, location=data.name,
                        size_threshold=0)
        before = data.read_bytes()
        link = self.folder / "link.tcc"
        link.symlink_to(data)
        for output in [data, link]:
            self.refused(2, "w.data, which is read", *COMPILE, model, "-o", output)
        self.assertEqual(data.read_bytes(), before)
        schedules = self.folder / "s"
        schedules.mkdir()
        self.call("dump", small, "--target", "native", "--stage", "scheduled", "--output-dir",
                  schedules)
        trace = next(schedules.iterdir())
        self.refused(2, trace.name, *COMPILE, small, "--schedule", schedules, "-o", trace)
        bound = self.folder / "b.npy"
        bound.write_bytes(b"array")
        self.refused(2, "b.npy", *COMPILE, small, "--bind", f"x={bound}", "-o", bound)

    def test_weights_that_nothing_needs_are_not_overwritten(self):
        unused = onnx.numpy_helper.from_array(numpy.ones(4, numpy.float32), "unused")
        values = [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [4])
                  for name in "xy"]
        graph = onnx.helper.make_graph([onnx.helper.make_node("Relu", ["x"], ["y"])], "g",
                                       values[:1], values[1:], [unused])
        model = self.folder / "m.onnx"
        onnx.save_model(onnx.helper.make_model(
            graph, opset_imports=[onnx.helper.make_opsetid("", 17)]), model,
            save_as_external_data=True, location="w.data", size_threshold=0)
        before = (self.folder / "w.data").read_bytes()
        self.refused(2, "which is read", *COMPILE, model, "-o", self.folder / "w.data")
        self.assertEqual((self.folder / "w.data").read_bytes(), before)

    def test_what_a_run_reads_is_not_overwritten_by_what_it_writes(self):
        model, artefact = self.export("dqn", "--small"), self.folder / "m.tcc"
        self.call(*COMPILE, model, "-o", artefact)
        facts = json.loads(self.call("inspect", artefact, "--json"))
        golden = self.folder / "golden"
        golden.mkdir()
        self.call("run", artefact, "--random", "1", "--output-dir", golden)
        shape = [int(n) for n in facts["inputs"][0]["type"].split("[")[1].rstrip("]").split("x")]
        numpy.save(golden / "input_0.npy", numpy.ones(shape, numpy.float32))
        numpy.save(golden / "output_0.npy", numpy.zeros_like(
            numpy.load(golden / "output_0.npy")))
        before = {path: path.read_bytes() for path in golden.iterdir()}
        name, fed = facts["outputs"][0]["name"], f"{facts['inputs'][0]['name']}="
        feed = fed + str(golden / "input_0.npy")
        for arguments in [["--golden", golden, "--output-dir", golden],
                          ["--golden", golden, "--output", f"{name}={golden / 'output_0.npy'}"],
                          ["--input", feed, "--output", f"{name}={golden / 'input_0.npy'}"]]:
            self.refused(2, "which is read", "run", artefact, *arguments)
        self.assertEqual({path: path.read_bytes() for path in golden.iterdir()}, before)
        self.call("run", artefact, "--golden", golden, expect=1)
        # What is refused is refused before a folder is made for it.
        self.refused(2, "an archive has all outputs", "run", artefact, "--output",
                     f"{name}={self.folder / 'y.npz'}")
        self.refused(2, "is given twice", "run", artefact, "--output", self.folder / "a.npz",
                     "--output", f"{name}={self.folder / 'a.npz'}".replace(".npz", ".npy"),
                     "--output", self.folder / "a.npz")
        self.refused(4, "cannot make folder", "run", artefact, "--output-dir", artefact / "x")

    def test_a_name_that_another_left_or_took_is_passed_over(self):
        model, artefact = self.export("dqn", "--small"), self.folder / "m.tcc"
        artefact.touch()
        command = ["unshare", "--pid", "--fork", "--map-root-user", "--user", "--mount-proc"]
        if subprocess.run([*command, "true"], capture_output=True, check=False).returncode != 0:
            self.skipTest("no process of number 1 can be had")
        # In a process that is its container's first.
        for name in [".tcc-1-0", ".tcc-2-0"]:
            (self.folder / name).write_text("left")
        result = subprocess.run([*command, self.tcc, *COMPILE, model, "-o", artefact],
                                capture_output=True, text=True, check=False)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertGreater(artefact.stat().st_size, 0)
        self.assertEqual((self.folder / ".tcc-1-0").read_text(), "left")

    def test_standard_error_that_takes_nothing_changes_no_exit_code(self):
        model, artefact = self.export("dqn", "--small"), self.folder / "m.tcc"
        for redirection in ["2>&-", "2>/dev/full"]:
            for code, arguments in [(0, ["compile", model, "-o", artefact]),
                                    (0, ["run", artefact]),
                                    (0, ["run", artefact, "--output", self.folder / "all.npz"]),
                                    (4, ["compile", self.folder / "none.onnx"]),
                                    (2, ["compile"])]:
                words = " ".join(shlex.quote(str(word)) for word in [self.tcc, *arguments])
                result = subprocess.run(["sh", "-c", f"{words} {redirection}"],
                                        stdout=subprocess.DEVNULL, check=False)
                self.assertEqual(result.returncode, code, words)
        with zipfile.ZipFile(self.folder / "all.npz") as archive:
            self.assertIsNone(archive.testzip())

    def test_a_model_that_is_not_there_is_told_before_its_output(self):
        self.refused(4, "cannot open", "compile", self.folder / "none" / "m.onnx")
        self.refused(2, "expected a value, got ''", *COMPILE,
                     self.export("dqn", "--small"), "-o", "")
        self.refused(4, "it is not a regular file", *COMPILE, self.folder / "dqn.onnx", "-o",
                     "/dev/stdout")

    def test_the_compiled_model_is_not_overwritten_by_what_it_answers(self):
        model = self.export("dqn", "--small")
        artefact = self.folder / "m.tcc"
        self.call(*COMPILE, model, "-o", artefact)
        name = json.loads(self.call("inspect", artefact, "--json"))["outputs"][0]["name"]
        link = self.folder / "all.npz"
        link.symlink_to(artefact)
        for output in [f"{name}={artefact}", link]:
            self.refused(2, "m.tcc, which is read", "run", artefact, "--random", "1", "--output",
                         output)
        self.refused(2, "that is the model", "bench", artefact, "--trace", artefact)
        self.refused(4, "cannot write", "run", artefact, "--random", "1", "--output",
                     f"{name}={self.folder}")
        self.call("run", artefact, "--random", "1")

    def test_an_output_that_cannot_be_written_is_noticed_before_compiling(self):
        model = self.export("dqn", "--small")
        for output in [self.folder / "none" / "m.tcc", self.folder, f"{self.folder}/",
                       self.folder / ("n" * 300), model / "m.tcc"]:
            self.refused(4, "cannot write", *COMPILE, model, "-o", output, "--progress", "plain")
            self.assertNotIn("tcc: graph", self.error)
        self.assertEqual(self.names(), ["dqn.onnx"])

    def test_a_file_that_is_replaced_keeps_its_permissions(self):
        model = self.export("dqn", "--small")
        artefact = self.folder / "m.tcc"
        artefact.touch()
        for mode in [0o600, 0o664]:
            artefact.chmod(mode)
            self.call(*COMPILE, model, "-o", artefact)
            self.assertEqual(stat.S_IMODE(artefact.stat().st_mode), mode)
            model.chmod(mode)
            self.export("dqn", "--small")
            self.assertEqual(stat.S_IMODE(model.stat().st_mode), mode)

    def test_a_new_file_gets_the_permissions_of_the_mask(self):
        old = os.umask(0o027)
        try:
            model = self.export("dqn", "--small")
        finally:
            os.umask(old)
        self.assertEqual(stat.S_IMODE(model.stat().st_mode), 0o640)

    def test_a_symbolic_link_stays_and_what_it_leads_to_is_replaced(self):
        model = self.export("dqn", "--small")
        (self.folder / "real").mkdir()
        for there in [True, False]:
            target = self.folder / "real" / f"{there}.tcc"
            if there:
                target.write_bytes(b"old")
            link = self.folder / f"{there}.tcc"
            link.symlink_to(pathlib.Path("real") / target.name)
            self.call(*COMPILE, model, "-o", link)
            self.assertTrue(link.is_symlink())
            self.call("run", target, "--random", "1")
        loop = self.folder / "loop"
        loop.symlink_to("loop")
        self.refused(4, "symbolic links", *COMPILE, model, "-o", loop)

    def test_a_file_system_without_unnamed_files_gets_whole_files_too(self):
        strace = shutil.which("strace")
        if strace is None:
            self.skipTest("strace is missing")
        model, out = self.export("dqn", "--small"), self.folder / "out"
        out.mkdir()
        for _ in ["a new file", "one that is replaced"]:
            log = subprocess.run([strace, "-f", "-P", out, "-e", "trace=openat", "-e",
                                  "inject=openat:error=EOPNOTSUPP:when=1", self.tcc, "compile",
                                  model, "--target", "native", "-o", out / "m.tcc"], check=True,
                                 capture_output=True, text=True).stderr
            self.assertIn("INJECTED", log)
            self.assertEqual(self.names(out), ["m.tcc"])
            self.call("run", out / "m.tcc", "--random", "1")

    def test_of_a_hard_link_one_name_gets_the_new_content(self):
        model = self.export("dqn", "--small")
        artefact, other = self.folder / "m.tcc", self.folder / "other"
        artefact.write_bytes(b"old")
        os.link(artefact, other)
        self.call(*COMPILE, model, "-o", artefact)
        self.assertEqual(other.read_bytes(), b"old")
        self.call("run", artefact, "--random", "1")

    def test_a_trace_is_whole_or_not_there(self):
        model = self.export("dqn", "--small")
        artefact = self.folder / "m.tcc"
        self.call(*COMPILE, model, "-o", artefact)
        trace = self.folder / "t.json"
        other = self.folder / "other"
        trace.write_bytes(b"old")
        os.link(trace, other)
        self.call("bench", artefact, "--iterations", "1", "--trace", trace)
        self.assertIn("traceEvents", json.loads(trace.read_text()))
        self.assertEqual(other.read_bytes(), b"old")  # the file was replaced, not written into


if __name__ == "__main__":
    main()
