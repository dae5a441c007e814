"""The entries of docs/troubleshooting.md, which explain messages of exits 3, 4 and 5."""

import dataclasses
import functools
import json
import pathlib
import re

PAGE = pathlib.Path(__file__).resolve().parent.parent.parent / "docs" / "troubleshooting.md"
CODES = (3, 4, 5)


@dataclasses.dataclass(frozen=True)
class Entry:
    code: int
    pattern: str
    example: str
    text: str


@functools.cache
def entries():
    found = []
    for section in re.split(r"^## Exit code ", PAGE.read_text(), flags=re.M)[1:]:
        for part in section.split("\n### ")[1:]:
            pattern, example, text = re.fullmatch(r"`(.*)`\n\n    tcc: ([^\n]*)\n\n(.*)", part,
                                                  re.S).groups()
            found.append(Entry(int(section.split(":")[0]), pattern, example, text.strip()))
    return found


def fitting(code, message):
    """The entries that explain a message."""
    return [entry for entry in entries()
            if entry.code == code and re.search(entry.pattern, message)]


def message_of(error):
    """What a command says last on standard error, without "tcc: "; "" where it says nothing."""
    lines = [line for line in error.splitlines() if not line.startswith("tcc: warning: ")]
    if lines and lines[-1].startswith('{"error":'):
        return json.loads(lines[-1])["error"]["message"]
    starts = [i for i, line in enumerate(lines) if line.startswith("tcc: ")]
    return "\n".join(lines[starts[-1]:]).removeprefix("tcc: ") if starts else ""
