#!/usr/bin/env python3
"""Models exported to C: built without a C library where they need none, and compared with tcc run to
the bit."""

import os
import platform
import re
import shutil
import signal
import subprocess
import time
import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from tcc_command import ROOT, CommandTest, main

FLOAT, DOUBLE, INT64, BOOL = (TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.INT64,
                              TensorProto.BOOL)
DTYPES = {"f32": np.float32, "f64": np.float64, "i64": np.int64, "bool": np.bool_}
WARNINGS = ["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]
NO_LIBRARY = ["-ffreestanding", "-fno-stack-protector", "-nostdlib", "-static"]

# Writes the outputs to standard output, one after another. Without HOSTED it needs no library.
PROGRAM = r"""
#ifdef THREADED
#define main main_of_the_export
#include "main.c"
#undef main
#else
#include "NAME.h"
#endif
#define ALIGNED __attribute__((aligned(64)))
@memory@
static uint8_t arena[UPPER_ARENA_BYTES + 64] ALIGNED;
static uint8_t scratch[4 * UPPER_SCRATCH_BYTES + 64] ALIGNED;

static int32_t run(void) {
  const void* inputs[] = {@inputs@};
  void* outputs[] = {@outputs@};
  NAME_memory memory = {0};
  memory.arena = arena;
  memory.scratch = scratch;
#ifdef THREADED
  memory.threads = THREADS;
  memory.parallel_for = parallel_for;
  memory.thread = thread;
#endif
#ifdef WEIGHTS
  extern const uint8_t weights_of_file[];
  memory.weights = weights_of_file;
#endif
  /* A second run begins where the first has left the memory. */
  return NAME_run(&memory, inputs, outputs) + NAME_run(&memory, inputs, outputs);
}

static long call_system(long number, long a, const void* b, unsigned long c) {
  long result;
  __asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c)
                   : "rcx", "r11", "memory");
  return result;
}

static void put(const uint8_t* bytes, unsigned long count) {
  while (count > 0) {
    long done = call_system(1, 1, bytes, count);
    if (done <= 0) call_system(231, 99, 0, 0);
    bytes += done;
    count -= (unsigned long)done;
  }
}

#ifdef HOSTED
int main(void) {
  int32_t status = run();
@puts@  return status;
}
#else
void program(void);
void program(void) {
  int32_t status = run();
@puts@  call_system(231, status, 0, 0);
}
#endif
"""

# The stack is aligned before any C runs.
START = """
  .text
  .globl _start
_start:
  xor %ebp, %ebp
  and $-64, %rsp
  call program
  hlt
  .section .note.GNU-stack, "", %progbits
"""


def value(name, shape, kind=FLOAT):
    return helper.make_tensor_value_info(name, kind, shape)


def constant(name, array):
    return numpy_helper.from_array(np.asarray(array), name)


def node(op, inputs, outputs, **attributes):
    return helper.make_node(op, inputs.split(), outputs.split(), **attributes)


def body(nodes, inputs, outputs, *constants):
    return helper.make_graph(nodes, "body", inputs, outputs, list(constants))


def doubling(trips, limit=None):
    """`trips` times, while h is below the limit: sum += h, h *= 2. Without a limit all h are stacked.
    Both carried values are read and written."""
    nodes = [node("Add", "h h", "doubled"), node("Add", "sum h", "next"),
             node("Identity", "h", "kept")]
    goes_on = [node("ReduceMax", "doubled", "top", keepdims=0), node("Less", "top limit", "ok")]
    inputs = [value("i", [], INT64), value("c", [], BOOL), value("h", [3]), value("sum", [3])]
    carried = [value("doubled", [3]), value("next", [3])]
    if limit is not None:
        inner = body(nodes + goes_on, inputs, [value("ok", [], BOOL), *carried],
                     constant("limit", np.float32(limit)))
        return helper.make_node("Loop", [trips, "go", "x", "x"], ["h", "sum"], body=inner)
    inner = body(nodes, inputs, [value("yes", [], BOOL), *carried, value("kept", [3])],
                 constant("yes", np.bool_(True)))
    return helper.make_node("Loop", [trips, "", "x", "x"], ["h", "sum", "all"], body=inner)


def backward_sums():
    """The sums of rows from the last one up, each stacked where its row is."""
    inner = body([node("Add", "s row", "t"), node("Identity", "t", "kept")],
                 [value("s", [16]), value("row", [16])], [value("t", [16]), value("kept", [16])])
    return helper.make_node("Scan", ["zero", "rows"], ["last", "sums"], body=inner,
                            num_scan_inputs=1, scan_input_directions=[1],
                            scan_output_directions=[1])


def branches(condition, then_nodes, else_nodes, result):
    def branch(nodes, name):
        return helper.make_graph(nodes, name, [], [value(name, [3])])

    return helper.make_node("If", [condition], [result], then_branch=branch(then_nodes, "then_y"),
                            else_branch=branch(else_nodes, "else_y"))


def plans():
    """Models by name: nodes, inputs, outputs, constants."""
    x, go, n = value("x", [3]), value("go", [], BOOL), value("n", [], INT64)
    y, h, sums = value("y", [3]), value("h", [3]), value("sum", [3])
    five = constant("five", np.int64(5))
    loop_in_branch = branches(
        "c", [doubling("n", 4000.0), node("Add", "h sum", "then_y")],
        [node("Neg", "x", "else_y")], "y")
    return {
        "counted": ([doubling("n", 100.0)], [x, go, n], [h, sums], []),
        "stacked": ([doubling("five")], [x], [h, sums, value("all", [5, 3])], [five]),
        "backward": ([backward_sums()], [value("rows", [7, 16])],
                     [value("last", [16]), value("sums", [7, 16])],
                     [constant("zero", np.zeros(16, np.float32))]),
        "branches": ([node("Cast", "n", "c", to=BOOL), loop_in_branch], [x, go, n], [y], []),
        "passed_on": ([node("Identity", "x", "y")], [x], [y], []),
        "constant": ([node("Identity", "five", "z")], [], [value("z", [], INT64)], [five]),
        "libm": ([node("Tan", "x", "t"), node("Cast", "t", "d", to=DOUBLE),
                  node("Exp", "d", "z")], [x], [value("z", [3], DOUBLE)], []),
    }


@unittest.skipUnless(platform.machine() == "x86_64", "the programs without a library are x86-64's")
class Export(CommandTest):
    def write(self, nodes, inputs, outputs, *constants, opset=17):
        graph = helper.make_graph(nodes, "model", inputs, outputs, list(constants))
        path = self.folder / "m.onnx"
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)],
                                    ir_version=8), path)
        return path

    def compile(self, model, target="native", arrays=()):
        """Compiles a model, at the sizes of the arrays where it leaves some open."""
        artefact = self.folder / f"{model.stem}.tcc"
        given = onnx.load(model).graph.input if len(arrays) else ()
        shapes = [word for value, array in zip(given, arrays) if array.ndim
                  for word in ("--shape", f"{value.name}={'x'.join(map(str, array.shape))}")]
        self.call("compile", model, "--target", target, "-o", artefact, *shapes)
        return artefact

    def inputs(self, folder):
        """(name, type, shape) of each input, as the header tells them."""
        name = next(folder.glob("*.h"))
        header = name.read_text()

        def macros(kind, value):
            return re.findall(rf"_INPUT\d+_{kind} {value}$", header, re.M)

        shapes = [[int(extent) for extent in text.split(", ")][:int(rank)] for text, rank in
                  zip(macros("SHAPE", r"{(.*)}"), macros("RANK", r"(\d+)"))]
        rows = list(zip(macros("NAME", '"(.*)"'), macros("TYPE", '"(.*)"'), shapes))
        self.assertEqual(len(rows), int(re.search(r"_INPUTS (\d+)", header)[1]))
        return rows

    def draw(self, folder):
        """Random inputs by their names."""
        draw = np.random.default_rng(5)
        feeds = {}
        for name, kind, shape in self.inputs(folder):
            many = draw.standard_normal(shape) if kind[0] == "f" else draw.integers(0, 2, shape)
            feeds[name] = np.asarray(many).astype(DTYPES[kind])
        return feeds

    def expected(self, artefact, feeds):
        """The bytes of all outputs, as tcc run computes them."""
        out = self.folder / "out"
        arguments = []
        for i, (name, array) in enumerate(feeds.items()):
            np.save(self.folder / f"in{i}.npy", array)
            arguments += ["--input", f"{name}={self.folder}/in{i}.npy"]
        for old in out.glob("*"):
            old.unlink()
        self.call("run", artefact, *arguments, "--output-dir", out)
        count = len(list(out.iterdir()))
        return b"".join(np.load(out / f"output_{i}.npy").tobytes() for i in range(count))

    def sources(self, artefact, *options):
        folder = self.folder / f"c_{artefact.stem}"
        self.call("export", artefact, "--c", folder, *options)
        return folder

    def build(self, folder, feeds, *flags, weights=True):
        """A program of the export in `folder` that runs on `feeds`."""
        name = next(folder.glob("*.h")).stem
        header = (folder / f"{name}.h").read_text()
        outputs = int(re.search(r"_OUTPUTS (\d+)", header)[1])
        program = PROGRAM.replace("NAME", name).replace("UPPER", name.upper())
        data, memory, puts = START if "-DHOSTED" not in flags else "", "", ""
        data += '\n  .section .rodata\n'
        for i, array in enumerate(feeds.values()):
            (folder / f"input{i}.bin").write_bytes(array.tobytes())
            data += f'  .balign 64\n  .globl input{i}\ninput{i}: .incbin "input{i}.bin"\n'
            memory += f"extern const uint8_t input{i}[];\n"
        if not weights:
            data += (f'  .balign 64\n  .globl weights_of_file\nweights_of_file: '
                     f'.incbin "{name}.weights"\n')
        data += '  .section .note.GNU-stack, "", %progbits\n'
        for i in range(outputs):
            bytes_ = f"{name.upper()}_OUTPUT{i}_BYTES"
            memory += f"static uint8_t output{i}[{bytes_} + 1] ALIGNED;\n"
            puts += f"  put(output{i}, {bytes_});\n"
        lists = {"@memory@": memory, "@puts@": puts,
                 "@inputs@": ", ".join(f"input{i}" for i in range(len(feeds))) or "0",
                 "@outputs@": ", ".join(f"output{i}" for i in range(outputs)) or "0"}
        for key, text in lists.items():
            program = program.replace(key, text)
        (folder / "program.c").write_text(program)
        (folder / "data.S").write_text(data)
        files = ["program.c", f"{name}.c", *sorted(p.name for p in folder.glob("*.S"))]
        libraries = ["-lm"] if "math.h" in (folder / f"{name}.c").read_text() else []
        self.execute(["cc", "-O2", *WARNINGS, *flags, *files, "-o", "program", *libraries], folder)
        return folder / "program"

    def execute(self, command, folder, **options):
        result = subprocess.run(command, cwd=folder, capture_output=True, timeout=300, check=False,
                                **options)
        self.assertEqual(result.returncode, 0, f"{command}\n{result.stderr.decode()[-3000:]}")
        return result.stdout

    def agrees(self, artefact, arrays=None):
        """The folder of an export whose program's outputs are those of tcc run."""
        folder = self.sources(artefact)
        if arrays is None:
            feeds = self.draw(folder)
        else:
            feeds = dict(zip([name for name, _, _ in self.inputs(folder)], arrays, strict=True))
        hosted = "math.h" in (folder / f"{artefact.stem}.c").read_text()
        program = self.build(folder, feeds, *(["-DHOSTED"] if hosted else NO_LIBRARY))
        self.assertEqual(self.execute([program], folder), self.expected(artefact, feeds))
        return folder


