#!/usr/bin/env python3
"""Follows docs/add_a_backend.md: changes a copy of the sources, builds the page's own test."""

from page import main
from patched_sources import PatchedSources

# What the test is linked with, and a file that each new one is compiled like.
USERS = ["support/target.cc", "compiler/make_backend.cc", "compiler/compile_graph.cc",
         "compiler/devices/reference_device.cc", "tests/compiler/run_compiled.cc",
         "tests/compiler/product_graphs.cc"]
LIKES = {"codegen_printed/printed_backend.cc": "codegen_vdla/vdla_backend.cc",
         "tests/compiler/printed_backend_test.cc": "tests/compiler/vdla_test.cc"}


class AddBackend(PatchedSources):
    def test_a_folder_a_device_and_rows_give_a_backend_that_passes_its_test(self):
        changed = self.patch("add_a_backend.md", 9)
        self.assertEqual(set(changed), {*USERS[:2], USERS[3], *LIKES, "support/target.h",
                                        "codegen_printed/printed_backend.h",
                                        "runtime/artefact/artefact_device.h"})
        objects = [self.compile(path, LIKES.get(path)) for path in [*USERS, *LIKES]]
        tests = self.link("bin/compiler_tests", objects, keep=False)
        self.assertIn("1 test case", self.run_command(tests))


if __name__ == "__main__":
    main()
