#!/usr/bin/env python3
"""Writes python/tcc/_declarations.py: the C API's header as ctypes has it.

usage: scripts/c_declarations.py [--check]

With --check it writes nothing and fails if the file is not what it would write. The header is read
by patterns, which know the few forms that it has; a declaration of another form is an error.
"""

import argparse
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
HEADER = ROOT / "api" / "tcc_c.h"
DECLARATIONS = ROOT / "python" / "tcc" / "_declarations.py"

NUMBERS = {"int32_t": "c_int32", "uint32_t": "c_uint32", "int64_t": "c_int64",
           "uint64_t": "c_uint64"}
PREAMBLE = '''\
"""What api/tcc_c.h declares, without the prefix; scripts/c_declarations.py writes it."""

from ctypes import (CFUNCTYPE, Structure, c_char_p, c_int32, c_int64, c_uint32, c_uint64,
                    c_void_p)
from typing import Any
'''
CALLBACK = re.compile(r"void \(\*(\w+)\)\(void\* \w+\)")


def declarations(header):
    """The header's declarations, a line each, without comments and preprocessor lines."""
    text = re.sub(r"/\*.*?\*/", "", header, flags=re.DOTALL)
    text = re.sub(r"^#.*$", "", text, flags=re.MULTILINE).replace('extern "C" {', "")
    found, depth, start = [], 0, 0
    for place, letter in enumerate(text):
        depth += {"{": 1, "}": -1}.get(letter, 0)
        if depth == 0 and letter == ";":
            found.append(" ".join(text[start:place].split()))
            start = place + 1
    return found


class Header:
    def __init__(self, text):
        self.numbers = dict(NUMBERS)  # and the typedefs of numbers
        self.constants, self.structs, self.functions = [], [], []
        self.abi = re.search(r"#define TCC_ABI (\d+)u", text).group(1)
        for declaration in declarations(text):
            self.add(declaration)

    def add(self, declaration):
        if match := re.fullmatch(r"typedef struct (\w+) \1", declaration):
            return  # a handle
        if match := re.fullmatch(r"typedef (\w+) (\w+)", declaration):
            self.numbers[match[2]] = self.numbers[match[1]]
        elif match := re.fullmatch(r"enum \{(.*)\}", declaration):
            self.constants.append(re.findall(r"TCC_(\w+) = (\d+)", match[1]))
        elif match := re.fullmatch(r"typedef struct (\w+) \{(.*)\} \1", declaration):
            fields = [self.variable(field) for field in match[2].split(";") if field.strip()]
            self.structs.append((match[1], fields))
        elif match := re.fullmatch(r"TCC_API (.*?)(\w+)\((.*)\)", declaration):
            parameters = [] if match[3] == "void" else re.split(r", (?![^(]*\))", match[3])
            types = [self.variable(parameter)[1] for parameter in parameters]
            self.functions.append((match[2], self.type(match[1]), types))
        else:
            raise ValueError(f"{HEADER.name}: a declaration of an unknown form: {declaration}")

    def variable(self, text):
        if match := CALLBACK.fullmatch(text.strip()):
            return match[1], "Release"
        kind, name = re.fullmatch(r"(.*?)(\w+)", text.strip()).groups()
        return name, self.type(kind)

    def type(self, text):
        text = text.strip()
        if text == "const char*":
            return "c_char_p"
        if text.endswith("*"):
            return "c_void_p"
        return "None" if text == "void" else self.numbers[text]


def python_text(header):
    lines = [*PREAMBLE.splitlines(), "", f"ABI = {header.abi}", ""]
    for group in header.constants:
        lines += [f"{name} = {value}" for name, value in group] + [""]
    for name, fields in header.structs:
        lines += ["", f"class {name.removeprefix('tcc_').title()}(Structure):", "    _fields_ = ["]
        lines += [f'        ("{field}", {kind}),' for field, kind in fields] + ["    ]", ""]
    lines += ["", "Release = CFUNCTYPE(None, c_void_p)", "",
              "# Of each function: its name, the type of its result, the types of its parameters.",
              "FUNCTIONS: tuple[tuple[str, Any, list[Any]], ...] = ("]
    for name, result, types in header.functions:
        lines.append(f'    ("{name}", {result}, [{", ".join(types)}]),')
    return "\n".join(lines + [")", ""])


def wrapped(text):
    """Breaks the rows that are longer than 100 columns behind a comma."""
    lines = []
    for line in text.split("\n"):
        while len(line) > 100:
            end = line.rindex(", ", 0, 100) + 1
            bracket = line.find("[", 0, end)
            column = bracket + 1 if bracket >= 0 else len(line) - len(line.lstrip())
            lines.append(line[:end])
            line = " " * column + line[end + 1:]
        lines.append(line)
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing; fail if it differs")
    arguments = parser.parse_args()
    text = wrapped(python_text(Header(HEADER.read_text())))
    if not arguments.check:
        DECLARATIONS.write_text(text)
    elif DECLARATIONS.read_text() != text:
        sys.exit(f"{DECLARATIONS.relative_to(ROOT)} is not what {HEADER.relative_to(ROOT)} "
                 "declares; run scripts/c_declarations.py")


if __name__ == "__main__":
    main()
