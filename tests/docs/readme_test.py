#!/usr/bin/env python3
"""The commands at the head of README.md run and print what it shows, its code compiles."""

import os
import re
import subprocess

from page import ROOT, PageTest, main

SNIPPET = """#include <tcc/tcc_runtime.h>
#include <vector>
void Run(std::vector<float>& image, std::vector<float>& scores) {{
{}
  (void)status;
}}
"""


def masked(line):
    """The line without its numbers, which differ from machine to machine."""
    return re.sub(r"\d[\d.]*(e-\d+)?", "N", line)


class Readme(PageTest):
    text = (ROOT / "README.md").read_text()

    def block(self, language):
        return re.search(rf"^```{language}\n(.*?)^```$", self.text, flags=re.S | re.M)[1]

    def test_the_commands_print_what_is_shown(self):
        path = f"{self.tcc.parent}{os.pathsep}{os.environ['PATH']}"
        printed = []
        for line in self.block("console").splitlines():
            if line.startswith("$ "):
                result = subprocess.run(line[2:], shell=True, cwd=self.folder, check=False,
                                        env={**os.environ, "PATH": path}, timeout=600, text=True,
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
                self.assertEqual(result.returncode, 0, f"{line}\n{result.stdout}")
                printed = [masked(line) for line in result.stdout.splitlines()]
            else:
                self.assertIn(masked(line), printed)

    def test_the_code_compiles(self):
        (self.folder / "tcc").symlink_to(ROOT / "api")
        file = self.folder / "snippet.cc"
        file.write_text(SNIPPET.format(self.block("cpp")))
        self.run_command(self.compiler, "-std=c++20", "-fsyntax-only", "-Wall", "-Wextra",
                         "-Werror", f"-I{self.folder}", file)


if __name__ == "__main__":
    main()
