"""Opens libtcc_runtime, and makes exceptions of its errors."""

from __future__ import annotations

import ctypes
import functools
import os
import re
from typing import Any

from . import _declarations as c
from ._errors import MissingError, TccError, error_of
from ._program import keyword_of
from ._version import __version__

KINDS = {
    c.USAGE: "usage",
    c.UNSUPPORTED: "unsupported",
    c.BAD_INPUT: "bad_input",
    c.MISSING: "missing",
    c.BUDGET: "budget",
    c.NO_MEMORY: "no_memory",
    c.BUG: "internal",
    c.CANCELLED: "cancelled",
}


def library_path() -> str:
    """Returns where the library is: $TCC_LIBRARY, else inside of the package."""
    packaged = os.path.join(os.path.dirname(__file__), "lib", "libtcc_runtime.so")
    return os.environ.get("TCC_LIBRARY") or packaged


@functools.lru_cache(maxsize=None)
def library() -> ctypes.CDLL:
    """Opens the library at the first call. MissingError where it is not there or does not fit."""
    path = library_path()
    if not os.path.exists(path):
        raise MissingError(f"the library '{path}' was not found; install the package again "
                           "(pip install --force-reinstall tcc), or set TCC_LIBRARY to its path")
    try:
        opened = ctypes.CDLL(path)
    except OSError as error:
        raise MissingError(f"the library '{path}' cannot be opened: {error}") from None
    _expect_version(opened, path)
    for name, result, parameters in c.FUNCTIONS:
        function = getattr(opened, name)
        function.restype = result
        function.argtypes = parameters
    return opened


def _expect_version(opened: ctypes.CDLL, path: str) -> None:
    remedy = ("package and library come from different versions of tcc; install the package again "
              "(pip install --force-reinstall tcc)" +
              (", or unset TCC_LIBRARY" if os.environ.get("TCC_LIBRARY") else ""))
    try:
        opened.tcc_abi.restype, opened.tcc_version.restype = ctypes.c_uint32, ctypes.c_char_p
        abi, version = int(opened.tcc_abi()), bytes(opened.tcc_version()).decode()
    except AttributeError:
        raise MissingError(f"'{path}' is no libtcc_runtime with a C API; {remedy}") from None
    if abi < c.ABI:
        raise MissingError(f"'{path}' has interface {abi}, expected {c.ABI} or later; {remedy}")
    if version != __version__:
        raise MissingError(f"'{path}' is version {version}, expected {__version__}; {remedy}")


def new_error() -> Any:
    """Returns a place for an error of the library."""
    return ctypes.c_void_p()


def taken(error: Any, prefix: str = "") -> TccError:
    """Makes an exception of the error in a place, which it empties."""
    functions = library()
    kind = KINDS.get(functions.tcc_error_code(error), "internal")
    # A remedy names an option as C has it.
    message = re.sub(r"\boption ([a-z-]+)(?=[,)])", lambda match: keyword_of(match[1]),
                     text(functions.tcc_error_message(error)))
    functions.tcc_error_free(error)
    error.value = None
    return error_of(kind, prefix + message)


def text(value: bytes | None) -> str:
    return (value or b"").decode("utf-8", "replace")
