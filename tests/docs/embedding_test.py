#!/usr/bin/env python3
"""The code of docs/embedding.md compiles; docs/api.md is what the headers say."""

import sys

from page import ROOT, PageTest, blocks, main


class Embedding(PageTest):
    def test_every_snippet_compiles_by_itself(self):
        # <tcc/...> as it is found where tcc is installed.
        (self.folder / "tcc").symlink_to(ROOT / "api")
        snippets = blocks("embedding.md", "cpp")
        self.assertGreaterEqual(len(snippets), 5)
        for number, snippet in enumerate(snippets):
            with self.subTest(snippet=number):
                file = self.folder / f"snippet{number}.cc"
                file.write_text(snippet)
                self.run_command(self.compiler, "-std=c++20", "-fsyntax-only", "-Wall", "-Wextra",
                                 "-Werror", f"-I{self.folder}", file)

    def test_the_reference_is_written_from_the_headers(self):
        self.run_command(sys.executable, ROOT / "scripts" / "api_reference.py", "--check")


if __name__ == "__main__":
    main()
