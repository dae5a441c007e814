"""Prints what a model tells about itself and about its inputs and outputs."""
import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper

value = helper.make_tensor_value_info
graph = helper.make_graph(
    [helper.make_node("MatMul", ["x", "w"], ["y"]), helper.make_node("Cast", ["x"], ["z"], to=7)],
    "the graph",
    [value("x", TensorProto.FLOAT, ["batch", 4]), value("w", TensorProto.FLOAT, [4, 2])],
    [value("y", TensorProto.FLOAT, ["batch", 2]), value("z", TensorProto.INT64, ["batch", 4])],
    [numpy_helper.from_array(np.ones((4, 2), np.float32), "w")], doc_string="describes\nthe graph")
model = helper.make_model(graph, producer_name="exporter", producer_version="2.1",
                          domain="org.example", model_version=7, doc_string="two\nlines",
                          opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
helper.set_model_props(model, {"author": "J. Käfer", "labels": '["a",\n "b"]', "empty": ""})
onnx.save(model, "metadata.onnx")

session = ort.InferenceSession("metadata.onnx")
meta = session.get_modelmeta()
print(repr(meta.producer_name), repr(meta.graph_name), repr(meta.domain), meta.version)
print(repr(meta.description), repr(meta.graph_description))
for key in sorted(meta.custom_metadata_map):
    print(key, "=", repr(meta.custom_metadata_map[key]))
for kind, args in [("input", session.get_inputs()), ("output", session.get_outputs()),
                   ("overridable", session.get_overridable_initializers())]:
    for arg in args:
        print(kind, arg.name, arg.type, arg.shape, str(arg))

bare = helper.make_model(helper.make_graph(
    [helper.make_node("Relu", ["x"], ["y"])], "g", [value("x", TensorProto.FLOAT, [1])],
    [value("y", TensorProto.FLOAT, [1])]), opset_imports=[helper.make_opsetid("", 17)],
    ir_version=8)
meta = ort.InferenceSession(bare.SerializeToString()).get_modelmeta()
print(repr(meta.producer_name), repr(meta.domain), meta.version, meta.custom_metadata_map)
