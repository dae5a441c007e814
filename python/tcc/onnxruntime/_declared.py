"""Reads the inputs, outputs and metadata of a model from its file or its artefact.

A session knows them before anything is compiled, with the names of dimensions that are free.
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Mapping
from typing import NamedTuple, Union

from .._module import Module
from .._protobuf import Content, Malformed, Span, fields_of, text_of, whole
from .._tensors import TensorInfo
from .capi.onnxruntime_pybind11_state import InvalidArgument, InvalidProtobuf, failure

Dim = Union[int, str, None]

ARTEFACT_MAGIC = b"\x89TCC\r\n\x1a\n"
NO_VERSION = 2**63 - 1  # onnxruntime's version of a model that has none


class ElementType(NamedTuple):
    """A type of elements: ONNX's number, tcc's name, and that in onnxruntime's tensor(...)."""

    onnx: int
    tcc: str
    name: str


ELEMENT_TYPES = tuple(
    ElementType(*row)
    for row in ((1, "f32", "float"), (2, "u8", "uint8"), (3, "i8", "int8"), (4, "u16", "uint16"),
                (5, "i16", "int16"), (6, "i32", "int32"), (7, "i64", "int64"), (8, "", "string"),
                (9, "bool", "bool"), (10, "f16", "float16"), (11, "f64", "double"),
                (12, "u32", "uint32"), (13, "u64", "uint64"), (16, "bf16", "bfloat16"),
                (17, "f8e4m3", "float8e4m3fn"), (19, "f8e5m2", "float8e5m2"), (21, "u4", "uint4"),
                (22, "i4", "int4")))
BY_ONNX = {row.onnx: row for row in ELEMENT_TYPES}
BY_TCC = {row.tcc: row for row in ELEMENT_TYPES}


class NodeArg:
    """An input or output of a model. A free dimension is its name, or None."""

    def __init__(self, name: str, element: ElementType | None, shape: list[Dim] | None) -> None:
        self.name = name
        self.type = f"tensor({element.name})" if element else ""
        self.shape: list[Dim] = shape or []
        self.element = element
        self.has_rank = shape is not None

    def is_free(self) -> bool:
        return not self.has_rank or any(not isinstance(dim, int) for dim in self.shape)

    def __str__(self) -> str:
        return f"NodeArg(name='{self.name}', type='{self.type}', shape={self.shape})"


class ModelMetadata:
    """The metadata of a model."""

    def __init__(self) -> None:
        self.producer_name = ""
        self.graph_name = ""
        self.domain = ""
        self.description = ""
        self.graph_description = ""
        self.version = NO_VERSION
        self.custom_metadata_map: dict[str, str] = {}


class Declared:
    """The inputs and outputs of a model, the initializers that onnxruntime lets callers replace,
    and the metadata."""

    def __init__(self) -> None:
        self.inputs: list[NodeArg] = []
        self.outputs: list[NodeArg] = []
        self.overridable: list[NodeArg] = []
        self.metadata = ModelMetadata()
        self.fixed: dict[str, int] = {}  # dimensions of inputs

    def fix(self, sizes: Mapping[str, int]) -> None:
        """Gives dimensions a size by their names; names that the model lacks mean nothing."""
        self.fixed = {dim: sizes[dim] for arg in self.inputs for dim in arg.shape
                      if isinstance(dim, str) and dim in sizes}
        for arg in (*self.inputs, *self.outputs):
            arg.shape = [sizes.get(dim, dim) if isinstance(dim, str) else dim
                         for dim in arg.shape]


def is_artefact(start: bytes) -> bool:
    return start[:len(ARTEFACT_MAGIC)] == ARTEFACT_MAGIC


def declared_by_file(path: str) -> Declared:
    with open(path, "rb") as file:
        if os.fstat(file.fileno()).st_size == 0:
            return declared_by_model(b"")
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            return declared_by_model(content)


def declared_by_model(content: Content) -> Declared:
    """Reads an ONNX file. Tensors and nodes are skipped, whatever is in them."""
    try:
        return _read_model(content)
    except Malformed:
        raise failure(InvalidProtobuf, "Protobuf parsing failed.") from None


