#!/usr/bin/env python3
"""Every relative link in the Markdown files leads somewhere, and shell scripts parse."""

import pathlib
import re
import subprocess
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")


def sources(pattern):
    return [path for path in sorted(ROOT.rglob(pattern))
            if path.relative_to(ROOT).parts[0] != "build"]


def broken_links(path):
    text = re.sub(r"```.*?```", "", path.read_text(), flags=re.S)
    for target in LINK.findall(text):
        if "://" not in target and not target.startswith("mailto:"):
            if not (path.parent / target).exists():
                yield f"{path.relative_to(ROOT)}: {target} does not exist"


class Docs(unittest.TestCase):
    def test_every_relative_link_leads_somewhere(self):
        pages = sources("*.md")
        self.assertIn(ROOT / "README.md", pages)
        self.assertEqual([error for page in pages for error in broken_links(page)], [])

    def test_every_page_of_docs_is_in_the_index(self):
        index = (ROOT / "docs" / "README.md").read_text()
        for page in sorted((ROOT / "docs").glob("*.md")):
            if page.name != "README.md":
                self.assertIn(f"({page.name})", index)

    def test_shell_scripts_parse_and_are_executable(self):
        scripts = sources("*.sh") + [ROOT / ".ci" / "run"]
        for script in scripts:
            with self.subTest(script=script.name):
                self.assertEqual(subprocess.run(["bash", "-n", script]).returncode, 0)
                self.assertTrue(script.stat().st_mode & 0o100)


if __name__ == "__main__":
    unittest.main()
