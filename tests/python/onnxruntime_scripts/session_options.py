"""Sets what people set of sessions and runs; results stay the same."""
import numpy as np
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper

weights = np.random.default_rng(0).standard_normal((64, 10)).astype(np.float32)
graph = helper.make_graph(
    [helper.make_node("MatMul", ["x", "w"], ["logits"]),
     helper.make_node("Softmax", ["logits"], ["p"], axis=-1)],
    "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 64])],
    [helper.make_tensor_value_info("p", TensorProto.FLOAT, ["batch", 10])],
    [numpy_helper.from_array(weights, "w")])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)],
                          ir_version=8).SerializeToString()

so = ort.SessionOptions()
print("defaults:", so.intra_op_num_threads, so.inter_op_num_threads, so.graph_optimization_level,
      so.execution_mode, so.log_severity_level, so.enable_mem_pattern, so.enable_cpu_mem_arena,
      so.enable_profiling, repr(so.optimized_model_filepath), so.use_deterministic_compute)
so.intra_op_num_threads = 2
so.inter_op_num_threads = 1
so.execution_mode = ort.ExecutionMode.ORT_SEQUENTIAL
so.execution_order = ort.ExecutionOrder.PRIORITY_BASED
so.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
so.log_severity_level = 3
so.enable_mem_pattern = False
so.enable_cpu_mem_arena = False
so.add_session_config_entry("session.intra_op.allow_spinning", "0")
so.add_free_dimension_override_by_name("batch", 3)
so.add_free_dimension_override_by_name("length", 128)  # the model has none of this name
session = ort.InferenceSession(model, sess_options=so, providers=["CPUExecutionProvider"])
print(so.get_session_config_entry("session.intra_op.allow_spinning"))
print(session.get_inputs()[0].shape, session.get_outputs()[0].shape)
print(session.get_session_options().intra_op_num_threads)

x = np.random.default_rng(1).standard_normal((3, 64)).astype(np.float32)
ro = ort.RunOptions()
ro.log_severity_level = 3
ro.logid = "a run"
print(session.run(["p"], {"x": x}, run_options=ro)[0])
ro.terminate = True
try:
    session.run(["p"], {"x": x}, ro)
except Exception as error:
    print(type(error).__name__, "terminate flag" in str(error))
try:
    session.run(None, {"x": x[:2]})
except Exception as error:
    print(type(error).__name__, "index: 0 Got: 2 Expected: 3" in str(error))
