"""Tensors in the form of onnxruntime's OrtValue: numpy arrays in the memory of the host."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Sequence
from typing import Any

import numpy

from .._tensors import NUMPY_TYPES, PACKED, numpy_type
from ._declared import BY_ONNX, ELEMENT_TYPES, ElementType, NodeArg
from .capi.onnxruntime_pybind11_state import InvalidArgument, NotImplemented, failure


def expect_host(device_type: str) -> None:
    if device_type.lower() != "cpu":
        raise failure(NotImplemented, f"memory of '{device_type}' is not supported here; expected "
                                      "'cpu' (Module.enqueue of tcc takes tensors of a GPU)")


def element_of(dtype: Any) -> ElementType:
    """Returns the type of elements that numpy's type, or ONNX's number, stands for."""
    if isinstance(dtype, int):
        row = BY_ONNX.get(dtype)
    else:
        wanted = numpy.dtype(dtype)
        row = next((row for row in ELEMENT_TYPES if row.tcc and wanted == numpy_type(row.tcc)),
                   None)
    if row is None or not row.tcc or row.tcc in PACKED:
        raise failure(NotImplemented, f"elements of type {dtype} are not supported")
    return row


def array_at(place: int, element: ElementType, shape: Sequence[int]) -> Any:
    """Returns an array over memory that the caller keeps."""
    dtype = numpy_type(element.tcc)
    size = math.prod(shape) * dtype.itemsize
    return numpy.ndarray(tuple(shape), dtype, (ctypes.c_uint8 * size).from_address(place))


def dense(array: Any) -> Any:
    """Returns the array, or a copy in row-major order and of this machine's byte order."""
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    return array if array.flags.c_contiguous else array.copy(order="C")


def fitting(arg: NodeArg, value: Any) -> Any:
    """Returns the value for an input as an array that a run takes. InvalidArgument, in
    onnxruntime's words, where it does not fit."""
    assert arg.element is not None
    dtypes = [numpy_type(arg.element.tcc), numpy.dtype(NUMPY_TYPES[arg.element.tcc][-1])]
    array = _array_of(arg, value, dtypes[0])
    if array.dtype not in dtypes:
        raise failure(InvalidArgument, "Unexpected input data type. Actual: "
                                       f"({_type_text(array.dtype)}) , expected: ({arg.type})")
    if arg.has_rank and arg.element.tcc not in PACKED:  # whose arrays have other shapes
        _expect_shape(arg, array.shape)
    return array


def _array_of(arg: NodeArg, value: Any, dtype: Any) -> Any:
    if isinstance(value, OrtValue):
        return dense(value.numpy())
    if isinstance(value, numpy.ndarray):
        return dense(value)
    if isinstance(value, (list, tuple)):
        return numpy.array(value, dtype)
    if hasattr(value, "__dlpack__"):
        return dense(numpy.from_dlpack(value))
    raise failure(InvalidArgument, f"input {arg.name}: expected a numpy array, an OrtValue or a "
                                   f"list; {type(value).__name__} came")


def _expect_shape(arg: NodeArg, shape: tuple[int, ...]) -> None:
    remedy = "Please fix either the inputs/outputs or the model."
    if len(shape) != len(arg.shape):
        raise failure(InvalidArgument, f"Invalid rank for input: {arg.name} Got: {len(shape)} "
                                       f"Expected: {len(arg.shape)} {remedy}")
    wrong = [f"\n index: {axis} Got: {came} Expected: {expected}"
             for axis, (came, expected) in enumerate(zip(shape, arg.shape))
             if isinstance(expected, int) and came != expected]
    if wrong:
        raise failure(InvalidArgument, f"Got invalid dimensions for input: {arg.name} for the "
                                       f"following indices{''.join(wrong)}\n {remedy}")


def _type_text(dtype: Any) -> str:
    for row in ELEMENT_TYPES:
        if row.tcc and dtype.newbyteorder("=") == numpy_type(row.tcc):
            return f"tensor({row.name})"
    return f"numpy's {dtype}"


class OrtDevice:
    """A place for tensors."""

    def __init__(self, name: str, number: int) -> None:
        self._name = name
        self._number = number

    @staticmethod
    def make(ort_device_name: str, device_id: int, vendor_id: int = -1) -> OrtDevice:
        expect_host(ort_device_name)
        return OrtDevice(ort_device_name, device_id)

    def device_type(self) -> str:
        return self._name

    def device_id(self) -> int:
        return self._number


class OrtValue:
    """A tensor. It shares the memory of the array that it was made from."""

    def __init__(self, array: Any, element: ElementType | None = None) -> None:
        self._array = array
        self._element = element or element_of(array.dtype)

    @staticmethod
    def ortvalue_from_numpy(numpy_obj: Any, device_type: str = "cpu",
                            device_id: int = 0) -> OrtValue:
        expect_host(device_type)
        return OrtValue(dense(numpy_obj))

    @classmethod
    def ortvalue_from_numpy_with_onnx_type(cls, data: Any, onnx_element_type: int) -> OrtValue:
        """Takes an array whose elements have the bits of the type: uint16 for a bfloat16."""
        element = element_of(onnx_element_type)
        dtype = numpy_type(element.tcc)
        if data.dtype.itemsize != dtype.itemsize:
            raise failure(InvalidArgument, f"elements of {data.dtype} do not have the size of "
                                           f"those of tensor({element.name})")
        return OrtValue(dense(data).view(dtype), element)

    @staticmethod
    def ortvalue_from_shape_and_type(shape: Sequence[int], element_type: Any = numpy.float32,
                                     device_type: str = "cpu", device_id: int = 0,
                                     vendor_id: int = -1) -> OrtValue:
        expect_host(device_type)
        element = element_of(element_type)
        return OrtValue(numpy.empty(tuple(shape), numpy_type(element.tcc)), element)

    @classmethod
    def from_dlpack(cls, data: Any) -> OrtValue:
        return OrtValue(dense(numpy.from_dlpack(data)))

    def numpy(self) -> Any:
        return self._array

    def update_inplace(self, np_arr: Any) -> None:
        if np_arr.shape != self._array.shape or np_arr.dtype != self._array.dtype:
            raise failure(InvalidArgument, f"expected {self._array.dtype}{self._array.shape}, "
                                           f"{np_arr.dtype}{np_arr.shape} came")
        self._array[...] = np_arr

    def data_ptr(self) -> int:
        return int(self._array.ctypes.data)

    def device_name(self) -> str:
        return "cpu"

    def shape(self) -> list[int]:
        return list(self._array.shape)

    def data_type(self) -> str:
        return f"tensor({self._element.name})"

    def element_type(self) -> int:
        return self._element.onnx

    def tensor_size_in_bytes(self) -> int:
        return int(self._array.nbytes)

    def has_value(self) -> bool:
        return True

    def is_tensor(self) -> bool:
        return True

    def is_sparse_tensor(self) -> bool:
        return False

    def is_tensor_sequence(self) -> bool:
        return False

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        array = self._array if dtype is None else self._array.astype(dtype, copy=False)
        return array.copy() if copy else array

    def __dlpack__(self, **options: Any) -> Any:
        return self._array.__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return self._array.__dlpack_device__()
