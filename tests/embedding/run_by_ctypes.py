#!/usr/bin/env python3
"""Prints what examples/run_from_c prints, through ctypes.

usage: run_by_ctypes.py LIBRARY MODEL.tcc [KEY=VALUE ...]
"""

import ctypes
import sys

F32 = 11


class Tensor(ctypes.Structure):
    """tcc_tensor of api/tcc_c.h."""
    _fields_ = [("name", ctypes.c_char_p), ("data", ctypes.c_void_p), ("bytes", ctypes.c_uint64),
                ("shape", ctypes.POINTER(ctypes.c_int64)), ("rank", ctypes.c_int32),
                ("dtype", ctypes.c_int32), ("reserved", ctypes.c_uint64)]


def allocate(library, module, place):
    """The tensors of a module's inputs (0) or outputs (1), and the arrays that they lie in."""
    tensors = (Tensor * library.tcc_module_count(module, place))()
    arrays = []
    for index, tensor in enumerate(tensors):
        library.tcc_module_tensor(module, place, index, ctypes.byref(tensor))
        assert tensor.dtype == F32
        arrays.append((ctypes.c_float * (tensor.bytes // 4))())
        tensor.data = ctypes.addressof(arrays[-1])
    return tensors, arrays


def main(path, model, *settings):
    library = ctypes.CDLL(path)
    library.tcc_error_message.restype = ctypes.c_char_p
    library.tcc_options_new.restype = ctypes.c_void_p
    options, module, error = (ctypes.c_void_p() for _ in range(3))
    options.value = library.tcc_options_new()
    for setting in settings:
        key, value = setting.encode().split(b"=")
        if library.tcc_options_set(options, key, value, ctypes.byref(error)):
            raise SystemExit(library.tcc_error_message(error).decode())
    if library.tcc_module_load(model.encode(), options, ctypes.byref(module), ctypes.byref(error)):
        raise SystemExit(library.tcc_error_message(error).decode())
    library.tcc_options_free(options)
    inputs, values = allocate(library, module, 0)
    outputs, results = allocate(library, module, 1)
    for array in values:
        array[:] = [i % 9 / 8 for i in range(len(array))]
    code = library.tcc_module_run(module, inputs, len(inputs), outputs, len(outputs),
                                  ctypes.byref(error))
    if code:
        raise SystemExit(library.tcc_error_message(error).decode())
    for tensor, array in zip(outputs, results):
        print(f"{tensor.name.decode()} sum {sum(array):.6g}")
    library.tcc_module_free(module)


if __name__ == "__main__":
    main(*sys.argv[1:])
