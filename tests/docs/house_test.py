#!/usr/bin/env python3
"""docs/house.md is drawn from the table of folders, and its walk is what tcc prints."""

import re
import sys

from page import ROOT, PageTest, blocks, main


class House(PageTest):
    def test_the_drawing_is_that_of_the_table(self):
        self.run_command(sys.executable, ROOT / "scripts" / "draw_house.py", "--check")

    def test_every_folder_has_its_paragraph(self):
        text = (ROOT / "docs" / "house.md").read_text()
        drawing = blocks("house.md", "")[0]
        folders = re.findall(r"^(\w+)(?: +->|$)", drawing, re.M)
        self.assertGreater(len(folders), 5)
        for folder in folders:
            self.assertIn(f"**{folder}**", text)

    def test_every_line_of_the_walk_is_printed(self):
        model = self.folder / "dqn.onnx"
        self.run_command(self.tcc, "zoo", "export", "dqn", "-o", model)
        stages = {"trace": "scheduled", "scheduled": "scheduled", "lowered": "lowered"}
        text = (ROOT / "docs" / "house.md").read_text()
        walked = re.findall(r"^   ```(\w+)\n(.*?)^   ```$", text, flags=re.S | re.M)
        self.assertEqual({language for language, _ in walked}, set(stages))
        for language, lines in walked:
            printed = self.run_command(self.tcc, "dump", model, "--target", "x86-64-v3", "--task",
                                       "conv1_relu", "--stage", stages[language])
            known = {line.strip().removeprefix("# ") for line in printed.splitlines()}
            for line in lines.splitlines():
                self.assertIn(line.strip(), known)


if __name__ == "__main__":
    main()
