"""The exceptions that programs written for onnxruntime catch, made of tcc's."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping

from ..._errors import TccError


class Fail(Exception):
    pass


class InvalidArgument(Exception):
    pass


class NoSuchFile(Exception):
    pass


class NoModel(Exception):
    pass


class EngineError(Exception):
    pass


class RuntimeException(Exception):
    pass


class InvalidProtobuf(Exception):
    pass


class ModelLoaded(Exception):
    pass


class NotImplemented(Exception):
    pass


class InvalidGraph(Exception):
    pass


class EPFail(Exception):
    pass


class ModelLoadCanceled(Exception):
    pass


class ModelRequiresCompilation(Exception):
    pass


class NotFound(Exception):
    pass


class DeviceReset(Exception):
    pass


class UnsupportedModel(NotImplemented, Fail, InvalidGraph):
    """A model with operators or types that tcc lacks: onnxruntime raises any of the three for one
    that it cannot take, depending on the operator's domain."""


class InvalidModel(InvalidGraph, Fail, InvalidArgument):
    """A model that contradicts itself: onnxruntime raises any of the three, depending on how."""


# onnxruntime's number and name of each status.
_STATUSES: tuple[tuple[type[Exception], int, str], ...] = (
    (UnsupportedModel, 9, "NOT_IMPLEMENTED"),
    (InvalidModel, 10, "INVALID_GRAPH"),
    (Fail, 1, "FAIL"),
    (InvalidArgument, 2, "INVALID_ARGUMENT"),
    (NoSuchFile, 3, "NO_SUCHFILE"),
    (RuntimeException, 6, "RUNTIME_EXCEPTION"),
    (InvalidProtobuf, 7, "INVALID_PROTOBUF"),
    (NotImplemented, 9, "NOT_IMPLEMENTED"),
)

# The exception for each kind of failure while a model is loaded, and in a run; else Fail.
LOADING: Mapping[str, type[Exception]] = {
    "unsupported": UnsupportedModel,
    "bad_input": InvalidModel,
    "usage": InvalidArgument,
}
RUNNING: Mapping[str, type[Exception]] = {
    "unsupported": UnsupportedModel,
    "bad_input": InvalidArgument,
    "usage": InvalidArgument,
}


def failure(kind: type[Exception], message: str) -> Exception:
    """Makes an exception whose text has the form of onnxruntime's."""
    for row, number, name in _STATUSES:
        if row is kind:
            return kind(f"[tcc] : {number} : {name} : {message}")
    return kind(message)


@contextlib.contextmanager
def translated(kinds: Mapping[str, type[Exception]]) -> Iterator[None]:
    """Raises the exceptions of this module in place of tcc's."""
    try:
        yield
    except TccError as error:
        raise failure(kinds.get(error.kind, Fail), str(error)) from error
