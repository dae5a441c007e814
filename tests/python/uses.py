"""Uses of the package that are only checked for their types: each function of the API, and what a
type checker knows of the result."""

from __future__ import annotations

import pathlib
from typing import Any

import numpy
import numpy.typing

import tcc
import tcc.onnxruntime as ort


def compiled(content: bytes) -> tcc.Module:
    tcc.compile("m.onnx")
    tcc.compile(pathlib.Path("m.onnx"), target="sm_86", dims={"N": 1}, shapes={"x": (1, 3)})
    return tcc.compile(content, bind={"k": numpy.zeros(3)}, database=pathlib.Path("m.db"),
                       seconds=1.5, output="m.tcc", cache=False, progress=True)


def loaded() -> tcc.Module:
    tcc.load(b"content")
    return tcc.load("m.tcc", threads=4, map_weights=True, device=0)


def ran(module: tcc.Module, x: numpy.typing.NDArray[numpy.float32]) -> dict[str, Any]:
    y = module(x, k=x)
    bound: tcc.Bound = module.bind({"x": x}, {"y": y})
    bound()
    module.enqueue({"x": x}, {"y": y}, stream=7)
    module.save(pathlib.Path("m.tcc"))
    print(bound.outputs["y"])
    return module.run({"x": x}, out={"y": y})


def facts(module: tcc.Module) -> None:
    tensor: tcc.TensorInfo = module.inputs[0]
    name: str = tensor.name + tensor.dtype + tensor.dim_names[0]
    size: int = tensor.shape[0] + module.weights_bytes + module.threads
    kernel: tcc.Kernel = module.kernels[0]
    fact: str = module.properties["compiler"] + kernel.name + module.name + module.target
    open_ones: tuple[int | None, int | None] = (module.activation_bytes, module.device)
    print(name, size, kernel.flops, kernel.nodes, fact, open_ones)


def tuned() -> float:
    def listen(progress: tcc.Progress) -> None:
        print(progress.stage, progress.done / progress.total)

    summary: tcc.Summary = tcc.tune("m.onnx", database="m.db", trials=8, progress=listen)
    kernel: tcc.TunedKernel = summary.kernels[0]
    return summary.gain * summary.seconds + kernel.calls


def failed() -> tuple[int, str, tuple[str, ...]]:
    try:
        loaded()
    except (tcc.UsageError, tcc.UnsupportedError, tcc.BadInputError, tcc.MissingError,
            tcc.NoMemoryError, tcc.BudgetError) as error:
        return error.code, error.kind, error.options
    except tcc.TccError:
        raise
    return 0, tcc.__version__, ()


def ran_by_a_session(x: numpy.typing.NDArray[numpy.float32]) -> list[Any]:
    options = ort.SessionOptions()
    options.intra_op_num_threads = 2
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL
    session = ort.InferenceSession("m.onnx", options, ["CPUExecutionProvider"])
    ort.InferenceSession(b"content", providers=[("TccExecutionProvider", {"target": "sm_86"})])
    names: list[str] = [arg.name + arg.type for arg in session.get_inputs()]
    labels: str = session.get_modelmeta().custom_metadata_map["names"]
    binding: ort.IOBinding = session.io_binding()
    binding.bind_ortvalue_input("x", ort.OrtValue.ortvalue_from_numpy(x))
    session.run_with_iobinding(binding)
    print(names, labels, binding.copy_outputs_to_cpu())
    return session.run(None, {"x": x}, ort.RunOptions())
