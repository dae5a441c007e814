#!/usr/bin/env python3
"""Follows docs/add_a_primitive.md: changes a copy of the sources, builds the page's own tests."""

from page import main
from patched_sources import PatchedSources

# What sees the table of steps and is in the tests of one.
USERS = ["schedule/steps/step.cc", "schedule/space/overflow.cc", "schedule/space/trace.cc",
         "tests/programs/point_check.cc", "tests/programs/spike_programs.cc",
         "tests/schedule/step_check.cc"]


class AddPrimitive(PatchedSources):
    def test_the_steps_of_the_page_give_a_primitive_that_passes_its_tests(self):
        self.patch("add_a_primitive.md", 5)
        objects = [self.compile("schedule/steps/round_up.cc", "schedule/steps/split.cc"),
                   self.compile("tests/schedule/round_up_test.cc", "tests/schedule/split_test.cc"),
                   *map(self.compile, USERS)]
        tests = self.link("bin/schedule_tests", objects, keep=False)
        self.assertIn("4 test cases", self.run_command(tests))


if __name__ == "__main__":
    main()
