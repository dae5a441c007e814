"""Options of sessions and runs, and which execution provider a session has."""

from __future__ import annotations

import enum
import operator
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, Union

from .capi.onnxruntime_pybind11_state import Fail, NotImplemented, failure

PROVIDER = "TccExecutionProvider"
# The options of the provider are keyword arguments of tcc.compile.
PROVIDER_OPTIONS = ("target", "database", "numeric", "winograd", "schedule", "allow_symlinks",
                    "external_data_dir")
TRUTHS = {"true": True, "1": True, "false": False, "0": False}
EXTERNAL_FOLDER = "session.model_external_initializers_file_folder_path"

Provider = Union[str, tuple[str, dict[str, Any]]]


class GraphOptimizationLevel(enum.Enum):
    ORT_DISABLE_ALL = 0
    ORT_ENABLE_BASIC = 1
    ORT_ENABLE_EXTENDED = 2
    ORT_ENABLE_LAYOUT = 3
    ORT_ENABLE_ALL = 99


class ExecutionMode(enum.Enum):
    ORT_SEQUENTIAL = 0
    ORT_PARALLEL = 1


class ExecutionOrder(enum.Enum):
    DEFAULT = 0
    PRIORITY_BASED = 1
    MEMORY_EFFICIENT = 2


def typed(name: str, kind: type, value: Any) -> Any:
    """Returns the value as one of `kind`, converted as onnxruntime does; else TypeError."""
    if kind is int and hasattr(value, "__index__"):
        return int(operator.index(value))
    if isinstance(value, kind):
        return value
    if kind is bool and (value is None or hasattr(value, "__bool__")):
        return bool(value)
    if kind is str and isinstance(value, bytes):
        return value.decode()
    raise TypeError(f"{name}: expected {kind.__name__}, {type(value).__name__} came")


class _Options:
    """Options, each of which keeps the type of its default."""

    __slots__ = ()

    def __setattr__(self, name: str, value: Any) -> None:
        kind = type(getattr(self, name, value))
        super().__setattr__(name, typed(name, kind, value))


class SessionOptions(_Options):
    """Options of a session. `intra_op_num_threads`, profiling, overrides of free dimensions by name
    and the folder of external initializers are obeyed. Hints of speed, memory and logging are
    accepted. Options that would change results and cannot be obeyed are refused."""

    __slots__ = ("enable_cpu_mem_arena", "enable_mem_pattern", "enable_mem_reuse",
                 "enable_profiling", "execution_mode", "execution_order",
                 "graph_optimization_level", "inter_op_num_threads", "intra_op_num_threads",
                 "log_severity_level", "log_verbosity_level", "logid", "optimized_model_filepath",
                 "profile_file_prefix", "use_deterministic_compute", "use_per_session_threads",
                 "_dims", "_entries")

    def __init__(self) -> None:
        self.enable_cpu_mem_arena = True
        self.enable_mem_pattern = True
        self.enable_mem_reuse = True
        self.enable_profiling = False
        self.execution_mode = ExecutionMode.ORT_SEQUENTIAL
        self.execution_order = ExecutionOrder.DEFAULT
        self.graph_optimization_level = GraphOptimizationLevel.ORT_ENABLE_ALL
        self.inter_op_num_threads = 0
        self.intra_op_num_threads = 0
        self.log_severity_level = -1
        self.log_verbosity_level = 0
        self.logid = ""
        self.optimized_model_filepath = ""
        self.profile_file_prefix = "onnxruntime_profile_"
        self.use_deterministic_compute = False
        self.use_per_session_threads = True
        self._dims: dict[str, int] = {}
        self._entries: dict[str, str] = {}

    def add_free_dimension_override_by_name(self, name: str, size: int) -> None:
        self._dims[typed("name", str, name)] = typed("size", int, size)

    def add_free_dimension_override_by_denotation(self, denotation: str, size: int) -> None:
        raise failure(NotImplemented, f"dimensions cannot be fixed by denotation ('{denotation}'); "
                                      "expected add_free_dimension_override_by_name")

    def add_session_config_entry(self, key: str, value: str) -> None:
        self._entries[typed("key", str, key)] = typed("value", str, value)

    def get_session_config_entry(self, key: str) -> str:
        if key not in self._entries:
            raise RuntimeError(f"SessionOptions does not have configuration with key: {key}")
        return self._entries[key]

    def add_initializer(self, name: str, value: Any) -> None:
        raise failure(NotImplemented, f"initializer '{name}' cannot be replaced: weights are those "
                                      "of the model")

    def add_external_initializers(self, names: Sequence[str], values: Sequence[Any]) -> None:
        raise failure(NotImplemented, "initializers cannot be replaced: weights are those of the "
                                      "model and its files")

    def register_custom_ops_library(self, path: str) -> None:
        raise failure(NotImplemented, f"custom operators ('{path}') are not supported")

    def fixed_dims(self) -> dict[str, int]:
        return dict(self._dims)

    def compile_options(self) -> dict[str, Any]:
        """Returns keyword arguments of tcc.compile."""
        if self.optimized_model_filepath:
            raise failure(NotImplemented, "optimized_model_filepath: no optimized ONNX model is "
                                          "written; tcc.compile(...).save writes what was compiled")
        options: dict[str, Any] = {"threads": max(self.intra_op_num_threads, 0)}
        if EXTERNAL_FOLDER in self._entries:
            options["external_data_dir"] = self._entries[EXTERNAL_FOLDER]
        return options


