"""Compiles neural networks and runs them.

    import tcc
    module = tcc.compile("model.onnx")
    y = module(x)

`compile` makes a Module of an ONNX model, `load` one of a compiled file, `tune` searches faster
kernels for a model and records them in a database.
"""

from ._compile import compile
from ._errors import (BadInputError, BudgetError, MissingError, NoMemoryError, TccError,
                      UnsupportedError, UsageError)
from ._module import Bound, Kernel, Module, load
from ._progress import Progress
from ._tensors import TensorInfo
from ._tune import Summary, TunedKernel, tune
from ._version import __version__

__all__ = [
    "BadInputError",
    "Bound",
    "BudgetError",
    "Kernel",
    "MissingError",
    "Module",
    "NoMemoryError",
    "Progress",
    "Summary",
    "TccError",
    "TensorInfo",
    "TunedKernel",
    "UnsupportedError",
    "UsageError",
    "__version__",
    "compile",
    "load",
    "tune",
]
