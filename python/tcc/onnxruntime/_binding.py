"""Inputs and outputs that are bound to memory once and used by many runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .._errors import TccError
from .._module import Bound
from .._owner import Owner
from ._options import typed
from ._values import OrtValue, array_at, dense, element_of, expect_host
from .capi.onnxruntime_pybind11_state import InvalidArgument

if TYPE_CHECKING:
    from ._session import InferenceSession


class IOBinding(Owner):
    """The memory that runs of a session read and write. Whatever lies in it at the time of a run is
    read; outputs that are bound without memory get some at the first run, which later runs write
    again."""

    remedy = "InferenceSession.io_binding makes another one"

    def __init__(self, session: InferenceSession) -> None:
        self._session = session
        self._inputs: dict[str, Any] = {}
        self._outputs: dict[str, Any] = {}  # None for one without memory of the caller
        self._bound: Bound | None = None
        self._results: list[Any] = []

    def bind_cpu_input(self, name: str, arr_on_cpu: Any) -> None:
        self._bind_input(name, dense(arr_on_cpu))

    def bind_input(self, name: str, device_type: str, device_id: int, element_type: Any,
                   shape: Sequence[int], buffer_ptr: int) -> None:
        expect_host(device_type)
        self._bind_input(name, array_at(buffer_ptr, element_of(element_type), shape))

    def bind_ortvalue_input(self, name: str, ortvalue: OrtValue) -> None:
        self._bind_input(name, ortvalue.numpy())

    def bind_output(self, name: str, device_type: str = "cpu", device_id: int = 0,
                    element_type: Any = None, shape: Sequence[int] | None = None,
                    buffer_ptr: int | None = None) -> None:
        expect_host(device_type)
        array = None
        if buffer_ptr is not None:
            if element_type is None or shape is None:
                raise ValueError("`element_type` and `shape` are to be provided if pre-allocated "
                                 "memory is provided")
            array = array_at(buffer_ptr, element_of(element_type), shape)
        self._bind_output(name, array)

    def bind_ortvalue_output(self, name: str, ortvalue: OrtValue) -> None:
        self._bind_output(name, ortvalue.numpy())

    def _bind_input(self, name: str, array: Any) -> None:
        if typed("name", str, name) not in {arg.name for arg in self._session.get_inputs()}:
            raise RuntimeError(f"Failed to find NodeArg with name: {name} in the def list")
        self._inputs[name] = array
        self._bound = None

    def _bind_output(self, name: str, array: Any) -> None:
        self._outputs[typed("name", str, name)] = array
        self._bound = None

    def run(self) -> None:
        """Runs the session on what is bound."""
        try:
            if self._bound is None:
                self._bound = self._bind()
            self._bound()
        except (InvalidArgument, TccError) as error:
            raise RuntimeError(f"Error in execution: {error}") from error

    def _bind(self) -> Bound:
        if not self._outputs:
            raise RuntimeError("Error in execution: At least one output should be requested.")
        positions = [self._session.output_position(name) for name in self._outputs]
        arrays = self._session.fitting_inputs(self._inputs)
        module = self._session.module_for(arrays)
        inputs = [info.name for info in module.inputs]
        names = [module.outputs[position].name for position in positions]
        given = {name: array for name, array in zip(names, self._outputs.values())
                 if array is not None}
        bound = module.bind(dict(zip(inputs, arrays)), given)
        self._results = [bound.outputs[name] for name in names]
        return bound

    def get_outputs(self) -> list[OrtValue]:
        """Returns the outputs of the last run, in the order in which they were bound."""
        return [OrtValue(array) for array in self._results]

    def copy_outputs_to_cpu(self) -> list[Any]:
        return [value.numpy().copy() for value in self.get_outputs()]

    def clear_binding_inputs(self) -> None:
        self._inputs.clear()
        self._bound = None

    def clear_binding_outputs(self) -> None:
        self._outputs.clear()
        self._bound = None

    def synchronize_inputs(self) -> None:
        pass  # memory of the host: there is nothing to wait for

    def synchronize_outputs(self) -> None:
        pass