class Networks(Export):
    def test_every_network_gives_the_same_bits_without_a_library(self):
        for network in self.call("zoo", "list").split():
            with self.subTest(network=network):
                folder = self.agrees(self.compile(self.export(network, "--small")))
                self.assertNotIn("math.h", (folder / f"{network}.c").read_text())

    def test_random_models_give_the_same_bits(self):
        fuzz = self.tcc.parent / "tcc-fuzz"
        if not fuzz.exists():
            self.skipTest("tcc-fuzz is not built")
        self.execute([fuzz, "model", "--points", "30", "--seed", "11", "--emit", "cases"],
                     self.folder)
        cases = sorted((self.folder / "cases").iterdir())
        self.assertEqual(len(cases), 30)
        for case in cases:
            with self.subTest(seed=case.name):
                count = len(list(case.glob("input_*.npy")))
                arrays = [np.load(case / f"input_{i}.npy") for i in range(count)]
                self.agrees(self.compile(case / "model.onnx", arrays=arrays), arrays)


class Sources(Export):
    def export_of_a_convolution(self, *options):
        """Its kernel works in scratch memory: (artefact, sources)."""
        weights = np.random.default_rng(1).standard_normal((32, 32, 3, 3)).astype(np.float32)
        shape = [1, 32, 28, 28]
        model = self.write([node("Conv", "x w", "y", pads=[1, 1, 1, 1])], [value("x", shape)],
                           [value("y", shape)], constant("w", weights))
        artefact = self.compile(model)
        return artefact, self.sources(artefact, *options)

    def test_scratch_memory_is_as_large_as_the_header_says(self):
        artefact, folder = self.export_of_a_convolution()
        self.assertLess(64, int(re.search(r"M_SCRATCH_BYTES (\d+)",
                                          (folder / "m.h").read_text())[1]))
        self.agrees(artefact)

    def test_loops_run_on_the_threads_of_the_program(self):
        artefact, folder = self.export_of_a_convolution("--threads")
        feeds = self.draw(folder)
        expected = self.expected(artefact, feeds)
        program = self.build(folder, feeds, "-DHOSTED", "-DTHREADED", "-D_GNU_SOURCE", "-pthread")
        for _ in range(5):
            self.assertEqual(self.execute([program], folder), expected)
        # The functions are optional.
        program = self.build(folder, feeds, *NO_LIBRARY)
        self.assertEqual(self.execute([program], folder), expected)

    def test_weights_may_lie_where_the_program_has_them(self):
        artefact, folder = self.export_of_a_convolution("--weights", "file")
        self.assertFalse((folder / "m_weights.S").exists())
        feeds = self.draw(folder)
        program = self.build(folder, feeds, *NO_LIBRARY, "-DWEIGHTS", weights=False)
        self.assertEqual(self.execute([program], folder), self.expected(artefact, feeds))

    def test_the_program_of_each_export_prints_the_sum_that_tcc_run_gives(self):
        artefact, _ = self.export_of_a_convolution()
        out = self.folder / "out"
        np.save(self.folder / "zeros.npy", np.zeros([1, 32, 28, 28], np.float32))
        self.call("run", artefact, "--input", f"x={self.folder}/zeros.npy", "--output-dir", out)
        total = np.load(out / "output_0.npy").astype(np.float64).sum()
        for options in [[], ["--threads"], ["--weights", "file"], ["--threads", "--weights", "file"]]:
            for compiler in ["cc", "clang-19"]:
                with self.subTest(options=options, compiler=compiler):
                    folder = self.sources(artefact, *options)
                    flags = " ".join(["-O2", *WARNINGS[1:]])
                    text = self.execute(["make", "-s", "clean", "run", f"CC={compiler}",
                                         f"CFLAGS={flags}"], folder).decode()
                    self.assertEqual(text, f"y f32[1x32x28x28], sum {total:.9g}\n")

    def test_the_plan_needs_the_kernels_and_weights_and_nothing_else(self):
        for plan in ["backward", "counted"]:
            nodes, inputs, outputs, constants = plans()[plan]
            model = self.write(nodes, inputs, outputs, *constants)
            folder = self.sources(self.compile(model, "x86-64-v3"), "--name", f"Net_{plan}",
                                  "--threads")
            assembled = sorted(path.name for path in folder.glob(f"Net_{plan}*.S"))
            sources = [f"Net_{plan}.c", *assembled]
            for compiler in ["cc", "clang-19"]:
                flags = [*WARNINGS, "-O3", "-ffreestanding", "-fno-stack-protector", "-c"]
                self.execute([compiler, *flags, *sources], folder)
                objects = [source[:-2] + ".o" for source in sources]
                text = self.execute(["nm", *objects], folder).decode()
                needed = set(re.findall(r" U (\S+)", text))
                self.assertEqual(needed - set(re.findall(r" [TtRr] (\S+)", text)), set())
                self.assertLessEqual({name.split("_")[2] for name in needed},
                                     {"kernel", "weights"})
            self.execute(["c++", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-x", "c++",
                          f"Net_{plan}.h"], folder)

    def test_the_same_artefact_gives_the_same_files(self):
        artefact, folder = self.export_of_a_convolution()
        first = {path.name: path.read_bytes() for path in folder.iterdir()}
        self.assertEqual(sorted(first), ["Makefile", "m.c", "m.h", "m.kernels", "m.weights",
                                         "m_kernels.S", "m_weights.S", "main.c"])
        self.sources(artefact)
        self.assertEqual({path.name: path.read_bytes() for path in folder.iterdir()}, first)

    def test_the_page_on_exports_shows_a_program_that_works(self):
        page = (ROOT / "docs" / "export.md").read_text()
        (program,) = re.findall(r"^```c\n(.*?)^```", page, re.M | re.S)
        (self.folder / "play.c").write_text(program)
        commands = "".join(re.findall(r"^```sh\n(.*?)^```", page, re.M | re.S))
        paths = f"{self.tcc.parent}:{os.environ['PATH']}"
        text = self.execute(["bash", "-e", "-c", commands], self.folder,
                            env={**os.environ, "PATH": paths}).decode()
        self.assertRegex(text, r"\nq f32\[1x6\], sum \S+\n")
        self.assertRegex(text, r"\nq: action [0-5] of 6\n")
        undefined = set(re.findall(r"^ +U (\S+)", text, re.M))
        self.assertIn("dqn_weights", undefined)
        self.assertTrue(all(name.startswith("dqn_") for name in undefined))
        files = re.findall(r"^\| (`.*?`) \|", page, re.M)[:5]
        self.assertEqual(sorted(each for row in files for each in row.strip("`").split("`, `")),
                         sorted(path.name for path in (self.folder / "dqn_c").iterdir()
                                if path.suffix != ".o" and path.name != "dqn"))


