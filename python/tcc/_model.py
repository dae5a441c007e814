"""A model and the options of a compilation as the program takes them: files and words."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Mapping
from typing import Any, Protocol, Union

from ._errors import BadInputError, TccError
from ._options import PATH, came_text, expect
from ._program import words_of


class ModelProto(Protocol):
    """An onnx.ModelProto, or what else writes itself as one."""

    def SerializeToString(self) -> bytes: ...


Model = Union[str, "os.PathLike[str]", bytes, ModelProto]


class Request:
    """A model and options, with a temporary folder for what is no file yet.

    `files` are the files that the options name, by what they are; `words` are the command line's
    after the command's name.
    """

    def __init__(self, model: Model, options: Mapping[str, Any]) -> None:
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self.arrays: dict[str, Any] = {}  # the bound ones that are no files
        self.files: dict[str, str] = {}
        self._options = dict(options)
        self.content = _content(model)
        try:
            self._write(model, options)
        except BaseException:
            self._remove()
            raise

    def _write(self, model: Model, options: Mapping[str, Any]) -> None:
        self.path = self._path(model)
        if options.get("bind") is not None:
            self._options["bind"] = self._bound(options["bind"])
        for key in ("database", "cost_model"):
            if options.get(key) is not None:
                self.files[key] = options[key]
        if "database" in self.files:
            # SQLite's log, which holds what a search that goes on has recorded.
            self.files["log"] = self.files["database"] + "-wal"
        if options.get("schedule") is not None:
            self._add_schedules(options["schedule"])
        # What begins with a dash would be an option.
        path = os.path.join(".", self.path) if self.path.startswith("-") else self.path
        self.words = [path, *words_of(self._options)]

    def __enter__(self) -> Request:
        return self

    def __exit__(self, _: object, error: BaseException | None, *__: object) -> None:
        if self._folder is not None and isinstance(error, TccError):
            # The folder means nothing to whoever reads it.
            error.args = (str(error).replace(self._folder.name + os.sep, ""),)
        self._remove()

    def _remove(self) -> None:
        if self._folder is not None:
            self._folder.cleanup()

    def temporary(self, name: str) -> str:
        """Returns a path in a folder that goes with the request."""
        if self._folder is None:
            self._folder = tempfile.TemporaryDirectory(prefix="tcc-")
        return os.path.join(self._folder.name, name)

    def options_but(self, *left_out: str) -> dict[str, Any]:
        """Returns what decides a result: the options without these, and without places of files."""
        skipped = (*left_out, "bind", "database", "cost_model", "schedule", "external_data_dir")
        return {key: value for key, value in self._options.items()
                if value is not None and key not in skipped}

    def external_folder(self) -> str:
        """Returns where files of weights are."""
        return self._options.get("external_data_dir") or os.path.dirname(self.path)

    def _add_schedules(self, folder: str) -> None:
        with contextlib.suppress(OSError):
            for entry in os.scandir(folder):
                self.files[f"schedule {entry.name}"] = entry.path

    def _path(self, model: Model) -> str:
        if self.content is None:
            return str(expect("model", model, PATH))
        path = self.temporary("model.onnx")
        with open(path, "wb") as file:
            file.write(self.content)
        return path

    def _bound(self, bind: Mapping[str, Any]) -> dict[str, str]:
        paths = {}
        for index, (name, value) in enumerate(bind.items()):
            if isinstance(value, (str, os.PathLike)):
                paths[name] = os.fspath(value)
                self.files[f"bind {name}"] = paths[name]
                continue
            import numpy

            paths[name] = self.temporary(f"bound_{index}.npy")
            try:
                self.arrays[name] = numpy.asarray(value)
                numpy.save(paths[name], self.arrays[name], allow_pickle=False)
            except (TypeError, ValueError) as error:
                raise BadInputError(f"bind['{name}']: expected an array or a path, "
                                    f"{came_text(value)} came: {error}") from error
        return paths


def _content(model: Model) -> bytes | None:
    """Returns the bytes of a model that is no file."""
    if isinstance(model, (str, os.PathLike)):
        return None
    if isinstance(model, (bytes, bytearray, memoryview)):
        return bytes(model)
    if hasattr(model, "SerializeToString"):
        try:
            return model.SerializeToString()
        except Exception as error:  # whatever the other library raises
            raise BadInputError(f"model: {type(model).__name__} gives no ONNX file: "
                                f"{error}") from error
    raise BadInputError("model: expected a path, the bytes of an ONNX file or an onnx.ModelProto; "
                        f"{came_text(model)} came")
