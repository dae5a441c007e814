#!/usr/bin/env python3
"""Holds the repository to its folder graph and its habits of size and naming.

`layering_test.py` checks the repository, then proves on planted trees that each rule can fail.
The rules are data at the top of this file; a new folder is a row in EDGES.
"""

import os
import pathlib
import re
import statistics
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent

# The C++ folders and the folders each may include; "*" means any. Two folders hold a part that is
# a library of its own: tcc_support in ir, tcc_artefact in runtime.
EDGES = {
    "ir": set(),
    "models": {"ir"},
    "schedule": {"ir"},
    "lower": {"ir"},
    "autodiff_features": {"ir", "schedule"},
    "codegen_cuda": {"ir", "lower", "tcc_artefact"},
    "codegen_llvm": {"ir", "lower", "tcc_artefact"},
    "runtime": {"tcc_support"},
    "search": {"ir", "schedule", "lower", "autodiff_features", "runtime"},
    "api": {"ir", "models", "schedule", "lower", "autodiff_features", "codegen_cuda",
            "codegen_llvm", "runtime", "search"},
    "examples": set(),  # sees what is installed: <tcc/tcc.h>
    "cli": {"*"},
    "bench": {"*"},
    "docs": {"*"},
    "tests": {"*"},
}
# Parts: the paths (prefix or stem) that make them, and what they may include besides themselves:
# parts and folders.
PARTS = {
    "tcc_support": ("ir", ("ir/support/", "ir/dtype.", "ir/target."), set()),
    "tcc_artefact": ("runtime", ("runtime/artefact/", "runtime/kernel_abi.", "runtime/cuda_api."), {"tcc_support"}),
    # What the embedding library without a compiler is made of.
    "tcc_embed": ("api", ("api/tcc_", "api/embed/", "api/version."),
                  {"runtime", "tcc_artefact", "tcc_support"}),
}

# Libraries that only some folders may see: how their headers start, and where they are allowed.
FOREIGN = [
    ("llvm", re.compile(r"^(llvm|llvm-c|lld|clang)/"), re.compile(r"^codegen_llvm/[^/]*\.cc$")),
    ("protobuf", re.compile(r"^google/protobuf/|\.pb\.h$"), re.compile(r"^(models|tests/models)/")),
    ("eigen", re.compile(r"^Eigen/|^eigen3/"), re.compile(r"^autodiff_features/")),
    ("sqlite", re.compile(r"^sqlite3"), re.compile(r"^search/")),
    ("catch2", re.compile(r"^catch2/"), re.compile(r"^tests/")),
]

# The embedding API.
INSTALLED_HEADERS = ("api/tcc.h", "api/tcc_runtime.h", "api/tcc_status.h")
MAX_INSTALLED_LINES = 250

BANNED_NAME = re.compile(r"(^|_)(utils?|helpers?|managers?|misc|common|experimental)(_|\.|$)|^new_")
MAX_LINES = 800
MAX_MEDIAN = 200
# Tables may be longer; name each one here.
TABLES = set()

SOURCE = re.compile(r"\.(cc|h|inc)$")
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.M)
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


