#!/usr/bin/env python3
"""Holds what `tcc-fuzz model --emit DIR` or `tcc-fuzz schedule --emit DIR` wrote against ONNX Runtime.

usage: judge_models.py DIR      (needs numpy and onnxruntime: build/venv/bin/python)

Prints what differs and ends with 'N passed, N failed, N not judged'; models that ONNX Runtime has no
kernels for are not judged.
"""

import collections
import pathlib
import sys

import numpy as np
import onnxruntime


def differences(expected, got, tolerance):
    """One line for each output that is not what ONNX Runtime says."""
    for i, (want, have) in enumerate(zip(expected, got, strict=True)):
        if want.dtype != have.dtype or want.shape != have.shape:
            yield f"output {i}: {have.dtype}{list(have.shape)}, expected {want.dtype}{list(want.shape)}"
            continue
        if want.size == 0:
            continue
        finite = np.abs(want[np.isfinite(want)].astype(np.float64))
        largest = max(finite.max(initial=0), 0.05)
        close = np.isclose(have.astype(np.float64), want.astype(np.float64), rtol=tolerance,
                           atol=tolerance * 0.1 * largest, equal_nan=True)
        if not close.all():
            at = tuple(int(n) for n in np.argwhere(~close)[0])
            yield (f"output {i} ({want.dtype}{list(want.shape)}): {np.count_nonzero(~close)} differ, "
                   f"first at {at}: {have[at]}, expected {want[at]}")


def judge(folder, options):
    inputs = sorted(folder.glob("input_*.npy"), key=lambda path: int(path.stem.split("_")[1]))
    outputs = sorted(folder.glob("output_*.npy"), key=lambda path: int(path.stem.split("_")[1]))
    if not outputs:
        return "not judged", ["tcc gave no outputs"]
    try:
        session = onnxruntime.InferenceSession(folder / "model.onnx", options,
                                               providers=["CPUExecutionProvider"])
        feed = {value.name: np.load(path)
                for value, path in zip(session.get_inputs(), inputs, strict=True)}
        expected = session.run(None, feed)
    except Exception as error:  # pylint: disable=broad-exception-caught
        return "not judged", [str(error).splitlines()[0][:200]]
    tolerance = float((folder / "tolerance.txt").read_text())
    lines = list(differences(expected, [np.load(path) for path in outputs], tolerance))
    return ("failed", lines) if lines else ("passed", [])


def main():
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    counts = collections.Counter()
    reasons = collections.Counter()
    for folder in sorted(pathlib.Path(sys.argv[1]).iterdir(), key=lambda path: int(path.name)):
        verdict, lines = judge(folder, options)
        counts[verdict] += 1
        if verdict == "failed":
            print(f"{folder.name}: " + "; ".join(lines))
        elif lines:
            reasons[lines[0]] += 1
    for reason, count in reasons.most_common(20):
        print(f"{count:5} not judged: {reason}")
    print(f"{counts['passed']} passed, {counts['failed']} failed, {counts['not judged']} not judged")
    sys.exit(1 if counts["failed"] else 0)


if __name__ == "__main__":
    main()
