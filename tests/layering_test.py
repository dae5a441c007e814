#!/usr/bin/env python3
"""Holds the repository to its folder graph and its habits of size and naming.

`layering_test.py` checks the repository, then proves on planted trees that each rule can fail.
The rules are data at the top of this file; a new folder is a row in EDGES, a new sub-folder of one
that ROOMS lists is a row there.
"""

import collections
import os
import pathlib
import re
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent

# Every folder but the examples may include it.
BASE = "support"
# The C++ folders and the folders each may include beside BASE; "*" means any. A folder may hold a
# part that is a library of its own: tcc_artefact in runtime.
EDGES = {
    "support": set(),
    "ir": set(),
    "models": {"ir"},
    "graph": {"ir"},
    "schedule": {"ir"},
    "lower": {"ir"},
    "autodiff_features": {"ir", "schedule"},
    "codegen_cuda": {"ir", "lower", "tcc_artefact"},
    "codegen_llvm": {"ir", "lower", "tcc_artefact"},
    # Its texts of kernels are CUDA's in another dialect (codegen_cuda/text/dialect.h).
    "codegen_opencl": {"ir", "lower", "codegen_cuda", "tcc_artefact"},
    "codegen_vdla": {"ir", "lower", "tcc_artefact"},
    "runtime": set(),
    "search": {"ir", "schedule", "lower", "autodiff_features", "runtime"},
    "compiler": {"ir", "models", "graph", "schedule", "lower", "autodiff_features", "codegen_cuda",
                 "codegen_llvm", "codegen_opencl", "codegen_vdla", "runtime", "search"},
    "api": {"ir", "models", "runtime", "compiler"},
    "examples": set(),  # sees what is installed: <tcc/tcc.h>
    "cli": {"*"},
    "bench": {"*"},
    "cmake": set(),
    "docs": {"*"},
    "tests": {"*"},
}
# Within a folder: its sub-folders and which of them each may include; "." holds the folder's own
# files.
ROOMS = {
    "support": {".": set(), "cuda": {"."}, "opencl": {"."}},
    "ir": {
        "expr": set(),
        "simplify": {"expr"},
        "analysis": {"expr", "simplify"},
        "text": {"expr"},
        "interpret": {"expr"},
        "graph": {"expr", "text"},
    },
    "models": {"onnx": set(), "zoo": set()},
    "schedule": {
        "analysis": set(),
        "steps": {"analysis"},
        "space": {"analysis", "steps"},
        "sketches/parts": {"analysis", "steps", "space"},
        "sketches/cpu": {"analysis", "steps", "sketches/parts"},
        "sketches/gpu": {"analysis", "steps", "space", "sketches/parts"},
        "sketches/vdla": {"analysis", "steps", "sketches/parts"},
        "sketches": {"space", "sketches/parts", "sketches/cpu", "sketches/gpu"},
    },
    "graph": {
        "ops": set(),
        "passes": {"ops"},
        "variants": {"ops", "passes"},
    },
    "autodiff_features": {
        "counts": set(),
        "cpu": {"counts"},
        "gpu": {"counts"},
        "features": {"counts", "cpu", "gpu"},
        "tape": set(),
        "learned": {"cpu", "features"},
        ".": {"counts", "cpu", "gpu", "features", "tape", "learned"},
    },
    "lower": {
        "passes": set(),
        ".": {"passes"},
    },
    "runtime": {
        "artefact": set(),
        "vdla": {"artefact"},
        "executor": {"artefact"},
        "cpu": {"artefact", "executor"},
        "cuda": {"artefact", "executor"},
        "cupti": {"cuda"},
        "opencl": {"artefact", "executor"},
        "measure": {"artefact", "executor", "cpu", "cuda", "opencl"},
        "supervise": {"measure"},
        "worker": {"measure", "supervise"},
        "accelerator": {"artefact", "vdla", "executor", "cpu"},
        ".": {"executor", "cpu", "cuda", "opencl", "accelerator"},
    },
    "compiler": {
        "devices": set(),
        ".": {"devices"},
        "check": {".", "devices"},
    },
    "codegen_cuda": {
        "text": set(),
        "cubin": set(),
        "nvrtc": {"cubin"},
        ".": {"text", "nvrtc", "cubin"},
        "emulator": set(),
        "emulator/shared": {"emulator"},
    },
    "search": {
        "candidate": set(),
        "measure": {"candidate"},
        "database": set(),
        "space": {"candidate"},
        "model": {"space"},
        "searchers": {"space", "model"},
        "fleet": {"measure"},
        "tuning": {"candidate", "measure", "database", "space", "model", "searchers"},
    },
    "cli": {".": set(), "bench": {"."}, "compile": {"."}, "cost_model": {"."}, "database": {"."},
            "devices": {"."}, "diff": {".", "bench"}, "export": {"."}, "help": {"."}, "report": {".", "bench"}},
    "bench": {
        "operator": set(),
        "cpu": {"operator"},
        "gpu": {"operator"},
        ".": {"operator", "cpu", "gpu"},
        "estimator": {"cpu", "."},
        "arm64": set(),
    },
}
# Parts: the paths (prefix or stem) that make them, and what they may include besides themselves:
# parts and folders.
PARTS = {
    "tcc_artefact": ("runtime", ("runtime/artefact/", "runtime/vdla/"), set()),
    # What the embedding library without a compiler is made of.
    "tcc_embed": ("api", ("api/tcc_", "api/convert.", "api/devices.", "api/module", "api/runtime_"),
                  {"runtime", "tcc_artefact"}),
}

