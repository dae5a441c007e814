"""Asks for providers and versions, and profiles a session."""
import json
import os

import numpy as np
import onnxruntime as ort
from onnx import TensorProto, helper

assert tuple(int(part) for part in ort.__version__.split(".")[:2]) >= (1, 15)
available = ort.get_available_providers()
wanted = [name for name in ["CUDAExecutionProvider", "OpenVINOExecutionProvider"]
          if name in available] or available
print("device:", ort.get_device(), wanted == available, ort.get_version_string() == ort.__version__)

value = helper.make_tensor_value_info
graph = helper.make_graph([helper.make_node("Exp", ["x"], ["y"])], "g",
                          [value("x", TensorProto.FLOAT, [4])],
                          [value("y", TensorProto.FLOAT, [4])])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
options = ort.SessionOptions()
options.enable_profiling = True
options.profile_file_prefix = "profile"
session = ort.InferenceSession(model.SerializeToString(), options, providers=wanted)
print(len(session.get_providers()) >= 1, session.get_providers()[0] in available,
      session.get_providers()[0] in session.get_provider_options())
for step in range(3):
    print(session.run(None, {"x": np.full(4, step, np.float32)})[0])
path = session.end_profiling()
with open(path) as file:
    events = json.load(file)
runs = [event for event in events if event["name"] == "model_run"]
print(path.startswith("profile_"), os.path.exists(path), len(runs), runs[0]["ph"], runs[0]["cat"],
      all(event["dur"] >= 0 for event in runs), session.get_profiling_start_time_ns() > 0)
session.disable_fallback()
session.set_providers(available)
print(session.run(["y"], {"x": np.zeros(4, np.float32)})[0])
ort.set_default_logger_severity(3)
