#!/usr/bin/env python3
"""Every relative link in the Markdown files leads somewhere, shell scripts parse, and what the
README says is so: its figures, its commands, and what it says is not there yet."""

import pathlib
import re
import shlex
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "scripts"))

import readme_figures  # noqa: E402  (found by the line above)
import try_exports  # noqa: E402

LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")
MISSING = re.compile(r"\bnot (?:there )?yet\b|\bno\b[^.:;|]*\byet\b")
PROOF = re.compile(r'<!-- (?:absent: (\S+)|holds: (\S+) "([^"]+)") -->')
README_LINES = 90  # what somebody reads in two minutes


def sources(pattern):
    return [path for path in sorted(ROOT.rglob(pattern))
            if path.relative_to(ROOT).parts[0] != "build"]


def without_code(text):
    return re.sub(r"```.*?```", "", text, flags=re.S)


def broken_links(path):
    text = without_code(path.read_text())
    for target in LINK.findall(text):
        if "://" not in target and not target.startswith("mailto:"):
            if not (path.parent / target).exists():
                yield f"{path.relative_to(ROOT)}: {target} does not exist"


def unproven(text):
    """What is wrong with the claims of a page that something is not there yet: each needs a comment in
    its paragraph, item or row that names a path that must be absent, or a text that a file holds."""
    for part in re.split(r"\n\s*\n|\n(?=\s*[-|])", without_code(text)):
        claims = MISSING.findall(" ".join(PROOF.sub("", part).split()))
        if len(claims) > len(PROOF.findall(part)):
            yield f"'{part.strip()[:60]}': {claims} without <!-- absent: PATH -->"
    for absent, holder, held in PROOF.findall(text):
        if absent and (ROOT / absent).exists():
            yield f"{absent} is there"
        if holder and not (ROOT / holder).is_file():
            yield f"{holder} does not exist"
        elif holder and held not in (ROOT / holder).read_text():
            yield f"{holder} does not hold '{held}'"


def options_of_commands():
    """The options of each command, as docs/cli.md lists them."""
    options = {}
    for section in re.split(r"^## tcc ", (ROOT / "docs" / "cli.md").read_text(), flags=re.M)[1:]:
        cells = " ".join(re.findall(r"^\| (.*?`) \|", section, re.M))
        options[section.splitlines()[0]] = set(re.findall(r"(?<![\w-])--?[a-z][a-z-]*", cells))
    return options


def commands_of(text):
    """The words of each command of tcc in code of a page, blocks and inline, without comments."""
    fenced = re.findall(r"^```(\w*)\n(.*?)^```", text, re.M | re.S)
    blocks = "".join(block for language, block in fenced if language in ("", "console", "sh"))
    spans = "\n".join(re.findall(r"`([^`\n]+)`", without_code(text)))
    for code in re.findall(r"^(?:\$ )?tcc (.*)$", f"{blocks}\n{spans}", re.M):
        yield shlex.split(code.split("  #")[0])


def unknown_words(words, known):
    """The command if the program has no such, else those of its options that it does not know."""
    name = " ".join(words[:2]) if " ".join(words[:2]) in known else words[0]
    if name in ("--help", "--help-man", "--help-markdown"):
        return []
    if name not in known:
        return [name]
    options = (word.split("=")[0] for word in words if re.match(r"--?[a-z]", word) and " " not in word)
    return [f"{name} {option}" for option in options if option not in known[name]]


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

    def test_what_is_not_there_yet_is_proven_to_be_missing(self):
        for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
            with self.subTest(page=page.name):
                self.assertEqual(list(unproven(page.read_text())), [])

    def test_a_claim_without_a_proof_or_with_a_wrong_one_is_found(self):
        def faults(text):
            return len(list(unproven(text)))

        self.assertEqual(faults("It is not\nyet there."), 1)
        self.assertEqual(faults("- a: not there yet\n- b <!-- absent: no/such -->"), 1)
        self.assertEqual(faults("Makes no artefact for any size yet."), 1)
        self.assertEqual(faults("Not yet, not yet. <!-- absent: no/such -->".lower()), 1)
        self.assertEqual(faults("It is not yet there. <!-- absent: no/such -->"), 0)
        self.assertEqual(faults("It is not yet there. <!-- absent: README.md -->"), 1)
        self.assertEqual(faults('It is not yet there. <!-- holds: LICENSE "Apache License" -->'), 0)
        self.assertEqual(faults('It is not yet there. <!-- holds: LICENSE "no such text" -->'), 1)
        self.assertEqual(faults('It is not yet there. <!-- holds: no/such "text" -->'), 1)


    def test_commands_and_options_on_pages_are_those_of_the_program(self):
        known = options_of_commands()
        self.assertIn("--target", known["compile"])
        pages = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
        pages.remove(ROOT / "docs" / "cli.md")  # is where the options are from
        commands = [(page, words) for page in pages for words in commands_of(page.read_text())]
        self.assertGreater(len(commands), 50)
        self.assertEqual([(page.name, unknown) for page, words in commands
                          for unknown in unknown_words(words, known)], [])
        self.assertEqual(unknown_words(["compile", "m.onnx", "--no-such"], known),
                         ["compile --no-such"])
        self.assertEqual(unknown_words(["no-such", "m.onnx"], known), ["no-such"])

    def test_each_framework_has_packages_a_model_and_a_check_of_what_was_compiled(self):
        examples = list(try_exports.examples())
        self.assertGreaterEqual(len(examples), 5)
        for heading, packages, code, commands in examples:
            with self.subTest(section=heading):
                self.assertTrue(packages)
                compile(code, heading, "exec")
                self.assertTrue(commands[-1].startswith("tcc check "))


class Readme(unittest.TestCase):
    text = (ROOT / "README.md").read_text()

    def test_it_is_read_in_two_minutes_and_says_which_tcc_this_is(self):
        self.assertLessEqual(len(self.text.splitlines()), README_LINES)
        self.assertIn("Not the Tiny C Compiler", self.text)

    def test_its_figures_are_those_of_the_results_and_of_the_tree(self):
        self.assertEqual(self.text, readme_figures.filled(self.text),
                         "run: scripts/readme_figures.py")
        names = [name for _, name, _, _ in readme_figures.BLOCK.findall(self.text)]
        self.assertEqual(sorted(names), sorted(readme_figures.WRITERS))

    def test_a_figure_that_was_changed_by_hand_is_seen(self):
        for _, name, written, _ in readme_figures.BLOCK.findall(self.text):
            with self.subTest(block=name):
                number = re.search(r"\d+", written)[0]
                other = self.text.replace(written, written.replace(number, number + "1", 1))
                self.assertNotEqual(other, readme_figures.filled(other))
                self.assertEqual(self.text, readme_figures.filled(other))

    def test_the_page_beside_the_networks_figures_tells_the_same(self):
        for path, found in readme_figures.contests().items():
            page = (path.parent / "README.md").read_text()
            self.assertIn(found["date"], page)
            for row in found["rows"]:
                told = rf"\b{row['model']}\b[^|]*(\|.*)?\b{row['ratio']:.2f}\b"
                self.assertRegex(page, told, path)



if __name__ == "__main__":
    unittest.main()
