#!/usr/bin/env python3
"""What each backend beyond x86 and CUDA adds to the tree, as a table.

    backend_table.py            prints it
    backend_table.py --write    writes it between the marks in docs/backends.md
    backend_table.py --list B   prints the files outside backend B's own folders that name it

A backend is meant to be one folder, one device and rows: the table counts the lines of each and the
files elsewhere that name the backend. tests/backend_touch_test.py holds their number."""
import argparse
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "backends.md"
BEGIN, END = "<!-- backend_table.py: begin -->", "<!-- backend_table.py: end -->"

SOURCES = re.compile(r"\.(cc|h|c|cmake)$|(^|/)CMakeLists\.txt$")
COMMENT = re.compile(r"(?<!:)//.*|^\s*#(?!include|if|define|el|endif).*")
# Tests, benchmarks and documents may name a backend as they like.
FREE = ("tests/", "bench/", "docs/", "cli/help/", "examples/")


class Backend:
    """A backend: what its folders and its device are, and how other files name it."""

    def __init__(self, name, words, folders, devices, goal):
        self.name = name
        self.words = re.compile(words)
        self.folders = folders  # of its code generator and what belongs to it
        self.devices = devices  # how it runs
        self.goal = goal        # files elsewhere

    def place(self, path):
        for place, prefixes in (("folder", self.folders), ("device", self.devices)):
            if path.startswith(tuple(prefixes)):
                return place
        return "elsewhere"


BACKENDS = (
    # An architecture of CPUs is inside of codegen_llvm, whose own lines for it are in tables there.
    Backend("arm64", r"kArm64|[Aa]arch64|arm64", ("codegen_llvm/",),
            ("compiler/devices/foreign_cpu_device", "tools/qemu/", "cmake/arm64.cmake"), 14),
    Backend("opencl", r"[Oo]pen_?[Cc][Ll]",
            ("codegen_opencl/", "support/opencl/", "support/target_api.h"),
            ("runtime/opencl/", "runtime/measure/opencl_measuring_queue"), 21),
    Backend("vdla", r"[Vv]dla|kVdla|Accelerator::",
            ("codegen_vdla/", "schedule/sketches/vdla/", "graph/variants/accelerator_blocks.cc",
             "schedule/space/vdla_limits", "support/vdla_config.h"),
            ("runtime/vdla/", "runtime/accelerator/"), 22),
)


def sources():
    listed = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard"],
                            cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return [path for path in listed.splitlines()
            if SOURCES.search(path) and not path.startswith(FREE) and (ROOT / path).is_file()]


def survey(backend, paths):
    """{place: {path: lines}}: all lines of the backend's own files; elsewhere the lines of code that
    name it."""
    found = {"folder": {}, "device": {}, "elsewhere": {}}
    for path in paths:
        lines = (ROOT / path).read_text(encoding="utf-8").splitlines()
        named = sum(1 for line in lines if backend.words.search(COMMENT.sub("", line)))
        place = backend.place(path)
        own = place != "elsewhere" and not (path.startswith("codegen_llvm/"))
        if named or (own and path.startswith(tuple(backend.folders + backend.devices))):
            found[place][path] = len(lines) if own else named
    return found


def table():
    paths = sources()
    rows = ["| backend | lines in its folders | of its device | elsewhere | files elsewhere |",
            "|---|---|---|---|---|"]
    for backend in BACKENDS:
        found = survey(backend, paths)
        total = {place: sum(found[place].values()) for place in found}
        rows.append(f"| {backend.name} | {total['folder']} | {total['device']} | "
                    f"{total['elsewhere']} | {len(found['elsewhere'])} |")
    return "\n".join(rows)


def page_with(text, rows):
    before, rest = text.split(BEGIN)
    return f"{before}{BEGIN}\n{rows}\n{END}{rest.split(END)[1]}"


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--list", choices=[backend.name for backend in BACKENDS])
    args = parser.parse_args()
    if args.list:
        backend = next(b for b in BACKENDS if b.name == args.list)
        for path, lines in sorted(survey(backend, sources())["elsewhere"].items()):
            print(f"{lines:5} {path}")
    elif args.write:
        PAGE.write_text(page_with(PAGE.read_text(encoding="utf-8"), table()), encoding="utf-8")
    else:
        print(table())
    return 0


if __name__ == "__main__":
    sys.exit(main())
