"""Compiled networks: loading, running, binding and saving them."""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from . import _declarations as c
from ._artefact import Artefact
from ._errors import BadInputError, UsageError
from ._library import library, taken, text
from ._network import Network, Slots, listed
from ._options import LOADING, PATH, STREAM, checked, came_text, expect
from ._owner import Owner, Shared
from ._tensors import TensorInfo


class Kernel(NamedTuple):
    """A kernel, the model's nodes that it computes, and its operations per call."""

    name: str
    nodes: tuple[str, ...]
    flops: int


def load(source: str | os.PathLike[str] | bytes | bytearray | memoryview, *, threads: int = 0,
         map_weights: bool = False, device: int | None = None) -> Module:
    """Loads what `compile` or `tcc compile` made: a file or its content.

    A file is mapped and must not be changed while the module lives; replacing it by another file is
    no change. `threads` (0: one per usable CPU) run the kernels, on a GPU the one that `device`
    numbers. `map_weights` keeps the weights mapped, shared by all processes that load the file.
    """
    options = checked({"threads": threads, "map_weights": map_weights, "device": device}, LOADING)
    if isinstance(source, (bytes, bytearray, memoryview)):
        artefact = Artefact.of_bytes(bytes(source))
    elif isinstance(source, (str, os.PathLike)):
        artefact = Artefact.open(expect("source", source, PATH))
    else:
        raise BadInputError("source: expected a path, or the bytes of a compiled model; "
                            f"{came_text(source)} came")
    module = Module(artefact, **options)
    module.look_into()
    return module


