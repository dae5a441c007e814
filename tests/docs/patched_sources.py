"""Pages that tell how to change the sources: the change is made to a copy and compiled."""

import json
import re
import shlex

from page import ROOT, PageTest

# A comment above a block says where its lines go: in a file before or instead of a text that is
# there once, or that they are a file.
STEP = re.compile(r'^<!-- (\S+): (?:(before|instead of) "([^\n]*)"|new) -->\n```cpp\n(.*?)^```$',
                  re.S | re.M)


def changed(text, place, anchor, code):
    """The source text after a step of the page."""
    assert text.count(anchor) == 1, f"{anchor!r} is there {text.count(anchor)} times"
    if place == "instead of":
        return text.replace(anchor, code.rstrip("\n"))
    return text.replace(anchor, code + anchor)


class PatchedSources(PageTest):
    """Tests with the changed files of a page in their folder; the rest is read from the
    repository."""

    def patch(self, page, count):
        """Makes the page's changes, `count` of them; returns the paths from the root."""
        steps = STEP.findall((ROOT / "docs" / page).read_text())
        self.assertEqual(len(steps), count)
        sources = {}
        for path, place, anchor, code in steps:
            if not place:
                self.assertFalse((ROOT / path).exists(), path)
                sources[path] = code
                continue
            text = sources.get(path) or (ROOT / path).read_text()
            sources[path] = changed(text, place, anchor.replace('\\"', '"'), code)
        for path, text in sources.items():
            (self.folder / path).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / path).write_text(text)
        return list(sources)

    def compile(self, path, like=None):
        """Compiles the file as the build did, or did one like it, but with the changed sources;
        returns the object."""
        commands = {entry["file"]: entry["command"]
                    for entry in json.loads((self.build / "compile_commands.json").read_text())}
        words = shlex.split(commands[str(ROOT / (like or path))])
        source, output = words[-1], words[words.index("-o") + 1]
        copy = self.folder / path
        if not copy.exists():
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_text((ROOT / path).read_text())
        result = self.folder / (path.replace("/", "_") + ".o")
        words = [str(copy) if word == source else str(result) if word == output else word
                 for word in words]
        at = next(i for i, word in enumerate(words) if word.startswith("-I"))
        words[at:at] = [f"-I{self.folder}", "-O0"]
        words = [word for word in words if not re.fullmatch(r"-O[123]", word)]
        # Precompiled headers, which are optimized; clang has both words behind an -Xclang.
        for option in ["-include-pch", "-include"]:
            while option in words:
                at = words.index(option)
                if words[at - 1] == "-Xclang":
                    del words[at - 1:at + 3]
                else:
                    del words[at:at + 2]
        self.run_command(*words, cwd=self.build)
        return result

    def link(self, target, objects, keep=True):
        """Links the build's target with these objects before its libraries, which hold old ones;
        `keep`: with its own objects, too. Returns the program."""
        commands = self.run_command("ninja", "-C", self.build, "-t", "commands", target)
        # ": && c++ ... && :"
        words = shlex.split(commands.strip().splitlines()[-1])[2:-2]
        words = [word for word in words if keep or not word.endswith(".o")]
        at = words.index("-o")
        self.assertEqual(words[at + 1], str(target))
        program = self.folder / words[at + 1].rsplit("/", 1)[-1]
        words[at:at + 2] = [*objects, "-o", program]
        self.run_command(*words, cwd=self.build)
        return program
