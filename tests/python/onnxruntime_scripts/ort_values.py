"""Hands tensors from one model to the next as OrtValues."""
import numpy as np
import onnxruntime as ort
from onnx import TensorProto, helper

value = helper.make_tensor_value_info


def session_of(op, kind=TensorProto.FLOAT, **attributes):
    graph = helper.make_graph([helper.make_node(op, ["x"], ["y"], **attributes)], "g",
                              [value("x", kind, [2, 3])], [value("y", kind, [2, 3])])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return ort.InferenceSession(model.SerializeToString())


encoder, decoder = session_of("Sigmoid"), session_of("Softmax", axis=1)
first = ort.OrtValue.ortvalue_from_numpy(np.array([[1, 2, 3], [0, 0, 5]], np.float32))
hidden, = encoder.run_with_ort_values(["y"], {"x": first})
print(type(hidden).__name__, hidden.shape(), hidden.data_type(), hidden.element_type(),
      hidden.tensor_size_in_bytes())
last = decoder.run_with_ort_values(None, {"x": hidden})[0]
print(last.numpy(), np.asarray(last).sum())
print(decoder.run(None, {"x": hidden})[0])

empty = ort.OrtValue.ortvalue_from_shape_and_type([2, 3], np.int64)
empty.update_inplace(np.arange(6).reshape(2, 3))
print(empty.numpy(), empty.data_type(), empty.is_tensor(), empty.is_sparse_tensor(),
      empty.is_tensor_sequence(), empty.data_ptr() == empty.numpy().ctypes.data)
typed = ort.OrtValue.ortvalue_from_shape_and_type([4], TensorProto.BOOL)
print(typed.data_type(), typed.element_type())
half = ort.OrtValue.ortvalue_from_numpy_with_onnx_type(np.array([0x3C00, 0xC000], np.uint16),
                                                       TensorProto.FLOAT16)
print(half.data_type(), half.shape())
shared = ort.OrtValue.from_dlpack(np.ones((2, 3), np.float32))
print(encoder.run(None, {"x": shared})[0])
