"""The exceptions. Each failure has the exit code of the command line and the name of its kind."""

from __future__ import annotations

from collections.abc import Iterable


class TccError(Exception):
    """A failure of tcc. The message names the thing, what was expected and what came.

    `code` is the command line's exit code, or the negative number of the signal that ended the
    compiler. `kind` is its name, such as "bad_input". `options` are the keyword arguments that
    would help, as text.
    """

    code: int = 70
    kind: str = "internal"
    options: tuple[str, ...] = ()


class UsageError(TccError, ValueError):
    """Options or arguments that do not fit the model or each other."""

    code = 2
    kind = "usage"


class UnsupportedError(TccError, NotImplementedError):
    """The model asks for what this version of tcc does not have."""

    code = 3
    kind = "unsupported"


class BadInputError(TccError, ValueError):
    """A model, artefact or tensor that is not valid, does not fit or is not there."""

    code = 4
    kind = "bad_input"


class NoMemoryError(TccError, MemoryError):
    """The model, or a run of it, does not fit into memory."""

    code = 4
    kind = "no_memory"


class MissingError(TccError):
    """A device, a CPU feature, a library or a tool is missing."""

    code = 5
    kind = "missing"


class BudgetError(TccError, TimeoutError):
    """A budget of time or trials ended without a result."""

    code = 6
    kind = "budget"


KINDS: dict[str, type[TccError]] = {
    kind.kind: kind
    for kind in (UsageError, UnsupportedError, BadInputError, NoMemoryError, MissingError,
                 BudgetError, TccError)
}


def error_of(kind: str, message: str, code: int | None = None,
             options: Iterable[str] = ()) -> TccError:
    """Makes the exception of a kind; of one that has no class a TccError."""
    error = KINDS.get(kind, TccError)(message)
    error.kind = kind
    error.code = error.code if code is None else code
    error.options = tuple(options)
    return error
