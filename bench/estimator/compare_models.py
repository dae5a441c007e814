#!/usr/bin/env python3
"""usage: compare_models.py --records FILE.jsonl[.xz] --target TARGET [--tcc FILE] [--bench FILE]
                         [--folds 5] [--seeds 1] [--epochs 40] [-o TABLE.md]

Sets models of the time of a schedule side by side on the same held-out tasks: the prior as it is
shipped and fitted, the network of `tcc cost-model train`, nearest neighbours and boosted trees. All
but the network learn from what `tcc cost-model features` writes. Workloads are dealt to folds;
each fold is predicted by models that saw the others alone, the constants of the prior included.
--records is an export of `tcc db export`. Needs numpy and lightgbm: a venv of its own will do
(python3 -m venv V && V/bin/pip install numpy lightgbm).
"""

import argparse
import csv
import hashlib
import json
import lzma
import pathlib
import re
import subprocess
import tempfile
import time

import lightgbm
import numpy

NEIGHBOURS = 5
# What tcc cost-model eval judges by (autodiff_features/rank_quality.h).
LEAST_POINTS, PAIRS_WITHIN, SOME = 16, 3.0, 16
TREES = {"verbosity": -1, "num_threads": 1, "seed": 1, "deterministic": True,
         "learning_rate": 0.05, "num_leaves": 31, "min_data_in_leaf": 10, "feature_fraction": 0.7}
ROUNDS = 300
PAIR_SCALE = 0.1  # of ln seconds: a unit of the trees' scores, as in the network's loss
LEVELS = 32  # of relevance: the share of its task's best speed that a point reaches


def read_lines(path):
    opened = lzma.open if path.suffix == ".xz" else open
    with opened(path, "rt", encoding="utf-8") as file:
        return file.read().splitlines(keepends=True)


def write_export(lines, keeps, path):
    """The export's lines without the measurements of workloads that `keeps` refuses."""
    records, digest = 0, hashlib.sha256()
    with open(path, "w", encoding="utf-8") as file:
        for line in lines[:-1]:
            fields = json.loads(line)
            if "trace" in fields:
                if not keeps(fields["workload"]):
                    continue
                records += 1
            digest.update(line.encode())
            file.write(line)
        end = json.loads(lines[-1])
        end.update(records=records, sha256=digest.hexdigest())
        file.write(json.dumps(end) + "\n")


class Points:
    """Measured points with their features, nests pooled by their shares of the prior's time."""

    def __init__(self, path):
        with open(path, encoding="utf-8", newline="") as file:
            rows = list(csv.reader(file))
        first = rows[0].index("nest") + 1
        times = [name.endswith("seconds") for name in rows[0][first:]]
        columns = {name: i for i, name in enumerate(rows[0][:first])}
        values = numpy.array(rows[1:], float)
        of_record = values[:, 0].astype(int)
        features = values[:, first:]
        logs = numpy.where(times, numpy.log(numpy.maximum(features, 1e-9)),
                           numpy.log1p(numpy.maximum(features, 0)))
        self.records, starts, inverse = numpy.unique(of_record, return_index=True,
                                                     return_inverse=True)
        shares = features[:, -1] / numpy.bincount(inverse, features[:, -1])[inverse]
        pooled = numpy.zeros((len(self.records), logs.shape[1]))
        numpy.add.at(pooled, inverse, shares[:, None] * logs)
        of_points = values[starts]
        self.ln_prior = of_points[:, columns["ln_prior"]]
        self.features = numpy.column_stack([pooled, self.ln_prior, numpy.bincount(inverse)])
        self.task = of_points[:, columns["task"]].astype(int)
        self.seconds = of_points[:, columns["measured_seconds"]]
        self.noise = of_points[:, columns["noise"]]
        self.precise = of_points[:, columns["precise"]] > 0
        self.constructed = of_points[:, columns["constructed"]] > 0


