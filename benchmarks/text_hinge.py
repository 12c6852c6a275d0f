"""Hinge loss on sparse text: maxmargin against LIBLINEAR at equal accuracy, and the price of the offset.

    python benchmarks/text_hinge.py            # IMDB and 20 newsgroups, from MAXMARGIN_DATA; writes results/
    python benchmarks/text_hinge.py --short    # a small generated text; prints only

LIBLINEAR (-s 3, no bias: the same problem) is run at a ladder of its own tolerances; counted is the cheapest
one whose objective is within ε of the certified optimum. maxmargin is run at tol = ε and must certify it.
Both use one thread; data are in each side's favourite form (values are rounded to single precision once, so
that both hold the same numbers, LIBLINEAR in its own nodes of doubles), their preparation is not counted.
Runs are interleaved, times are medians of wall-clock seconds. Memory is what the process grows by during a
fit, as a share of the data (values, indices and row starts).
"""

from __future__ import annotations

import os

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # before NumPy is imported

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from liblinear.liblinear import parameter, problem
from liblinear.liblinearutil import train as liblinear_train
from support import has_folder, machine, task
from support.generated import generated_text

from maxmargin import train

RESULTS = Path(__file__).parent / "results"
STEM = "text_hinge"
TARGETS = (1e-2, 1e-4)
VALUES_OF_C = (1.0, 10.0)
LADDER = (3.0, 2.0, 1.0, 0.5, 0.3, 0.2, 0.1, 0.05, 0.03, 0.02, 0.01, 0.005, 0.003, 0.001)


def objective(X: Any, y: np.ndarray, w: np.ndarray, C: float) -> float:
    return float(0.5 * w @ w + C * np.maximum(0, 1 - y * (X @ w)).sum())


# Run by a fresh process, whose memory holds nothing but the data: what a fit adds at its peak, in bytes.
MEASURE_GROWTH = """
import sys, numpy, scipy.sparse
from pathlib import Path
from maxmargin import train

def resident(name):
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * int(next(line for line in lines if line.startswith(name)).split()[1])

X, y = scipy.sparse.load_npz(sys.argv[1]), numpy.load(sys.argv[2])
train(X[:50], numpy.where(numpy.arange(50) % 2, 1, -1), max_iter=1, tol=1e9)  # everything is imported
Path("/proc/self/clear_refs").write_text("5")  # forget the peak so far
before = resident("VmRSS")
train(X, y, C=float(sys.argv[3]), tol=float(sys.argv[4]), n_jobs=1)
print(resident("VmHWM") - before)
"""


def growth(X: Any, y: np.ndarray, C: float, tol: float) -> int:
    """Return by how many bytes a fresh process grows at most while it fits."""
    with tempfile.TemporaryDirectory() as folder:
        rows, labels = str(Path(folder) / "rows.npz"), str(Path(folder) / "labels.npy")
        sp.save_npz(rows, X, compressed=False)
        np.save(labels, y)
        command = [sys.executable, "-c", MEASURE_GROWTH, rows, labels, str(C), str(tol)]
        return int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def seconds(fit: Callable[[], Any]) -> float:
    began = time.perf_counter()
    fit()
    return time.perf_counter() - began


def reaching(data: Any, X: Any, y: np.ndarray, C: float, most: float) -> tuple[float, float] | None:
    """Return LIBLINEAR's cheapest tolerance whose objective is at most `most`, and its excess."""
    for e in LADDER:
        model = liblinear_train(data, parameter(f"-s 3 -c {C:g} -B -1 -e {e:g} -q"))
        w = np.array(model.w[: X.shape[1]]) * (1 if model.label[0] == 1 else -1)
        reached = objective(X, y, w, C)
        if reached <= most:
            return e, reached
    return None


