"""The zoo's networks, exported, are valid ONNX that ONNX Runtime runs with finite results of order 1.

usage: zoo_onnxruntime_test.py EXPORT_ZOO
"""
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime

NETWORKS = ["dqn", "resnet18", "resnet50", "mobilenet_v2", "r3d_18", "dcgan", "vit_b_16",
            "bert_base", "llama_block", "lstm_lm"]
LARGEST = {"input_ids": 100}  # of inputs of integers, where it is not 2


def feed(value, draw):
    if value.type == "tensor(int64)":
        return draw.integers(0, LARGEST.get(value.name, 2), value.shape)
    return draw.standard_normal(value.shape, np.float32)


def check(path):
    onnx.checker.check_model(str(path), full_check=True)
    model = onnx.load(str(path), load_external_data=False)
    external = any(t.data_location for t in model.graph.initializer)
    assert external != path.stem.endswith("_small"), f"{path.name}: external data {external}"

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    results = []
    for seed in (0, 1):
        draw = np.random.default_rng(seed)
        results.append(session.run(None, {i.name: feed(i, draw) for i in session.get_inputs()}))
    for output, y, z in zip(session.get_outputs(), *results):
        assert list(y.shape) == output.shape
        assert np.isfinite(y).all(), f"{path.name}: not finite"
        assert 0.05 < y.std() < 20, f"{path.name}: deviation {y.std()}"
        assert np.abs(y - z).max() > 1e-3, f"{path.name}: the output does not depend on the input"
        print(f"{path.name}: {output.name}: deviation {y.std():.3f}")


def main():
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.argv[1], folder], check=True)
        for name in NETWORKS:
            for suffix in ("_small", ""):
                check(pathlib.Path(folder) / f"{name}{suffix}.onnx")


if __name__ == "__main__":
    main()
