"""torch.compile(model, backend="tcc"): inference on the CPU by tcc.

A graph is exported to ONNX and compiled when it is first run, for the shapes that it then sees.
Parameters and buffers become constants; where they have changed since, the graph is compiled again.
What tcc does not compute runs by PyTorch, after one warning: graphs that need gradients, write into
their inputs or buffers, work on a GPU, or have operators that are not supported.
"""

from __future__ import annotations

import importlib
import threading
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from ._compile import compile
from ._errors import UnsupportedError, UsageError
from ._module import Module
from ._owner import Shared

MOST_SHAPES = 8  # modules of one graph
MOST_CHANGES = 8  # of its parameters, until it is left to PyTorch

# PyTorch's element type of each of tcc's.
TORCH_TYPES = {
    "bool": "bool",
    "i8": "int8",
    "i16": "int16",
    "i32": "int32",
    "i64": "int64",
    "u8": "uint8",
    "f16": "float16",
    "bf16": "bfloat16",
    "f32": "float32",
    "f64": "float64",
}


def backend(graph: Any, example_inputs: Sequence[Any], *, options: dict[str, Any] | None = None,
            mode: str | None = None) -> Callable[..., Any]:
    """Makes a graph of TorchDynamo a function that tcc computes.

    `options` are keywords of tcc.compile: torch.compile(model, backend="tcc",
    options={"database": "m.db"}).
    """
    if mode is not None:
        raise UsageError(f"mode '{mode}': the backend has none; expected options, a dictionary of "
                         "keywords of tcc.compile")
    return _Graph(graph, example_inputs, dict(options or {}))


class _Graph(Shared):
    def __init__(self, graph: Any, example_inputs: Sequence[Any], options: dict[str, Any]) -> None:
        self._torch = importlib.import_module("torch")
        self._graph = graph
        self._options = options
        self._constants = [index for index, value in enumerate(example_inputs)
                           if self._is_constant(value)]
        self._state: tuple[Any, ...] = ()  # of the constants that the modules were compiled with
        self._changes = 0
        self._modules: dict[tuple[Any, ...], Module] = {}
        self._left_to_torch = False
        self._warned = False
        self._lock = threading.Lock()

    def __call__(self, *inputs: Any) -> Any:
        if not self._left_to_torch and not self._needs_gradients(inputs):
            try:
                return self._run(inputs)
            except UnsupportedError as error:
                self._left_to_torch = True
                self._warn(str(error))
        return self._graph(*inputs)

    def _is_constant(self, value: Any) -> bool:
        # TorchDynamo marks the parameters and buffers that stay where they are.
        return (isinstance(value, self._torch.nn.Parameter) or
                getattr(value, "_dynamo_static_input_type", None) is not None)

    def _needs_gradients(self, inputs: Sequence[Any]) -> bool:
        needed = self._torch.is_grad_enabled() and any(
            getattr(value, "requires_grad", False) for value in inputs)
        if needed:
            self._warn("it computes no gradients; expected torch.no_grad() or "
                       "torch.inference_mode() around the model")
        return bool(needed)

    def _warn(self, reason: str) -> None:
        if not self._warned:
            warnings.warn(f"tcc leaves a graph to PyTorch: {reason}", stacklevel=4)
        self._warned = True

    def _run(self, inputs: Sequence[Any]) -> tuple[Any, ...]:
        tensors = [value.detach().contiguous() for index, value in enumerate(inputs)
                   if index not in self._constants and self._torch.is_tensor(value)]
        module = self._module(inputs, tensors)
        arrays = {info.name: tensor for info, tensor in zip(module.inputs, tensors)}
        out = {info.name: self._torch.empty(info.shape, dtype=self._type(info.dtype))
               for info in module.outputs}
        module.run(arrays, out=out)
        return tuple(out.values())

    def _type(self, dtype: str) -> Any:
        return getattr(self._torch, TORCH_TYPES[dtype])

    def _module(self, inputs: Sequence[Any], tensors: Sequence[Any]) -> Module:
        """Returns the module for these shapes, and for the constants as they are now."""
        key = tuple((value.dtype, tuple(value.shape)) if self._torch.is_tensor(value) else value
                    for index, value in enumerate(inputs) if index not in self._constants)
        state = tuple(_version(inputs[index]) for index in self._constants)
        with self._lock:
            if state != self._state:
                self._modules.clear()
                self._state = state
                self._changes += 1
            module = self._modules.get(key)
            if module is None:
                self._expect_few()
                module = self._compiled(inputs, tensors)
                self._modules[key] = module
            return module

    def _expect_few(self) -> None:
        if len(self._modules) >= MOST_SHAPES:
            raise UnsupportedError(f"it came with more than {MOST_SHAPES} shapes of its inputs")
        if self._changes > MOST_CHANGES:
            raise UnsupportedError(f"its parameters changed more than {MOST_CHANGES} times")

    def _compiled(self, inputs: Sequence[Any], tensors: Sequence[Any]) -> Module:
        for value in inputs:
            if self._torch.is_tensor(value) and value.device.type != "cpu":
                raise UnsupportedError(f"a tensor is on device {value.device}; expected the CPU")
        _expect_tensors(self._graph)
        constants = {index: inputs[index].detach() for index in self._constants}
        others = {index: value for index, value in enumerate(inputs)
                  if index not in constants and not self._torch.is_tensor(value)}
        model = _exported(self._torch, _function(self._graph, constants, others, len(inputs)),
                          constants, tuple(tensors))
        module = compile(model, **self._options)
        types = [info.dtype for info in (*module.inputs, *module.outputs)]
        strange = [dtype for dtype in types if dtype not in TORCH_TYPES]
        if strange or len(module.inputs) != len(tensors):
            raise UnsupportedError(f"its ONNX form has {len(module.inputs)} inputs, expected "
                                   f"{len(tensors)}, and elements of {', '.join(types)}")
        return module


