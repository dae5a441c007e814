#!/usr/bin/env python3
"""Writes docs/api.md from the headers of the embedding API: each declaration with its comment.

usage: api_reference.py [--check]     --check compares instead of writing; exit code 1 if they differ
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "api.md"
HEADERS = ["tcc_status.h", "tcc_runtime.h", "tcc.h"]
INTRODUCTION = """# The embedding API

Written by `scripts/api_reference.py` from the headers; a test compares them. [embedding.md](embedding.md)
is the guide. All names are in namespace `tcc`. Private members are left out.
"""
NAME = re.compile(r"(?:class|struct|enum class|using)\s+(?:\[\[\w+\]\]\s+)?(?:TCC_EXPORT\s+)?(\w+)"
                  r"|([\w]+)\(|constexpr [\w:]+ (\w+)")


def declarations(text):
    """(comment, code) of everything between TCC_API_BEGIN and TCC_API_END at the outermost level."""
    body = text.split("\nTCC_API_BEGIN\n")[1].split("\nTCC_API_END\n")[0]
    comment, code = [], []
    for line in body.splitlines():
        if not code and (not line.strip() or "clang-format" in line):
            comment = []
        elif not code and line.startswith("//"):
            comment.append(line[2:].removeprefix(" "))
        else:
            code.append(line)
            whole = re.sub(r"//[^\n]*", "", "\n".join(code))
            ended = whole.rstrip().endswith((";", "}"))
            if ended and whole.count("{") == whole.count("}") and whole.count("(") == whole.count(")"):
                yield " ".join(comment), "\n".join(code)
                comment, code = [], []


def without_private_parts(code):
    lines, public = [], True
    for line in code.splitlines():
        if re.match(r"\s*(private|public|protected):", line):
            public = "public" in line
            if not public:
                while lines and not lines[-1].strip():
                    lines.pop()
        if public or line.startswith("}"):
            lines.append(line)
    return "\n".join(lines)


def page():
    text = INTRODUCTION
    for header in HEADERS:
        text += f"\n## `<tcc/{header}>`\n"
        source = (ROOT / "api" / header).read_text()
        for comment, code in declarations(source):
            if re.match(r"(class|struct) \w+;", code):
                continue  # declared in advance
            match = NAME.search(re.sub(r"template <[^>]*>\s*", "", code))
            name = next(group for group in match.groups() if group)
            text += f"\n### {name}\n"
            if comment:
                text += f"\n{comment}\n"
            text += f"\n```cpp\n{without_private_parts(code)}\n```\n"
    return text


def main(arguments):
    if arguments == ["--check"]:
        if PAGE.exists() and PAGE.read_text() == page():
            return 0
        print("docs/api.md differs from the headers; run scripts/api_reference.py")
        return 1
    if arguments:
        print(__doc__, file=sys.stderr)
        return 2
    PAGE.write_text(page())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
