#!/usr/bin/env python3
"""usage: torch_networks.py [--tcc FILE] [--rounds 3] [--replays 50] [--json FILE]
                         [--markdown FILE] NAME[=OUT.tcc]...

Latency of networks of `tcc zoo` as modules of PyTorch, with random weights, on the GPU: eager, and
in one CUDA graph; strict float32 (no tf32), cuDNN's benchmark on. Of several layouts or kinds of
attention the fastest graph counts, and `variant` names it. Where NAME=OUT.tcc names what
`tcc compile` wrote, that takes turns with the graph, round by round, by `tcc bench`; the ratio is
tcc's time over the graph's, of medians of the rounds. A run is that of `tcc bench`: inputs come
from the host and outputs go there. `device_ms` is the graph alone, replays between two events.

Files are written after each network. A network that fails is told in its row, and one that neither
torchvision nor transformers has is left out with a message. Ends with 5 without torch or its GPU.
"""

import argparse
import importlib
import json
import pathlib
import statistics
import subprocess
import sys
import time

try:
    import torch
except ImportError as error:
    print(f"torch_networks.py: no torch: {error}", file=sys.stderr)
    sys.exit(5)

WARM_UP = 3
# name: function of torchvision.models, shape of the input
VISION = {"resnet18": ("resnet18", (1, 3, 224, 224)), "resnet50": ("resnet50", (1, 3, 224, 224)),
          "mobilenet_v2": ("mobilenet_v2", (1, 3, 224, 224)),
          "vit_b_16": ("vit_b_16", (1, 3, 224, 224)),
          "r3d_18": ("video.r3d_18", (1, 3, 16, 112, 112))}
TOKENS = 128


def vision_variants(function, shape):
    """Both layouts: channels first and last."""
    models = importlib.import_module("torchvision.models")
    for part in function.split("."):
        models = getattr(models, part)
    last = torch.channels_last if len(shape) == 4 else torch.channels_last_3d
    for layout in (torch.contiguous_format, last):
        module = models(weights=None).eval().cuda().to(memory_format=layout)
        x = torch.randn(shape, device="cuda").contiguous(memory_format=layout)
        yield str(layout).removeprefix("torch."), [x], module


def bert_variants():
    """Attention in one kernel, and as products and a softmax."""
    transformers = importlib.import_module("transformers")
    inputs = {"input_ids": torch.randint(0, 30522, (1, TOKENS), device="cuda"),
              "attention_mask": torch.ones((1, TOKENS), dtype=torch.int64, device="cuda"),
              "token_type_ids": torch.zeros((1, TOKENS), dtype=torch.int64, device="cuda")}
    for attention in ("sdpa", "eager"):
        config = transformers.BertConfig(attn_implementation=attention)
        module = transformers.BertModel(config).eval().cuda()
        yield (f"attention {attention}", list(inputs.values()),
               lambda *_, module=module: tuple(module(**inputs).values()))


def variants_of(name):
    """(its name, inputs, module) of each variant; None if there is no module."""
    if name in VISION:
        return vision_variants(*VISION[name])
    return bert_variants() if name == "bert_base" else None


class Network:
    """A module and its inputs, on the device and on the host, run eagerly or as one CUDA graph."""

    def __init__(self, inputs, module):
        self.inputs, self.module = inputs, module
        self.host = [tensor.cpu() for tensor in inputs]
        self.graph = None

    def capture(self):
        """Warms up on another stream, as capturing wants it."""
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(WARM_UP):
                self.module(*self.inputs)
        torch.cuda.current_stream().wait_stream(stream)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            self.outputs = self.module(*self.inputs)
        self.graph = graph

    def run(self):
        for tensor, host in zip(self.inputs, self.host):
            tensor.copy_(host)
        if self.graph:
            self.graph.replay()
        else:
            self.outputs = self.module(*self.inputs)
        outputs = self.outputs if isinstance(self.outputs, tuple) else (self.outputs,)
        return [tensor.cpu() for tensor in outputs]

    def median_ms(self, runs):
        times = []
        for run in range(WARM_UP + runs):
            start = time.perf_counter()
            self.run()
            if run >= WARM_UP:
                times.append((time.perf_counter() - start) * 1e3)
        return statistics.median(times)

    def device_ms(self, runs):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        for _ in range(runs):
            self.graph.replay()
        end.record()
        end.synchronize()
        return begin.elapsed_time(end) / runs


def fastest_variant(name, runs):
    """(network, row) of the variant with the fastest graph; an error if none can be captured."""
    found, failures = [], []
    for variant, inputs, module in variants_of(name):
        network = Network(inputs, module)
        try:
            row = {"variant": variant, "eager_ms": network.median_ms(runs)}
            network.capture()
            row["device_ms"] = network.device_ms(runs)
            found.append((network, row))
        except RuntimeError as error:
            failures.append(f"{variant}: {error}".splitlines()[0])
    if not found:
        raise RuntimeError("; ".join(failures))
    return min(found, key=lambda pair: pair[1]["device_ms"])


def ours_ms(tcc, artefact, runs):
    said = subprocess.run([tcc, "bench", artefact, "--iterations", str(runs), "--json"],
                          capture_output=True, text=True, check=True)
    return json.loads(said.stdout)["median_ms"]


def measure(name, artefact, options):
    """The network's row, in turns with the artefact where there is one."""
    network, row = fastest_variant(name, options.replays)
    graphs, ours = [], []
    for _ in range(options.rounds):
        graphs.append(network.median_ms(options.replays))
        if artefact and pathlib.Path(artefact).exists():
            ours.append(ours_ms(options.tcc, artefact, options.replays))
    row["graph_ms"] = statistics.median(graphs)
    if ours:
        row["ours_ms"] = statistics.median(ours)
        row["ratio"] = row["ours_ms"] / row["graph_ms"]
    return {"model": name, **row}


def write(rows, options):
    if options.json:
        about = {"device": torch.cuda.get_device_name(), "torch": torch.__version__,
                 "cudnn": torch.backends.cudnn.version(), "rows": rows}
        options.json.write_text(json.dumps(about, indent=1) + "\n")
    if options.markdown:
        columns = ["model", "variant", "eager_ms", "device_ms", "graph_ms", "ours_ms", "ratio",
                   "failure"]
        lines = ["| " + " | ".join(columns) + " |", "|---|---|---:|---:|---:|---:|---:|---|"]
        for row in rows:
            cells = [row.get(column, "") for column in columns]
            lines.append("| " + " | ".join(f"{cell:.3f}" if isinstance(cell, float) else str(cell)
                                           for cell in cells) + " |")
        options.markdown.write_text("\n".join(lines) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("networks", nargs="+", metavar="NAME[=OUT.tcc]")
    parser.add_argument("--tcc", default="build/release/portable/tcc")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--replays", type=int, default=50)
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--markdown", type=pathlib.Path)
    options = parser.parse_args()
    if not torch.cuda.is_available():
        print("torch_networks.py: torch sees no GPU", file=sys.stderr)
        return 5

    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    torch.backends.cudnn.benchmark = True
    rows = []
    for network in options.networks:
        name, _, artefact = network.partition("=")
        if variants_of(name) is None:
            print(f"{name}: no module of torchvision or transformers")
            continue
        try:
            with torch.inference_mode():
                rows.append(measure(name, artefact, options))
        except (ImportError, RuntimeError, subprocess.CalledProcessError) as error:
            rows.append({"model": name, "failure": f"{error}".splitlines()[0]})
        print(rows[-1], flush=True)
        write(rows, options)
    return 1 if any("failure" in row for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