def _version(tensor: Any) -> tuple[int, int]:
    """Returns what changes when a tensor's elements do. Inference tensors keep no count."""
    return tensor.data_ptr(), 0 if tensor.is_inference() else tensor._version


def _function(graph: Any, constants: dict[int, Any], others: dict[int, Any],
              count: int) -> Callable[..., Any]:
    """Returns the graph as a function of a module, whose buffers are the constants, and of the
    tensors that remain."""

    def forward(module: Any, *tensors: Any) -> Any:
        given = iter(tensors)
        return graph(*(getattr(module, f"constant_{index}") if index in constants
                       else others[index] if index in others else next(given)
                       for index in range(count)))

    return forward


def _exported(torch: Any, function: Callable[..., Any], constants: dict[int, Any],
              tensors: tuple[Any, ...]) -> Any:
    """Exports a function of a module and tensors to an onnx.ModelProto."""
    module = type("Inference", (torch.nn.Module,), {"forward": function})()
    for index, value in constants.items():
        module.register_buffer(f"constant_{index}", value)
    try:
        with torch.no_grad():
            program = torch.export.export(module, tensors, strict=False)
            # Only a program in functional form tells what is written; the exporter makes its own.
            signature = program.run_decompositions({}).graph_signature
            written = [*signature.buffers_to_mutate.values(),
                       *signature.user_inputs_to_mutate.values()]
            model = torch.onnx.export(program, dynamo=True, verbose=False).model_proto
    except Exception as error:  # the exporter's have no base class
        raise UnsupportedError(f"it cannot be exported to ONNX: {error}") from error
    if written:
        raise UnsupportedError("it writes into its inputs or buffers; model.eval() ends that of "
                               "batch normalisation")
    return model


def _expect_tensors(graph: Any) -> None:
    """Refuses a graph that returns other things than tensors, such as sizes."""
    for node in getattr(getattr(graph, "graph", None), "nodes", ()):
        if node.op == "output":
            values = [getattr(value, "meta", {}).get("example_value") for value in node.args[0]]
            if not all(hasattr(value, "dtype") for value in values):
                raise UnsupportedError("it returns values that are no tensors")
