#!/usr/bin/env python3
"""Draws what `tcc-bench search --csv` wrote: mean regret over trials, a panel a kernel.

    search_curves.py prior.csv nearest.csv -o bench/results/search/zen3

writes OUT.csv (mean ln regret of each kernel, searcher and kind of estimates after 1, 2, 4, ..
trials) and OUT.svg.
"""

import argparse
import collections
import csv
import math
import pathlib

MOST_REGRET = 5.0  # of a run without a right candidate
COLOURS = {"random": "#888888", "coordinate": "#b8860b", "evolutionary": "#1f77b4",
           "annealing": "#17a2b8", "rtile": "#2ca02c", "gradient": "#d62728", "auto": "#000000"}
DASHES = {"prior": "", "online": "12 3 2 3", "full": "8 3", "full-online": "8 3 2 3", "nearest": "2 3"}
WIDTH, HEIGHT, MARGIN, TITLE = 420, 280, 46, 22


def mean_curves(paths):
    """Mean ln regret by (kernel, searcher, estimates), a list over trials."""
    sums = collections.defaultdict(lambda: collections.defaultdict(list))
    for path in paths:
        with open(path, newline="", encoding="utf-8") as file:
            for row in csv.DictReader(file):
                key = (row["kernel"], row["searcher"], row["estimates"])
                regret = min(float(row["ln_regret"]), MOST_REGRET)
                sums[key][int(row["trial"])].append(regret)
    return {key: [sum(runs[t]) / len(runs[t]) for t in sorted(runs)] for key, runs in sums.items()}


def checkpoints(length):
    return [2**k for k in range(20) if 2**k <= length]


def write_table(curves, path):
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        length = max(len(curve) for curve in curves.values())
        writer.writerow(["kernel", "searcher", "estimates", *checkpoints(length)])
        for key, curve in sorted(curves.items()):
            writer.writerow([*key, *(f"{curve[t - 1]:.4f}" for t in checkpoints(len(curve)))])


def panel(kernel, curves, left, top):
    """The SVG of one kernel: trials on a logarithmic axis, regret on a linear one."""
    own = {key[1:]: curve for key, curve in curves.items() if key[0] == kernel}
    length = max(len(curve) for curve in own.values())
    most = max(max(curve[min(7, len(curve) - 1)] for curve in own.values()), 0.05)

    def x(trial):
        return left + MARGIN + (WIDTH - MARGIN - 10) * math.log(trial) / math.log(max(length, 2))

    def y(regret):
        return top + TITLE + (HEIGHT - TITLE - MARGIN) * (1 - min(regret / most, 1))

    parts = [f'<text x="{left + MARGIN}" y="{top + 14}" font-weight="bold">{kernel}</text>']
    for trial in checkpoints(length):
        parts.append(f'<text x="{x(trial):.1f}" y="{y(0) + 16:.1f}" text-anchor="middle">'
                     f'{trial}</text>')
    for step in range(5):
        regret = most * step / 4
        parts.append(f'<line x1="{x(1):.1f}" x2="{x(length):.1f}" y1="{y(regret):.1f}" '
                     f'y2="{y(regret):.1f}" stroke="#dddddd"/>')
        parts.append(f'<text x="{x(1) - 6:.1f}" y="{y(regret) + 4:.1f}" text-anchor="end">'
                     f'{regret:.2f}</text>')
    for (searcher, estimates), curve in sorted(own.items()):
        points = " ".join(f"{x(t):.1f},{y(r):.1f}" for t, r in enumerate(curve, 1))
        parts.append(f'<polyline fill="none" stroke="{COLOURS.get(searcher, "#9467bd")}" '
                     f'stroke-width="1.5" stroke-dasharray="{DASHES.get(estimates, "")}" '
                     f'points="{points}"/>')
    return parts


def legend(curves, top):
    parts, left = [], MARGIN
    for searcher in sorted({key[1] for key in curves}):
        colour = COLOURS.get(searcher, "#9467bd")
        parts.append(f'<line x1="{left}" x2="{left + 18}" y1="{top}" y2="{top}" '
                     f'stroke="{colour}" stroke-width="2"/>')
        parts.append(f'<text x="{left + 22}" y="{top + 4}">{searcher}</text>')
        left += 105
    for row, estimates in enumerate(sorted({key[2] for key in curves})):
        parts.append(f'<line x1="{MARGIN + 160 * row}" x2="{MARGIN + 160 * row + 30}" '
                     f'y1="{top + 20}" y2="{top + 20}" stroke="#000000" '
                     f'stroke-dasharray="{DASHES.get(estimates, "")}"/>')
        parts.append(f'<text x="{MARGIN + 160 * row + 36}" y="{top + 24}">by {estimates}</text>')
    return parts


def write_plot(curves, path):
    kernels = sorted({key[0] for key in curves})
    rows = (len(kernels) + 1) // 2
    height = rows * HEIGHT + 60
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {2 * WIDTH} {height}" '
             'font-family="sans-serif" font-size="11">',
             f'<rect width="{2 * WIDTH}" height="{height}" fill="#ffffff"/>']
    for place, kernel in enumerate(kernels):
        parts += panel(kernel, curves, place % 2 * WIDTH, place // 2 * HEIGHT)
    parts += legend(curves, rows * HEIGHT + 10)
    parts.append(f'<text x="{MARGIN}" y="{height - 8}">mean ln(seconds / best) over trials</text>')
    parts.append("</svg>")
    pathlib.Path(path).write_text("\n".join(parts) + "\n", encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="+", help="what tcc-bench search --csv wrote")
    parser.add_argument("-o", required=True, help="path of the results without its ending")
    arguments = parser.parse_args()
    curves = mean_curves(arguments.files)
    pathlib.Path(arguments.o).parent.mkdir(parents=True, exist_ok=True)
    write_table(curves, arguments.o + ".csv")
    write_plot(curves, arguments.o + ".svg")


if __name__ == "__main__":
    main()
