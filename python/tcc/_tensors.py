"""Arrays of other libraries as tensors of the C API: nothing is copied and nothing is converted."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from . import _declarations as c
from ._errors import BadInputError, TccError, UsageError
from ._library import library, new_error, taken

# numpy's element type of each of tcc's. Where numpy has none, that of ml_dtypes stands first, and
# behind it the one whose bits it shares. Elements of PACKED share bytes.
NUMPY_TYPES: dict[str, tuple[str, ...]] = {
    "bool": ("bool",),
    "i8": ("int8",),
    "i16": ("int16",),
    "i32": ("int32",),
    "i64": ("int64",),
    "u8": ("uint8",),
    "u16": ("uint16",),
    "u32": ("uint32",),
    "u64": ("uint64",),
    "f16": ("float16",),
    "bf16": ("bfloat16", "uint16"),
    "f32": ("float32",),
    "f64": ("float64",),
    "f8e4m3": ("float8_e4m3fn", "uint8"),
    "f8e5m2": ("float8_e5m2", "uint8"),
    "i4": ("uint8",),
    "u4": ("uint8",),
    "i2": ("uint8",),
    "u2": ("uint8",),
}
PACKED = {"i4": 2, "u4": 2, "i2": 4, "u2": 4}  # elements of a byte

# DLPack's device types.
ON_HOST = (1, 3)  # memory of the host, also pinned
ON_CUDA = (2, 13)  # memory of a GPU, also managed
MOST_RANK = 64

# A DLManagedTensor begins with its DLTensor; a versioned one has 32 bytes before it: version,
# context, deleter and flags.
VERSIONED_OFFSET = 32
FLAGS_OFFSET = 24
READ_ONLY = 1

_first_byte = ctypes.c_char.from_buffer
_address_of = ctypes.addressof


class TensorInfo(NamedTuple):
    """An input or output of a module. A free extent is -1, and `dim_names` has its name."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    dim_names: tuple[str, ...]


def numpy_type(dtype: str) -> Any:
    """Returns numpy's element type of one of tcc's: ml_dtypes' where it needs and has that."""
    import numpy

    names = NUMPY_TYPES[dtype]
    if len(names) == 1:
        return numpy.dtype(names[0])
    try:
        import ml_dtypes
    except ImportError:
        return numpy.dtype(names[1])
    return numpy.dtype(getattr(ml_dtypes, names[0]))


