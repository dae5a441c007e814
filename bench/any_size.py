#!/usr/bin/env python3
"""usage: any_size.py [--tcc FILE] [--library FILE] [--recipes DIR] [--sizes 8] [--time] [--rounds 7]
                   [--dim N=1..32:8]... [--free-axes 0,2,3] [--keep DIR] [--json] NAME...

One artefact for every size: compiles networks with free dimensions without binding any, and holds
each artefact to ONNX Runtime (without its optimisations) at the sizes of the network's recipe and at
others: 1, primes, larger than usual. NAME is a network of the folder of recipes, NAME.onnx and
NAME.json beside fill.py, which makes weights and inputs. The difference is the largest one over the
deviation of the output. --time also compiles with the sizes bound, at the usual ones and at four
others, and times both in turns, with ONNX Runtime at its best switches beside them: ratios of the
medians of `rounds` turns. What compiling takes is timed with both, too.

--free-axes rewrites networks whose sizes are numbers: these axes of the first input, and of inputs
with the same number there, become the dimensions N, C, T, D, H or W. Exporters bake sizes into
shapes: the first extent of a Reshape follows from its input instead, and other sizes that ONNX
Runtime refuses the artefact has to refuse, too.
"""

import argparse
import importlib
import json
import os
import pathlib
import re
import statistics
import sys
import tempfile
import time

import numpy
import onnx
import onnxruntime

from tcc_program import compile_model, run

ROOT = pathlib.Path(__file__).resolve().parent.parent
# What a network whose recipe does not say it takes for its dimensions, by turns.
OTHERS = (1, 2, 7, 16, 31, 13)
SECONDS_OF_A_TURN = 0.2
# What the axes of an input are called, by its rank.
AXES = {1: "N", 2: "NT", 3: "NCT", 4: "NCHW", 5: "NCDHW"}


def arguments_of():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("networks", nargs="+", metavar="NAME")
    parser.add_argument("--tcc", type=os.path.abspath, default="build/release/bin/tcc")
    parser.add_argument("--library", type=os.path.abspath,
                        default="build/release/lib/libtcc_runtime.so")
    parser.add_argument("--recipes", type=pathlib.Path, default=ROOT.parent / "shared" / "models")
    parser.add_argument("--sizes", type=int, default=8, help="how many, with those of the recipe")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--time", action="store_true")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--dim", action="append", default=[])
    parser.add_argument("--free-axes", type=lambda text: [*map(int, text.split(","))], default=[])
    parser.add_argument("--keep", type=pathlib.Path, help="filled networks stay here")
    parser.add_argument("--json", action="store_true")
    return parser.parse_args()


