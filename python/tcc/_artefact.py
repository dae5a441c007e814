"""An artefact where it lies: an open file, which stays readable when its name is gone, or bytes."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator

from ._errors import BadInputError, TccError, error_of
from ._owner import Owner

CHUNK = 1 << 20


class Artefact(Owner):
    def __init__(self, name: str, descriptor: int | None, content: bytes | None = None) -> None:
        self.name = name
        self._descriptor = descriptor
        self._content = content

    @classmethod
    def open(cls, name: str) -> Artefact:
        try:
            return cls(name, os.open(name, os.O_RDONLY | os.O_CLOEXEC))
        except (OSError, ValueError) as error:  # ValueError: no name of a file
            raise BadInputError(f"cannot open '{name}': {reason_of(error)}") from None

    @classmethod
    def of_bytes(cls, content: bytes) -> Artefact:
        return cls("bytes", None, content)

    def __del__(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)

    @property
    def content(self) -> bytes | None:
        """The bytes of an artefact that is no file."""
        return self._content

    @property
    def path(self) -> str:
        """A path from which the file that was opened is read."""
        return self.name if self._descriptor is None else f"/proc/self/fd/{self._descriptor}"

    def named(self, error: TccError) -> TccError:
        """Returns the error with the file's name where it has the path that was read."""
        message = str(error).replace(self.path, self.name)
        return error_of(error.kind, message, error.code, error.options)

    def save(self, path: str) -> None:
        unfinished = ""
        try:
            target = os.path.realpath(path)
            unfinished = f"{target}.{os.getpid()}.{threading.get_ident()}.unfinished"
            with open(unfinished, "xb") as output:
                for chunk in self._chunks():
                    output.write(chunk)
            os.replace(unfinished, target)
        except (OSError, ValueError) as error:
            raise BadInputError(f"cannot write '{path}': {reason_of(error)}") from None
        finally:
            with contextlib.suppress(OSError):
                os.unlink(unfinished)

    def _chunks(self) -> Iterator[bytes]:
        if self._descriptor is None:
            yield self._content or b""
            return
        offset = 0
        # Threads may save at once: reading at an offset does not move that of the file.
        while chunk := os.pread(self._descriptor, CHUNK, offset):
            yield chunk
            offset += len(chunk)


def reason_of(error: OSError | ValueError) -> str:
    """Returns why a file's name or the file does not serve, without the name."""
    return (error.strerror if isinstance(error, OSError) else None) or str(error)
