"""Progress of compiling and tuning: for a callable, or shown on a terminal or in a notebook."""

from __future__ import annotations

import contextlib
import importlib
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, Union

from ._program import Listener

BAR_WIDTH = 30
PLAIN_SECONDS = 5.0  # between lines of one stage where lines cannot be rewritten
QUIET_SECONDS = 0.5  # of work that is too short to be shown


class Progress(NamedTuple):
    """How far a stage of the work is: `done` of `total` in `unit`; "" counts parts of the model.

    While tuning, `trials` were measured so far, and `kernel` became faster last, by `gain` over
    what it was before all trials.
    """

    stage: str
    done: float
    total: float
    seconds: float
    unit: str = ""
    trials: int = 0
    kernel: str = ""
    gain: float = 1.0


# True shows progress, False and None do not.
ProgressOption = Union[bool, None, Callable[[Progress], None]]


@contextlib.contextmanager
def listening(progress: ProgressOption) -> Iterator[Listener | None]:
    """Gives what takes the program's reports; None: nobody listens."""
    if progress is None or progress is False:
        yield None
        return
    display = _display() if progress is True else None
    show: Callable[[Progress], None] = display.show if display else progress  # type: ignore
    try:
        yield lambda said: show(progress_of(said))
    finally:
        if display is not None:
            display.end()


def progress_of(said: dict[str, Any]) -> Progress:
    best = said.get("best") or {}
    return Progress(said["stage"], said["done"], said["total"], said["seconds"],
                    said.get("unit", ""), said.get("trials", 0), best.get("task", ""),
                    best.get("gain", 1.0))


def progress_text(progress: Progress) -> str:
    """Returns e.g. "tuning [#####     ] 31 of 60 s, 120 trials, last gain 1.42x of conv_3"."""
    unit = f" {progress.unit}" if progress.unit else ""
    text = progress.stage
    if progress.total > 1:
        share = min(progress.done / progress.total, 1.0)
        bar = "#" * round(share * BAR_WIDTH)
        text += f" [{bar:{BAR_WIDTH}}] {progress.done:.0f} of {progress.total:.0f}{unit}"
    if progress.stage == "tuning" and progress.unit != "trials":
        text += f", {progress.trials} trials"
    if progress.kernel:
        text += f", last gain {progress.gain:.2f}x of {progress.kernel:.20}"
    return text


class _Plain:
    """A display of lines: one every few seconds, and one for each stage."""

    def __init__(self) -> None:
        self._stage = ""
        self._told = 0.0

    def show(self, progress: Progress) -> None:
        now = time.monotonic()
        if progress.stage == self._stage and now - self._told < PLAIN_SECONDS:
            return
        self._stage, self._told = progress.stage, now
        print(f"tcc: {progress_text(progress)}", file=sys.stderr, flush=True)

    def end(self) -> None:
        pass


class _Terminal(_Plain):
    """A line that is rewritten; work that is short shows none."""

    _open = False

    def show(self, progress: Progress) -> None:
        if progress.seconds < QUIET_SECONDS:
            return
        sys.stderr.write(f"\r\x1b[K{progress_text(progress)}")
        sys.stderr.flush()
        self._open = True

    def end(self) -> None:
        if self._open:
            sys.stderr.write("\n")


class _Notebook(_Plain):
    """A cell's output that is updated."""

    _handle: Any = None

    def show(self, progress: Progress) -> None:
        data = {"text/plain": progress_text(progress)}
        if self._handle is None:
            show = importlib.import_module("IPython.display").display
            self._handle = show(data, raw=True, display_id=True)
        else:
            self._handle.update(data, raw=True)


def _display() -> _Plain:
    if _in_notebook():
        return _Notebook()
    return _Terminal() if sys.stderr.isatty() else _Plain()


def _in_notebook() -> bool:
    """Returns whether a notebook's kernel runs this; looks only at what is imported already."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return shell is not None and hasattr(shell, "kernel")