def sizes_of(recipe, count):
    """The sizes of the recipe, then others: every dimension 1, then primes and larger ones."""
    sizes = list(recipe["feeds"])
    names = list(sizes[0])
    for turn in range(count - len(sizes)):
        dims = {}
        for i, name in enumerate(names):
            value = OTHERS[(turn + 2 * i) % len(OTHERS)] if turn else 1
            dims[name] = value
            if name in {"D", "H", "W"}:
                # Networks that halve an image twice and join the levels take even ones. A network
                # whose image was a number may need one about as large.
                baked = name in recipe.get("baked", ())
                near = max(1, sizes[0][name] * (6 + value % 5) // 8)
                dims[name] = near if baked else 8 * (1 + value % 5)
        sizes.append(dims)
    return sizes[:count]


def with_free_axes(recipe, axes):
    """The recipe with names for numbers at axes of the inputs, and the numbers as its feed."""
    recipe = {**recipe, "inputs": [{**spec, "shape": [*spec["shape"]]} for spec in recipe["inputs"]]}
    first = recipe["inputs"][0]["shape"]
    numbers = {axis: first[axis] for axis in axes
               if axis < len(first) and isinstance(first[axis], int)}
    for spec in recipe["inputs"]:
        for axis, number in numbers.items():
            if axis < len(spec["shape"]) and spec["shape"][axis] == number:
                spec["shape"][axis] = AXES[len(first)][axis]
    baked = {AXES[len(first)][axis]: number for axis, number in numbers.items()}
    return {**recipe, "feeds": [{**feed, **baked} for feed in recipe["feeds"]], "baked": baked}


def write_free(source, target, recipe):
    """Writes a network with the dimensions of the recipe; what follows from numbers is dropped."""
    model = onnx.load(source, load_external_data=False)
    shapes = {spec["name"]: spec["shape"] for spec in recipe["inputs"]}
    for value in model.graph.input:
        for dim, size in zip(value.type.tensor_type.shape.dim, shapes.get(value.name, ())):
            if isinstance(size, str) and not dim.dim_param:
                dim.dim_param = size
    for value in model.graph.output:
        value.type.tensor_type.ClearField("shape")
    del model.graph.value_info[:]
    if "N" in recipe["baked"]:
        keep_first_axes(model.graph, recipe["baked"]["N"])
    onnx.save(model, target)


def keep_first_axes(graph, number):
    """Makes the first extent of a Reshape to [number, ...] follow from its input."""
    shapes = {constant.name: constant for constant in graph.initializer}
    for node in graph.node:
        if node.op_type == "Constant" and node.attribute[0].name == "value":
            shapes[node.output[0]] = node.attribute[0].t
    reshapes = [node for node in graph.node if node.op_type == "Reshape"]
    others = {name for node in graph.node if node.op_type != "Reshape" for name in node.input}
    for name in ({node.input[1] for node in reshapes} & set(shapes)) - others:
        sizes = onnx.numpy_helper.to_array(shapes[name]).copy()
        if len(sizes) > 1 and sizes[0] == number and 0 not in sizes:
            sizes[0] = 0 if -1 in sizes else -1
            shapes[name].CopyFrom(onnx.numpy_helper.from_array(sizes, name))
            for node in reshapes:
                if node.input[1] == name:
                    del node.attribute[:]  # allowzero: 0 would be an extent


def feed_at(fill, recipe, dims):
    return fill.feed({**recipe, "feeds": [dims]})


def difference(want, got):
    if want.shape != got.shape or want.dtype != got.dtype:
        return float("inf")
    if want.size == 0:
        return 0.0
    a, b = want.astype(numpy.float64), got.astype(numpy.float64)
    if not numpy.array_equal(numpy.isfinite(a), numpy.isfinite(b)):
        return float("inf")
    a, b = numpy.nan_to_num(a), numpy.nan_to_num(b)
    scale = max(float(a.std()), 1e-6 * float(numpy.abs(a).max()), 1e-30)
    return float(numpy.abs(a - b).max()) / scale


def tolerance_of(recipe):
    """Halves round, and bytes are a step off where a sum is rounded elsewhere."""
    if any("Quantize" in op or op.startswith("QLinear") for op in recipe["about"]["ops"]):
        return 0.15
    is_half = any(tensor["dtype"] == "float16" for tensor in recipe["tensors"])
    return 1e-2 if is_half else 1e-3


def session_of(path, threads, best):
    options = onnxruntime.SessionOptions()
    levels = onnxruntime.GraphOptimizationLevel
    options.graph_optimization_level = levels.ORT_ENABLE_ALL if best else levels.ORT_DISABLE_ALL
    options.intra_op_num_threads = threads
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def attempt(call, *arguments, **named):
    """What the call returns, or the exception that it raises: ONNX Runtime has a class for each."""
    try:
        return call(*arguments, **named)
    except Exception as error:
        return error


def turn_of(call):
    """The mean time of a call, over as many as a turn takes."""
    call()
    begun, calls = time.perf_counter(), 0
    while not calls or time.perf_counter() - begun < SECONDS_OF_A_TURN:
        call()
        calls += 1
    return (time.perf_counter() - begun) / calls


def medians(calls, rounds):
    times = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            times[name].append(turn_of(call))
    return {name: statistics.median(row) for name, row in times.items()}


class Network:
    def __init__(self, arguments, fill, tcc, name, folder):
        self.arguments, self.fill, self.tcc, self.name = arguments, fill, tcc, name
        self.folder = folder
        self.recipe = json.loads((arguments.recipes / f"{name}.json").read_text())
        self.model = folder / f"{name}.onnx"
        if not self.model.exists():
            fill.fill(arguments.recipes, name, folder)
        if arguments.free_axes:
            self.recipe = with_free_axes(self.recipe, arguments.free_axes)
            self.model = folder / f"{name}.free_axes.onnx"
            write_free(folder / f"{name}.onnx", self.model, self.recipe)

    def compiled(self, suffix, *options):
        artefact = self.folder / f"{self.name}.{suffix}.tcc"
        said, seconds = compile_model(self.arguments.tcc, self.model, "native", artefact,
                                      self.arguments.threads, *options, check=False)
        if said.returncode != 0:
            raise RuntimeError(f"exit {said.returncode}: {said.stderr.strip()}")
        return artefact, seconds

    def loaded(self, artefact):
        return self.tcc.load(str(artefact), threads=self.arguments.threads)

    def judge(self):
        """The row of this network: the largest difference, sizes that failed."""
        given = [*self.arguments.dim, *(f"{name}=1..{2 ** 24}:{number}" for name, number
                                        in self.recipe.get("baked", {}).items() if number > 1)]
        artefact, seconds = self.compiled("free", *(w for dim in given for w in ("--dim", dim)))
        module, session = self.loaded(artefact), session_of(self.model, 2, best=False)
        row = {"network": self.name, "compile_s": seconds, "sizes": [], "failed": [], "refused": [],
               "tolerance": tolerance_of(self.recipe)}
        for sizes in sizes_of(self.recipe, self.arguments.sizes):
            feeds = feed_at(self.fill, self.recipe, sizes)
            want, got = attempt(session.run, None, feeds), attempt(module, **feeds)
            if isinstance(want, Exception) or isinstance(got, Exception):
                said = {who: str(error)[:300] for who, error in (("peer", want), ("tcc", got))
                        if isinstance(error, Exception)}
                both = self.arguments.free_axes and len(said) == 2
                row["refused" if both else "failed"].append({**sizes, **said})
                continue
            got = list(got.values()) if isinstance(got, dict) else got
            got = got if isinstance(got, (list, tuple)) else [got]
            worst = max(difference(a, numpy.asarray(b)) for a, b in zip(want, got, strict=True))
            row["sizes"].append({**sizes, "difference": worst})
        row["difference"] = max((size["difference"] for size in row["sizes"]), default=0.0)
        if self.arguments.time:
            self.race(module, seconds, row)
        return row

    def race(self, module, seconds, row):
        peer = session_of(self.model, self.arguments.threads, best=True)
        row["race"] = []
        for place, sizes in enumerate([self.usual(), *sizes_of(self.recipe, 6)[2:]]):
            feeds = feed_at(self.fill, self.recipe, sizes)
            calls = {"free": lambda: module(**feeds), "peer": lambda: peer.run(None, feeds)}
            if place == 0:
                bound = [word for name, size in sizes.items()
                         for word in ("--dim", f"{name}={size}")]
                artefact, row["bound_compile_s"] = self.compiled("bound", *bound, *self.sums(sizes))
                row["compile_ratio"] = seconds / row["bound_compile_s"]
                module_at = self.loaded(artefact)
                calls["bound"] = lambda: module_at(**feeds)
            times = medians(calls, self.arguments.rounds)
            ratios = {f"over_{name}": times["free"] / value
                      for name, value in times.items() if name != "free"}
            row["race"].append({**sizes, **ratios})

    def usual(self):
        said = run(self.arguments.tcc, "inspect", self.folder / f"{self.name}.free.tcc", "--json")
        rows = json.loads(said.stdout)["dimensions"]
        given = {row["name"]: row["usual"] for row in rows}
        return {name: given.get(name, 8) for name in self.recipe["feeds"][0]}

    def sums(self, sizes):
        """Options that bind dimensions whose name is a sum, or that exporters named anew."""
        session = session_of(self.model, 1, best=False)
        words = []
        for value, spec in zip(session.get_inputs(), self.recipe["inputs"], strict=True):
            for name, dim in zip(value.shape, spec["shape"], strict=True):
                if isinstance(name, str) and name not in sizes and name not in words:
                    words += ["--dim", f"{name}={self.fill.dimension(dim, sizes)}"]
        return words


def text_of(row):
    if "error" in row:
        return f"{row['network']:28} {row['error']}"
    words = [f"{row['network']:28} {len(row['sizes'])} sizes, difference {row['difference']:.1e}"]
    words += [f"FAILED {failure}" for failure in row["failed"]]
    words += [f"refused by both {failure}" for failure in row["refused"]]
    for race in row.get("race", []):
        sizes = " ".join(f"{k}={v}" for k, v in race.items() if not k.startswith("over_"))
        ratios = " ".join(f"{k[5:]} {v:.3f}" for k, v in race.items() if k.startswith("over_"))
        words.append(f"free over: {ratios} ({sizes})")
    if "compile_ratio" in row:
        words.append(f"compile time over bound {row['compile_ratio']:.2f}")
    return "\n    ".join(words)


def main():
    arguments = arguments_of()
    os.environ.setdefault("TCC_LIBRARY", arguments.library)
    os.environ.setdefault("TCC_PROGRAM", arguments.tcc)
    sys.path[:0] = [str(ROOT / "python"), str(arguments.recipes)]
    fill, tcc = importlib.import_module("fill"), importlib.import_module("tcc")
    rows = []
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.keep or pathlib.Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        for name in arguments.networks:
            try:
                row = Network(arguments, fill, tcc, name, folder).judge()
            except RuntimeError as error:
                row = {"network": name, "error": re.sub(r"\s+", " ", str(error))[:400]}
            rows.append(row)
            if not arguments.json:
                print(text_of(row), flush=True)
            if arguments.keep is None:
                for file in folder.iterdir():
                    file.unlink()
    if arguments.json:
        print(json.dumps(rows, indent=1))
    bad = [row for row in rows if "error" in row or row["failed"]
           or row["difference"] > row["tolerance"]]
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
