"""What api/tcc_c.h declares, without the prefix; scripts/c_declarations.py writes it."""

from ctypes import (CFUNCTYPE, Structure, c_char_p, c_int32, c_int64, c_uint32, c_uint64,
                    c_void_p)
from typing import Any

ABI = 1

OK = 0
USAGE = 2
UNSUPPORTED = 3
BAD_INPUT = 4
MISSING = 5
BUDGET = 6
NO_MEMORY = 7
BUG = 70
CANCELLED = 130

BOOL = 0
I8 = 1
I16 = 2
I32 = 3
I64 = 4
U8 = 5
U16 = 6
U32 = 7
U64 = 8
F16 = 9
BF16 = 10
F32 = 11
F64 = 12
F8E4M3 = 13
F8E5M2 = 14
I4 = 15
U4 = 16

INPUTS = 0
OUTPUTS = 1
KERNELS = 2
PROPERTIES = 3


class Tensor(Structure):
    _fields_ = [
        ("name", c_char_p),
        ("data", c_void_p),
        ("bytes", c_uint64),
        ("shape", c_void_p),
        ("rank", c_int32),
        ("dtype", c_int32),
        ("reserved", c_uint64),
    ]


Release = CFUNCTYPE(None, c_void_p)

# Of each function: its name, the type of its result, the types of its parameters.
FUNCTIONS: tuple[tuple[str, Any, list[Any]], ...] = (
    ("tcc_abi", c_uint32, []),
    ("tcc_version", c_char_p, []),
    ("tcc_error_code", c_int32, [c_void_p]),
    ("tcc_error_message", c_char_p, [c_void_p]),
    ("tcc_error_free", None, [c_void_p]),
    ("tcc_dtype_name", c_char_p, [c_int32]),
    ("tcc_options_new", c_void_p, []),
    ("tcc_options_set", c_int32, [c_void_p, c_char_p, c_char_p, c_void_p]),
    ("tcc_options_free", None, [c_void_p]),
    ("tcc_module_load", c_int32, [c_char_p, c_void_p, c_void_p, c_void_p]),
    ("tcc_module_load_bytes", c_int32, [c_void_p, c_uint64, Release, c_void_p, c_void_p, c_void_p,
                                        c_void_p]),
    ("tcc_module_free", None, [c_void_p]),
    ("tcc_module_count", c_uint32, [c_void_p, c_int32]),
    ("tcc_module_tensor", None, [c_void_p, c_int32, c_uint32, c_void_p]),
    ("tcc_module_dim_name", c_char_p, [c_void_p, c_int32, c_uint32, c_uint32]),
    ("tcc_module_kernel", c_char_p, [c_void_p, c_uint32, c_void_p]),
    ("tcc_module_kernel_node", c_char_p, [c_void_p, c_uint32, c_uint32]),
    ("tcc_module_property", c_char_p, [c_void_p, c_uint32, c_void_p]),
    ("tcc_module_name", c_char_p, [c_void_p]),
    ("tcc_module_target", c_char_p, [c_void_p]),
    ("tcc_module_weights_bytes", c_uint64, [c_void_p]),
    ("tcc_module_activation_bytes", c_int64, [c_void_p]),
    ("tcc_module_threads", c_int32, [c_void_p]),
    ("tcc_module_device", c_int32, [c_void_p]),
    ("tcc_module_output_shape", c_int32, [c_void_p, c_void_p, c_uint32, c_uint32, c_void_p,
                                          c_uint32, c_void_p, c_void_p]),
    ("tcc_module_run", c_int32, [c_void_p, c_void_p, c_uint32, c_void_p, c_uint32, c_void_p]),
    ("tcc_executor_new", c_int32, [c_void_p, c_void_p, c_void_p]),
    ("tcc_executor_bind", c_int32, [c_void_p, c_void_p, c_uint32, c_void_p, c_uint32, c_void_p]),
    ("tcc_executor_run", c_int32, [c_void_p, c_void_p]),
    ("tcc_executor_enqueue", c_int32, [c_void_p, c_void_p, c_uint32, c_void_p, c_uint32, c_void_p,
                                       c_void_p]),
    ("tcc_executor_free", None, [c_void_p]),
    ("tcc_from_dlpack", c_int32, [c_void_p, c_void_p, c_void_p, c_uint32, c_void_p, c_void_p,
                                  c_void_p]),
)
