#!/usr/bin/env python3
"""docs/schedules.md has every step, as the parser takes it."""

import pathlib
import re

from tcc_command import CommandTest, main

ROOT = pathlib.Path(__file__).resolve().parents[2]


class ScheduleSteps(CommandTest):
    def test_every_step_is_in_the_docs_and_is_read_as_it_stands_there(self):
        names = re.findall(r'^  X\(\w+, "(\w+)", ', (ROOT / "schedule/steps/step.h").read_text(), re.M)
        page = (ROOT / "docs/schedules.md").read_text()
        table = page.split("## Steps")[1].split("##")[0]
        examples = re.findall(r"^\| `([^`]+)` \|", table, re.M)
        # A step with two forms has two rows, one after the other.
        self.assertEqual(list(dict.fromkeys(e.split()[0] for e in examples)), names)

        model = self.export("dqn", "--small")
        traces = self.folder / "traces"
        self.call("dump", model, "--target", "native", "--stage", "scheduled", "--output-dir", traces)
        kernel = sorted(traces.iterdir())[0]
        for path in list(traces.iterdir()):
            path.unlink()
        for example in examples:
            with self.subTest(example):
                kernel.write_text(example + "\n")
                self.call("compile", model, "--target", "native", "-o", self.folder / "m.tcc",
                          "--schedule", traces, expect=4)
                # Read, and refused since the model has no such blocks.
                self.assertIn(f"step 1 ({example}): ", self.error)


if __name__ == "__main__":
    main()