# Libraries that only some folders may see: how their headers start, and where they are allowed.
FOREIGN = [
    ("llvm", re.compile(r"^(llvm|llvm-c|lld|clang)/"), re.compile(r"^(codegen_llvm|cmake/archives)/[^/]*\.cc$")),
    ("protobuf", re.compile(r"^google/protobuf/|\.pb\.h$"), re.compile(r"^(models|tests/models)/")),
    ("eigen", re.compile(r"^Eigen/|^eigen3/"), re.compile(r"^autodiff_features/")),
    ("sqlite", re.compile(r"^sqlite3"), re.compile(r"^search/")),
    ("libpq", re.compile(r"^libpq-fe"), re.compile(r"^search/fleet/")),
    ("lzma", re.compile(r"^lzma"), re.compile(r"^cli/cost_model/")),
    ("catch2", re.compile(r"^catch2/"), re.compile(r"^tests/")),
]

# The embedding API.
INSTALLED_HEADERS = ("api/tcc.h", "api/tcc_c.h", "api/tcc_compile_c.h", "api/tcc_runtime.h",
                     "api/tcc_status.h")
MAX_INSTALLED_LINES = 250

BANNED_NAME = re.compile(r"(^|_)(utils?|helpers?|managers?|misc|common|experimental)(_|\.|$)|^new_")
MAX_LINES = 600
MAX_FILES = 60  # in one folder, those of its sub-folders apart
# Tables may be longer; name each one here.
TABLES = set()

SOURCE = re.compile(r"\.(cc|h|inc)$")
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.M)
TEST_CASE = re.compile(r'^TEST_CASE\((?:"(?:\\.|[^"\\\n])*"\s*)+(?:,\s*"\[([^\]"]+)\])?', re.M)
COMMENT_OR_STRING = re.compile(r'//[^\n]*|/\*.*?\*/|R"\((?:.|\n)*?\)"|"(?:\\.|[^"\\\n])*"', re.S)


def cpp_files(root):
    for folder, names, files in os.walk(root):
        names[:] = sorted(n for n in names if not n.startswith(".") and n != "build")
        for name in sorted(files):
            if SOURCE.search(name):
                yield (pathlib.Path(folder) / name).relative_to(root).as_posix()


