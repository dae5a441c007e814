"""How the programs of this folder call tcc."""

import argparse
import os
import pathlib
import subprocess
import sys
import time


def parser_of(doc):
    """What programs that compile models understand."""
    parser = argparse.ArgumentParser(description=doc,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", type=pathlib.Path)
    parser.add_argument("--tcc", type=os.path.abspath, default="build/release/bin/tcc")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--json", action="store_true")
    return parser


def run(*command, check=True, env=None):
    """Ends the program if the command fails, unless it is told not to check."""
    words = [*map(str, command)]
    said = subprocess.run(words, capture_output=True, text=True, check=False, env=env)
    if check and said.returncode != 0:
        sys.exit(f"{' '.join(words)}: exit {said.returncode}\n{said.stderr}")
    return said


def compile_model(tcc, model, target, artefact, threads, *options, check=True, env=None):
    """(what the command said, the seconds that it took)"""
    start = time.perf_counter()
    said = run(tcc, "compile", model, "--target", target, "-o", artefact, "--threads", threads,
               "--progress", "none", *options, check=check, env=env)
    return said, time.perf_counter() - start


def shape_options(shapes):
    """The options that bind the inputs' dimensions, from pairs of name and shape."""
    return [word for name, shape in shapes if shape
            for word in ("--shape", f"{name}={'x'.join(map(str, shape))}")]
