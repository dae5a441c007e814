"""Binds inputs and outputs to memory, by arrays, by pointers and by OrtValues."""
import numpy as np
import onnxruntime as ort
from onnx import TensorProto, helper

graph = helper.make_graph(
    [helper.make_node("Add", ["a", "b"], ["sum"]),
     helper.make_node("Mul", ["a", "b"], ["product"])],
    "g", [helper.make_tensor_value_info(n, TensorProto.FLOAT, [2, 3]) for n in "ab"],
    [helper.make_tensor_value_info(n, TensorProto.FLOAT, [2, 3]) for n in ["sum", "product"]])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
session = ort.InferenceSession(model.SerializeToString())

a = np.arange(6, dtype=np.float32).reshape(2, 3)
b = ort.OrtValue.ortvalue_from_numpy(np.full((2, 3), 2, np.float32))
binding = session.io_binding()
binding.bind_cpu_input("a", a)
binding.bind_ortvalue_input("b", b)
binding.bind_output("product")
binding.bind_output("sum")
session.run_with_iobinding(binding)
print("product, sum:", *binding.copy_outputs_to_cpu())

a += 1  # the binding reads what lies there now
b.update_inplace(np.full((2, 3), 3, np.float32))
session.run_with_iobinding(binding)
print("in place:", *binding.copy_outputs_to_cpu())

x = np.ones((2, 3), np.float32)
result = ort.OrtValue.ortvalue_from_shape_and_type([2, 3], np.float32, "cpu", 0)
raw = np.empty((2, 3), np.float32)
binding = session.io_binding()
binding.bind_input(name="a", device_type="cpu", device_id=0, element_type=np.float32,
                   shape=x.shape, buffer_ptr=x.ctypes.data)
binding.bind_cpu_input("b", (np.arange(6, dtype=np.float32).reshape(3, 2)).T)
binding.bind_ortvalue_output("sum", result)
binding.bind_output("product", "cpu", 0, np.float32, raw.shape, raw.ctypes.data)
binding.synchronize_inputs()
session.run_with_iobinding(binding, ort.RunOptions())
binding.synchronize_outputs()
print("by pointers:", result.numpy(), raw)
value = binding.get_outputs()[0]
print(value.shape(), value.data_type(), value.device_name(), value.is_tensor(), value.has_value())

binding.clear_binding_outputs()
binding.bind_output("product")
binding.clear_binding_inputs()
binding.bind_cpu_input("a", a)
binding.bind_cpu_input("b", a)
session.run_with_iobinding(binding)
print("bound again:", binding.copy_outputs_to_cpu()[0])