class Port:
    """An input or output as calls need it: checks arrays and writes where they lie into a slot."""

    def __init__(self, info: TensorInfo, role: str, code: int) -> None:
        import numpy

        self.info = info
        self.code = code
        self.name = f"{role} '{info.name}'"
        self.writes = role == "output"
        self.is_free = -1 in info.shape
        self.array: Any = numpy.ndarray
        # The part of a byte that no element fills is zero.
        self.new = numpy.zeros if info.dtype in PACKED else numpy.empty
        self.dtype = numpy_type(info.dtype)
        self.dtypes = (self.dtype, numpy.dtype(NUMPY_TYPES[info.dtype][-1]))
        self.shape = self.array_shape(info.shape)

    def array_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """Returns the shape of an array with a tensor's elements; packed ones lie in a row."""
        if self.info.dtype not in PACKED or -1 in shape:
            return shape
        return (-(-math.prod(shape) // PACKED[self.info.dtype]),)

    def declare(self, slot: c.Tensor) -> None:
        """Makes a slot that takes a tensor of the declared shape at this position."""
        slot.dtype = self.code
        slot.rank = -1
        slot.bytes = 0 if self.is_free else math.prod(self.shape) * self.dtype.itemsize

    def make(self, shape: tuple[int, ...]) -> Any:
        return self.new(shape, self.dtype)

    def place(self, slot: c.Tensor, value: Any) -> Any:
        """Writes where a value's elements lie into the slot; returns what keeps them there."""
        if type(value) is self.array and value.dtype == self.dtype and value.shape == self.shape:
            try:
                # Takes what is writable, not empty and contiguous, of types that buffers can have.
                slot.data = _address_of(_first_byte(value))
                return value
            except (TypeError, ValueError, BufferError):
                pass
        return self.place_other(slot, value)

    def place_other(self, slot: c.Tensor, value: Any) -> Any:
        if isinstance(value, self.array):
            return self._place_array(slot, value)
        if hasattr(value, "__dlpack__"):
            return self._place_dlpack(slot, value)
        try:
            view = memoryview(value)
        except TypeError:
            raise BadInputError(
                f"{self.name}: expected a numpy array, or an object that has __dlpack__ or is a "
                f"buffer; {type(value).__name__} came (numpy.asarray makes an array of a list or "
                "number)") from None
        import numpy

        return self._place_array(slot, numpy.asarray(view))

    def _place_array(self, slot: c.Tensor, array: Any) -> Any:
        if array.dtype not in self.dtypes:
            raise self._misfit(f"elements of {self._wanted()}", f"{array.dtype}",
                               "array.astype converts")
        self._expect_shape(array.shape)
        if not array.flags.c_contiguous:
            raise BadInputError(f"{self.name}: expected elements in row-major order without gaps, "
                                f"strides {array.strides} came; numpy.ascontiguousarray copies "
                                "into that order")
        if self.writes and not array.flags.writeable:
            raise BadInputError(f"{self.name}: expected an array to write to, a read-only one came")
        slot.data = array.ctypes.data
        return array, self._place_shape(slot, array.shape, array.nbytes)

    def _place_dlpack(self, slot: c.Tensor, value: Any, devices: tuple[int, ...] = ON_HOST,
                      device: int = 0, stream: int | None = None) -> Any:
        device_type, number = (int(part) for part in value.__dlpack_device__())
        if device_type not in devices or (devices == ON_CUDA and number != device):
            place = "memory of the host" if devices == ON_HOST else f"memory of GPU {device}"
            hint = "; Module.enqueue takes tensors of the GPU" if devices == ON_HOST else ""
            raise BadInputError(f"{self.name}: expected {place}, a tensor on DLPack's device "
                                f"({device_type}, {number}) came{hint}")
        tensor, kept = _described(value, stream, self.name, self.writes)
        shape = tuple(ctypes.cast(tensor.shape, ctypes.POINTER(ctypes.c_int64))[:tensor.rank])
        if tensor.dtype != self.code:
            came = library().tcc_dtype_name(tensor.dtype).decode()
            raise self._misfit(f"elements of {self._wanted()}", came, "")
        if shape != self.info.shape:
            self._expect_extents(shape, self.info.shape)
        slot.data = tensor.data
        return kept, self._place_shape(slot, shape, tensor.bytes)

    def place_on_device(self, slot: c.Tensor, value: Any, device: int, stream: int) -> Any:
        """Does what place does for a tensor in a GPU's memory. DLPack orders the work of its
        producer before that in `stream`."""
        if not hasattr(value, "__dlpack__"):
            raise BadInputError(f"{self.name}: expected a tensor in GPU memory that has "
                                f"__dlpack__; {type(value).__name__} came")
        # DLPack's number of the default stream is 1.
        return self._place_dlpack(slot, value, ON_CUDA, device, stream or 1)

    def _place_shape(self, slot: c.Tensor, shape: tuple[int, ...], size: int) -> Any:
        """Tells the shape where the declared one leaves extents open."""
        if not self.is_free:
            return None
        extents = (ctypes.c_int64 * len(shape))(*shape)
        slot.shape = ctypes.addressof(extents)
        slot.rank = len(shape)
        slot.bytes = size
        return extents

    def _expect_shape(self, shape: tuple[int, ...]) -> None:
        if shape != self.shape:
            self._expect_extents(shape, self.shape)

    def _expect_extents(self, shape: tuple[int, ...], wanted: tuple[int, ...]) -> None:
        fits = len(shape) == len(wanted) and all(
            extent in (-1, came) for extent, came in zip(wanted, shape))
        if not fits:
            raise self._misfit(f"shape {_shape_text(wanted, self.info.dim_names)}", f"{shape}", "")

    def _wanted(self) -> str:
        names = " or ".join(dict.fromkeys(str(dtype) for dtype in self.dtypes))
        shared = PACKED.get(self.info.dtype)
        packed = f", {'two' if shared == 2 else 'four'} in each byte" if shared else ""
        return f"{self.info.dtype} (numpy's {names}{packed})"

    def _misfit(self, expected: str, came: str, remedy: str) -> TccError:
        return BadInputError(f"{self.name}: expected {expected}, {came} came" +
                             (f"; {remedy}" if remedy else ""))


def _shape_text(shape: Sequence[int], names: Sequence[str]) -> str:
    extents = [name if extent == -1 and name else str(extent)
               for extent, name in zip(shape, names)]
    if len(shape) != len(names):  # packed
        extents = [str(extent) for extent in shape]
    return "(" + ", ".join(extents) + ("," if len(extents) == 1 else "") + ")"


def _capsule(value: Any, stream: int | None, name: str) -> Any:
    keywords = {} if stream is None else {"stream": stream}
    try:
        try:
            return value.__dlpack__(**keywords)
        except BufferError as error:
            # Only a versioned capsule can say that its memory is read-only.
            try:
                return value.__dlpack__(max_version=(1, 0), **keywords)
            except TypeError:  # there are none yet
                raise error from None
    except Exception as error:  # whatever the other library raises
        raise BadInputError(f"{name}: {type(value).__name__} gives no DLPack tensor: "
                            f"{error}") from error


_pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
_pointer_of.restype = ctypes.c_void_p
_pointer_of.argtypes = [ctypes.py_object, ctypes.c_char_p]
_is_capsule = ctypes.pythonapi.PyCapsule_IsValid
_is_capsule.argtypes = [ctypes.py_object, ctypes.c_char_p]


def _described(value: Any, stream: int | None, name: str, writes: bool) -> tuple[c.Tensor, Any]:
    """Describes a DLPack tensor; returns with it what keeps its memory."""
    capsule = _capsule(value, stream, name)
    if _is_capsule(capsule, b"dltensor"):
        pointer = _pointer_of(capsule, b"dltensor")
    else:
        pointer = _pointer_of(capsule, b"dltensor_versioned")
        flags = ctypes.c_uint64.from_address(pointer + FLAGS_OFFSET).value
        if writes and flags & READ_ONLY:
            raise BadInputError(f"{name}: expected memory to write to, a read-only tensor came")
        pointer += VERSIONED_OFFSET
    tensor, shape, error = c.Tensor(), (ctypes.c_int64 * MOST_RANK)(), new_error()
    device_type, device = ctypes.c_int32(), ctypes.c_int32()
    if library().tcc_from_dlpack(pointer, ctypes.byref(tensor), shape, MOST_RANK,
                                 ctypes.byref(device_type), ctypes.byref(device),
                                 ctypes.byref(error)) != c.OK:
        raise taken(error, f"{name}: ")
    return tensor, (capsule, shape)


def expect_no_overlap(inputs: Sequence[tuple[Port, c.Tensor]],
                      outputs: Sequence[tuple[Port, c.Tensor]]) -> None:
    """Refuses outputs that lie in the memory of an input or of another output."""
    places = [(slot.data or 0, slot.bytes) for _, slot in inputs]
    for port, slot in outputs:
        begin, size = slot.data or 0, slot.bytes
        if any(begin < other + length and other < begin + size for other, length in places):
            raise UsageError(f"{port.name}: expected memory of its own; it overlaps that of an "
                             "input or of another output")
        places.append((begin, size))