def by_neighbours(points, trained, held):
    """Mean error of the prior at the nearest points of the training set, by distance."""
    mean = points.features[trained].mean(0)
    deviation = numpy.maximum(points.features[trained].std(0), 1e-3)
    scaled = (points.features - mean) / deviation
    errors = numpy.log(points.seconds[trained]) - points.ln_prior[trained]
    known = scaled[trained]
    norms = (known**2).sum(1)
    began = time.perf_counter()
    predicted = []
    for some in numpy.array_split(scaled[held], max(1, held.sum() // 256)):
        squares = numpy.maximum((some**2).sum(1)[:, None] - 2 * some @ known.T + norms, 0)
        nearest = numpy.argpartition(squares, NEIGHBOURS, axis=1)[:, :NEIGHBOURS]
        weights = 1 / (1e-2 + numpy.take_along_axis(squares, nearest, 1))
        predicted.append((weights * errors[nearest]).sum(1) / weights.sum(1))
    corrections = numpy.concatenate(predicted)
    return points.ln_prior[held] + corrections, time.perf_counter() - began


def by_ranking_trees(points, trained, held):
    """LambdaRank from the prior's order; a query is a task. Predictions are no times."""
    order = numpy.flatnonzero(trained)[numpy.argsort(points.task[trained], kind="stable")]
    tasks, sizes = numpy.unique(points.task[order], return_counts=True)
    best = {task: points.seconds[order][points.task[order] == task].min() for task in tasks}
    speed = numpy.array([best[points.task[i]] / points.seconds[i] for i in order])
    levels = numpy.minimum((speed * LEVELS).astype(int), LEVELS - 1)
    prior = -points.ln_prior / PAIR_SCALE
    data = lightgbm.Dataset(points.features[order], levels, group=sizes, init_score=prior[order])
    options = {"objective": "lambdarank", "label_gain": list(range(LEVELS)),
               "lambdarank_truncation_level": 100}
    trees = lightgbm.train({**TREES, **options}, data, ROUNDS)
    began = time.perf_counter()
    gains = trees.predict(points.features[held], num_threads=1)
    return -(prior[held] + gains), time.perf_counter() - began


def by_regression_trees(points, trained, held):
    """Squares of the prior's error in ln seconds."""
    errors = numpy.log(points.seconds) - points.ln_prior
    data = lightgbm.Dataset(points.features[trained], errors[trained])
    trees = lightgbm.train({**TREES, "objective": "regression"}, data, ROUNDS)
    began = time.perf_counter()
    corrections = trees.predict(points.features[held], num_threads=1)
    return points.ln_prior[held] + corrections, time.perf_counter() - began


LEARNERS = {"nearest neighbours": by_neighbours, "boosted trees, rank": by_ranking_trees,
            "boosted trees, squares": by_regression_trees}


class Quality:
    """The figures of tcc cost-model eval over tasks that are added one by one."""

    def __init__(self):
        self.right = self.pairs = 0
        self.first, self.of_some = [], []
        self.seconds, self.points = 0.0, 0

    def add_task(self, points, members, predicted):
        seconds, noise = points.seconds[members], points.noise[members]
        near = points.precise[members] & (seconds <= PAIRS_WITHIN * seconds.min())
        times, guesses, noises = numpy.log(seconds[near]), predicted[near], noise[near]
        apart = times[:, None] - times
        counts = apart > noises[:, None] + noises
        ahead = guesses[:, None] - guesses
        self.pairs += counts.sum()
        self.right += (counts & (ahead > 0)).sum() + 0.5 * (counts & (ahead == 0)).sum()
        if len(seconds) < LEAST_POINTS:
            return
        order = numpy.lexsort((-seconds, predicted))
        self.first.append(seconds[order[0]] / seconds.min() - 1)
        self.of_some.append(seconds[order[:SOME]].min() / seconds.min() - 1)

    def row(self, name):
        pace = f"{1e6 * self.seconds / self.points:.2f}" if self.points else ""
        first, some = 100 * numpy.mean(self.first), 100 * numpy.mean(self.of_some)
        return (f"| {name} | {self.right / self.pairs:.3f} | {first:.1f} % | {some:.1f} % | "
                f"{pace} |")


def run(*words, result="stderr"):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True,
                          check=False)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, words))}\n{done.stderr}")
    return getattr(done, result)


