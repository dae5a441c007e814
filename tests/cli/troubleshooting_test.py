#!/usr/bin/env python3
"""The page of messages is one that can be searched: each message has one entry. CommandTest.call
holds this for every message that a test provokes."""

import json
import re

import troubleshooting

from tcc_command import CommandTest, main


class Troubleshooting(CommandTest):
    def test_the_example_of_each_entry_fits_it_alone(self):
        self.assertEqual({entry.code for entry in troubleshooting.entries()},
                         set(troubleshooting.CODES))
        for entry in troubleshooting.entries():
            with self.subTest(entry.pattern):
                self.assertEqual(troubleshooting.fitting(entry.code, entry.example), [entry])
                self.assertGreater(len(entry.text.split()), 8)

    def test_a_message_without_an_entry_fails_the_test_that_provokes_it(self):
        with self.assertRaisesRegex(AssertionError, "exit code 4: never heard of"):
            self.expect_explained(4, "tcc: graph, 0 s\ntcc: never heard of\n")
        self.expect_explained(2, "tcc: never heard of\n")

    def test_the_message_is_what_is_said_last(self):
        for error, message in [
                ("", ""), ("tcc: warning: hot\n", ""),
                ("tcc: graph, 0 s\ntcc: 2 nodes:\n  Sprocket\ntcc: warning: x\n",
                 "2 nodes:\n  Sprocket"),
                ('tcc: graph\n{"error":{"message":"m"}}\n', "m")]:
            self.assertEqual(troubleshooting.message_of(error), message)

    def test_messages_about_sizes_inputs_and_first_bytes_have_an_entry(self):
        for message in ["input 'x' is given twice",
                        "input 'x' is f32[1x3x32x32]; expected f32[1x4x44x44]",
                        "F.tcc: header ends at byte 8; 4 more bytes were expected at byte 8",
                        "shape 1099511627776x1099511627776 has more elements than fit 64 bits"]:
            self.expect_explained(4, f"tcc: {message}\n")

    def test_commands_that_end_with_them_are_explained(self):
        model, artefact = self.export("dqn", "--small"), self.folder / "m.tcc"
        self.call("compile", model, "--target", "reference", "-o", artefact)
        told = json.loads(self.call("inspect", artefact, "--json"))["inputs"][0]["name"]
        file = self.folder / "x.npy"
        text = b"{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }"
        file.write_bytes(b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + bytes(4))
        feed = ["--input", f"{told}={file}"]
        self.call("run", artefact, *feed, *feed, expect=4)
        self.assertIn(f"input '{told}' is given twice", self.error)
        artefact.write_bytes(artefact.read_bytes()[:8])
        self.call("run", artefact, expect=4)
        self.assertIn("header ends at byte 8", self.error)

    def test_options_that_the_page_advises_are_there(self):
        reference = self.call("--help-markdown")
        options = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", troubleshooting.PAGE.read_text()))
        self.assertIn("--allow-symlinks", options)
        for option in options - {"--gpus", "--preset", "--build"}:  # docker's, CMake's
            self.assertIn(option, reference)


if __name__ == "__main__":
    main()
