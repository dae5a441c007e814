"""Digests of files, each with a note in the cache's folder that spares reading the file again."""

from __future__ import annotations

import contextlib
import hashlib
import mmap
import os
import threading
import time

SUFFIX = ".sha256"
SMALLEST_NOTED = 1 << 20  # a smaller file is read faster than its note is found
# A file that changed later than this may change once more without another time of change, since
# file systems count in steps.
SETTLED_NS = 2_000_000_000


def digest_of(descriptor: int, content: mmap.mmap, folder: str) -> bytes:
    """Returns the SHA-256 of an open file, by a note of it where the file has not changed since.

    Every change of a file gives it a time of change, which no program can set.
    """
    before = os.fstat(descriptor)
    note = os.path.join(folder, _name_of(before))
    with contextlib.suppress(OSError), open(note, "rb") as file:
        noted = file.read()
        if len(noted) == hashlib.sha256().digest_size:
            return noted
    digest = hashlib.sha256(content).digest()
    same = _name_of(os.fstat(descriptor)) == os.path.basename(note)
    settled = time.time_ns() - max(before.st_mtime_ns, before.st_ctime_ns) > SETTLED_NS
    if same and settled and before.st_size >= SMALLEST_NOTED:
        _write(note, digest)
    return digest


def _name_of(status: os.stat_result) -> str:
    identity = (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns,
                status.st_ctime_ns)
    return hashlib.sha256(repr(identity).encode()).hexdigest() + SUFFIX


def _write(note: str, digest: bytes) -> None:
    unfinished = f"{note}.{os.getpid()}.{threading.get_ident()}.unfinished"
    with contextlib.suppress(OSError):  # it only spares work
        with open(unfinished, "xb") as file:
            file.write(digest)
        os.replace(unfinished, note)
    with contextlib.suppress(OSError):
        os.unlink(unfinished)