class Comparison:
    def __init__(self, given, folder):
        self.given, self.folder = given, folder
        self.lines = read_lines(given.records)
        self.export = folder / "all.jsonl"
        write_export(self.lines, lambda workload: True, self.export)
        measured = [json.loads(line) for line in self.lines]
        self.workloads = [o["workload"] for o in measured if "trace" in o]
        self.names = sorted(set(self.workloads))
        self.shipped = self.points_of().ln_prior
        self.qualities = {}

    def quality(self, name):
        return self.qualities.setdefault(name, Quality())

    def points_of(self, *options):
        path = self.folder / "features.csv"
        run(self.given.tcc, "cost-model", "features", "--records", self.export, "--target",
            self.given.target, "-o", path, *options)
        return Points(path)

    def by_network(self, points, model):
        """(ln seconds of the points, seconds that one takes)"""
        out = self.folder / "predicted"
        said = run(self.given.bench, "estimate", "--records", self.export, "--target",
                   self.given.target, "--predict", out, "--model", model)
        lines = out.read_text().splitlines()
        pace = float(re.search(r"takes ([0-9.]+) us", said)[1])
        return numpy.array([float(lines[r].split()[1]) for r in points.records]), 1e-6 * pace

    def judge(self, name, points, held, predicted, seconds=0.0):
        quality = self.quality(name)
        quality.seconds += seconds
        quality.points += held.sum() if seconds else 0
        everywhere = numpy.full(len(held), numpy.nan)
        everywhere[held] = predicted
        for task in numpy.unique(points.task[held]):
            members = points.task == task
            quality.add_task(points, members, everywhere[members])

    def fold(self, number, workloads, seed):
        training, model = self.folder / "train.jsonl", self.folder / "fold.model"
        write_export(self.lines, lambda workload: workload not in workloads, training)
        run(self.given.tcc, "cost-model", "train", "--records", training, "--target",
            self.given.target, "--held-out", "0", "--seed", seed, "--epochs", self.given.epochs,
            "-o", model)
        points = self.points_of("--start", model)
        held = numpy.array([self.workloads[r] in workloads for r in points.records])
        by_network, pace = self.by_network(points, model)
        self.judge("prior, as shipped", points, held, self.shipped[held])
        self.judge("prior, fitted", points, held, points.ln_prior[held])
        self.judge("network", points, held, by_network[held], pace * held.sum())
        for name, learner in LEARNERS.items():
            predicted, seconds = learner(points, ~held, held)
            self.judge(name, points, held, predicted, seconds)
        print(f"seed {seed}, fold {number}: {held.sum()} of {len(held)} points held out",
              flush=True)

    def table(self):
        """Every task is held out once a seed, so that all records have the same draw and start."""
        figures = json.loads(run(self.given.bench, "estimate", "--records", self.export, "--target",
                                 self.given.target, "--json", result="stdout"))
        rows = ["| model | pairs in order | first pick | best of 16 | us a prediction |",
                "|---|---|---|---|---|"]
        rows += [quality.row(name) for name, quality in self.qualities.items()]
        first, some = figures["regret_first"], figures["regret_16"]
        rows.append(f"| random | 0.500 | {100 * first['random']:.1f} % | "
                    f"{100 * some['random']:.1f} % | |")
        if "start" in first:
            start = f"{100 * first['start']:.1f} %"
            rows.append(f"| what is compiled without a search | | {start} | | |")
        return "\n".join(rows) + "\n"


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--records", type=pathlib.Path, required=True)
    parser.add_argument("--target", required=True)
    parser.add_argument("--tcc", default="build/release/bin/tcc")
    parser.add_argument("--bench", default="build/release/bin/tcc-bench")
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--epochs", type=int, default=40)
    parser.add_argument("-o", "--output", type=pathlib.Path)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        comparison = Comparison(given, pathlib.Path(folder))
        for seed in range(1, given.seeds + 1):
            dealt = numpy.random.default_rng(seed).permutation(len(comparison.names))
            for number in range(given.folds):
                chosen = {comparison.names[i] for i in dealt[number::given.folds]}
                comparison.fold(number, chosen, seed)
        table = comparison.table()
        judged = comparison.quality("network")
        print(f"{table}{judged.pairs} pairs, {len(judged.first)} tasks with {LEAST_POINTS} points")
        if given.output:
            given.output.write_text(table)


if __name__ == "__main__":
    main()
