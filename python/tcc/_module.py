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
from ._library import library, new_error, taken, text
from ._tensors import Port, TensorInfo, expect_no_overlap


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
    artefact = (Artefact.of_bytes(bytes(source))
                if isinstance(source, (bytes, bytearray, memoryview)) else Artefact.open(source))
    module = Module(artefact, threads=threads, map_weights=map_weights, device=device)
    module.look_into()
    return module


class _Slots:
    """The tensors of one call at a time, filled in but for their places, and where its error goes.

    `inputs` and `outputs` pair each slot with its port. `arguments` are the lists as a call hands
    them on, `call` has the error's place too. They are of ctypes' own types, so that calls without
    declared types, which take half the time, hand them on right.
    """

    def __init__(self, inputs: Sequence[Port], outputs: Sequence[Port]) -> None:
        self.input_list = (c.Tensor * len(inputs))()
        self.output_list = (c.Tensor * len(outputs))()
        self.inputs = list(zip(inputs, self.input_list))
        self.outputs = list(zip(outputs, self.output_list))
        for port, slot in (*self.inputs, *self.outputs):
            port.declare(slot)
        self.error = new_error()
        self.arguments = (ctypes.c_void_p(ctypes.addressof(self.input_list)),
                          ctypes.c_uint32(len(inputs)),
                          ctypes.c_void_p(ctypes.addressof(self.output_list)),
                          ctypes.c_uint32(len(outputs)))
        self.call = (*self.arguments, ctypes.byref(self.error))


class _Network:
    """A loaded artefact: its handle and what it takes and gives."""

    handle: int | None = None

    def __init__(self, artefact: Artefact, options: Mapping[str, str]) -> None:
        functions = library()
        self._free = functions.tcc_module_free
        self.handle = _loaded(artefact, options)
        self.handle_argument = ctypes.c_void_p(self.handle)
        self.run = functions["tcc_module_run"]  # without declared types
        self.inputs = self._infos(c.INPUTS)
        self.outputs = self._infos(c.OUTPUTS)
        self._idle: list[_Slots] = []
        self._ports: tuple[tuple[Port, ...], tuple[Port, ...]] | None = None

    def __del__(self) -> None:
        if self.handle is not None:
            self._free(self.handle)

    def _infos(self, kind: int) -> tuple[TensorInfo, ...]:
        functions = library()
        infos = []
        for index in range(functions.tcc_module_count(self.handle, kind)):
            tensor = _description(self.handle, kind, index)
            shape = tuple(ctypes.cast(tensor.shape, ctypes.POINTER(ctypes.c_int64))[:tensor.rank])
            names = tuple(text(functions.tcc_module_dim_name(self.handle, kind, index, axis))
                          for axis in range(tensor.rank))
            dtype = text(functions.tcc_dtype_name(tensor.dtype))
            infos.append(TensorInfo(text(tensor.name), dtype, shape, names))
        return tuple(infos)

    def ports(self) -> tuple[tuple[Port, ...], tuple[Port, ...]]:
        """Returns the inputs and outputs as calls need them; the first call imports numpy."""
        if self._ports is None:
            sides = []
            for kind, role, infos in ((c.INPUTS, "input", self.inputs),
                                      (c.OUTPUTS, "output", self.outputs)):
                sides.append(tuple(
                    Port(info, role, _description(self.handle, kind, index).dtype)
                    for index, info in enumerate(infos)))
            self._ports = sides[0], sides[1]
        return self._ports

    def slots(self) -> _Slots:
        """Returns slots that no other call uses; the caller gives them back to `idle`."""
        try:
            return self._idle.pop()
        except IndexError:
            return _Slots(*self.ports())

    def give_back(self, slots: _Slots) -> None:
        self._idle.append(slots)

    def place(self, slots: _Slots, arrays: Sequence[Any],
              given: Sequence[Any] | None) -> tuple[list[Any], list[Any]]:
        """Fills in the slots; returns the outputs, which are made where none are given, and what
        keeps the memory of all."""
        kept = [port.place(slot, array) for (port, slot), array in zip(slots.inputs, arrays)]
        results = []
        for index, (port, slot) in enumerate(slots.outputs):
            result = None if given is None else given[index]
            if result is None:
                result = port.make(self._shape(slots, index) if port.is_free else port.shape)
            kept.append(port.place(slot, result))
            results.append(result)
        if given is not None:
            expect_no_overlap(slots.inputs, slots.outputs)
        return results, kept

    def _shape(self, slots: _Slots, output: int) -> tuple[int, ...]:
        port = slots.outputs[output][0]
        shape = (ctypes.c_int64 * len(port.info.shape))()
        rank = ctypes.c_uint32()
        if library().tcc_module_output_shape(
                self.handle, slots.input_list, len(slots.inputs), output, shape, len(shape),
                ctypes.byref(rank), ctypes.byref(slots.error)) != c.OK:
            raise taken(slots.error)
        return port.array_shape(tuple(shape[:rank.value]))

    def arrange(self, kind: int, values: Mapping[str, Any], *, partly: bool = False) -> list[Any]:
        """Puts named values into the module's order; None for those that are not given."""
        infos = self.inputs if kind == c.INPUTS else self.outputs
        role = "input" if kind == c.INPUTS else "output"
        names = [info.name for info in infos]
        for name in values:
            if name not in names:
                raise BadInputError(f"{role} '{name}' is not one of the model's: "
                                    f"{_listed(names)}")
        for name in names:
            if name not in values and not partly:
                raise BadInputError(f"{role} '{name}' is missing; the model has {_listed(names)}")
        return [values.get(name) for name in names]


