#!/usr/bin/env python3
"""docs/flags.md names options that tcc has and tests that there are."""

import re

from tcc_command import ROOT, CommandTest, main

PAGE = (ROOT / "docs" / "flags.md").read_text()
PROGRAMS = ["trtexec", "benchmark_app of OpenVINO", "onnxruntime_perf_test",
            "iree-compile, iree-run-module, iree-benchmark-module", "tvmc"]
ABILITIES = "Abilities beside others"
OPTION = re.compile(r"(?<![\w-])--?[A-Za-z][\w-]*")


def sections(text):
    """The sections of a page by their title."""
    parts = re.split(r"^## (.*)\n", text, flags=re.M)
    return dict(zip(parts[1::2], parts[2::2]))


def rows(section):
    """The rows of its table without the head, each a list of cells."""
    lines = [line for line in section.splitlines() if line.startswith("|")][2:]
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]


def codes(cell):
    return re.findall(r"`([^`]*)`", cell)


def faults_of_row(cells, known):
    """What is wrong with a row of a program's table."""
    theirs, ours, remark = cells
    if not codes(theirs):
        yield "no option on the left"
    commands = [code.split() for code in codes(ours)]
    if ours == "none":
        if not remark.startswith("because "):
            yield "none without a reason"
    elif not commands or any(words[0] != "tcc" for words in commands):
        yield f"expected a command of tcc or none, got {ours}"
    for words in commands:
        if words[0] == "tcc":
            if words[1] not in known:
                yield f"there is no tcc {words[1]}"
            for option in OPTION.findall(" ".join(words[2:])):
                if option not in known.get(words[1], set()):
                    yield f"tcc {words[1]} has no {option}"
    # An option in a remark is one of the command beside it, of some command, or of the program's.
    every = set.union(*known.values())
    for code in codes(remark):
        words = code.split()
        if words[0] == "tcc" and words[1] not in known:
            yield f"there is no {code}"
        allowed = known[words[1]] if words[0] == "tcc" and words[1] in known else every
        for option in OPTION.findall(code):
            if option not in allowed and not re.search(r"older ones: [^;]*" + re.escape(code), remark):
                yield f"there is no {option}"


class Flags(CommandTest):
    def setUp(self):
        super().setUp()
        self.known = {}
        for title, section in sections(self.call("--help-markdown")).items():
            if title.startswith("tcc "):
                self.known[title[len("tcc "):]] = {
                    option for row in rows(section) for option in OPTION.findall(codes(row[0])[0])}

    def test_every_option_of_ours_is_in_the_table_of_options(self):
        self.assertIn("--streams", self.known["bench"])
        found = sections(PAGE)
        self.assertEqual(list(found), PROGRAMS + [ABILITIES])
        for program in PROGRAMS:
            table = rows(found[program])
            self.assertGreater(len(table), 10, program)
            self.assertEqual(len({row[0] for row in table}), len(table), program)
            for row in table:
                with self.subTest(program=program, option=row[0]):
                    self.assertEqual(list(faults_of_row(row, self.known)), [])

    def test_rows_at_fault_are_found(self):
        for row in [["`-x`", "`tcc bench m.tcc --nothing`", ""], ["`-x`", "`tcc nothing`", ""],
                    ["`-x`", "none", "it is not there"], ["`-x`", "`bench`", ""],
                    ["-x", "`tcc bench m.tcc`", ""], ["`-x`", "", ""],
                    ["`-x`", "`tcc bench m.tcc`", "see `--nothing`"]]:
            with self.subTest(row=row):
                self.assertNotEqual(list(faults_of_row(row, self.known)), [])

    def test_every_ability_of_ours_names_a_test_that_there_is(self):
        table = rows(sections(PAGE)[ABILITIES])
        self.assertGreater(len(table), 10)
        for ability, ours, shown, *_ in table:
            with self.subTest(ability=ability):
                if ours == "no":
                    self.assertEqual(shown, "")
                    continue
                path, name = codes(shown)
                text = (ROOT / path).read_text()
                self.assertIn(f"def {name}(" if path.endswith(".py") else name, text)


if __name__ == "__main__":
    main()
