"""Asks for all outputs, for some, in another order, twice, and for one that is an input."""
import numpy as np
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper

value = helper.make_tensor_value_info
graph = helper.make_graph(
    [helper.make_node("Split", ["x"], ["low", "high"], axis=1, num_outputs=2),
     helper.make_node("ReduceMean", ["x"], ["mean"], keepdims=0),
     helper.make_node("TopK", ["x", "k"], ["values", "places"], axis=1),
     helper.make_node("Identity", ["k"], ["constant"]),
     helper.make_node("Identity", ["x"], ["same"])],
    "g", [value("x", TensorProto.FLOAT, [2, 4])],
    [value("low", TensorProto.FLOAT, None), value("high", TensorProto.FLOAT, [2, 2]),
     value("mean", TensorProto.FLOAT, []), value("values", TensorProto.FLOAT, None),
     value("places", TensorProto.INT64, None), value("constant", TensorProto.INT64, [1]),
     value("same", TensorProto.FLOAT, [2, 4])],
    [numpy_helper.from_array(np.array([3]), "k")])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)
session = ort.InferenceSession(model.SerializeToString())
names = [output.name for output in session.get_outputs()]
print([(o.name, o.type, o.shape) for o in session.get_outputs()])

x = np.array([[3, 1, 4, 1.5], [-5, 9, 2, 6]], np.float32)
for chosen in [None, [], names, ["places"], ["high", "low"], ("mean", "mean"), names[::-1]]:
    results = session.run(chosen, {"x": x})
    print(chosen, type(results).__name__, len(results))
    for result in results:
        print(type(result).__name__, result.dtype, result.shape, result)
by_name = dict(zip(names, session.run(None, {"x": x})))
print(by_name["same"] + by_name["mean"])
