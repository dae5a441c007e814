#!/usr/bin/env python3
"""Holds comments to plain words, by counts that may only fall.

`wording_test.py` counts in the C++ files of each top folder the turns of FAULTS and the file-level
constants without a comment, and fails where tests/wording_baseline.json has a smaller number.
`wording_test.py --write-baseline` lowers the numbers of that file to what the tree has, never raises
one; where there is no such file, it writes today's.
"""

import collections
import json
import pathlib
import re
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
sys.dont_write_bytecode = True
from layering_test import ROOT, cpp_files  # noqa: E402

BASELINE = "tests/wording_baseline.json"

# What a reader has to guess at, and how to find it in a comment whose lines are joined.
FAULTS = {
    "so many": r"\bso many\b",
    "as many .. as": r"\bas many\b[^.;:]*?\bas\b",
    "those of": r"\bthose of\b",
    "alone before a stop": r"\balone(?=\s*(?:[.,;:]|$))",
    "is no <noun>": r"(?<!\bthere )\bis no (?!longer\b|more\b|less\b|\w+er than\b)[a-z]",
    "round it": r"(?<!\bto )\bround it\b",
    "what it": r"\bwhat it\b",
    "by turns": r"\bby turns\b",
    "of like": r"\bof like\b",
    "where there is none": r"\bwhere there is none\b",
    "an opening without its noun": r"\A(?:(?-i:Of|Those|What|Whose|As|Also))\b",
}
FAULTS = {name: re.compile(pattern, re.I) for name, pattern in FAULTS.items()}
BARE_CONSTANT = "a constant without unit or reason"

TOKEN = re.compile(r"""R"(?P<d>[^()\s\\"]*)\(.*?\)(?P=d)"|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])'"""
                   r"""|(?P<block>/\*.*?\*/)|//(?P<line>[^\n]*)""", re.S)
NUMBER = r"(?:(?:std::)?(?:u?int(?:8|16|32|64)?_t|size_t)|unsigned|int|double|float)"
CONSTANT = re.compile(rf"(?:inline |static )*constexpr {NUMBER} k\w+\s*=")


def comments_of(text):
    """(number of the first line, text) of each comment. Lines of // that follow each other, each
    alone on its line, are one comment; every line break in the text is one of the file."""
    last = None  # the number of the last line of the last comment, if another line may join it
    found = []
    for token in TOKEN.finditer(text):
        comment = token["block"] or token["line"]
        if comment is None:
            continue
        number = text.count("\n", 0, token.start()) + 1
        has_own_line = not text[text.rfind("\n", 0, token.start()) + 1:token.start()].strip()
        if has_own_line and last == number - 1:
            found[-1] = (found[-1][0], f"{found[-1][1]}\n{comment.strip()}")
        else:
            lines = comment.strip("/*").split("\n")
            found.append((number, "\n".join(line.strip() for line in lines)))
        last = number if has_own_line and token["block"] is None else None
    return found


def bare_constants(text):
    """Lines of file-level constants with no comment on the line, nor above it or its group."""
    explained = False
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("//"):
            explained = True
        elif CONSTANT.match(line):
            if not explained and "//" not in line:
                yield number
        elif not line.startswith((" ", "constexpr", "inline constexpr")):
            explained = False  # a continuation or a constant of another type keeps the group together


def faults_of(text):
    """(name, number of the line) of each fault."""
    for first, comment in comments_of(text):
        for name, pattern in FAULTS.items():
            for fault in pattern.finditer(comment.replace("\n", " ")):
                yield name, first + comment.count("\n", 0, fault.start())
    for number in bare_constants(text):
        yield BARE_CONSTANT, number


def count(root):
    """{folder: {fault: ["path:line", ..]}}"""
    found = collections.defaultdict(lambda: collections.defaultdict(list))
    for path in cpp_files(root):
        for name, number in faults_of((pathlib.Path(root) / path).read_text()):
            found[path.split("/")[0]][name].append(f"{path}:{number}")
    return found


def compare(found, baseline):
    """(errors, whether the baseline could be lower)"""
    errors, is_lower = [], False
    for folder in sorted({*found, *baseline}):
        known, here = baseline.get(folder, {}), found.get(folder, {})
        for name in sorted({*known, *here}):
            lines, limit = here.get(name, []), known.get(name, 0)
            is_lower = is_lower or len(lines) < limit
            if len(lines) > limit:
                errors.append(f"{folder}: '{name}': {len(lines)}; expected at most {limit}, see "
                              f"{BASELINE}:\n  " + "\n  ".join(lines))
    return errors, is_lower


