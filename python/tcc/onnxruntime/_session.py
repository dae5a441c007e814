"""InferenceSession: a model that is compiled when the session is made, or when shapes are known."""

from __future__ import annotations

import contextlib
import os
import threading
import warnings
from collections import OrderedDict
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Union

from .._compile import compile as compile_model
from .._errors import BadInputError
from .._module import Module, load
from .._owner import Owner
from . import _declared
from ._binding import IOBinding
from ._declared import Declared, ModelMetadata, NodeArg
from ._options import (PROVIDER, Provider, RunOptions, SessionOptions, provider_keywords,
                       typed)
from ._profile import Profile
from ._values import OrtValue, fitting
from .capi.onnxruntime_pybind11_state import (LOADING, RUNNING, InvalidArgument, NoSuchFile,
                                              NotImplemented, failure, translated)

Source = Union[str, "os.PathLike[str]", bytes]
Shapes = tuple[tuple[int, ...], ...]  # of all inputs
MOST_MODULES = 8


class _Modules:
    """The modules of a model: one if its inputs have sizes; else one for each set of shapes that
    runs have had, of which the most recently used are kept."""

    def __init__(self, source: Source, declared: Declared, keywords: Mapping[str, Any]) -> None:
        self._source = source
        self._declared = declared
        self._keywords = keywords
        self._modules: OrderedDict[Shapes, Module] = OrderedDict()
        self._lock = threading.Lock()
        self._compiling = threading.Lock()
        self._was_full = False

    def get(self, shapes: Shapes) -> Module:
        """Compiles at most one module at a time; runs with known shapes need not wait for it."""
        module = self._kept(shapes)
        if module is not None:
            return module
        with self._compiling:
            module = self._kept(shapes)
            if module is None:
                module = self.compiled(shapes)
                self._keep(shapes, module)
        return module

    def compiled(self, shapes: Shapes) -> Module:
        whole = {arg.name: shape for arg, shape in zip(self._declared.inputs, shapes)
                 if arg.is_free()}
        module = compile_model(self._source, dims=self._declared.fixed, shapes=whole,
                               **self._keywords)
        _ = module.inputs  # loads it
        return module

    def _kept(self, shapes: Shapes) -> Module | None:
        with self._lock:
            if shapes in self._modules:
                self._modules.move_to_end(shapes)
            return self._modules.get(shapes)

    def _keep(self, shapes: Shapes, module: Module) -> None:
        with self._lock:
            self._modules[shapes] = module
            if len(self._modules) <= MOST_MODULES:
                return
            self._modules.popitem(last=False)
            was_full, self._was_full = self._was_full, True
        if not was_full:
            warnings.warn(f"a session has been run with more than {MOST_MODULES} sets of input "
                          "shapes, each of which is compiled; inputs that are padded to a few "
                          "sizes take less time", stacklevel=2)


