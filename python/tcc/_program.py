"""Starts the program tcc. Progress and failures come as JSON; a failure becomes an exception."""

from __future__ import annotations

import functools
import glob
import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from ._errors import MissingError, TccError, UsageError, error_of

# What an option is called in Python, where that is not its name with underscores.
KEYWORDS = {
    "bind": "bind",
    "db": "database",
    "dim": "dims",
    "no-winograd": "winograd",
    "o": "output",
    "shape": "shapes",
    "time-budget": "seconds",
}
Listener = Callable[[dict[str, Any]], None]
MOST_LINES = 20  # of what a program says that dies without an error


def program_path() -> str:
    """Returns where the program is: $TCC_PROGRAM, else inside of the package."""
    packaged = os.path.join(os.path.dirname(__file__), "bin", "tcc")
    return os.environ.get("TCC_PROGRAM") or packaged


def runnable_path() -> str:
    """Returns the same. MissingError where it, or the worker beside it, cannot be started."""
    path = program_path()
    if not os.path.exists(path):
        raise MissingError(f"the program '{path}' was not found; install the package again "
                           "(pip install --force-reinstall tcc), or set TCC_PROGRAM to its path")
    for file in (path, os.path.join(os.path.dirname(path), "tcc-worker")):
        if os.path.exists(file) and not os.access(file, os.X_OK):
            raise MissingError(
                f"'{file}' cannot be executed: its permission is gone, or its file system takes no "
                f"programs; run chmod +x '{file}', or install the package on another file system")
    return path


def environment() -> dict[str, str]:
    """Returns the program's environment: this process's, and where its wheels have NVRTC."""
    values = dict(os.environ)
    values.setdefault("TCC_VENV", sys.prefix)
    if "TCC_NVRTC" not in values and "CUDA_HOME" not in values:
        nvrtc = _nvrtc()
        if nvrtc is not None:
            values["TCC_NVRTC"] = nvrtc
    return values


@functools.lru_cache(maxsize=None)
def _nvrtc() -> str | None:
    import importlib.util

    found = importlib.util.find_spec("nvidia")
    for folder in (found.submodule_search_locations or []) if found else []:
        for pattern in ("cu13/lib/libnvrtc.so.13", "cuda_nvrtc/lib/libnvrtc.so.1[0-9]"):
            for file in sorted(glob.glob(os.path.join(glob.escape(folder), pattern)), reverse=True):
                return file
    return None


class Ending(NamedTuple):
    """The end of a program that did what it was asked to; Ctrl-C may have cut that short."""

    interrupted: bool
    warnings: tuple[str, ...]


class _Lines:
    """What a program has said on standard error."""

    def __init__(self, listen: Listener | None) -> None:
        self.listen = listen
        self.warnings: list[str] = []
        self.error: dict[str, Any] | None = None
        self.others: list[str] = []

    def take(self, line: str) -> None:
        import json

        try:
            said = json.loads(line)
        except ValueError:
            said = None
        if not isinstance(said, dict):
            self.others = [*self.others, line.rstrip("\n")][-MOST_LINES:]
        elif "error" in said:
            self.error = said["error"]
        elif "warning" in said:
            self.warnings.append(with_keywords(said["warning"]))
        elif self.listen is not None and "stage" in said:
            self.listen(said)


def run_program(words: Sequence[str], listen: Listener | None = None) -> Ending:
    """Runs the program and waits for its end. `listen` gets each report of progress.

    Ctrl-C is handed on: the program gets SIGINT and is waited for. It runs in a session of its own,
    or a terminal would send SIGINT too, and the second one ends it at once.
    """
    import signal
    import subprocess

    path = runnable_path()
    lines = _Lines(listen)
    interrupts = 0
    try:
        process = subprocess.Popen(
            [path, *words, "--progress=json", "--errors=json"], stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, encoding="utf-8",
            errors="replace", env=environment(), start_new_session=True)
    except OSError as error:
        raise MissingError(f"'{path}' cannot be started: {error.strerror}") from None
    except ValueError as error:  # a character that no name of a file has
        raise UsageError(f"an argument cannot be handed to tcc: {error}") from None
    try:
        while process.returncode is None:
            try:
                assert process.stderr is not None
                for line in process.stderr:
                    lines.take(line)
                process.wait()
            except KeyboardInterrupt:
                interrupts += 1
                # The first one ends a search, the second one ends the program.
                process.send_signal(signal.SIGINT if interrupts < 3 else signal.SIGKILL)
    except BaseException:
        process.kill()
        process.wait()
        raise
    finally:
        if process.stderr is not None:
            process.stderr.close()
    if process.returncode == 0:
        return Ending(interrupts > 0, tuple(lines.warnings))
    if interrupts:
        raise KeyboardInterrupt
    raise _failure(process.returncode, lines)


def _failure(code: int, lines: _Lines) -> TccError:
    if lines.error is not None:
        options = [keyword_text(option) for option in lines.error["options"]]
        message = with_keywords(lines.error["message"])
        if options:
            message += f" ({', '.join(options)})"
        return error_of(lines.error["kind"], message, lines.error["code"], options)
    said = "".join(f"\n{line}" for line in lines.others)
    if code < 0:
        import signal

        name = signal.Signals(-code).name
        hint = ", perhaps because memory was short" if name == "SIGKILL" else ""
        return error_of("signal", f"tcc was ended by {name}{hint}{said}", code)
    return error_of("internal", f"tcc ended with exit code {code} and gave no reason{said}", code)


def words_of(options: Mapping[str, Any]) -> list[str]:
    """Returns the command line's words for keyword arguments; those that are None are left out."""
    names = {keyword: name for name, keyword in KEYWORDS.items()}
    words = []
    for keyword, value in options.items():
        name = names.get(keyword, keyword.replace("_", "-"))
        if value is None or value is False and name != "no-winograd":
            continue
        if name == "at":
            words += [f"--at={_size_text(size)}" for size in value]
        elif isinstance(value, Mapping):
            words += [f"--{name}={key}={_item_text(item)}" for key, item in value.items()]
        elif isinstance(value, bool):
            if value != name.startswith("no-"):
                words.append(f"--{name}")
        else:
            words.append(f"--{name}={_item_text(value)}")
    return words


def _item_text(item: Any) -> str:
    if isinstance(item, (list, tuple)):
        return "x".join("?" if extent is None else str(extent) for extent in item)
    return os.fspath(item) if hasattr(item, "__fspath__") else str(item)


def _size_text(size: Mapping[str, int]) -> str:
    return ",".join(f"{name}={extent}" for name, extent in size.items())


def keyword_of(option: str) -> str:
    """Returns the keyword argument of an option of the command line, which begins with dashes."""
    name = option.lstrip("-")
    return KEYWORDS.get(name, name.replace("-", "_"))


def keyword_text(option: str) -> str:
    """Returns an option as a keyword argument: dims={'N': SIZE} for --dim N=SIZE."""
    name, _, value = option.partition(" ")
    keyword = keyword_of(name)
    key, equals, item = value.partition("=")
    if equals:
        if keyword == "shapes":
            item = "(" + ", ".join(item.rstrip(".").split("x")) + ", ...)"
        return f"{keyword}={{'{key}': {item}}}"
    if keyword in ("dims", "shapes", "bind"):
        return f"{keyword}={{...}}"
    if not value:
        return f"{keyword}=True"
    return f"{keyword}='{value}'"


def with_keywords(message: str) -> str:
    """Returns a message in which options of the command line are keyword arguments."""
    return re.sub(r"(?<![\w-])(?:--[a-z][a-z-]*|-o(?= ))", lambda match: keyword_of(match[0]),
                  message)
