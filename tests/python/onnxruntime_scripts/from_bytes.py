"""Loads models from memory, and from a file with weights beside it.

usage: from_bytes.py RESNET
"""
import io
import os
import pathlib
import sys

import numpy as np
import onnx
import onnxruntime as ort

with open(sys.argv[1], "rb") as file:
    content = file.read()
x = np.random.default_rng(3).standard_normal((1, 3, 32, 32)).astype(np.float32)
from_file = ort.InferenceSession(sys.argv[1]).run(None, {"x": x})[0]
from_path = ort.InferenceSession(pathlib.Path(sys.argv[1])).run(None, {"x": x})[0]
from_bytes = ort.InferenceSession(content).run(None, {"x": x})[0]
buffer = io.BytesIO()
onnx.save(onnx.load_from_string(content), buffer)
from_buffer = ort.InferenceSession(buffer.getvalue()).run(None, {"x": x})[0]
print(from_file)
print(np.array_equal(from_file, from_path), np.array_equal(from_file, from_bytes),
      np.array_equal(from_file, from_buffer))

os.makedirs("apart", exist_ok=True)
onnx.save(onnx.load_from_string(content), "apart/model.onnx", save_as_external_data=True,
          location="model.data", size_threshold=0)
print(sorted(os.listdir("apart")))
print(ort.InferenceSession("apart/model.onnx").run(None, {"x": x})[0])
