"""Runs models of many types of elements."""
import numpy as np
import onnxruntime as ort
from onnx import TensorProto, helper

value = helper.make_tensor_value_info


def session_of(nodes, inputs, outputs):
    graph = helper.make_graph(nodes, "g", inputs, outputs)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)
    return ort.InferenceSession(model.SerializeToString())


TO_NUMPY = {"tensor(float)": np.float32, "tensor(float16)": np.float16,
            "tensor(double)": np.float64, "tensor(int64)": np.int64, "tensor(int32)": np.int32, "tensor(uint8)": np.uint8,
            "tensor(int8)": np.int8, "tensor(bool)": np.bool_}
for kind in ["FLOAT", "FLOAT16", "DOUBLE", "INT64", "INT32"]:
    number = getattr(TensorProto, kind)
    session = session_of([helper.make_node("Mul", ["x", "x"], ["y"])],
                         [value("x", number, [2, 2])], [value("y", number, [2, 2])])
    x = np.array([[1, -2], [3, 5]]).astype(TO_NUMPY[session.get_inputs()[0].type])
    y = session.run(None, {"x": x})[0]
    print(kind, session.get_inputs()[0].type, y.dtype, y)

for kind in ["UINT8", "INT8", "BOOL", "INT64", "DOUBLE", "FLOAT16"]:
    number = getattr(TensorProto, kind)
    session = session_of([helper.make_node("Cast", ["x"], ["y"], to=number)],
                         [value("x", TensorProto.INT32, [4])], [value("y", number, [4])])
    y = session.run(None, {"x": np.array([0, 1, 2, 100], np.int32)})[0]
    print(kind, session.get_outputs()[0].type, y.dtype, y)

session = session_of(
    [helper.make_node("Less", ["a", "b"], ["less"]),
     helper.make_node("And", ["less", "mask"], ["both"]),
     helper.make_node("Where", ["both", "a", "b"], ["picked"])],
    [value("a", TensorProto.FLOAT, [3]), value("b", TensorProto.FLOAT, [3]),
     value("mask", TensorProto.BOOL, [3])],
    [value("both", TensorProto.BOOL, [3]), value("picked", TensorProto.FLOAT, [3])])
both, picked = session.run(None, {"a": np.array([1, 2, 3], np.float32),
                                  "b": np.array([2, 1, 4], np.float32),
                                  "mask": np.array([True, True, False])})
print(both, both.dtype, picked)
scalar = session_of([helper.make_node("Neg", ["x"], ["y"])], [value("x", TensorProto.FLOAT, [])],
                    [value("y", TensorProto.FLOAT, [])])
print(scalar.run(None, {"x": np.array(2.5, np.float32)})[0])
