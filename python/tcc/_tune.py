"""Searches faster kernels for a model, by the program tcc."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ._model import Model, Request
from ._options import COMPILING, checked
from ._program import run_program
from ._progress import ProgressOption, listening


class TunedKernel(NamedTuple):
    """A kernel's seconds per call before and after tuning; None where nothing was measured."""

    name: str
    calls: float
    trials: int
    constructed_seconds: float | None
    best_seconds: float | None
    searcher: str
    problem: str


class Summary(NamedTuple):
    """What tuning came to. The seconds are those of the network's kernels in one run of it."""

    trials: int
    seconds: float
    interrupted: bool
    constructed_seconds: float | None
    best_seconds: float | None
    kernels: tuple[TunedKernel, ...]
    statuses: dict[str, int]
    database: str

    @property
    def gain(self) -> float:
        """How many times as fast the network became."""
        if not self.constructed_seconds or not self.best_seconds:
            return 1.0
        return self.constructed_seconds / self.best_seconds


def tune(model: Model, *, database: str | os.PathLike[str], seconds: float | None = None,
         trials: int | None = None, target: str | None = None,
         dims: Mapping[str, int | str] | None = None,
         shapes: Mapping[str, Sequence[int | None]] | None = None,
         bind: Mapping[str, Any] | None = None,
         external_data_dir: str | os.PathLike[str] | None = None, allow_symlinks: bool = False,
         numeric: str | None = None, winograd: bool = True, searcher: str | None = None,
         cost_model: str | os.PathLike[str] | None = None, policy: str | None = None,
         device: str | None = None, worker: str | None = None, fleet: str | None = None,
         emulate: bool = False, seed: int | None = None,
         run: str | os.PathLike[str] | None = None, threads: int = 0,
         progress: ProgressOption = None) -> Summary:
    """Measures kernels for a model for some `seconds` or `trials`, and records them in `database`.

    The keywords are the options of `tcc tune`. `compile(..., database=database)` then takes the
    best. A call tunes one size: `dims` names it. A second call goes on where the first one ended.
    Ctrl-C ends the search early; what was found until then is recorded and returned. `run` keeps
    the folder that tells of the run.
    """
    options = checked({
        "database": database, "seconds": seconds, "trials": trials, "target": target, "dims": dims,
        "shapes": shapes, "bind": bind, "external_data_dir": external_data_dir,
        "allow_symlinks": allow_symlinks, "numeric": numeric, "winograd": winograd,
        "searcher": searcher, "cost_model": cost_model, "policy": policy, "device": device,
        "worker": worker, "fleet": fleet, "emulate": emulate, "seed": seed, "threads": threads,
        "run": run, "progress": progress,
    }, COMPILING)
    run, progress = options.pop("run"), options.pop("progress")
    with Request(model, options) as request:
        folder = request.temporary("run") if run is None else run
        with listening(progress) as listen:
            ending = run_program(["tune", *request.words, f"--run={folder}"], listen)
        for warning in ending.warnings:
            warnings.warn(warning, stacklevel=2)
        with open(os.path.join(folder, "run.json"), encoding="utf-8") as file:
            return _summary(json.load(file), options["database"], ending.interrupted)


def _summary(run: dict[str, Any], database: str, interrupted: bool) -> Summary:
    network = run.get("network", {})
    return Summary(
        trials=run.get("trials", 0),
        seconds=run["elapsed_seconds"],
        interrupted=interrupted,
        constructed_seconds=network.get("constructed_seconds"),
        best_seconds=network.get("best_seconds"),
        kernels=tuple(_kernel(task) for task in run.get("tasks", [])),
        statuses=run.get("statuses", {}),
        database=database)


def _kernel(task: dict[str, Any]) -> TunedKernel:
    return TunedKernel(task["name"], task["runs"], task["trials"], task["constructed_seconds"],
                       task["best_seconds"], task["best_searcher"] or "", task["problem"] or "")