def _read_model(content: Content) -> Declared:
    declared = Declared()
    metadata = declared.metadata
    ir_version = 0
    graph: Span | None = None
    for field, number, span in fields_of(content, whole(content)):
        if field == 1:
            ir_version = number
        elif field == 2:
            metadata.producer_name = text_of(content, span)
        elif field == 4:
            metadata.domain = text_of(content, span)
        elif field == 5:
            metadata.version = number
        elif field == 6:
            metadata.description = text_of(content, span)
        elif field == 7:
            graph = span
        elif field == 14:
            entry = {key: text_of(content, part) for key, _, part in fields_of(content, span)}
            metadata.custom_metadata_map[entry.get(1, "")] = entry.get(2, "")
    if graph is None:
        raise failure(InvalidArgument, "No graph was found in the protobuf.")
    _read_graph(content, graph, ir_version, declared)
    return declared


def declared_by_module(module: Module) -> Declared:
    """Describes an artefact. Without a free dimension every size is a number."""
    declared = Declared()
    declared.inputs = [_arg_of(info) for info in module.inputs]
    declared.outputs = [_arg_of(info) for info in module.outputs]
    metadata = declared.metadata
    metadata.graph_name = module.name
    for key, value in module.properties.items():
        if key.startswith("onnx."):
            metadata.custom_metadata_map[key[len("onnx."):]] = value
        elif key == "model.version":
            metadata.version = int(value)
        elif key.startswith("model."):
            setattr(metadata, key[len("model."):], value)
    return declared


def _arg_of(info: TensorInfo) -> NodeArg:
    return NodeArg(info.name, BY_TCC[info.dtype],
                   [name or None if extent < 0 else extent
                    for extent, name in zip(info.shape, info.dim_names)])


def _read_graph(content: Content, graph: Span, ir_version: int, declared: Declared) -> None:
    constants = set()
    inputs = []
    for field, _, span in fields_of(content, graph):
        if field == 2:
            declared.metadata.graph_name = text_of(content, span)
        elif field == 5:
            constants.add(_name_of(content, span, 8))
        elif field == 10:
            declared.metadata.graph_description = text_of(content, span)
        elif field == 11:
            inputs.append(_read_value(content, span))
        elif field == 12:
            declared.outputs.append(_read_value(content, span))
        elif field == 15:  # sparse: its values bear the name
            constants.update(_name_of(content, part, 8)
                             for key, _, part in fields_of(content, span) if key == 1)
    declared.inputs = [arg for arg in inputs if arg.name not in constants]
    if ir_version >= 4:
        declared.overridable = [arg for arg in inputs if arg.name in constants]


def _name_of(content: Content, span: Span, name: int) -> str:
    for field, _, part in fields_of(content, span):
        if field == name:
            return text_of(content, part)
    return ""


def _read_value(content: Content, span: Span) -> NodeArg:
    name, element = "", None
    shape: list[Dim] | None = None
    for field, _, part in fields_of(content, span):
        if field == 1:
            name = text_of(content, part)
        elif field == 2:
            for kind, _, tensor in fields_of(content, part):
                if kind == 1:  # all other types are no tensors
                    element, shape = _read_tensor_type(content, tensor)
    return NodeArg(name, element, shape)


def _read_tensor_type(content: Content,
                      span: Span) -> tuple[ElementType | None, list[Dim] | None]:
    element, shape = None, None
    for field, number, part in fields_of(content, span):
        if field == 1:
            element = BY_ONNX.get(number)
        elif field == 2:
            shape = [_read_dim(content, dim) for key, _, dim in fields_of(content, part) if key == 1]
    return element, shape


def _read_dim(content: Content, span: Span) -> Dim:
    dim: Dim = None
    for field, number, part in fields_of(content, span):
        if field == 1:
            dim = number if number >= 0 else None
        elif field == 2:
            dim = text_of(content, part) or None
    return dim
