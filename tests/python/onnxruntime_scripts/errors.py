"""Provokes the errors that programs catch."""
import numpy as np
import onnxruntime as ort
from onnx import TensorProto, helper

State = ort.capi.onnxruntime_pybind11_state
value = helper.make_tensor_value_info


def model(nodes, inputs, outputs, domains=()):
    graph = helper.make_graph(nodes, "g", inputs, outputs)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17), *domains],
                             ir_version=8).SerializeToString()


def attempt(what, kinds, action):
    try:
        action()
        print(what, "passed")
    except kinds as error:
        first = str(error).split(" : ")[-1].split("\n")[0]
        print(what, "raised one of", [kind.__name__ for kind in np.atleast_1d(kinds)],
              first if kinds is State.InvalidArgument else "")


x, y = value("x", TensorProto.FLOAT, [2, 3]), value("y", TensorProto.FLOAT, [2, 3])
session = ort.InferenceSession(model([helper.make_node("Relu", ["x"], ["y"])], [x], [y]))
ones = np.ones((2, 3), np.float32)
with open("garbage.onnx", "wb") as file:
    file.write(b"hello")

attempt("no file", State.NoSuchFile, lambda: ort.InferenceSession("nowhere.onnx"))
attempt("no protobuf", State.InvalidProtobuf, lambda: ort.InferenceSession("garbage.onnx"))
attempt("no protobuf in memory", State.InvalidProtobuf, lambda: ort.InferenceSession(b"hello"))
attempt("no graph", State.InvalidArgument, lambda: ort.InferenceSession(b""))
attempt("no model", TypeError, lambda: ort.InferenceSession(3))
attempt("custom operator", State.Fail, lambda: ort.InferenceSession(
    model([helper.make_node("Foo", ["x"], ["y"], domain="my.domain")], [x], [y],
          [helper.make_opsetid("my.domain", 1)])))
attempt("unknown operator", State.InvalidGraph, lambda: ort.InferenceSession(
    model([helper.make_node("Foo", ["x"], ["y"])], [x], [y])))
attempt("undefined value", (State.Fail, State.InvalidArgument), lambda: ort.InferenceSession(
    model([helper.make_node("Relu", ["q"], ["y"])], [x], [y])))
attempt("shapes", State.Fail, lambda: ort.InferenceSession(
    model([helper.make_node("MatMul", ["x", "x"], ["y"])], [x], [y])))
attempt("missing input", ValueError, lambda: session.run(None, {}))
attempt("other input", ValueError, lambda: session.run(None, {"z": ones}))
attempt("one more input", State.InvalidArgument, lambda: session.run(None, {"x": ones, "z": ones}))
attempt("type", State.InvalidArgument, lambda: session.run(None, {"x": ones.astype(np.float64)}))
attempt("integers", State.InvalidArgument, lambda: session.run(None, {"x": ones.astype(np.int32)}))
attempt("rank", State.InvalidArgument, lambda: session.run(None, {"x": ones[0]}))
attempt("size", State.InvalidArgument, lambda: session.run(None, {"x": ones[:, :2]}))
attempt("output", State.InvalidArgument, lambda: session.run(["q"], {"x": ones}))
attempt("transposed", State.InvalidArgument, lambda: session.run(None, {"x": ones.T.copy().T}))
attempt("list", State.InvalidArgument, lambda: session.run(None, {"x": ones.tolist()}))
binding = session.io_binding()
attempt("name of a binding", RuntimeError, lambda: binding.bind_cpu_input("q", ones))
binding.bind_cpu_input("x", ones.astype(np.float64))
binding.bind_output("y")
attempt("type of a binding", RuntimeError, lambda: session.run_with_iobinding(binding))
attempt("unbound output", RuntimeError,
        lambda: session.run_with_iobinding(session.io_binding()))
print(session.run(None, {"x": ones})[0])
