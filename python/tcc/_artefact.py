"""An artefact where it lies: an open file, which stays readable when its name is gone, or bytes."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from typing import BinaryIO

from ._errors import BadInputError, TccError, error_of

CHUNK = 1 << 20


class Artefact:
    def __init__(self, name: str, file: BinaryIO | None, content: bytes | None = None) -> None:
        self.name = name
        self._file = file
        self._content = content

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Artefact:
        name = os.fspath(path)
        try:
            return cls(name, open(name, "rb"))
        except OSError as error:
            raise BadInputError(f"cannot open '{name}': {error.strerror}") from None

    @classmethod
    def of_bytes(cls, content: bytes) -> Artefact:
        return cls("bytes", None, content)

    def __del__(self) -> None:
        if self._file is not None:
            self._file.close()

    @contextlib.contextmanager
    def readable(self) -> Iterator[tuple[str, bytes | None]]:
        """Gives a path from which the file that was opened is read, or its content."""
        if self._file is None:
            yield self.name, self._content
        else:
            yield self._path(), None

    def _path(self) -> str:
        return self.name if self._file is None else f"/proc/self/fd/{self._file.fileno()}"

    def named(self, error: TccError) -> TccError:
        """Returns the error with the file's name where it has the path that was read."""
        message = str(error).replace(self._path(), self.name)
        return error_of(error.kind, message, error.code, error.options)

    def save(self, path: str | os.PathLike[str]) -> None:
        target = os.path.realpath(path)
        unfinished = f"{target}.{os.getpid()}.unfinished"
        try:
            with open(unfinished, "xb") as output:
                for chunk in self._chunks():
                    output.write(chunk)
            os.replace(unfinished, target)
        except OSError as error:
            raise BadInputError(f"cannot write '{os.fspath(path)}': {error.strerror}") from None
        finally:
            with contextlib.suppress(OSError):
                os.unlink(unfinished)

    def _chunks(self) -> Iterator[bytes]:
        if self._file is None:
            yield self._content or b""
            return
        offset = 0
        # Reads at an offset leave that of the file alone: threads may save at once.
        while chunk := os.pread(self._file.fileno(), CHUNK, offset):
            yield chunk
            offset += len(chunk)