def part_of(path):
    for part, (_, starts, _) in PARTS.items():
        if path.startswith(starts):
            return part
    return None


def room_of(path):
    """ "expr" of ir/expr/expr.h, "." of lower/pipeline.h; None where the folder has no rooms."""
    folder, _, rest = path.partition("/")
    return (rest.rpartition("/")[0] or ".") if folder in ROOMS else None


def room_errors(source, target):
    folder = source.split("/")[0]
    room, other = room_of(source), room_of(target)
    if target.split("/")[0] != folder or room is None or room == other:
        return
    if other not in ROOMS[folder].get(room, {other}):
        yield f"{source}: includes {target}: no such edge in the graph of {folder}'s sub-folders"


def may_include(source, target):
    folder, target_folder = source.split("/")[0], target.split("/")[0]
    part, target_part = part_of(source), part_of(target)
    if target_folder == BASE and folder != "examples":
        return True
    if part:
        return bool({target_part, target_folder} & (PARTS[part][2] | {part}))
    if folder == target_folder:
        return True
    allowed = EDGES[folder]
    return "*" in allowed or target_folder in allowed or target_part in allowed


def include_errors(root, path, text):
    for quote, target in INCLUDE.findall(text):
        for name, headers, places in FOREIGN:
            if headers.search(target) and not places.search(path):
                yield f"{path}: includes {target}: {name} headers are not allowed here"
        top = target.split("/")[0]
        generated = target.endswith(".pb.h")
        if quote == "<" or generated:
            if top in EDGES and "/" in target and not generated:
                yield f'{path}: includes <{target}>: our own headers are included with quotes'
        elif path in INSTALLED_HEADERS and target in installed_names():
            continue  # they find each other where they are installed, too
        elif top not in EDGES:
            if not (root / target).exists() and "/" in target:
                continue  # another library's header in quotes, e.g. "absl/status/status.h"
            yield f'{path}: includes "{target}": expected a path from the root of the repository'
        elif not may_include(path, target):
            yield f"{path}: includes {target}: no such edge in the folder graph"
        else:
            yield from room_errors(path, target)


def habit_errors(path, text):
    name = path.rsplit("/", 1)[-1]
    folder = path.split("/")[0]
    lines = text.count("\n")
    if any(BANNED_NAME.search(part) for part in path.split("/")):
        yield f"{path}: banned name; name the file by its content"
    if lines > MAX_LINES and path not in TABLES:
        yield f"{path}: {lines} lines; expected at most {MAX_LINES}"
    code = COMMENT_OR_STRING.sub("", text)
    if name.endswith(".h"):
        if "#pragma once" not in text:
            yield f"{path}: no #pragma once"
        if folder != "tests" and re.search(r"^\s*using namespace\b", code, re.M):
            yield f"{path}: using namespace in a header"
    if folder not in ("tests", "bench") and re.search(r"\bthrow\b", code):
        yield f"{path}: throw; return a Status, or TCC_CHECK what would be a bug"


def own_header_errors(path, text, files):
    header = re.sub(r"\.cc$", ".h", path)
    includes = INCLUDE.findall(text)
    if path.endswith(".cc") and header in files and (not includes or includes[0][1] != header):
        yield f'{path}: expected "{header}" as the first include'


def tag_errors(path, text):
    """A test's first tag is the folder below tests/ that it lies in."""
    folders = path.split("/")
    if folders[0] != "tests" or len(folders) < 3:
        return
    tags = {tag or "none" for tag in TEST_CASE.findall(text)} - {folders[1]}
    for tag in sorted(tags):
        yield f"{path}: a test whose first tag is {tag}; expected [{folders[1]}]"


def installed_names():
    return {path.rsplit("/", 1)[-1] for path in INSTALLED_HEADERS}


