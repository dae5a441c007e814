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

NETWORKS = {"dqn": 10, "resnet18": 69, "resnet50": 122, "mobilenet_v2": 100}  # name: nodes


def check(path, nodes):
    onnx.checker.check_model(str(path), full_check=True)
    model = onnx.load(str(path), load_external_data=False)
    assert len(model.graph.node) == nodes, f"{path.name}: {len(model.graph.node)} nodes"
    external = any(t.data_location for t in model.graph.initializer)
    assert external != path.stem.endswith("_small"), f"{path.name}: external data {external}"

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    shape = session.get_inputs()[0].shape
    x = np.random.default_rng(0).standard_normal(shape, np.float32)
    (y,) = session.run(None, {"x": x})
    (z,) = session.run(None, {"x": -x})
    assert list(y.shape) == session.get_outputs()[0].shape
    assert np.isfinite(y).all(), f"{path.name}: not finite"
    assert 0.05 < y.std() < 20, f"{path.name}: deviation {y.std()}"
    assert np.abs(y - z).max() > 1e-3, f"{path.name}: the output does not depend on the input"
    print(f"{path.name}: deviation {y.std():.3f}")


def main():
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.argv[1], folder], check=True)
        for name, nodes in NETWORKS.items():
            for suffix in ("_small", ""):
                check(pathlib.Path(folder) / f"{name}{suffix}.onnx", nodes)


if __name__ == "__main__":
    main()