class Refusals(Export):
    def refused(self, code, message, *arguments):
        self.assertEqual(self.call("export", *arguments, expect=code), "")
        self.assertIn(message, self.error)

    def test_what_has_no_c_is_refused(self):
        model = self.export("dqn", "--small")
        artefact, folder = self.folder / "m.tcc", self.folder / "c"
        self.call("compile", model, "--target", "reference", "-o", artefact)
        self.refused(3, "compiled for 'reference'", artefact, "--c", folder)
        if self.has_nvrtc():
            self.call("compile", model, "--target", "sm_86", "-o", artefact)
            self.refused(3, "compiled for 'sm_86'", artefact, "--c", folder)
        self.refused(4, "not a tcc artefact but an ONNX model", model, "--c", folder)
        self.refused(4, "No such file", self.folder / "none.tcc", "--c", folder)
        self.assertFalse(folder.exists())

    def test_a_name_is_one_of_c(self):
        artefact = self.compile(self.export("dqn", "--small"))
        folder = self.folder / "c"
        for name in ["a-b", "1st", "naïve"]:
            self.refused(2, f"--name: '{name}' is no identifier of C", artefact, "--c", folder,
                         "--name", name)
        for name in ["main", "math", "errno", "limits", "time", "assert", "float", "signal",
                     "unistd", "threads"]:
            self.refused(2, f"--name: {name}.c or {name}.h is", artefact, "--c", folder, "--name",
                         name)
        self.assertFalse(folder.exists())

    def test_an_artefact_whose_name_c_does_not_have_gets_one(self):
        artefact = self.compile(self.export("dqn", "--small"))
        for file, name in [("my-net.v2", "my_net_v2"), ("1", "model_1"), ("errno", "model_errno")]:
            with self.subTest(file):
                artefact = artefact.rename(self.folder / f"{file}.tcc")
                folder = self.sources(artefact)
                self.assertTrue((folder / f"{name}.h").exists())
                self.execute(["make", "-s", "run"], folder)

    def test_an_output_without_elements_is_no_comparison_of_unsigned_with_0(self):
        model = self.write([node("Relu", "x", "y")], [value("x", [3, 0])],
                           [value("y", [3, 0])])
        folder = self.sources(self.compile(model))
        for compiler in ["cc", "clang-19"]:
            flags = " ".join(["-O2", *WARNINGS[1:]])
            text = self.execute(["make", "-s", "clean", "run", f"CC={compiler}",
                                 f"CFLAGS={flags}"], folder).decode()
            self.assertEqual(text, "y f32[3x0], sum 0\n")

    def test_an_interrupted_export_leaves_all_files_or_none(self):
        table = np.zeros([1 << 14, 1 << 10], np.float32)
        artefact = self.compile(self.write(
            [node("Gather", "table i", "y")], [value("i", [1], INT64)],
            [value("y", [1, table.shape[1]])], constant("table", table)))
        around = self.folder / "around"
        folder = around / "c"
        for old in [None, b"/* Written by tcc export. */"]:
            for pause in [0.1, 0.03, 0.01, *[0] * 20]:
                shutil.rmtree(around, ignore_errors=True)
                around.mkdir()
                if old:
                    folder.mkdir()
                    (folder / "m.h").write_bytes(old)
                code = self.interrupt_export(artefact, folder, pause)
                names = sorted(path.name for path in folder.iterdir()) if folder.exists() else []
                if code == 130:
                    self.assertEqual(names, ["m.h"] if old else [])
                else:  # all was in place before the signal came
                    self.assertIn(code, [0, -signal.SIGINT])
                    self.assertEqual(len(names), 8)
                if old and code == 130:
                    self.assertEqual((folder / "m.h").read_bytes(), old)
                self.assertLessEqual({path.name for path in around.iterdir()}, {"c"})
                if code == 130 and not pause:
                    break
            self.assertEqual(code, 130)

    def interrupt_export(self, artefact, folder, pause):
        """The exit code of an export that is interrupted soon after it began to write."""
        watched = folder if folder.exists() else folder.parent
        count = len(list(watched.iterdir()))
        with subprocess.Popen([self.tcc, "export", artefact, "--c", folder],
                              stderr=subprocess.DEVNULL) as process:
            while process.poll() is None and len(list(watched.iterdir())) == count:
                pass
            time.sleep(pause)
            process.send_signal(signal.SIGINT)
        return process.returncode

    def test_files_of_another_origin_stay(self):
        artefact = self.compile(self.export("dqn", "--small"))
        for name, content in [("Makefile", "all:\n"), ("dqn.weights", "of darknet"), ("dqn.c", "")]:
            with self.subTest(name=name):
                folder = self.folder / f"c_{name}"
                folder.mkdir()
                (folder / name).write_text(content)
                self.refused(2, f"{name} is there and was not written by tcc export", artefact,
                             "--c", folder)
                self.assertEqual([path.name for path in folder.iterdir()], [name])
                self.assertEqual((folder / name).read_text(), content)
        self.refused(4, "cannot make folder", artefact, "--c", self.folder / "no" / "such")


class Plans(Export):
    def test_loops_branches_and_copies_give_the_same_bits(self):
        draw = np.random.default_rng(2)
        for name, (nodes, inputs, outputs, constants) in plans().items():
            artefact = self.compile(self.write(nodes, inputs, outputs, *constants))
            names = [each.name for each in inputs]
            for trips in [0, 1, 6] if "n" in names else [0]:
                feeds = {"x": np.array([1, 5, -3], np.float32), "go": np.array(True),
                         "n": np.array(trips),
                         "rows": draw.standard_normal((7, 16)).astype(np.float32)}
                with self.subTest(model=name, trips=trips):
                    given = {each: feeds[each] for each in names}
                    folder = self.agrees(artefact, given.values())
                    if trips == 1:
                        continue
                    program = self.build(folder, given, "-DHOSTED", "-fsanitize=undefined",
                                         "-fno-sanitize-recover=all")
                    self.assertEqual(self.execute([program], folder),
                                     self.expected(artefact, given))


if __name__ == "__main__":
    main()
