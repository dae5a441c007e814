#!/usr/bin/env python3
"""usage: networks.py [--tcc FILE] [--before FILE] [--tune TIME] [--threads 2] [--rounds 5]
                   [--iterations 10] [--json] [--machine NAME] M.onnx...

Latency of tcc, ONNX Runtime and OpenVINO on the same models in the same run. The three take turns,
round by round, so that a busy machine is busy for all of them; each round is one `tcc bench` of
some iterations and as many inferences of the others, after a warm-up. The figure is the median of
the rounds' medians; the ratio is tcc's over the faster peer's. Also what compiling takes. --before is
the tcc of an earlier tree, which takes its turns too, and whose artefact is compared. A model that
OpenVINO cannot read is compared with ONNX Runtime alone. --tune 5m
tunes each model for so long first; what is compiled with that takes its turns too, is checked against
the reference, and its gain is the median over rounds of the ratio of both least times. --json prints
what bench/results/MACHINE/networks.json holds, which README.md shows (scripts/readme_figures.py).
Needs the venv that scripts/setup.sh makes.
"""

import datetime
import importlib.metadata
import json
import pathlib
import statistics
import sys
import tempfile
import time

import numpy
import onnxruntime
import openvino

from tcc_program import compile_model, parser_of, run, shape_options

WARM_UP = 3


TYPES = {"tensor(float)": numpy.float32, "tensor(float16)": numpy.float16,
         "tensor(double)": numpy.float64, "tensor(int64)": numpy.int64,
         "tensor(int32)": numpy.int32, "tensor(uint8)": numpy.uint8, "tensor(int8)": numpy.int8,
         "tensor(bool)": numpy.bool_}


def feeds_of(model):
    """What lies in the folder M beside M.onnx as input_<i>.npy (fill.py --reference writes it), or
    random inputs: free dimensions become 1, integers are 0 or 1."""
    draw = numpy.random.default_rng(0)
    session = onnxruntime.InferenceSession(str(model), providers=["CPUExecutionProvider"])
    feeds = {}
    for i, value in enumerate(session.get_inputs()):
        stored = model.with_suffix("") / f"input_{i}.npy"
        if stored.exists():
            feeds[value.name] = numpy.load(stored)
            continue
        shape = [d if isinstance(d, int) else 1 for d in value.shape]
        dtype = TYPES[value.type]
        is_float = numpy.issubdtype(dtype, numpy.floating)
        numbers = draw.standard_normal(shape) if is_float else draw.integers(0, 2, shape)
        feeds[value.name] = numpy.asarray(numbers).astype(dtype)
    return feeds


def median_ms(infer, iterations):
    for _ in range(WARM_UP):
        infer()
    times = []
    for _ in range(iterations):
        start = time.perf_counter()
        infer()
        times.append((time.perf_counter() - start) * 1e3)
    return statistics.median(times)


def shapes_of(feeds):
    return shape_options((name, feed.shape) for name, feed in feeds.items())


class Tcc:
    def __init__(self, name, program, arguments, model, feeds, folder, options=()):
        self.name, self.program, self.arguments = name, program, arguments
        self.least = []
        self.artefact = folder / f"{model.stem}.{name}.tcc"
        _, self.compile_s = compile_model(program, model, arguments.target, self.artefact,
                                          arguments.threads, *shapes_of(feeds), *options)

    def median_ms(self, iterations):
        times = json.loads(run(self.program, "bench", self.artefact, "--iterations", iterations,
                               "--threads", self.arguments.threads, "--json").stdout)
        self.least.append(times["min_ms"])
        return times["median_ms"]


def tuned(arguments, model, feeds, folder):
    """What tcc makes of the model once it was tuned, held against the reference."""
    database = folder / f"{model.stem}.db"
    said = run(arguments.tcc, "tune", model, "--db", database, "--time-budget", arguments.tune,
               "--threads", arguments.threads, "--target", arguments.target, *shapes_of(feeds),
               "--progress", "none")
    if not arguments.json:
        print("\n".join(f"  {line}" for line in said.stdout.splitlines()[-4:]), flush=True)
    made = Tcc("tuned", arguments.tcc, arguments, model, feeds, folder, ["--db", database])
    run(arguments.tcc, "check", model, made.artefact, *shapes_of(feeds))
    return made


class OnnxRuntime:
    name = "onnxruntime"

    def __init__(self, arguments, model, feeds):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = arguments.threads
        options.inter_op_num_threads = 1
        self.session = onnxruntime.InferenceSession(str(model), options, ["CPUExecutionProvider"])
        self.feeds = feeds

    def median_ms(self, iterations):
        return median_ms(lambda: self.session.run(None, self.feeds), iterations)