def lowered(found, baseline):
    """The baseline with no number above what was found; None: what was found."""
    counts = {folder: {name: len(lines) for name, lines in sorted(names.items())}
              for folder, names in sorted(found.items())}
    if baseline is None:
        return counts
    low = {folder: {name: min(limit, counts.get(folder, {}).get(name, 0))
                    for name, limit in known.items()} for folder, known in baseline.items()}
    low = {folder: {name: limit for name, limit in known.items() if limit > 0}
           for folder, known in low.items()}
    return {folder: known for folder, known in low.items() if known}


def read_baseline(root=ROOT):
    path = pathlib.Path(root) / BASELINE
    return json.loads(path.read_text()) if path.exists() else None


def write_baseline(root=ROOT):
    baseline = lowered(count(root), read_baseline(root))
    (pathlib.Path(root) / BASELINE).write_text(json.dumps(baseline, indent=1) + "\n")


class Repository(unittest.TestCase):
    def test_no_folder_has_more_of_a_turn_than_its_baseline(self):
        errors, is_lower = compare(count(ROOT), read_baseline() or {})
        if is_lower:
            print(f"fewer than {BASELINE} says: lower it by tests/wording_test.py --write-baseline")
        self.assertEqual(errors, [], "\n" + "\n".join(errors))


class Planted(unittest.TestCase):
    def faults(self, text):
        return list(faults_of(text))

    def test_every_turn_is_caught_on_its_line_and_nothing_else(self):
        planted = {
            "so many": "int a;  // after so many runs",
            "as many .. as": "// Draws as many points as\n",
            "those of": "// The sizes are those of the loop.",
            "alone before a stop": "// Reads the trace alone.",
            "is no <noun>": "// A text that is no number.",
            "round it": "// The loops round it.",
            "what it": "// Returns what it found.",
            "by turns": "// With signs by turns.",
            "of like": "// Weights of like size.",
            "where there is none": "// 0 where there is none.",
            "an opening without its noun": "int a;  // Of the loop",
            BARE_CONSTANT: "constexpr int kRows = 4;",
        }
        self.assertEqual({*planted}, {*FAULTS, BARE_CONSTANT})
        for name, line in planted.items():
            with self.subTest(name):
                self.assertEqual(self.faults(f"int x;\n\n{line}\n"), [(name, 3)])

    def test_a_turn_that_is_broken_between_two_lines_is_caught_on_the_first(self):
        self.assertEqual(self.faults("int x;\n\n// Waits for so\n// many runs.\n"), [("so many", 3)])
        self.assertEqual(self.faults("// One.\n// Two of\n// like size.\n"), [("of like", 2)])

    def test_plain_words_texts_and_code_are_no_fault(self):
        for text in ["// A loop that is no longer needed; it is no larger than before.",
                     "// There is no kernel. Returns 0 if there\n// is no kernel.",
                     "// Rows alone are read; to round it up is the caller's.",
                     'Say("so many, by turns");', 'R"(// those of\n)";', "// Returns the offset.",
                     "// Rows of a tile.\nconstexpr int kRows = 4;\nconstexpr int kColumns = 8;",
                     "constexpr double kShare = 0.5;  // of the cache", "constexpr char kName[] = \"\";",
                     "  constexpr int kLocal = 3;"]:
            with self.subTest(text):
                self.assertEqual(self.faults(text + "\n"), [])

    def test_a_comment_explains_its_group_of_constants_alone(self):
        text = "// Rows.\nconstexpr int kRows = 4;\n\nconstexpr int kColumns = 8;\n"
        self.assertEqual(self.faults(text), [(BARE_CONSTANT, 4)])

    def test_more_than_the_baseline_is_an_error_with_every_line_of_the_folder(self):
        with tempfile.TemporaryDirectory() as root:
            (pathlib.Path(root) / "ir").mkdir()
            (pathlib.Path(root) / "ir/a.cc").write_text("// Those of a.\n\nint a;\n// by turns\n")
            found = count(root)
        name = "by turns"
        limits = {name: 1, "those of": 1, "an opening without its noun": 1}
        self.assertEqual(compare(found, {"ir": limits}), ([], False))
        errors, _ = compare(found, {"ir": {**limits, name: 0}, "graph": {name: 9}})
        self.assertEqual(errors, [f"ir: '{name}': 1; expected at most 0, see {BASELINE}:\n  ir/a.cc:4"])

    def test_a_baseline_falls_and_never_rises(self):
        found = {"ir": {"by turns": ["a:1"], "so many": ["a:2", "a:3"]}}
        self.assertEqual(lowered(found, None), {"ir": {"by turns": 1, "so many": 2}})
        before = {"ir": {"by turns": 5, "so many": 1, "round it": 2}, "graph": {"so many": 1}}
        self.assertTrue(compare(found, before)[1])
        self.assertEqual(lowered(found, before), {"ir": {"by turns": 1, "so many": 1}})


if __name__ == "__main__":
    if sys.argv[1:] == ["--write-baseline"]:
        write_baseline()
    else:
        unittest.main()
