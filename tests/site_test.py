#!/usr/bin/env python3
"""The pages make a site in which every link leads somewhere."""

import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
MKDOCS = ROOT / "build" / "venv" / "bin" / "mkdocs"
COPIED = ("docs", "scripts")  # the others are links to ours
PAGES = [ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")]


@unittest.skipUnless(MKDOCS.exists(), f"{MKDOCS} is missing; scripts/setup.sh installs it")
class Site(unittest.TestCase):
    def setUp(self):
        self.root = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        for entry in ROOT.iterdir():
            if entry.name in COPIED:
                shutil.copytree(entry, self.root / entry.name)
            elif entry.name not in ("build", ".git"):
                (self.root / entry.name).symlink_to(entry)
        (self.root / "build").mkdir()
        (self.root / "build" / "venv").symlink_to(ROOT / "build" / "venv")

    def build(self):
        return subprocess.run([self.root / "scripts" / "site.sh"], capture_output=True, text=True,
                              check=False)

    def page(self, name):
        return (self.root / "build" / "site" / name).read_text()

    def test_all_pages_are_shown_and_lead_to_one_another(self):
        result = self.build()
        self.assertEqual(result.returncode, 0, result.stderr)
        links = set(re.findall(r'href="([^"#]+)"', self.page("index.html")))
        for page in sorted((ROOT / "docs").rglob("*.md")):
            name = page.relative_to(ROOT / "docs").with_suffix(".html").as_posix()
            if name != "README.html":
                self.assertIn(name, links)
        for page in PAGES[1:]:
            self.assertIn(page.with_suffix(".html").name.lower(), links)

    def test_a_link_to_a_source_is_its_path_and_one_to_a_page_is_a_link(self):
        (self.root / "docs" / "fleet.md").write_text(
            "# Fleet\n\n[the table](../lower/pipeline.cc), [read](../README.md), [tune](tune.md)\n")
        result = self.build()
        self.assertEqual(result.returncode, 0, result.stderr)
        page = self.page("fleet.html")
        self.assertIn("the table (<code>lower/pipeline.cc</code>)", page)
        self.assertIn('<a href="index.html">read</a>', page)
        self.assertIn('<a href="tune.html">tune</a>', page)

    def test_a_link_that_leads_nowhere_is_an_error_that_names_it(self):
        for link in ["nowhere.md", "tune.md#no-such-heading", "../no_such_source.cc"]:
            with self.subTest(link=link):
                (self.root / "docs" / "fleet.md").write_text(f"# Fleet\n\n[x]({link})\n")
                result = self.build()
                self.assertNotEqual(result.returncode, 0)
                self.assertIn(link, result.stderr)


if __name__ == "__main__":
    unittest.main()