def may_include(source, target):
    folder, target_folder = source.split("/")[0], target.split("/")[0]
    part, target_part = part_of(source), part_of(target)
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
        own = {f"tcc_{folder}"} | {part for part, row in PARTS.items() if row[0] == folder}
        seen = {f"tcc_{name}" for name in allowed} | allowed | {f for f in PARTS if f in allowed}
        if folder == "runtime":
            seen.add("tcc_artefact")
        if folder == "codegen_llvm":
            seen.add("tcc_llvm")
        if "codegen_cuda" in allowed:
            seen.add("tcc_cuda_emulator")  # codegen_cuda/emulator
        for name in sorted(names - own - seen):
            yield f"{folder}/CMakeLists.txt: names {name}: no such edge in the folder graph"


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
    errors, edges = [], {}
    for path, text in texts.items():
        folder = path.split("/")[0]
        if folder not in EDGES:
            errors.append(f"{path}: unknown folder {folder}; give it a row in EDGES")
            continue
        errors += include_errors(root, path, text)
        errors += habit_errors(path, text)
        errors += own_header_errors(path, text, texts)
        targets = {target.split("/")[0] for _, target in INCLUDE.findall(text)}
        edges.setdefault(folder, set()).update(targets & set(EDGES) - {folder})
    errors += link_errors(root)
    errors += cycle_errors(edges)
    errors += installed_header_errors(texts)
    lengths = [text.count("\n") for text in texts.values()]
    if lengths and statistics.median(lengths) > MAX_MEDIAN:
        errors.append(f"median of {statistics.median(lengths):.0f} lines a file; "
                      f"expected at most {MAX_MEDIAN}")
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
    "ir/support/status.h": "#pragma once\n#include \"absl/status/status.h\"\n",
    "ir/dtype.h": "#pragma once\n#include \"ir/support/status.h\"\n",
    "ir/expr.h": "#pragma once\n#include \"ir/dtype.h\"\n",
    "ir/expr.cc": "#include \"ir/expr.h\"\n\n#include <vector>\n",
    "lower/pipeline.h": "#pragma once\n#include \"ir/expr.h\"\n// never throw here\n",
    "runtime/artefact/format.h": "#pragma once\n#include \"ir/dtype.h\"\n",
    "runtime/executor.h": "#pragma once\n#include \"runtime/artefact/format.h\"\n",
    "codegen_llvm/emit.cc": "#include <llvm/IR/IRBuilder.h>\n\n#include \"lower/pipeline.h\"\n"
                            "#include \"runtime/artefact/format.h\"\n",
    "codegen_llvm/CMakeLists.txt": "tcc_library(tcc_codegen_llvm LINKS tcc_ir tcc_lower "
                                   "tcc_artefact PRIVATE_LINKS tcc_llvm)\n",
    "api/tcc.h": "#pragma once\n#include <string>\n",
    "models/onnx_import.cc": "#include <models/onnx.pb.h>\n\n#include \"ir/expr.h\"\n",
    "cli/main.cc": "#include \"api/tcc.h\"\n#include \"ir/expr.h\"\n",
    "tests/ir/expr_test.cc": "#include \"ir/expr.h\"\n#include <catch2/catch.hpp>\nint f() { throw 1; }\n",
}
PLANTED = [
    ("ir/affine.cc", "#include \"schedule/split.h\"\n", "no such edge"),
    ("schedule/split.cc", "#include \"lower/pipeline.h\"\n", "no such edge"),
    ("lower/pass.cc", "#include \"schedule/trace.h\"\n", "no such edge"),
    ("codegen_llvm/jit.cc", "#include \"codegen_cuda/text.h\"\n", "no such edge"),
    ("codegen_llvm/load.cc", "#include \"runtime/executor.h\"\n", "no such edge"),
    ("runtime/device.cc", "#include \"ir/expr.h\"\n", "no such edge"),
    ("runtime/artefact/plan.cc", "#include \"runtime/executor.h\"\n", "no such edge"),
    ("ir/support/text.cc", "#include \"ir/expr.h\"\n", "no such edge"),
    ("ir/target.cc", "#include \"ir/expr.h\"\n", "no such edge"),
    ("lower/ops.cc", "#include <llvm/ADT/StringRef.h>\n", "llvm headers are not allowed"),
    ("lower/weights.cc", "#include <models/onnx.pb.h>\n", "protobuf headers are not allowed"),
    ("codegen_llvm/types.h", "#pragma once\n#include <llvm/IR/Type.h>\n", "llvm headers are not"),
    ("codegen_llvm/CMakeLists.txt", "tcc_library(tcc_codegen_llvm LINKS tcc_schedule)\n",
     "names tcc_schedule"),
    ("ir/fold.cc", "#include \"expr.h\"\n", "expected a path from the root"),
    ("ir/expr.cc", "#include <vector>\n#include \"ir/expr.h\"\n", "as the first include"),
    ("ir/stmt.cc", "#include <ir/expr.h>\n", "included with quotes"),
    ("ir/string_utils.h", "#pragma once\n", "banned name"),
    ("lower/common/loops.h", "#pragma once\n", "banned name"),
    ("lower/new_pass.cc", "int x;\n", "banned name"),
    ("ir/long.cc", "int x;\n" * 801, "801 lines"),
    ("ir/guardless.h", "int x;\n", "no #pragma once"),
    ("ir/open.h", "#pragma once\nusing namespace tcc;\n", "using namespace"),
    ("ir/thrower.cc", "int F() { throw 1; }\n", "throw"),
    ("plugins/x.cc", "int x;\n", "unknown folder"),
    ("api/tcc.h", "#pragma once\n#include \"ir/expr.h\"\n", "standard headers only"),
    ("api/tcc_runtime.h", "#pragma once\n" + "int x;\n" * 250, "expected fewer than 250"),
    ("api/embed/module.cc", "#include \"ir/expr.h\"\n", "no such edge"),
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
                errors = self.check_tree({path: text})
                self.assertEqual(len(errors), 1, errors)
                self.assertIn(complaint, errors[0])

    def test_folders_that_include_each_other_are_caught(self):
        self.assertEqual(len(list(cycle_errors({"a": {"b"}, "b": {"c"}, "c": {"a"}}))), 3)
        self.assertEqual(list(cycle_errors({"a": {"b", "c"}, "b": {"c"}})), [])


if __name__ == "__main__":
    unittest.main()
