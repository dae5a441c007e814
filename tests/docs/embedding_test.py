#!/usr/bin/env python3
"""The code of docs/embedding.md and docs/c.md compiles; docs/api.md is what the headers say."""

import sys

from page import ROOT, PageTest, blocks, main


class Embedding(PageTest):
    def check_snippets(self, page, language, *flags):
        # <tcc/...> as it is found where tcc is installed.
        (self.folder / "tcc").symlink_to(ROOT / "api")
        snippets = blocks(page, language)
        self.assertGreater(len(snippets), 1)
        for number, snippet in enumerate(snippets):
            with self.subTest(snippet=number):
                file = self.folder / f"snippet{number}.{language}"
                file.write_text(snippet)
                self.run_command(self.compiler, *flags, "-fsyntax-only", "-Wall", "-Wextra",
                                 "-Werror", f"-I{self.folder}", file)

    def test_every_snippet_compiles_by_itself(self):
        self.check_snippets("embedding.md", "cpp", "-x", "c++", "-std=c++20")

    def test_every_snippet_of_c_compiles_by_itself(self):
        self.check_snippets("c.md", "c", "-x", "c", "-std=c99", "-pedantic")

    def test_the_reference_is_written_from_the_headers(self):
        self.run_command(sys.executable, ROOT / "scripts" / "api_reference.py", "--check")


if __name__ == "__main__":
    main()
