#!/usr/bin/env python3
"""Draws the folders and what each may include, from the tables of tests/layering_test.py.

`draw_house.py` writes the drawing into docs/house.md, `draw_house.py --check` compares it.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "house.md"
DRAWING = re.compile(r"(<!-- drawing -->\n```\n).*?(```\n)", re.S)

sys.path.insert(0, str(ROOT / "tests"))
import layering_test  # noqa: E402


def depths(edges):
    """How many others stand below each, one on the other."""
    def depth(name):
        return 1 + max((depth(below) for below in edges[name] if below in edges), default=0)
    return {name: depth(name) for name in edges}


def rows(edges, indent):
    """A line each, what stands on others above them."""
    order = depths(edges)
    width = max(map(len, edges), default=0)
    for name in sorted(edges, key=lambda name: (-order[name], name)):
        below = sorted(edges[name], key=lambda other: (-order.get(other, 0), other))
        arrow = f"{name:{width}} -> {', '.join(below)}" if below else name
        yield name, indent + arrow


def drawing():
    folders = {name: below for name, below in layering_test.EDGES.items()
               if "*" not in below and list((ROOT / name).glob("**/*.cc")) and name != "examples"}
    parts = layering_test.PARTS
    edges = {name: {other for other in below if other in folders or other in parts}
             for name, below in folders.items()}
    lines = ["cli, bench, tests -> any"]
    for folder, line in rows(edges, ""):
        lines.append(line)
        lines += [room for _, room in rows(layering_test.ROOMS.get(folder, {}), "    ")]
    return "\n".join(lines) + "\n"


def main():
    text = PAGE.read_text()
    drawn = DRAWING.sub(lambda match: match[1] + drawing() + match[2], text)
    if "--check" not in sys.argv[1:]:
        PAGE.write_text(drawn)
    elif drawn != text:
        sys.exit(f"{PAGE}: not as the tables are; run scripts/draw_house.py")


if __name__ == "__main__":
    main()
