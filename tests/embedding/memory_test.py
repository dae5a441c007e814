#!/usr/bin/env python3
"""What a network takes: its artefact on disk and its peak memory in a program that only runs it.

usage: memory_test.py TCC RUN_ONLY [NETWORK]

TCC is the tcc program, RUN_ONLY the program of examples/run_only, NETWORK a name of `tcc zoo list`
(default resnet50). Prints one JSON object; ends with 1 if the artefact is larger than 1.02 of the
weights, or the peak larger than 1.3 of weights and the plan's activations together.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

LARGEST_ARTEFACT = 1.02
LARGEST_PEAK = 1.3


def peak_bytes(*command):
    """Of a child alone, as the system counted it."""
    with subprocess.Popen(list(map(str, command)), stdout=subprocess.DEVNULL) as child:
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        raise SystemExit(f"{command} ended with {child.returncode}")
    return usage.ru_maxrss * 1024


def measure(tcc, run_only, network, folder):
    model, artefact = folder / "m.onnx", folder / "m.tcc"
    subprocess.run([tcc, "zoo", "export", network, "-o", model], check=True)
    subprocess.run([tcc, "compile", model, "--target", "native", "-o", artefact], check=True)
    model.unlink()
    summary = json.loads(subprocess.run([tcc, "inspect", artefact, "--json"], check=True,
                                        capture_output=True).stdout)
    weights, activations = summary["weights_bytes"], summary["arena_bytes"]
    peak = peak_bytes(run_only, artefact, 3)
    size = artefact.stat().st_size
    return {"network": network, "weights_bytes": weights, "activation_bytes": activations,
            "artefact_bytes": size, "artefact_ratio": round(size / weights, 4),
            "peak_bytes": peak, "peak_ratio": round(peak / (weights + activations), 4)}


def main(arguments):
    if len(arguments) not in (2, 3):
        print(__doc__, file=sys.stderr)
        return 2
    network = arguments[2] if len(arguments) == 3 else "resnet50"
    with tempfile.TemporaryDirectory() as folder:
        report = measure(arguments[0], arguments[1], network, pathlib.Path(folder))
    print(json.dumps(report, indent=2))
    good = report["artefact_ratio"] <= LARGEST_ARTEFACT and report["peak_ratio"] <= LARGEST_PEAK
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
