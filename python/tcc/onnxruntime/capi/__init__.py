"""The path by which programs name onnxruntime's exceptions."""

from . import onnxruntime_pybind11_state

__all__ = ["onnxruntime_pybind11_state"]
