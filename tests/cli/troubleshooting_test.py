#!/usr/bin/env python3
"""The page of messages is one that can be searched: each message has one entry. CommandTest.call
holds this for every message that a test provokes."""

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

    def test_options_that_the_page_advises_are_there(self):
        reference = self.call("--help-markdown")
        options = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", troubleshooting.PAGE.read_text()))
        self.assertIn("--allow-symlinks", options)
        for option in options - {"--gpus"}:  # docker's
            self.assertIn(option, reference)


if __name__ == "__main__":
    main()