def compare(name: str, X: Any, y: np.ndarray, C: float, repeats: int) -> list[dict[str, Any]]:
    data = problem(y, X.astype(np.float64))
    bound = train(X, y, C=C, fit_intercept=False, tol=1e-7, n_jobs=1).certificate.bound
    size = X.data.nbytes + X.indices.nbytes + X.indptr.nbytes
    lines = []
    for target in TARGETS:
        found = reaching(data, X, y, C, (1 + target) * bound)

        def ours(offset: bool, target: float = target) -> Any:
            return train(X, y, C=C, fit_intercept=offset, tol=target, n_jobs=1)

        runs: dict[str, Callable[[], Any]] = {
            "ours": lambda ours=ours: ours(False),
            "ours, free offset": lambda ours=ours: ours(True),
        }
        if found is not None:
            setting = parameter(f"-s 3 -c {C:g} -B -1 -e {found[0]:g} -q")
            runs["LIBLINEAR"] = lambda setting=setting: liblinear_train(data, setting)
        times: dict[str, list[float]] = {title: [] for title in runs}
        for _ in range(repeats):
            for title, fit in runs.items():
                times[title].append(seconds(fit))
        line = {
            "task": name,
            "rows": X.shape[0],
            "columns": X.shape[1],
            "values": int(X.nnz),
            "C": C,
            "target": target,
            "liblinear_e": found[0] if found else None,
            "liblinear_excess": found[1] / bound - 1 if found else None,
            "gap": ours(False).certificate.relative_gap,
            "gap_offset": ours(True).certificate.relative_gap,
            "seconds": {title: float(np.median(spent)) for title, spent in times.items()},
            "memory": growth(X, y, C, target) / size,
        }
        lines.append(line)
        print(table_of([line]).splitlines()[-1], flush=True)
    return lines


def table_of(lines: list[dict[str, Any]]) -> str:
    out = [
        "| task | C | to | LIBLINEAR | ours | LIBLINEAR ÷ ours | ours, free offset | offset ÷ none | "
        "growth in memory |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for line in lines:
        spent = line["seconds"]
        peer = spent.get("LIBLINEAR")
        shown = "not reached" if peer is None else f"{peer:.3f} s (-e {line['liblinear_e']:g})"
        ratio = "–" if peer is None else f"**{peer / spent['ours']:.2f}**"
        out.append(
            f"| {line['task']} | {line['C']:g} | {line['target']:g} | {shown} | {spent['ours']:.3f} s | "
            f"{ratio} | {spent['ours, free offset']:.3f} s | "
            f"{spent['ours, free offset'] / spent['ours']:.2f} | {line['memory']:.2f} of the data |"
        )
    return "\n".join(out)


def draw(lines: list[dict[str, Any]]) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    colours = {"LIBLINEAR": "#D55E00", "ours": "#0072B2", "ours, free offset": "#56B4E9"}
    figure, axis = plt.subplots(figsize=(9, 0.62 * len(lines) + 1.4), layout="constrained")
    for at, line in enumerate(lines):
        for k, (title, colour) in enumerate(colours.items()):
            spent = line["seconds"].get(title)
            if spent is not None:
                label = title if at == 0 else None
                axis.barh(at + 0.26 * (k - 1), spent, height=0.24, color=colour, label=label)
                axis.text(spent, at + 0.26 * (k - 1), f" {spent:.2f}", va="center", fontsize=8)
    names = [f"{line['task']}, C = {line['C']:g}, to {line['target']:g}" for line in lines]
    axis.set_yticks(range(len(lines)), names)
    axis.invert_yaxis()
    axis.set_xlabel("seconds, one thread (median)")
    axis.spines[["top", "right"]].set_visible(False)
    axis.legend(frameon=False, loc="lower right")
    axis.set_title("Hinge loss on sparse text, at equal accuracy", loc="left")
    figure.savefig(RESULTS / f"{STEM}.png", dpi=150)


def write(lines: list[dict[str, Any]]) -> None:
    assert __doc__ is not None
    about = __doc__.split("\n\n", 2)[2].strip()
    (RESULTS / f"{STEM}.json").write_text(json.dumps(lines, indent=1) + "\n")
    text = f"# Hinge loss on sparse text\n\n{about}\n\n![Seconds]({STEM}.png)\n\n{table_of(lines)}\n\n"
    shapes = {line["task"]: line for line in lines}.values()
    text += "; ".join(
        f"{line['task']}: {line['rows']:,} × {line['columns']:,}, {line['values']:,} values"
        for line in shapes
    )
    text += f".\n\nMade by `benchmarks/{STEM}.py` on {machine('liblinear-official')}.\n"
    (RESULTS / f"{STEM}.md").write_text(text)
    draw(lines)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--short", action="store_true", help="generated text only; print, write nothing")
    parser.add_argument("--repeats", type=int, default=7)
    options = parser.parse_args()
    print(table_of([]))
    if options.short or not has_folder():
        compare("generated text", *generated_text(), 1.0, 3)
        return
    lines = []
    for name in ("imdb", "20news_binary_bigram"):
        X, y = task(name)
        X = X.astype(np.float32)
        for C in VALUES_OF_C:
            lines += compare(name, X, y, C, options.repeats)
    write(lines)


if __name__ == "__main__":
    main()