class RunOptions(_Options):
    """Options of a run. A run with `terminate` fails at its start; hints are accepted."""

    __slots__ = ("log_severity_level", "log_verbosity_level", "logid",
                 "only_execute_path_to_fetches", "terminate", "_entries")

    def __init__(self) -> None:
        self.log_severity_level = -1
        self.log_verbosity_level = 0
        self.logid = ""
        self.only_execute_path_to_fetches = False
        self.terminate = False
        self._entries: dict[str, str] = {}

    def add_run_config_entry(self, key: str, value: str) -> None:
        self._entries[typed("key", str, key)] = typed("value", str, value)

    def get_run_config_entry(self, key: str) -> str:
        if key not in self._entries:
            raise RuntimeError(f"RunOptions does not have configuration with key: {key}")
        return self._entries[key]

    def add_active_adapter(self, adapter: Any) -> None:
        raise failure(NotImplemented, "adapters are not supported")

    def expect_to_go_on(self) -> None:
        if self.terminate:
            raise failure(Fail, "Exiting due to terminate flag being set to true.")


def provider_keywords(providers: Sequence[Provider] | None,
                      provider_options: Sequence[Mapping[str, Any]] | None) -> dict[str, Any]:
    """Returns the keyword arguments of tcc.compile that the session's provider is given; warns of
    providers that are not there."""
    keywords: dict[str, Any] = {}
    for name, options in _pairs(providers, provider_options):
        if name == PROVIDER:
            keywords.update(_keywords_of(options))
        elif name != "CPUExecutionProvider":
            warnings.warn(f"provider '{name}' is not available: the session runs by {PROVIDER}, "
                          "whose option 'target' names another device", stacklevel=4)
    return keywords


def _pairs(providers: Sequence[Provider] | None,
           provider_options: Sequence[Mapping[str, Any]] | None
           ) -> list[tuple[str, Mapping[str, Any]]]:
    given = list(providers or [])
    if provider_options is not None and len(provider_options) != len(given):
        raise ValueError("'providers' and 'provider_options' should be the same length if both are "
                         "given.")
    pairs: list[tuple[str, Mapping[str, Any]]] = []
    for index, provider in enumerate(given):
        if isinstance(provider, str):
            pairs.append((provider, provider_options[index] if provider_options else {}))
        elif isinstance(provider, tuple) and len(provider) == 2 and not provider_options:
            pairs.append(provider)
        else:
            raise ValueError("'providers' values must be either strings or (string, dict) tuples.")
    return pairs


def _keywords_of(options: Mapping[str, Any]) -> dict[str, Any]:
    for key in options:
        if key not in PROVIDER_OPTIONS:
            raise ValueError(f"{PROVIDER} has no option '{key}'; it has "
                             f"{', '.join(PROVIDER_OPTIONS)}")
    return {key: TRUTHS.get(str(value).lower(), value)
            if key in ("winograd", "allow_symlinks") else value
            for key, value in options.items()}
