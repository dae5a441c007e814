#!/usr/bin/env python3
"""usage: schedule_tutorial.py [--tcc FILE] [--threads 1] [--rounds 5]

Times the schedules of docs/tutorial/schedule.md, compiled for this CPU: the least of all runs, which
take turns round by round so that a busy machine is busy for all of them. The plain loops take
seconds a run. Needs the venv that scripts/setup.sh makes.
"""

import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "scripts"))

from fill_tutorial import DOCS, Page  # pylint: disable=wrong-import-position


def compiled(page, folder):
    """An artefact for each schedule, in the order of the page."""
    names = re.findall(r"<!-- trace: (\w+) -->", page.text)
    artefacts = {name: folder / f"{name}.tcc" for name in names if name != "refused"}
    for name, path in artefacts.items():
        subprocess.run([page.tcc, "compile", page.model, "--target", "native", "--schedule",
                        page.schedules / name, "-o", path], check=True)
    return artefacts


def bench(tcc, artefact, threads, iterations):
    command = [tcc, "bench", artefact, "--threads", str(threads), "--iterations", str(iterations),
               "--json"]
    result = subprocess.run(command, check=True, capture_output=True, text=True)
    return json.loads(result.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tcc", default=ROOT / "build" / "release" / "bin" / "tcc")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    best = {}
    with tempfile.TemporaryDirectory() as folder:
        page = Page(DOCS / "tutorial" / "schedule.md", arguments.tcc, folder)
        artefacts = compiled(page, pathlib.Path(folder))
        for turn in range(arguments.rounds):
            for name, path in artefacts.items():
                # About a fifth of a second each; what takes seconds a run runs in one round only.
                if best.get(name, 0) > 1000:
                    continue
                iterations = 1 if turn == 0 else max(int(200 / best[name]), 1)
                result = bench(arguments.tcc, path, arguments.threads, iterations)
                best[name] = min(best.get(name, float("inf")), result["min_ms"])
                flops = result["kernels"][0]["flops"]
    print(f"{'schedule':10} {'ms':>9} {'GFLOP/s':>9} {'faster':>8}   {arguments.threads} threads")
    first = next(iter(best.values()))
    for name, ms in best.items():
        print(f"{name:10} {ms:9.2f} {flops / ms * 1e-6:9.1f} {first / ms:7.1f}x")


if __name__ == "__main__":
    main()
