"""Runs programs that were written for onnxruntime.

    import tcc.onnxruntime as ort
    session = ort.InferenceSession("model.onnx")
    outputs = session.run(None, {"x": x})

docs/onnxruntime.md tells what is different.
"""

from __future__ import annotations

from typing import Any

from .._version import __version__ as _tcc_version
from . import capi
from ._binding import IOBinding
from ._declared import ModelMetadata, NodeArg
from ._options import (PROVIDER, ExecutionMode, ExecutionOrder, GraphOptimizationLevel, RunOptions,
                       SessionOptions)
from ._session import InferenceSession
from ._values import OrtDevice, OrtValue

__all__ = [
    "ExecutionMode",
    "ExecutionOrder",
    "GraphOptimizationLevel",
    "IOBinding",
    "InferenceSession",
    "ModelMetadata",
    "NodeArg",
    "OrtDevice",
    "OrtValue",
    "RunOptions",
    "SessionIOBinding",
    "SessionOptions",
    "capi",
    "disable_telemetry_events",
    "enable_telemetry_events",
    "get_all_providers",
    "get_available_providers",
    "get_build_info",
    "get_device",
    "get_version_string",
    "preload_dlls",
    "set_default_logger_severity",
    "set_default_logger_verbosity",
    "set_seed",
]

# The version of onnxruntime whose interface this is: programs ask it whether a function is there.
__version__ = "1.31.1"

SessionIOBinding = IOBinding


def get_available_providers() -> list[str]:
    return [PROVIDER]


def get_all_providers() -> list[str]:
    return [PROVIDER]


def get_device() -> str:
    return "CPU"


def get_version_string() -> str:
    return __version__


def get_build_info() -> str:
    return f"tcc {_tcc_version}"


# Accepted: there is nothing that these could set or load.
def set_default_logger_severity(severity: int) -> None:
    pass


def set_default_logger_verbosity(verbosity: int) -> None:
    pass


def set_seed(seed: int) -> None:
    pass


def enable_telemetry_events() -> None:
    pass


def disable_telemetry_events() -> None:
    pass


def preload_dlls(*arguments: Any, **keywords: Any) -> None:
    pass


def __getattr__(name: str) -> Any:
    raise AttributeError(f"tcc.onnxruntime has no '{name}'; docs/onnxruntime.md lists what is "
                         "different from onnxruntime")
