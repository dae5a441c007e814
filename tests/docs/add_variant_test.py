#!/usr/bin/env python3
"""Follows docs/add_a_variant.md: changes a copy of the sources, builds the page's own test."""

from page import main
from patched_sources import PatchedSources

# What the test is linked with, and a file that each new one is compiled like.
USERS = ["graph/variants/variant_rows.cc", "tests/graph/one_node.cc", "tests/graph/one_task.cc"]
LIKES = {"graph/variants/transposed_operand.cc": "graph/variants/split_reduction.cc",
         "tests/graph/transposed_operand_test.cc": "tests/graph/merged_axes_test.cc"}


class AddVariant(PatchedSources):
    def test_a_function_and_a_row_give_a_variant_that_passes_its_test(self):
        changed = self.patch("add_a_variant.md", 4)
        self.assertEqual(set(changed), {"graph/variants/variants.h", USERS[0], *LIKES})
        objects = [self.compile(path, LIKES.get(path)) for path in [*USERS, *LIKES]]
        tests = self.link("bin/graph_tests", objects, keep=False)
        self.assertIn("1 test case", self.run_command(tests))


if __name__ == "__main__":
    main()