def installed_header_errors(texts):
    """Headers that are installed lie beside each other and name nothing else of ours."""
    installed = installed_names()
    for path in INSTALLED_HEADERS:
        text = texts.get(path, "")
        for quote, target in INCLUDE.findall(text):
            if target not in installed if quote == '"' else "/" in target:
                yield f"{path}: includes {target}: expected standard headers only"
        if text.count("\n") >= MAX_INSTALLED_LINES:
            yield f"{path}: {text.count(chr(10))} lines; expected fewer than {MAX_INSTALLED_LINES}"


def link_errors(root):
    """The tcc_ libraries that a folder's CMakeLists.txt names must be its edges."""
    for folder, allowed in EDGES.items():
        build_file = root / folder / "CMakeLists.txt"
        if "*" in allowed or not build_file.exists():
            continue
        text = re.sub(r"#[^\n]*", "", build_file.read_text())
        # tcc_llvm and tcc_library are the build's own words, see cmake/.
        names = set(re.findall(r"\btcc_[a-z_]+", text)) - {"tcc_library", "tcc_tests"}
        own = {f"tcc_{folder}", f"tcc_{BASE}"} | {part for part, row in PARTS.items() if row[0] == folder}
        seen = {f"tcc_{name}" for name in allowed} | allowed | {f for f in PARTS if f in allowed}
        if folder == "runtime":
            seen.add("tcc_artefact")
        if folder == "codegen_llvm":
            seen.add("tcc_llvm")
        if "codegen_cuda" in allowed:
            seen.add("tcc_cuda_emulator")  # codegen_cuda/emulator
        for name in sorted(names - own - seen):
            yield f"{folder}/CMakeLists.txt: names {name}: no such edge in the folder graph"


def crowd_errors(files):
    counts = collections.Counter(path.rpartition("/")[0] for path in files)
    for folder, count in sorted(counts.items()):
        if count > MAX_FILES:
            yield f"{folder}: {count} files; expected at most {MAX_FILES}"


def include_graph(texts):
    """Which folders include which, at every depth: those that only some of their files are in."""
    edges = {}
    for path, text in texts.items():
        source = path.rpartition("/")[0]
        for _, target in INCLUDE.findall(text):
            target = target.rpartition("/")[0]
            if target != source and target.split("/")[0] in EDGES:
                edges.setdefault(source, set()).add(target)
                tops = source.split("/")[0], target.split("/")[0]
                if tops[0] != tops[1]:
                    edges.setdefault(tops[0] + "/*", set()).add(tops[1] + "/*")
    return edges


def cycle_errors(edges):
    """Mutual includes: a folder that reaches itself, on what is included rather than allowed."""
    def reaches(start):
        seen, todo = set(), list(edges.get(start, ()))
        while todo:
            folder = todo.pop()
            if folder not in seen:
                seen.add(folder)
                todo.extend(edges.get(folder, ()))
        return seen
    for folder in sorted(edges):
        if folder in reaches(folder):
            yield f"{folder}: is reached from itself through includes"


def check(root):
    """Every violation under root, one line each."""
    root = pathlib.Path(root)
    files = list(cpp_files(root))
    texts = {path: (root / path).read_text() for path in files}
    errors = []
    for path, text in texts.items():
        folder = path.split("/")[0]
        if folder not in EDGES:
            errors.append(f"{path}: unknown folder {folder}; give it a row in EDGES")
            continue
        if room_of(path) not in ROOMS.get(folder, {None}):
            errors.append(f"{path}: unknown sub-folder of {folder}; give it a row in ROOMS")
        errors += include_errors(root, path, text)
        errors += habit_errors(path, text)
        errors += own_header_errors(path, text, texts)
        errors += tag_errors(path, text)
    errors += link_errors(root)
    errors += cycle_errors(include_graph(texts))
    errors += crowd_errors(files)
    errors += installed_header_errors(texts)
    return errors


