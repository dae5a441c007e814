"""The times of a session's parts and runs, as a file of trace events."""

from __future__ import annotations

import contextlib
import json
import os
import threading
import time
from collections.abc import Iterator
from typing import Any


class Profile:
    """Events of one session, in the form of Chrome's trace viewer."""

    def __init__(self, prefix: str) -> None:
        self.start_ns = time.time_ns()
        self._origin = time.monotonic_ns()
        self._path = f"{prefix}_{time.strftime('%Y-%m-%d_%H-%M-%S')}_{os.getpid()}.json"
        self._events: list[dict[str, Any]] = []

    @contextlib.contextmanager
    def event(self, name: str) -> Iterator[None]:
        begin = time.monotonic_ns()
        try:
            yield
        finally:
            end = time.monotonic_ns()
            self._events.append({
                "cat": "Session", "pid": os.getpid(), "tid": threading.get_native_id(),
                "dur": (end - begin) // 1000, "ts": (begin - self._origin) // 1000, "ph": "X",
                "name": name, "args": {}})

    def write(self) -> str:
        """Writes the events to a file; returns its path."""
        unfinished = f"{self._path}.unfinished"
        with open(unfinished, "w", encoding="utf-8") as file:
            json.dump(self._events, file)
        os.replace(unfinished, self._path)
        return self._path
