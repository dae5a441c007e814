"""A loaded artefact: its handle in the library, and the tensors of its calls."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Mapping, Sequence
from typing import Any

from . import _declarations as c
from ._artefact import Artefact
from ._errors import BadInputError
from ._library import library, new_error, taken, text
from ._options import came_text
from ._owner import Owner
from ._tensors import Port, TensorInfo, expect_no_overlap


class Slots:
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


class Network(Owner):
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
        self._idle: list[Slots] = []
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
            self._ports = (self._ports_of(c.INPUTS, "input", self.inputs),
                           self._ports_of(c.OUTPUTS, "output", self.outputs))
        return self._ports

    def _ports_of(self, kind: int, role: str, infos: Sequence[TensorInfo]) -> tuple[Port, ...]:
        return tuple(Port(info, role, _description(self.handle, kind, index).dtype)
                     for index, info in enumerate(infos))

    def slots(self) -> Slots:
        """Returns slots that no other call uses; the caller gives them back to `idle`."""
        try:
            return self._idle.pop()
        except IndexError:
            return Slots(*self.ports())

    def give_back(self, slots: Slots) -> None:
        self._idle.append(slots)

    def place(self, slots: Slots, arrays: Sequence[Any],
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

    def _shape(self, slots: Slots, output: int) -> tuple[int, ...]:
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
        if not isinstance(values, Mapping):
            raise BadInputError(f"{role}s: expected a dictionary of names and arrays, "
                                f"{came_text(values)} came; the model has {listed(names)}")
        for name in values:
            if name not in names:
                raise BadInputError(f"{role} '{name}' is not one of the model's: "
                                    f"{listed(names)}")
        for name in names:
            if name not in values and not partly:
                raise BadInputError(f"{role} '{name}' is missing; the model has {listed(names)}")
        return [values.get(name) for name in names]


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


def listed(names: Sequence[str]) -> str:
    return ", ".join(f"'{name}'" for name in names) or "none"
