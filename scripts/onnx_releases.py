#!/usr/bin/env python3
"""Collects the tests of ONNX's releases from PyPI and runs tcc on them.

usage: onnx_releases.py [TCC] [--write]     run by build/venv/bin/python

Downloads the releases of RELEASES into build/onnx_releases and extracts their tests into its folder
tests/RELEASE/TEST. A test is left out if a newer release, or Debian's libonnx-testdata, has one
with the same model: nodes, attributes and types are equal, and the opset gives each node the same
version of its operator. --write packs the tests below 100,000 bytes into
tests/cli/onnx_releases.tar.xz, which is what CTest runs. Last comes
tests/cli/onnx_releases_test.py on everything that was extracted.
"""

import argparse
import io
import lzma
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import zipfile

import onnx

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = ROOT / "build/onnx_releases"
ARCHIVE = ROOT / "tests/cli/onnx_releases.tar.xz"

# The last of each minor version, newest first, and a Python that its wheel is for. 1.23 and later
# hold no tests of operators, 1.0 has no wheel.
RELEASES = {
    "1.22.0": "3.12", "1.21.0": "3.12", "1.20.1": "3.12", "1.19.1": "3.11", "1.18.0": "3.11",
    "1.17.0": "3.10", "1.16.2": "3.10", "1.15.0": "3.10", "1.14.1": "3.10", "1.13.1": "3.10",
    "1.12.0": "3.10", "1.11.0": "3.9", "1.10.2": "3.9", "1.9.0": "3.6", "1.8.1": "3.6",
    "1.7.0": "3.6", "1.6.0": "3.6", "1.5.0": "3.6", "1.4.1": "3.6", "1.3.0": "3.6", "1.2.3": "3.6",
    "1.1.2": "3.6",
}
DEBIAN = "1.12.0"  # what libonnx-testdata holds; onnx_test_test.py runs it
PLATFORMS = ("manylinux1", "manylinux2010", "manylinux2014", "manylinux_2_12", "manylinux_2_17",
             "manylinux_2_27", "manylinux_2_28")

DATA = "onnx/backend/test/data/"
SUITES = ("node", "simple", "pytorch-converted", "pytorch-operator")
MAX_PACKED_BYTES = 100_000  # of a test; the few larger ones would triple the archive


def wheel(release):
    """The path of a release's wheel, downloaded unless it is there."""
    python = RELEASES[release].replace(".", "")
    if not list(BUILD.glob(f"onnx-{release}-*.whl")):
        abi = f"cp{python}m" if python == "36" else f"cp{python}"
        subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps",
                        "--disable-pip-version-check", "--only-binary=:all:", "--dest", BUILD,
                        "--python-version", RELEASES[release], "--implementation", "cp",
                        "--abi", abi, "--abi", "abi3",
                        *(f"--platform={platform}_x86_64" for platform in PLATFORMS),
                        f"onnx=={release}"], check=True)
    return next(BUILD.glob(f"onnx-{release}-*.whl"))


def read(release):
    """The files of each test by name, and the licence files of the release."""
    tests, licences = {}, {}
    with zipfile.ZipFile(wheel(release)) as archive:
        for path in sorted(name for name in archive.namelist() if not name.endswith("/")):
            name = path.rsplit("/", 1)[-1]
            if ".dist-info/" in path and name.split(".")[0] in ("LICENSE", "NOTICE"):
                licences[name.split(".")[0]] = archive.read(path)
            elif path.startswith(tuple(f"{DATA}{suite}/" for suite in SUITES)):
                _, test, file = path[len(DATA):].split("/", 2)
                tests.setdefault(test, {})[file] = archive.read(path)
    return {test: files for test, files in tests.items() if "model.onnx" in files}, licences


def operator_versions(graph, opsets):
    """(domain, operator, version) of every node, those of bodies too."""
    for node in graph.node:
        domain = "" if node.domain == "ai.onnx" else node.domain
        try:
            opset = opsets.get(domain, 1)
            version = onnx.defs.get_schema(node.op_type, opset, domain).since_version
        except onnx.defs.SchemaError:
            version = -1  # an experimental operator that ONNX has dropped
        yield domain, node.op_type, version
        for attribute in node.attribute:
            for body in [attribute.g, *attribute.graphs]:
                yield from operator_versions(body, opsets)


def meaning(model_bytes):
    """What two models share that differ in names of tools, comments and irrelevant opsets alone."""
    model = onnx.ModelProto.FromString(model_bytes)
    opsets = {"" if entry.domain == "ai.onnx" else entry.domain: entry.version
              for entry in model.opset_import}
    versions = sorted(set(operator_versions(model.graph, opsets)))
    for field in ("ir_version", "producer_name", "producer_version", "model_version", "domain",
                  "doc_string", "opset_import"):
        model.ClearField(field)
    model.graph.ClearField("name")
    model.graph.ClearField("doc_string")
    for node in model.graph.node:
        node.ClearField("doc_string")
    return repr(versions), model.SerializeToString(deterministic=True)


def collect():
    """Files by 'RELEASE/TEST/FILE' and 'RELEASE/LICENSE' of the tests that no newer release has."""
    seen = {meaning(files["model.onnx"]) for files in read(DEBIAN)[0].values()}
    collected = {}
    for release in RELEASES:
        tests, licences = read(release)
        meanings = {test: meaning(files["model.onnx"]) for test, files in tests.items()}
        kept = {test: tests[test] for test in tests if meanings[test] not in seen}
        seen.update(meanings.values())
        print(f"onnx {release}: {len(tests)} tests, {len(kept)} are in no newer release")
        if kept:
            collected[release] = (kept, licences)
    return collected


def extract(collected):
    shutil.rmtree(BUILD / "tests", ignore_errors=True)
    for release, (tests, _) in collected.items():
        for test, files in tests.items():
            for file, content in files.items():
                path = BUILD / "tests" / release / test / file
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)


def pack(collected):
    files = {}
    for release, (tests, licences) in collected.items():
        files |= {(release, "", name): content for name, content in licences.items()}
        for test, content in tests.items():
            if sum(map(len, content.values())) < MAX_PACKED_BYTES:
                files |= {(release, test, file): content[file] for file in content}
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        # All forms of one test stand together: they share most of their bytes.
        for release, test, file in sorted(files, key=lambda key: (key[1], key[0], key[2])):
            info = tarfile.TarInfo("/".join(filter(None, (release, test, file))))
            info.size = len(files[release, test, file])
            tar.addfile(info, io.BytesIO(files[release, test, file]))
    ARCHIVE.write_bytes(lzma.compress(archive.getvalue(), preset=9 | lzma.PRESET_EXTREME))
    print(f"{ARCHIVE.relative_to(ROOT)}: {ARCHIVE.stat().st_size} bytes")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("tcc", nargs="?", default=ROOT / "build/release/bin/tcc")
    parser.add_argument("--write", action="store_true", help="write the archive that CTest runs")
    arguments = parser.parse_args()

    BUILD.mkdir(parents=True, exist_ok=True)
    collected = collect()
    extract(collected)
    if arguments.write:
        pack(collected)
    test = subprocess.run([sys.executable, ROOT / "tests/cli/onnx_releases_test.py", arguments.tcc],
                          env={**os.environ, "TCC_ONNX_RELEASES": str(BUILD / "tests")},
                          check=False)
    sys.exit(test.returncode)


if __name__ == "__main__":
    main()