class Module:
    """A compiled network. Its members may be used by several threads at once.

    What `compile` returns is loaded when it is first looked into or run, so that a network for
    another machine can be compiled and saved.
    """

    def __init__(self, artefact: Artefact, *, threads: int = 0, map_weights: bool = False,
                 device: int | None = None) -> None:
        self._artefact = artefact
        self._options = {"threads": str(threads), "map-weights": "true" if map_weights else "false"}
        if device is not None:
            self._options["device"] = str(device)
        self._lock = threading.Lock()
        self._loaded: _Network | None = None
        self._enqueuers: dict[int, _Enqueuer] = {}

    def _network(self) -> _Network:
        if self._loaded is None:
            with self._lock:
                if self._loaded is None:
                    self._loaded = _Network(self._artefact, self._options)
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

    def run(self, inputs: Mapping[str, Any], out: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Runs the network on named inputs; returns its outputs by name.

        `out` has arrays for some or all of the outputs, which are written and returned.
        """
        network = self._network()
        arrays = network.arrange(c.INPUTS, inputs)
        given = None if out is None else network.arrange(c.OUTPUTS, out, partly=True)
        results = self._run(network, arrays, given)
        return {info.name: result for info, result in zip(network.outputs, results)}

    def _run(self, network: _Network, arrays: Sequence[Any],
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
        given = network.arrange(c.OUTPUTS, out or {}, partly=True)
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
        with self._lock:
            enqueuer = self._enqueuers.get(stream)
            if enqueuer is None:
                enqueuer = self._enqueuers[stream] = _Enqueuer(network)
        enqueuer.enqueue(arrays, given, self.device, stream)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the artefact to a file, which appears whole or not at all."""
        self._artefact.save(path)

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


class _Executor:
    """A runner with its own activation memory; one thread at a time holds its lock."""

    handle: int | None = None

    def __init__(self, network: _Network) -> None:
        functions = library()
        self._network = network
        self._free = functions.tcc_executor_free
        self._slots = _Slots(*network.ports())
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

    def __init__(self, network: _Network, arrays: Sequence[Any], given: Sequence[Any]) -> None:
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


def _loaded(artefact: Artefact, options: Mapping[str, str]) -> int:
    functions = library()
    error, handle = new_error(), ctypes.c_void_p()
    place = ctypes.byref(error)
    text_options = functions.tcc_options_new()
    try:
        for key, value in options.items():
            if functions.tcc_options_set(text_options, key.encode(), value.encode(), place):
                raise taken(error)
        content = artefact.content
        if content is None:
            code = functions.tcc_module_load(os.fsencode(artefact.path), text_options,
                                             ctypes.byref(handle), place)
        else:
            code = functions.tcc_module_load_bytes(content, len(content), c.Release(), None,
                                                   text_options, ctypes.byref(handle), place)
        if code != c.OK:
            raise artefact.named(taken(error))
    finally:
        functions.tcc_options_free(text_options)
    assert handle.value is not None
    return handle.value


def _description(handle: int | None, kind: int, index: int) -> c.Tensor:
    tensor = c.Tensor()
    library().tcc_module_tensor(handle, kind, index, ctypes.byref(tensor))
    return tensor


def _type_text(info: TensorInfo) -> str:
    extents = (name or str(extent) for extent, name in zip(info.shape, info.dim_names))
    return f"{info.dtype}[{', '.join(extents)}]"


def _by_position(network: _Network, arrays: Sequence[Any], named: Mapping[str, Any]) -> list[Any]:
    names = [info.name for info in network.inputs]
    if len(arrays) > len(names):
        raise BadInputError(f"expected {len(names)} input{'s' if len(names) != 1 else ''}: "
                            f"{_listed(names)}; {len(arrays)} came")
    values = dict(zip(names, arrays))
    for name in named:
        if name in values:
            raise BadInputError(f"input '{name}' came twice: by position and by name")
    return network.arrange(c.INPUTS, {**values, **named})


def _listed(names: Sequence[str]) -> str:
    return ", ".join(f"'{name}'" for name in names) or "none"