class OpenVino:
    name = "openvino"

    def __init__(self, arguments, model, feeds):
        core = openvino.Core()
        network = core.read_model(str(model))
        network.reshape({name: list(value.shape) for name, value in feeds.items()})
        # Full precision, as the others: where the CPU has bfloat16, OpenVINO would take that.
        settings = {"INFERENCE_NUM_THREADS": arguments.threads, "NUM_STREAMS": 1,
                    "PERFORMANCE_HINT": "LATENCY", "INFERENCE_PRECISION_HINT": "f32"}
        self.request = core.compile_model(network, "CPU", settings).create_infer_request()
        self.feeds = feeds

    def median_ms(self, iterations):
        return median_ms(lambda: self.request.infer(self.feeds), iterations)


def measure(arguments, model, folder):
    feeds = feeds_of(model)
    tcc = Tcc("tcc", arguments.tcc, arguments, model, feeds, folder)
    peers = [OnnxRuntime(arguments, model, feeds)]
    try:
        peers.append(OpenVino(arguments, model, feeds))
    except Exception as error:  # operators of com.microsoft, for one
        print(f"{model.stem}: not by OpenVINO: {str(error).splitlines()[0]}", file=sys.stderr)
    contenders = [tcc, *peers]
    before = None
    if arguments.before:
        before = Tcc("before", arguments.before, arguments, model, feeds, folder)
        contenders.append(before)
    after = None
    if arguments.tune:
        after = tuned(arguments, model, feeds, folder)
        contenders.insert(1, after)  # right after what it is compared with
    times = {contender.name: [] for contender in contenders}
    for _ in range(arguments.rounds):
        for contender in contenders:
            times[contender.name].append(contender.median_ms(arguments.iterations))
    row = {"model": model.stem, "compile_s": tcc.compile_s}
    row |= {f"{name}_ms": statistics.median(values) for name, values in times.items()}
    fastest = min(row[f"{peer.name}_ms"] for peer in peers)
    row["ratio"] = row["tcc_ms"] / fastest
    if before:
        row["ratio_before"] = row["tcc_ms"] / row["before_ms"]
        row["same_artefact"] = tcc.artefact.read_bytes() == before.artefact.read_bytes()
        before.artefact.unlink()
    if after:
        gains = sorted(a / b for a, b in zip(tcc.least, after.least))
        row["gain"] = statistics.median(gains)
        row["gain_quartiles"] = [gains[len(gains) // 4], gains[len(gains) * 3 // 4]]
        row["gain_of_least"] = min(tcc.least) / min(after.least)
        row["ratio_tuned"] = row["tuned_ms"] / fastest
        after.artefact.unlink()
    tcc.artefact.unlink()
    return row


def this_cpu():
    lines = pathlib.Path("/proc/cpuinfo").read_text().splitlines()
    return next(line.split(":")[1].strip() for line in lines if line.startswith("model name"))


def result(arguments, rows):
    versions = [f"{name} {importlib.metadata.version(name.replace(' ', '').lower())}"
                for name in ("ONNX Runtime", "OpenVINO")]
    return {"machine": f"{arguments.machine or this_cpu()}, {arguments.threads} threads",
            "date": f"{datetime.date.today()}", "peer": f"the faster of {' and '.join(versions)}",
            "conditions": "strict", "rows": rows}


def told_of_before(row):
    if "before_ms" not in row:
        return ""
    return f"  {row['ratio_before']:5.3f}x, {'same' if row['same_artefact'] else 'another'} artefact"


def told_of_tuned(row):
    if "gain" not in row:
        return ""
    low, high = row["gain_quartiles"]
    return (f"  {row['gain']:5.3f}x ({low:.3f} to {high:.3f}), of least {row['gain_of_least']:5.3f}x, "
            f"ratio {row['ratio_tuned']:5.2f}x")


def main():
    parser = parser_of(__doc__.split("\n\n")[1])
    parser.add_argument("--before", help="tcc of an earlier tree")
    parser.add_argument("--tune", metavar="TIME", help="tune for so long, as tcc tune has it")
    parser.add_argument("--target", default="native")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--iterations", type=int, default=10)
    parser.add_argument("--machine", metavar="NAME", help="in place of the CPU's name; with --json")
    arguments = parser.parse_args()
    rows = []
    if not arguments.json:
        print(f"{'model':28} {'compile':>9} {'tcc':>10} {'onnxruntime':>12} {'openvino':>10} "
              f"{'ratio':>7}" + ("  to before" if arguments.before else "")
              + ("  gain by tuning" if arguments.tune else ""))
    with tempfile.TemporaryDirectory() as folder:
        for model in arguments.models:
            row = measure(arguments, model, pathlib.Path(folder))
            rows.append(row)
            if not arguments.json:
                openvino = f"{row['openvino_ms']:7.2f}" if "openvino_ms" in row else f"{'-':>7}"
                print(f"{row['model']:28} {row['compile_s']:7.2f} s {row['tcc_ms']:7.2f} ms "
                      f"{row['onnxruntime_ms']:9.2f} ms {openvino} ms "
                      f"{row['ratio']:6.2f}x{told_of_before(row)}{told_of_tuned(row)}", flush=True)
    if arguments.json:
        json.dump(result(arguments, rows), sys.stdout, indent=1)
        print()


if __name__ == "__main__":
    main()
