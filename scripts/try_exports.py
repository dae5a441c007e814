#!/usr/bin/env python3
"""usage: scripts/try_exports.py [--tcc FILE] [SECTION ...]

Runs the examples of docs/from_frameworks.md, all or those whose heading contains a SECTION: installs
each one's packages into build/exporters/SECTION, runs its Python, then its commands, and says which
failed. Takes gigabytes of packages, so that no test does it.
"""

import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "from_frameworks.md"


def examples():
    """Heading, packages, Python and commands of each section that installs something."""
    for part in re.split(r"^## ", PAGE.read_text(), flags=re.M)[1:]:
        install = re.search(r"^`pip install ([^`]+)`", part, re.M)
        if install:
            yield (part.splitlines()[0], install.group(1).split(),
                   "".join(re.findall(r"^```python\n(.*?)^```", part, re.M | re.S)),
                   re.findall(r"^\$ (.*)$", part, re.M))


def environment(heading, packages):
    """Makes the virtual environment of a section, or takes the one that is there."""
    name = re.sub(r"\W+", "_", heading.lower())
    folder = ROOT / "build" / "exporters" / name
    if not (folder / "complete").exists():
        shutil.rmtree(folder, ignore_errors=True)
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        subprocess.run([folder / "bin" / "pip", "install", "--quiet", *packages], check=True)
        (folder / "complete").touch()
    return folder / "bin"


def failure(heading, packages, code, commands, tcc):
    """Runs an example; the first command that failed, with the end of what it said, or None."""
    programs = environment(heading, packages)
    path = os.pathsep.join([str(programs), str(tcc.parent), os.environ["PATH"]])
    with tempfile.TemporaryDirectory() as folder:
        (pathlib.Path(folder) / "export.py").write_text(code)
        for command in ["python export.py", *commands]:
            ran = subprocess.run(command, shell=True, cwd=folder, capture_output=True, text=True,
                                 env={**os.environ, "PATH": path}, check=False)
            if ran.returncode != 0:
                return f"{command}: exit {ran.returncode}\n{ran.stdout[-500:]}{ran.stderr[-2000:]}"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--tcc", type=pathlib.Path, default=ROOT / "build" / "release" / "bin" / "tcc")
    parser.add_argument("sections", nargs="*")
    arguments = parser.parse_args()
    failed = 0
    for heading, packages, code, commands in examples():
        if arguments.sections and not any(s.lower() in heading.lower() for s in arguments.sections):
            continue
        problem = failure(heading, packages, code, commands, arguments.tcc.resolve())
        print(f"{heading}: {problem or 'ok'}", flush=True)
        failed += problem is not None
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
