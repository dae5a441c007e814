"""The cache of compiled models: a folder of artefacts, named by what they were made from."""

from __future__ import annotations

import contextlib
import hashlib
import mmap
import os
from collections.abc import Iterator

from . import _digests
from ._model import Request
from ._program import program_path
from ._protobuf import Malformed, external_files
from ._version import __version__

DEFAULT_BYTES = 8 << 30
SUFFIX = ".tcc"
# Decides nothing of an artefact: how it is made, and where it goes.
NO_PART_OF_KEY = ("threads", "run", "worker")


def cache_folder() -> str | None:
    """Returns $TCC_CACHE_DIR/python, else that of $XDG_CACHE_HOME/tcc or ~/.cache/tcc; None where
    there is none or it cannot be made."""
    base = os.environ.get("TCC_CACHE_DIR")
    if not base:
        xdg = os.environ.get("XDG_CACHE_HOME")
        home = os.environ.get("HOME")
        base = os.path.join(xdg, "tcc") if xdg else home and os.path.join(home, ".cache", "tcc")
    if not base:
        return None
    folder = os.path.join(base, "python")
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
    except OSError:
        return None
    return folder if os.access(folder, os.W_OK | os.X_OK) else None


def entry_of(request: Request) -> str | None:
    """Returns the path of the artefact that the request makes; None where there is no cache, or
    the model cannot be read."""
    folder = cache_folder()
    if folder is None:
        return None
    digest = hashlib.sha256()
    try:
        for part in _key(request, folder):
            digest.update(str(len(part)).encode() + b":" + part)
    except (OSError, Malformed):
        return None
    return os.path.join(folder, digest.hexdigest() + SUFFIX)


def use(path: str) -> None:
    """Notes that an entry was used just now."""
    with contextlib.suppress(OSError):
        os.utime(path)


def trim(keep: str) -> None:
    """Removes the least recently used entries beyond $TCC_CACHE_BYTES (8 GiB), but not `keep`."""
    most = _most_bytes()
    entries = []
    for entry in os.scandir(os.path.dirname(keep)):
        with contextlib.suppress(OSError):  # another process may be removing it
            if entry.name.endswith((SUFFIX, _digests.SUFFIX)):
                status = entry.stat()
                entries.append((status.st_mtime_ns, status.st_size, entry.path))
    total = sum(size for _, size, _ in entries)
    for _, size, path in sorted(entries):
        if total <= most:
            return
        if path == keep:
            continue
        with contextlib.suppress(OSError):
            os.unlink(path)
        total -= size


def _most_bytes() -> int:
    try:
        return int(os.environ.get("TCC_CACHE_BYTES", DEFAULT_BYTES))
    except ValueError:
        return DEFAULT_BYTES


def _key(request: Request, cache: str) -> Iterator[bytes]:
    """Gives what an artefact depends on."""
    yield __version__.encode()
    yield _state(program_path())
    yield repr(sorted(request.options_but(*NO_PART_OF_KEY).items())).encode()
    for name, array in sorted(request.arrays.items()):
        yield repr((name, array.dtype.str, array.shape)).encode()
        yield array.tobytes()
    for meaning, file in sorted(request.files.items()):
        yield meaning.encode() + _state(file)
    yield from _model_key(request, cache)
    if request.options_but().get("target", "native") == "native":
        yield _cpu()


def _model_key(request: Request, cache: str) -> Iterator[bytes]:
    folder = request.external_folder()
    if request.content is not None:
        yield request.content
        names = external_files(request.content)
    else:
        with open(request.path, "rb") as file:
            if os.fstat(file.fileno()).st_size == 0:
                return
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
                yield _digests.digest_of(file.fileno(), content, cache)
                names = external_files(content)
    for name in sorted(names):
        yield _state(os.path.join(folder, name))


def _state(path: str) -> bytes:
    """Returns a file's path, size and time, without reading it."""
    try:
        status = os.stat(path)
        state = (os.path.abspath(path), status.st_size, status.st_mtime_ns)
    except (OSError, ValueError):
        state = (path, -1, -1)
    return repr(state).encode("utf-8", "surrogateescape")


def _cpu() -> bytes:
    """Returns what Linux says of the first CPU, but for what changes while it runs."""
    lines = []
    with contextlib.suppress(OSError), open("/proc/cpuinfo", "rb") as file:
        for line in file:
            if not line.strip():
                break
            if not line.startswith((b"cpu MHz", b"bogomips", b"apicid", b"initial apicid")):
                lines.append(line)
    return b"".join(lines) + str(os.cpu_count()).encode()