class Module(Shared):
    """A compiled network. Its members may be used by several threads at once.

    What `compile` returns is loaded when it is first looked into or run, so that a network for
    another machine can be compiled and saved. A copy of a module is the module itself.
    """

    remedy = "save writes a module to a file, which tcc.load reads in another process"

    def __init__(self, artefact: Artefact, *, threads: int = 0, map_weights: bool = False,
                 device: int | None = None) -> None:
        self._artefact = artefact
        self._options = {"threads": str(threads or 0), "map-weights": "true" if map_weights else "false"}
        if device is not None:
            self._options["device"] = str(device)
        self._lock = threading.Lock()
        self._loaded: Network | None = None
        self._enqueuers: dict[int, _Enqueuer] = {}

    def _network(self) -> Network:
        if self._loaded is None:
            with self._lock:
                if self._loaded is None:
                    self._loaded = Network(self._artefact, self._options)
        return self._loaded

    def look_into(self) -> None:
        """Loads the artefact now. BadInputError for a bad file; MissingError where this machine
        lacks a CPU feature, GPU or driver that the kernels need."""
        self._network()

    def __call__(self, *arrays: Any, **named: Any) -> Any:
        """Runs the network on inputs by position or by name; returns its output, or a tuple of
        several.

        An input is a numpy array, or an object of another library that has `__dlpack__` or is a
        buffer. Nothing is converted: type, shape and order of the elements have to fit.
        """
        network = self._loaded or self._network()
        if named or len(arrays) != len(network.inputs):
            arrays = tuple(_by_position(network, arrays, named))
        results = self._run(network, arrays, None)
        return results[0] if len(results) == 1 else tuple(results)

    def run(self, inputs: Mapping[str, Any],
            out: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Runs the network on named inputs; returns its outputs by name.

        `out` has arrays for some or all of the outputs, which are written and returned.
        """
        network = self._network()
        arrays = network.arrange(c.INPUTS, inputs)
        given = None if out is None else network.arrange(c.OUTPUTS, out, partly=True)
        results = self._run(network, arrays, given)
        return {info.name: result for info, result in zip(network.outputs, results)}

    def _run(self, network: Network, arrays: Sequence[Any],
             given: Sequence[Any] | None) -> list[Any]:
        slots = network.slots()
        try:
            results, _kept = network.place(slots, arrays, given)
            if network.run(network.handle_argument, *slots.call):
                raise taken(slots.error)
            return results
        finally:
            network.give_back(slots)

    def bind(self, inputs: Mapping[str, Any], out: Mapping[str, Any] | None = None) -> Bound:
        """Checks arrays and keeps them: the result, when called, reads and writes them again.

        Outputs for which `out` has no array get one.
        """
        network = self._network()
        arrays = network.arrange(c.INPUTS, inputs)
        given = network.arrange(c.OUTPUTS, {} if out is None else out, partly=True)
        return Bound(network, arrays, given)

    def enqueue(self, inputs: Mapping[str, Any], outputs: Mapping[str, Any],
                stream: int = 0) -> None:
        """Enqueues a run on DLPack tensors in the memory of the module's GPU.

        `stream` is a CUstream as a number, such as torch.cuda.current_stream().cuda_stream; 0 is
        the default stream. The work goes on after the call: until it has ended, the stream and the
        module have to live, and only work in the stream may touch the tensors.
        """
        network = self._network()
        arrays = network.arrange(c.INPUTS, inputs)
        given = network.arrange(c.OUTPUTS, outputs)
        stream = expect("stream", stream, STREAM)
        with self._lock:
            enqueuer = self._enqueuers.get(stream)
            if enqueuer is None:
                enqueuer = self._enqueuers[stream] = _Enqueuer(network)
        enqueuer.enqueue(arrays, given, self.device, stream)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the artefact to a file, which appears whole or not at all."""
        self._artefact.save(expect("path", path, PATH))

    @property
    def inputs(self) -> tuple[TensorInfo, ...]:
        return self._network().inputs

    @property
    def outputs(self) -> tuple[TensorInfo, ...]:
        return self._network().outputs

    @property
    def kernels(self) -> tuple[Kernel, ...]:
        functions, handle = library(), self._network().handle
        kernels = []
        flops = ctypes.c_int64()
        for index in range(functions.tcc_module_count(handle, c.KERNELS)):
            name = text(functions.tcc_module_kernel(handle, index, ctypes.byref(flops)))
            nodes: list[str] = []
            while (node := functions.tcc_module_kernel_node(handle, index, len(nodes))) is not None:
                nodes.append(text(node))
            kernels.append(Kernel(name, tuple(nodes), flops.value))
        return tuple(kernels)

    @property
    def properties(self) -> dict[str, str]:
        """Facts such as {"compiler": "0.1.0"}."""
        functions, handle = library(), self._network().handle
        properties = {}
        value = ctypes.c_char_p()
        for index in range(functions.tcc_module_count(handle, c.PROPERTIES)):
            key = text(functions.tcc_module_property(handle, index, ctypes.byref(value)))
            properties[key] = text(value.value)
        return properties

    @property
    def name(self) -> str:
        return text(library().tcc_module_name(self._network().handle))

    @property
    def target(self) -> str:
        return text(library().tcc_module_target(self._network().handle))

    @property
    def weights_bytes(self) -> int:
        return int(library().tcc_module_weights_bytes(self._network().handle))

    @property
    def activation_bytes(self) -> int | None:
        """The memory of a run beyond weights, inputs and outputs; None if free extents decide."""
        size = int(library().tcc_module_activation_bytes(self._network().handle))
        return None if size < 0 else size

    @property
    def threads(self) -> int:
        return int(library().tcc_module_threads(self._network().handle))

    @property
    def device(self) -> int | None:
        """The number of the GPU that the module runs on; None for a CPU."""
        number = int(library().tcc_module_device(self._network().handle))
        return None if number < 0 else number

    def __repr__(self) -> str:
        if self._loaded is None:
            return f"<tcc.Module of {self._artefact.name!r}, not loaded yet>"
        inputs, outputs = (", ".join(f"{info.name}: {_type_text(info)}"
                                     for info in infos) for infos in (self.inputs, self.outputs))
        return f"<tcc.Module {self.name!r} for {self.target}: ({inputs}) -> ({outputs})>"


class _Executor(Owner):
    """A runner with its own activation memory; one thread at a time holds its lock."""

    handle: int | None = None

    def __init__(self, network: Network) -> None:
        functions = library()
        self._network = network
        self._free = functions.tcc_executor_free
        self._slots = Slots(*network.ports())
        self._error = self._slots.error
        self._lock = threading.Lock()
        handle = ctypes.c_void_p()
        if functions.tcc_executor_new(network.handle, ctypes.byref(handle),
                                      ctypes.byref(self._error)) != c.OK:
            raise taken(self._error)
        self.handle = handle.value

    def __del__(self) -> None:
        if self.handle is not None:
            self._free(self.handle)


class Bound(_Executor):
    """A module with the arrays that it reads and writes. Calling it runs the network on them.

    `outputs` has the outputs by name. Calls from several threads wait for each other.
    """

    remedy = "Module.bind binds arrays again"

    def __init__(self, network: Network, arrays: Sequence[Any], given: Sequence[Any]) -> None:
        super().__init__(network)
        functions = library()
        results, self._kept = network.place(self._slots, arrays, given)
        self.outputs: dict[str, Any] = {
            info.name: result for info, result in zip(network.outputs, results)}
        if functions.tcc_executor_bind(self.handle, *self._slots.call) != c.OK:
            raise taken(self._error)
        self._run = functions["tcc_executor_run"]  # without declared types
        self._arguments = ctypes.c_void_p(self.handle), ctypes.byref(self._error)

    def __call__(self) -> None:
        with self._lock:
            if self._run(*self._arguments):
                raise taken(self._error)


class _Enqueuer(_Executor):
    """Enqueues runs into one stream."""

    def enqueue(self, arrays: Sequence[Any], given: Sequence[Any], device: int | None,
                stream: int) -> None:
        if device is None:
            raise UsageError("enqueue: expected a module for a GPU; this one runs on the CPU")
        slots = self._slots
        with self._lock:
            _kept = [port.place_on_device(slot, value, device, stream)
                     for (port, slot), value in zip((*slots.inputs, *slots.outputs),
                                                    (*arrays, *given))]
            if library().tcc_executor_enqueue(self.handle, *slots.arguments, stream,
                                              ctypes.byref(self._error)) != c.OK:
                raise taken(self._error)


def _type_text(info: TensorInfo) -> str:
    extents = (name or str(extent) for extent, name in zip(info.shape, info.dim_names))
    return f"{info.dtype}[{', '.join(extents)}]"


def _by_position(network: Network, arrays: Sequence[Any], named: Mapping[str, Any]) -> list[Any]:
    names = [info.name for info in network.inputs]
    if len(arrays) > len(names):
        raise BadInputError(f"expected {len(names)} input{'s' if len(names) != 1 else ''}: "
                            f"{listed(names)}; {len(arrays)} came")
    values = dict(zip(names, arrays))
    for name in named:
        if name in values:
            raise BadInputError(f"input '{name}' came twice: by position and by name")
    return network.arrange(c.INPUTS, {**values, **named})
