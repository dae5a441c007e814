"""The forms of arguments: what each takes, and the error that names one that does not fit."""

from __future__ import annotations

import operator
import os
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from ._errors import UsageError

LONGEST_SECONDS = 365 * 24 * 3600  # the program takes no more
LONGEST_TEXT = 80  # of a value that a message repeats


class Form(NamedTuple):
    """What an argument takes. `taken` returns the value as the rest of the package has it, and None
    for one that does not fit. `has_names`: a dictionary of such values."""

    expected: str
    taken: Callable[[Any], Any]
    has_names: bool = False


def checked(values: Mapping[str, Any], forms: Mapping[str, Form]) -> dict[str, Any]:
    """Returns keyword arguments in their forms. None, which leaves an argument out, stays."""
    return {name: None if value is None else expect(name, value, forms[name])
            for name, value in values.items()}


def expect(name: str, value: Any, form: Form) -> Any:
    """Returns an argument in its form. UsageError where it does not fit."""
    if form.has_names:
        return {key: expect(f"{name}['{key}']", item, form._replace(has_names=False))
                for key, item in expect(name, value, NAMED).items()}
    taken = form.taken(value)
    if taken is None:
        raise UsageError(f"{name}: expected {form.expected}, {came_text(value)} came")
    return taken


def came_text(value: Any) -> str:
    """Returns a short value itself, else the name of its type."""
    text = repr(value) if isinstance(value, (str, int, float)) else ""
    return text if 0 < len(text) <= LONGEST_TEXT else type(value).__name__


def _whole(least: int) -> Form:
    def taken(value: Any) -> int | None:
        number = _index(value)
        return number if number is not None and number >= least else None

    return Form(f"a whole number of at least {least}", taken)


def _index(value: Any) -> int | None:
    try:
        return None if isinstance(value, bool) else operator.index(value)
    except TypeError:
        return None


def _seconds(value: Any) -> float | None:
    if isinstance(value, (bool, str, bytes)):
        return None
    try:
        seconds = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return seconds if 0 < seconds <= LONGEST_SECONDS else None


def _truth(value: Any) -> bool | None:
    is_truth = isinstance(value, bool) or type(value).__name__ in ("bool", "bool_")  # numpy's
    return bool(value) if is_truth else None


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def _path(value: Any) -> str | None:
    try:
        return _text(os.fspath(value))
    except TypeError:
        return None


def _dim(value: Any) -> int | str | None:
    if isinstance(value, str):
        return value if re.fullmatch(r"\d*\.\.\d*(:\d+)?", value, re.ASCII) else None
    size: int | None = _COUNT.taken(value)
    return size


def _open_shape(value: Any) -> tuple[int | None, ...] | None:
    if not isinstance(value, Iterable):
        return None
    extents = list(value)
    known = _shape(0 if extent is None else extent for extent in extents)
    return None if known is None else tuple(
        None if extent is None else size for extent, size in zip(extents, known))


def _shape(value: Any) -> tuple[int, ...] | None:
    extents = [_index(extent) for extent in value] if isinstance(value, Iterable) else [None]
    shape = tuple(extent for extent in extents if extent is not None and extent >= 0)
    return shape if len(shape) == len(extents) else None


def _mapping(value: Any) -> Mapping[str, Any] | None:
    return value if isinstance(value, Mapping) and all(isinstance(key, str) for key in value) \
        else None


def _sizes(value: Any) -> list[Mapping[str, int]] | None:
    if isinstance(value, (Mapping, str, bytes)) or not isinstance(value, Iterable):
        return None
    sizes: list[Mapping[str, int]] = []
    for size in value:
        named = _mapping(size)
        extents = None if named is None else _shape(named.values())
        if not named or extents is None:
            return None
        sizes.append(dict(zip(named, extents)))
    return sizes


NAMED = Form("a dictionary whose keys are names", _mapping)
PATH = Form("a path", _path)
TRUTH = Form("True or False", _truth)
_TEXT = Form("a text", _text)
_COUNT = _whole(0)

# The keywords of `compile` and `tune`.
COMPILING: dict[str, Form] = {
    "target": _TEXT,
    "dims": Form("a whole number of at least 0, or a range as '1..32' or '1..32:8'", _dim,
                 has_names=True),
    "shapes": Form("whole numbers of at least 0, or None, one for each axis", _open_shape,
                   has_names=True),
    "at": Form("a list of dictionaries of whole numbers by the dimensions' names", _sizes),
    "bind": Form("an array or a path", lambda value: value, has_names=True),
    "external_data_dir": PATH,
    "allow_symlinks": TRUTH,
    "numeric": _TEXT,
    "winograd": TRUTH,
    "notes": _TEXT,
    "schedule": PATH,
    "database": PATH,
    "seconds": Form(f"a number of seconds above 0, at most {LONGEST_SECONDS}", _seconds),
    "trials": _whole(1),
    "searcher": _TEXT,
    "cost_model": PATH,
    "policy": _TEXT,
    "device": _TEXT,
    "worker": _TEXT,
    "fleet": _TEXT,
    "emulate": TRUTH,
    "seed": _COUNT,
    "run": PATH,
    "threads": _COUNT,
    "output": PATH,
    "cache": TRUTH,
    "progress": Form("True, False or a function",
                     lambda value: value if isinstance(value, bool) or callable(value) else None),
}

# The keywords of `load`, where a GPU has a number.
LOADING: dict[str, Form] = {"threads": _COUNT, "map_weights": TRUTH, "device": _COUNT}
STREAM = _COUNT