class InferenceSession(Owner):
    """A model that runs: `path_or_bytes` is an ONNX model, or what tcc compiled of one.

    A model whose inputs all have a size is compiled at once, or taken from tcc's cache. One with
    free dimensions is compiled in the first run with inputs of those shapes. Any number of threads
    may run one session.
    """

    remedy = "a second session of the same model takes what was compiled from the cache"

    def __init__(self, path_or_bytes: Source, sess_options: SessionOptions | None = None,
                 providers: Sequence[Provider] | None = None,
                 provider_options: Sequence[Mapping[str, Any]] | None = None,
                 **hints: Any) -> None:
        self._options: SessionOptions = typed(
            "sess_options", SessionOptions,
            SessionOptions() if sess_options is None else sess_options)
        self._profile = (Profile(self._options.profile_file_prefix)
                         if self._options.enable_profiling else None)
        self._source = _readable(path_or_bytes)
        self._prepare(providers, provider_options)

    def set_providers(self, providers: Sequence[Provider] | None = None,
                      provider_options: Sequence[Mapping[str, Any]] | None = None) -> None:
        self._prepare(providers, provider_options)

    def _prepare(self, providers: Sequence[Provider] | None,
                 provider_options: Sequence[Mapping[str, Any]] | None) -> None:
        self._provider_options = provider_keywords(providers, provider_options)
        keywords = {**self._options.compile_options(), **self._provider_options}
        self._module: Module | None = None
        with self._event("model_loading"), translated(LOADING):
            if _is_artefact(self._source):
                self._module = load(self._source, threads=keywords["threads"])
                self._declared = _declared.declared_by_module(self._module)
            else:
                self._declared = _declare(self._source, self._options.fixed_dims())
        self._names = [arg.name for arg in self._declared.inputs]
        self._positions = {arg.name: i for i, arg in enumerate(self._declared.outputs)}
        self._modules = _Modules(self._source, self._declared, keywords)
        is_free = any(arg.is_free() for arg in self._declared.inputs)
        if self._module is None and not is_free:
            with self._event("session_initialization"), translated(LOADING):
                self._module = self._modules.compiled(())
                _complete(self._declared.outputs, self._module)

    def run(self, output_names: Sequence[str] | None, input_feed: Mapping[str, Any],
            run_options: RunOptions | None = None) -> list[Any]:
        """Returns the named outputs, or all, for the inputs by name."""
        if run_options is not None:
            run_options.expect_to_go_on()
        try:
            arrays = [input_feed[name] for name in self._names]
        except KeyError:
            raise self._misnamed(input_feed) from None
        if len(input_feed) != len(arrays):
            raise self._misnamed(input_feed)
        wanted = self._wanted(output_names) if output_names else None
        if self._profile is None:
            results = self._results(arrays)
        else:
            with self._profile.event("model_run"):
                results = self._results(arrays)
        return results if wanted is None else [results[position] for position in wanted]

    def _results(self, arrays: list[Any]) -> list[Any]:
        if self._module is not None:
            # Arrays that fit as they are, as nearly all do, are not looked at twice.
            try:
                return _listed(self._module(*arrays))
            except BadInputError:
                pass
        arrays = [fitting(arg, value) for arg, value in zip(self._declared.inputs, arrays)]
        with translated(RUNNING):
            return _listed(self.module_for(arrays)(*arrays))

    def module_for(self, arrays: Sequence[Any]) -> Module:
        """Returns the module that runs on such arrays."""
        if self._module is not None:
            return self._module
        with translated(RUNNING):
            return self._modules.get(tuple(array.shape for array in arrays))

    def fitting_inputs(self, feed: Mapping[str, Any]) -> list[Any]:
        """Returns the inputs of a feed in the model's order, as arrays that fit."""
        if len(feed) != len(self._names) or any(name not in feed for name in self._names):
            raise self._misnamed(feed)
        return [fitting(arg, feed[arg.name]) for arg in self._declared.inputs]

    def _wanted(self, names: Collection[str]) -> list[int]:
        if isinstance(names, (str, bytes, Mapping)) or not isinstance(names, Collection):
            raise TypeError(f"output_names: expected a list of names, {type(names).__name__} came")
        return [self.output_position(typed("output_names", str, name)) for name in names]

    def output_position(self, name: str) -> int:
        position = self._positions.get(name)
        if position is None:
            raise failure(InvalidArgument, f"Invalid output name:{name}")
        return position

    def _misnamed(self, feed: Mapping[str, Any]) -> Exception:
        """Returns the error for a feed without some input, or with a name that is none."""
        missing = [name for name in self._names if name not in feed]
        if missing:
            return ValueError(f"Required inputs ({missing}) are missing from input feed "
                              f"({list(feed)}).")
        name = next(name for name in feed if name not in self._names)
        if name in {arg.name for arg in self._declared.overridable}:
            return failure(NotImplemented, f"initializer '{name}' cannot be replaced by an input: "
                                           "weights are those of the model")
        return failure(InvalidArgument, f"Invalid input name: {name}")

    def run_with_ort_values(self, output_names: Sequence[str] | None,
                            input_dict_ort_values: Mapping[str, OrtValue],
                            run_options: RunOptions | None = None) -> list[OrtValue]:
        feed = {name: value.numpy() for name, value in input_dict_ort_values.items()}
        return [OrtValue(array) for array in self.run(output_names, feed, run_options)]

    def run_async(self, output_names: Sequence[str] | None, input_feed: Mapping[str, Any],
                  callback: Callable[[list[Any], Any, str], None], user_data: Any,
                  run_options: RunOptions | None = None) -> None:
        """Runs in a thread of its own, which calls `callback(results, user_data, error)`; `error`
        is "" where there is none."""

        def work() -> None:
            results: list[Any] = []
            error = ""
            try:
                results = self.run(output_names, input_feed, run_options)
            except Exception as failed:  # there is nobody else to tell
                error = str(failed)
            callback(results, user_data, error)

        threading.Thread(target=work, name="tcc run_async", daemon=True).start()

    def io_binding(self) -> IOBinding:
        return IOBinding(self)

    def run_with_iobinding(self, iobinding: IOBinding,
                           run_options: RunOptions | None = None) -> None:
        if run_options is not None:
            run_options.expect_to_go_on()
        with self._event("model_run"):
            iobinding.run()

    def get_inputs(self) -> list[NodeArg]:
        return self._declared.inputs

    def get_outputs(self) -> list[NodeArg]:
        return self._declared.outputs

    def get_overridable_initializers(self) -> list[NodeArg]:
        return self._declared.overridable

    def get_modelmeta(self) -> ModelMetadata:
        return self._declared.metadata

    def get_session_options(self) -> SessionOptions:
        return self._options

    def get_providers(self) -> list[str]:
        return [PROVIDER]

    def get_provider_options(self) -> dict[str, dict[str, str]]:
        return {PROVIDER: {key: str(value) for key, value in self._provider_options.items()}}

    def enable_fallback(self) -> None:
        pass  # there is one provider

    def disable_fallback(self) -> None:
        pass

    def end_profiling(self) -> str:
        """Writes the profile; returns its path, "" for a session that makes none."""
        return "" if self._profile is None else self._profile.write()

    def get_profiling_start_time_ns(self) -> int:
        return 0 if self._profile is None else self._profile.start_ns

    def _event(self, name: str) -> contextlib.AbstractContextManager[None]:
        return contextlib.nullcontext() if self._profile is None else self._profile.event(name)


