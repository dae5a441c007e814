#!/usr/bin/env python3
"""docs/add_a_sketch_rule.md: its code is that of the program, which prints and writes what it shows."""

import re
import sys

from page import ROOT, PageTest, blocks, main

sys.path.insert(0, str(ROOT / "scripts"))
from fill_tutorial import Page  # pylint: disable=wrong-import-position

PAGE = "add_a_sketch_rule.md"


class SketchRule(PageTest):
    def setUp(self):
        super().setUp()
        self.page = Page(ROOT / "docs" / PAGE, self.tcc, self.folder)

    def check(self):
        """What the schedules compile to is right on this machine."""
        artefact = self.folder / "layers.tcc"
        self.run_command(self.tcc, "compile", self.page.model, "--target", "native", "--schedule",
                         self.folder / "schedules", "-o", artefact)
        self.run_command(self.tcc, "check", self.page.model, artefact)

    def test_the_code_shown_is_that_of_the_program(self):
        program = (ROOT / "docs" / "tutorial" / "sketch_rule" / "main.cc").read_text()
        snippets = blocks(PAGE, "cpp")
        self.assertGreaterEqual(len(snippets), 5)
        for number, snippet in enumerate(snippets):
            with self.subTest(snippet=number):
                self.assertTrue(snippet in program, f"not in main.cc:\n{snippet}")

    def test_the_program_makes_what_is_shown(self):
        self.assertIn(": skinny\n", self.page.text)
        self.assertEqual(self.page.filled(), self.page.text)

    def test_the_schedules_are_right_at_the_start_and_at_other_sizes(self):
        self.page.sketch_rule("output")
        self.check()
        path = self.folder / "schedules" / "dense_add_relu.trace"
        start = path.read_text()
        for lanes, registers in [(4, 1), (8, 3), (8, 8)]:
            text = re.sub(r"(set dense.j.1) \d+", rf"\1 {registers}", start)
            text = re.sub(r"(set dense.j.2) \d+", rf"\1 {lanes}", text)
            self.assertNotEqual(text, start)
            path.write_text(text)
            self.check()


if __name__ == "__main__":
    main()
