#!/usr/bin/env python3
"""The dumps in docs/tutorial/convolution.md are what tcc prints."""

import re
import sys

from page import ROOT, PageTest, main

STAGES = ["graph", "fused", "tensor", "scheduled", "lowered", "source", "asm"]


class Convolution(PageTest):
    def test_every_stage_is_shown_as_it_is_printed(self):
        page = (ROOT / "docs" / "tutorial" / "convolution.md").read_text()
        self.assertEqual(re.findall(r"<!-- dump: (\w+)", page), STAGES)
        self.run_command(sys.executable, ROOT / "scripts" / "fill_tutorial.py", self.tcc, "--check")


if __name__ == "__main__":
    main()