def _readable(source: Source) -> Source:
    """Returns a path of a file that is there, or bytes."""
    if isinstance(source, (str, os.PathLike)):
        path = os.fspath(source)
        if not os.path.exists(path):
            raise failure(NoSuchFile, f"Load model from {path} failed. File doesn't exist")
        return path
    if isinstance(source, (bytes, bytearray, memoryview)):
        return bytes(source)
    raise TypeError(f"Unable to load from type '{type(source)}'")


def _is_artefact(source: Source) -> bool:
    if isinstance(source, bytes):
        return _declared.is_artefact(source)
    try:
        with open(source, "rb") as file:
            return _declared.is_artefact(file.read(8))
    except OSError as error:
        raise BadInputError(f"cannot open '{os.fspath(source)}': {error.strerror}") from None


def _declare(source: Source, sizes: Mapping[str, int]) -> Declared:
    if isinstance(source, bytes):
        declared = _declared.declared_by_model(source)
    else:
        declared = _declared.declared_by_file(os.fspath(source))
    declared.fix(sizes)
    return declared


def _complete(outputs: Sequence[NodeArg], module: Module) -> None:
    """Tells the shapes of outputs that the model leaves open and the compiler found."""
    for arg, info in zip(outputs, module.outputs):
        arg.shape = list(info.shape)


def _listed(result: Any) -> list[Any]:
    return list(result) if isinstance(result, tuple) else [result]
