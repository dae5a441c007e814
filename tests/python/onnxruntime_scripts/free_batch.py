"""Runs models whose batch and length are free with several shapes."""
import numpy as np
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper

value = helper.make_tensor_value_info
draw = np.random.default_rng(0)
weights = [numpy_helper.from_array(draw.standard_normal(shape).astype(np.float32), name)
           for name, shape in [("w", (8, 4)), ("b", (4,))]]
graph = helper.make_graph(
    [helper.make_node("Gemm", ["x", "w", "b"], ["h"]), helper.make_node("Tanh", ["h"], ["y"])],
    "g", [value("x", TensorProto.FLOAT, ["batch", 8])],
    [value("y", TensorProto.FLOAT, ["batch", 4])], weights)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
session = ort.InferenceSession(model.SerializeToString())
print(session.get_inputs()[0].shape, session.get_outputs()[0].shape)
for batch in [1, 5, 1, 3]:
    y = session.run(None, {"x": np.full((batch, 8), 0.1 * batch, np.float32)})[0]
    print(batch, y.shape, y[-1])

graph = helper.make_graph(
    [helper.make_node("ReduceMean", ["tokens"], ["mean"], axes=[1], keepdims=1),
     helper.make_node("Sub", ["tokens", "mean"], ["centred"]),
     helper.make_node("Mul", ["centred", "scale"], ["y"])],
    "g", [value("tokens", TensorProto.FLOAT, [None, "length", 2]),
          value("scale", TensorProto.FLOAT, ["length", 1])],
    [value("y", TensorProto.FLOAT, [None, "length", 2])])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
session = ort.InferenceSession(model.SerializeToString())
print([arg.shape for arg in session.get_inputs()], session.get_outputs()[0].shape)
for batch, length in [(1, 3), (2, 5), (1, 3)]:
    feed = {"tokens": np.arange(batch * length * 2, dtype=np.float32).reshape(batch, length, 2),
            "scale": np.linspace(0, 1, length, dtype=np.float32)[:, None]}
    print(batch, length, session.run(["y"], feed)[0])
try:
    session.run(None, {"tokens": np.zeros((1, 3, 9), np.float32),
                       "scale": np.zeros((3, 1), np.float32)})
except Exception as error:
    print(type(error).__name__, "index: 2 Got: 9 Expected: 2" in str(error))
binding = session.io_binding()
for length in [2, 4]:
    binding.bind_cpu_input("tokens", np.ones((1, length, 2), np.float32))
    binding.bind_cpu_input("scale", np.ones((length, 1), np.float32))
    binding.bind_output("y")
    session.run_with_iobinding(binding)
    print(binding.copy_outputs_to_cpu()[0].shape)
