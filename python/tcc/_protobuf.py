"""Walks the fields of protobuf messages, such as an ONNX file, and copies only what is asked for."""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from typing import Union

Content = Union[bytes, mmap.mmap]
Span = tuple[int, int]  # where a field's content begins and ends

MOST_FIELDS = 1 << 22  # of one message; tcc takes no more in a model
MOST_DEPTH = 100  # of messages in messages, as protobuf's own readers have it

# Where an ONNX file may have tensors: the fields of each message that lead to one, by number.
# A tensor's own fields are those of its external data.
TENSORS: dict[str, dict[int, str]] = {
    "model": {7: "graph", 20: "training", 25: "function"},
    "training": {1: "graph", 2: "graph"},
    "function": {7: "node", 11: "attribute"},
    "graph": {1: "node", 5: "tensor", 15: "sparse"},
    "node": {5: "attribute"},
    "attribute": {5: "tensor", 6: "graph", 10: "tensor", 11: "graph", 22: "sparse", 23: "sparse"},
    "sparse": {1: "tensor", 2: "tensor"},
    "tensor": {13: "entry"},
}


class Malformed(ValueError):
    """What cannot be a message."""


def whole(content: Content) -> Span:
    return 0, len(content)


def fields_of(content: Content, span: Span) -> Iterator[tuple[int, int, Span]]:
    """Gives the fields of a message: the field's number, its value as a signed number, and where
    its content lies."""
    at, end = span
    for _ in range(MOST_FIELDS):
        if at == end:
            return
        tag, at = _varint(content, at, end)
        kind = tag & 7
        number, length = 0, {1: 8, 5: 4}.get(kind, 0)
        if kind == 0:
            number, at = _varint(content, at, end)
            number -= (number >> 63 & 1) << 64
        elif kind == 2:
            length, at = _varint(content, at, end)
        elif length == 0:
            raise Malformed
        if length > end - at:
            raise Malformed
        yield tag >> 3, number, (at, at + length)
        at += length
    raise Malformed


def text_of(content: Content, span: Span) -> str:
    return bytes(content[span[0]:span[1]]).decode("utf-8", "replace")


def external_files(content: Content) -> set[str]:
    """Returns the names of the files in which an ONNX file keeps weights."""
    names = set()
    left = [("model", whole(content), 0)]
    while left:
        kind, message, depth = left.pop()
        if depth > MOST_DEPTH:
            raise Malformed
        for field, _, span in fields_of(content, message):
            inner = TENSORS[kind].get(field)
            if inner == "entry":
                entry = {key: part for key, _, part in fields_of(content, span)}
                if text_of(content, entry.get(1, (0, 0))) == "location" and 2 in entry:
                    begin, end = entry[2]
                    names.add(bytes(content[begin:end]).decode("utf-8", "surrogateescape"))
            elif inner is not None:
                left.append((inner, span, depth + 1))
    return names


def _varint(content: Content, at: int, end: int) -> tuple[int, int]:
    """Returns a number and where it ends."""
    value = 0
    for shift in range(0, 70, 7):
        if at >= end:
            break
        byte = content[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
    raise Malformed
