"""Compiles a model by the program tcc, or takes what an earlier compilation left in the cache."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from . import _cache
from ._artefact import Artefact
from ._errors import BadInputError, MissingError
from ._model import Model, Request
from ._module import Module
from ._options import COMPILING, checked
from ._program import run_program
from ._progress import ProgressOption, listening


def compile(model: Model, *, target: str | None = None,
            dims: Mapping[str, int | str] | None = None,
            shapes: Mapping[str, Sequence[int | None]] | None = None,
            at: Sequence[Mapping[str, int]] | None = None,
            bind: Mapping[str, Any] | None = None,
            external_data_dir: str | os.PathLike[str] | None = None,
            allow_symlinks: bool = False, numeric: str | None = None, winograd: bool = True,
            notes: str | None = None,
            schedule: str | os.PathLike[str] | None = None,
            database: str | os.PathLike[str] | None = None,
            seconds: float | None = None, trials: int | None = None, searcher: str | None = None,
            cost_model: str | os.PathLike[str] | None = None, policy: str | None = None,
            device: str | None = None, worker: str | None = None, seed: int | None = None,
            run: str | os.PathLike[str] | None = None,
            threads: int = 0, output: str | os.PathLike[str] | None = None, cache: bool = True,
            progress: ProgressOption = None) -> Module:
    """Compiles a model: a path, the bytes of an ONNX file or an onnx.ModelProto.

    The keywords are the options of `tcc compile`: `dims={"N": 1}` and `shapes={"x": (1, 3, 224,
    224)}` give free dimensions a size, `dims={"N": "1..32:8"}` the least, the greatest and the
    usual one, and None in a shape leaves a dimension as the model has it. `at=[{"N": 1}, {"N": 4}]`
    lists several sizes, each of which a run may have, `bind={"k": array}` makes inputs constants,
    `database` has measurements, `seconds` or `trials` measure more of them first. `threads`
    compile, and run the module on a CPU; 0: one per usable CPU.

    Without `output`, the file to write, the artefact goes into a cache, from which a second call
    with the same arguments loads it; `cache=False` does without. `progress` is True, or a callable
    that gets each Progress. The module is loaded when it is first run or looked into.
    """
    options = checked({
        "target": target, "dims": dims, "shapes": shapes, "at": at, "bind": bind,
        "external_data_dir": external_data_dir, "allow_symlinks": allow_symlinks,
        "numeric": numeric, "winograd": winograd, "notes": notes, "schedule": schedule,
        "database": database,
        "seconds": seconds, "trials": trials, "searcher": searcher, "cost_model": cost_model,
        "policy": policy, "device": device, "worker": worker, "seed": seed, "run": run,
        "threads": threads, "output": output, "cache": cache, "progress": progress,
    }, COMPILING)
    output, cache, progress = (options.pop(name) for name in ("output", "cache", "progress"))
    threads = options["threads"] or 0
    with Request(model, options) as request:
        entry = _cache.entry_of(request) if cache and output is None and run is None else None
        module = _cached(entry, threads) if entry is not None else None
        if module is not None:
            return module
        path = str(entry or output or request.temporary("model.tcc"))
        with listening(progress) as listen:
            ending = run_program(["compile", *request.words, f"--output={path}"], listen)
        for warning in ending.warnings:
            warnings.warn(warning, stacklevel=2)
        module = Module(Artefact.open(path), threads=threads)
    if entry is not None and ending.interrupted:
        os.unlink(entry)
    if ending.interrupted:
        raise KeyboardInterrupt
    if entry is not None:
        _cache.trim(entry)
    return module


def _cached(entry: str, threads: int) -> Module | None:
    """Returns the module of an entry of the cache; None where it is missing or damaged."""
    try:
        module = Module(Artefact.open(entry), threads=threads)
        module.look_into()
    except BadInputError:
        return None
    except MissingError:
        pass  # it is for another machine
    _cache.use(entry)
    return module