class Repository(unittest.TestCase):
    def test_the_repository_keeps_its_folder_graph_and_habits(self):
        self.assertGreater(len(list(cpp_files(ROOT))), 20)
        errors = check(ROOT)
        self.assertEqual(errors, [], "\n" + "\n".join(errors))

    def test_every_listed_table_exists(self):
        self.assertEqual([path for path in TABLES if not (ROOT / path).exists()], [])


# A tree that keeps every rule, and changes that each break one: (file, text, the complaint).
CLEAN = {
    "support/status.h": "#pragma once\n#include \"absl/status/status.h\"\n",
    "support/dtype.h": "#pragma once\n#include \"support/status.h\"\n",
    "ir/expr/expr.h": "#pragma once\n#include \"support/dtype.h\"\n",
    "ir/expr/expr.cc": "#include \"ir/expr/expr.h\"\n\n#include <vector>\n",
    "lower/pipeline.h": "#pragma once\n#include \"ir/expr/expr.h\"\n// never throw here\n",
    "runtime/artefact/format.h": "#pragma once\n#include \"support/dtype.h\"\n",
    "runtime/executor/executor.h": "#pragma once\n#include \"runtime/artefact/format.h\"\n",
    "codegen_llvm/emit.cc": "#include <llvm/IR/IRBuilder.h>\n\n#include \"lower/pipeline.h\"\n"
                            "#include \"runtime/artefact/format.h\"\n",
    "codegen_llvm/CMakeLists.txt": "tcc_library(tcc_codegen_llvm LINKS tcc_ir tcc_lower "
                                   "tcc_artefact PRIVATE_LINKS tcc_llvm)\n",
    "api/tcc.h": "#pragma once\n#include <string>\n",
    "models/onnx/import.cc": "#include <models/onnx/onnx.pb.h>\n\n#include \"ir/expr/expr.h\"\n",
    "cli/main.cc": "#include \"api/tcc.h\"\n#include \"ir/expr/expr.h\"\n",
    "tests/ir/expr_test.cc": "#include \"ir/expr/expr.h\"\n#include <catch2/catch.hpp>\nint f() { throw 1; }\n"
                             "TEST_CASE(\"a\",\n          \"[ir][expr]\") {}\n",
}
PLANTED = [
    ("ir/analysis/affine.cc", "#include \"schedule/steps/split.h\"\n", "no such edge"),
    ("schedule/steps/split.cc", "#include \"lower/pipeline.h\"\n", "no such edge"),
    ("lower/pass.cc", "#include \"schedule/space/trace.h\"\n", "no such edge"),
    ("lower/fuse.cc", "#include \"graph/passes/passes.h\"\n", "no such edge"),
    ("graph/passes/fuse.cc", "#include \"lower/pipeline.h\"\n", "no such edge"),
    ("graph/ops/add.cc", "#include \"graph/passes/passes.h\"\n", "graph of graph's sub-folders"),
    ("codegen_llvm/jit.cc", "#include \"codegen_cuda/text.h\"\n", "no such edge"),
    ("codegen_llvm/load.cc", "#include \"runtime/executor/executor.h\"\n", "no such edge"),
    ("runtime/cpu/device.cc", "#include \"ir/expr/expr.h\"\n", "no such edge"),
    ("runtime/artefact/plan.cc", "#include \"runtime/executor/executor.h\"\n", "no such edge"),
    ("support/text.cc", "#include \"ir/expr/expr.h\"\n", "no such edge"),
    ("support/target.cc", "#include \"ir/expr/expr.h\"\n", "no such edge"),
    ("lower/loops.cc", "#include <llvm/ADT/StringRef.h>\n", "llvm headers are not allowed"),
    ("graph/variants/weights.cc", "#include <models/onnx/onnx.pb.h>\n", "protobuf headers are not allowed"),
    ("codegen_llvm/types.h", "#pragma once\n#include <llvm/IR/Type.h>\n", "llvm headers are not"),
    ("codegen_llvm/CMakeLists.txt", "tcc_library(tcc_codegen_llvm LINKS tcc_schedule)\n",
     "names tcc_schedule"),
    ("ir/expr/fold.cc", "#include \"expr.h\"\n", "expected a path from the root"),
    ("ir/expr/expr.cc", "#include <vector>\n#include \"ir/expr/expr.h\"\n", "as the first include"),
    ("ir/expr/stmt.cc", "#include <ir/expr/expr.h>\n", "included with quotes"),
    ("ir/text/string_utils.h", "#pragma once\n", "banned name"),
    ("codegen_llvm/common/loops.h", "#pragma once\n", "banned name"),
    ("lower/new_pass.cc", "int x;\n", "banned name"),
    ("ir/expr/long.cc", "int x;\n" * 601, "601 lines"),
    ("ir/expr/guardless.h", "int x;\n", "no #pragma once"),
    ("ir/expr/open.h", "#pragma once\nusing namespace tcc;\n", "using namespace"),
    ("ir/expr/thrower.cc", "int F() { throw 1; }\n", "throw"),
    ("tests/ir/fold_test.cc", "TEST_CASE(\"a\"\n \"b\", \"[lower][ir]\") {}\n", "first tag is lower"),
    ("tests/graph/fold_test.cc", "TEST_CASE(\"a \\\"b\\\"\") {}\n", "first tag is none"),
    ("plugins/x.cc", "int x;\n", "unknown folder"),
    ("ir/x.cc", "int x;\n", "unknown sub-folder of ir"),
    ("ir/cellar/x.cc", "int x;\n", "unknown sub-folder of ir"),
    ("ir/simplify/interval.cc", "#include \"ir/analysis/affine.h\"\n", "graph of ir's sub-folders"),
    ("api/tcc.h", "#pragma once\n#include \"ir/expr/expr.h\"\n", "standard headers only"),
    ("api/tcc_runtime.h", "#pragma once\n" + "int x;\n" * 250, "expected fewer than 250"),
    ("api/module.cc", "#include \"ir/expr/expr.h\"\n", "no such edge"),
    ("examples/run/main.cc", "#include \"api/tcc.h\"\n", "no such edge"),
]


class Planted(unittest.TestCase):
    def check_tree(self, changes):
        with tempfile.TemporaryDirectory() as root:
            for path, text in {**CLEAN, **changes}.items():
                file = pathlib.Path(root) / path
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(text)
            return check(root)

    def test_a_clean_tree_gives_no_complaint(self):
        self.assertEqual(self.check_tree({}), [])

    def test_every_planted_violation_is_caught_and_nothing_else(self):
        for path, text, complaint in PLANTED:
            with self.subTest(path=path, complaint=complaint):
                # An edge that goes back closes a cycle as well, which has a test below.
                errors = [error for error in self.check_tree({path: text})
                          if "reached from itself" not in error]
                self.assertEqual(len(errors), 1, errors)
                self.assertIn(complaint, errors[0])

    def test_a_crowded_folder_is_caught(self):
        files = {f"ir/expr/node{i}.cc": "int x;\n" for i in range(MAX_FILES)}
        errors = self.check_tree(files)
        self.assertEqual(errors, [f"ir/expr: {MAX_FILES + 2} files; expected at most {MAX_FILES}"])

    def test_sub_folders_that_include_each_other_are_caught(self):
        errors = self.check_tree({"docs/text/a.cc": "#include \"docs/option.h\"\n",
                                  "docs/feed.cc": "#include \"docs/text/a.h\"\n"})
        self.assertEqual(errors, ["docs: is reached from itself through includes",
                                  "docs/text: is reached from itself through includes"])

    def test_folders_that_include_each_other_are_caught(self):
        self.assertEqual(len(list(cycle_errors({"a": {"b"}, "b": {"c"}, "c": {"a"}}))), 3)
        self.assertEqual(list(cycle_errors({"a": {"b", "c"}, "b": {"c"}})), [])


if __name__ == "__main__":
    unittest.main()
