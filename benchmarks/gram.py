"""The weighted Gram matrix and the Cholesky factor: our kernels against NumPy and SciPy.

    python benchmarks/gram.py            # all sizes, a9a and w8a from MAXMARGIN_DATA; writes results/
    python benchmarks/gram.py --short    # some sizes; prints only

Wanted is Σ h (x, 1)(x, 1)ᵀ over the rows, for weights h that change from call to call. NumPy computes
(X·h)ᵀ X, SciPy's dsyrk gets rows already multiplied by √h (its scaling is not counted), and for sparse rows
SciPy multiplies the two sparse matrices. All use one thread; runs are interleaved, times are medians of CPU
seconds. GFlop/s count n d² operations, what one triangle needs. Factors: Cholesky of a (d + 1)² matrix,
d³ / 3 operations, against scipy.linalg.cholesky; ours also scales the matrix and keeps a copy.
"""

from __future__ import annotations

import os

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # before NumPy is imported

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from scipy.linalg.blas import dsyrk
from support import has_folder, machine, task

from maxmargin._core import Block, Factor, StopToken, weighted_gram

RESULTS = Path(__file__).parent / "results"
STEM = "gram"
SIZES = (10, 28, 54, 100, 240, 500, 1000)
SHORT_SIZES = (28, 100)
FACTOR_SIZES = (54, 124, 500, 1000, 2000)
SHOWN = {"ours": "#0072B2", "ours, single": "#56B4E9", "NumPy": "#D55E00", "dsyrk": "#E69F00"}
FEW = "ours, 3 % of the rows"


def medians(runs: dict[str, Callable[[], Any]], repeats: int) -> dict[str, float]:
    """Return the median CPU seconds of each run, taken in turns after one round that is not counted."""
    times: dict[str, list[float]] = {title: [] for title in runs}
    for turn in range(repeats + 1):
        for title, run in runs.items():
            began = time.process_time()
            run()
            if turn > 0:
                times[title].append(time.process_time() - began)
    return {title: float(np.median(spent)) for title, spent in times.items()}


def block_of(X: Any) -> Block:
    return Block(X) if isinstance(X, np.ndarray) else Block(X.data, X.indices, X.indptr, X.shape[1])


def our_gram(X: Any, h: np.ndarray, single: bool = False) -> Callable[[], np.ndarray]:
    block, token = block_of(X), StopToken()

    def run() -> np.ndarray:
        total = np.zeros((X.shape[1] + 1, X.shape[1] + 1))
        weighted_gram(block, h, None, total, single, token)
        return total

    return run


def agree(ours: np.ndarray, other: np.ndarray, tolerance: float = 1e-10) -> None:
    """Stop if the two Gram matrices differ."""
    d = other.shape[0]
    if np.abs(ours[:d, :d] - other).max() > tolerance * np.abs(other).max():
        raise SystemExit("the two Gram matrices differ")


def dense_line(d: int, repeats: int) -> dict[str, Any]:
    rng = np.random.default_rng(d)
    n = int(np.clip(4e8 / d**2, 2000, 400_000))
    X, h = rng.normal(size=(n, d)), rng.random(n)
    scaled = np.asfortranarray((X * np.sqrt(h)[:, None]).T)
    few = np.where(rng.random(n) < 0.03, h, 0.0)
    runs = {
        "ours": our_gram(X, h),
        "ours, single": our_gram(X, h, single=True),
        FEW: our_gram(X, few),
        "NumPy": lambda: (X * h[:, None]).T @ X,
        "dsyrk": lambda: dsyrk(1.0, scaled),
    }
    agree(runs["ours"](), runs["NumPy"]())
    agree(runs["ours, single"](), runs["NumPy"](), 1e-5)
    return {"d": d, "n": n, "seconds": medians(runs, repeats)}


def sparse_line(name: str, X: Any, repeats: int) -> dict[str, Any]:
    X = sp.csr_array(X)
    h = np.random.default_rng(0).random(X.shape[0])
    transposed = X.T.tocsr()

    def scipy_product() -> Any:
        weights = np.repeat(h, np.diff(X.indptr))
        weighted = sp.csr_array((X.data * weights, X.indices, X.indptr), shape=X.shape)
        return transposed @ weighted

    runs = {"ours": our_gram(X, h), "SciPy": scipy_product}
    agree(runs["ours"](), scipy_product().toarray())
    shape = {"task": name, "n": X.shape[0], "d": X.shape[1], "values": X.nnz / X.shape[0]}
    return {**shape, "seconds": medians(runs, repeats)}


def generated_sparse(n: int, d: int, values: int) -> Any:
    """Return rows with about so many numbers each; some columns are far more frequent than others."""
    rng = np.random.default_rng(d)
    columns = np.minimum((rng.random((n, values)) ** 2 * d).astype(np.int32), d - 1)
    rows = np.repeat(np.arange(n), values)
    X = sp.csr_array((rng.random(n * values), (rows, columns.ravel())), shape=(n, d))
    X.sum_duplicates()
    return X


def factor_line(d: int, repeats: int) -> dict[str, Any]:
    rows = np.random.default_rng(d).normal(size=(d + 50, d + 1))
    M = rows.T @ rows
    factor, rhs = Factor(M), np.ones(d + 1)
    runs = {
        "ours": lambda: Factor(M),
        "SciPy": lambda: scipy.linalg.cholesky(M, check_finite=False),
        "our solve": lambda: factor.solve(rhs),
    }
    return {"d": d, "seconds": medians(runs, repeats)}


def table(titles: tuple[str, ...], lines: list[list[str]]) -> str:
    return "\n".join("| " + " | ".join(cells) + " |" for cells in (titles, ["---"] * len(titles), *lines))


def dense_table(lines: list[dict[str, Any]]) -> str:
    titles = ("d", "rows", *SHOWN, "NumPy ÷ ours", "dsyrk ÷ ours", FEW)
    out = []
    for line in lines:
        spent, flops = line["seconds"], line["n"] * line["d"] ** 2
        speeds = [f"{flops / spent[title] / 1e9:.1f} GF" for title in SHOWN]
        ratios = [f"**{spent['NumPy'] / spent['ours']:.2f}**", f"{spent['dsyrk'] / spent['ours']:.2f}"]
        share = f"{100 * spent[FEW] / spent['ours']:.0f} % of the time"
        out.append([str(line["d"]), f"{line['n']:,}", *speeds, *ratios, share])
    return table(titles, out)


def sparse_table(lines: list[dict[str, Any]]) -> str:
    out = []
    for line in lines:
        ours, other = line["seconds"]["ours"], line["seconds"]["SciPy"]
        shape = [line["task"], f"{line['n']:,}", f"{line['d']:,}", f"{line['values']:.1f}"]
        out.append([*shape, f"{1e3 * ours:.2f} ms", f"{1e3 * other:.1f} ms", f"**{other / ours:.1f}**"])
    return table(("rows", "n", "d", "values a row", "ours", "SciPy", "SciPy ÷ ours"), out)


def factor_table(lines: list[dict[str, Any]]) -> str:
    out = []
    for line in lines:
        size, spent = line["d"] + 1, line["seconds"]
        speed = f"{size**3 / 3 / spent['ours'] / 1e9:.1f} GF"
        times = [f"{1e3 * spent[title]:.2f} ms" for title in ("ours", "SciPy", "our solve")]
        out.append(
            [str(size), times[0], speed, times[1], f"**{spent['SciPy'] / spent['ours']:.2f}**", times[2]]
        )
    return table(("d + 1", "our factor", "speed", "SciPy's", "SciPy ÷ ours", "our solve"), out)


def draw(lines: list[dict[str, Any]], path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axis = plt.subplots(figsize=(8, 4.5), layout="constrained")
    for title, colour in SHOWN.items():
        speeds = [line["n"] * line["d"] ** 2 / line["seconds"][title] / 1e9 for line in lines]
        axis.plot([line["d"] for line in lines], speeds, "o-", color=colour, label=title)
    axis.set_xscale("log")
    axis.set_xticks([line["d"] for line in lines], [str(line["d"]) for line in lines])
    axis.minorticks_off()
    axis.set_ylim(bottom=0)
    axis.set_xlabel("columns d")
    axis.set_ylabel("GFlop/s, counted n d²")
    axis.spines[["top", "right"]].set_visible(False)
    axis.legend(frameon=False)
    axis.set_title("Weighted Gram matrix of dense rows, one thread", loc="left")
    figure.savefig(path, dpi=150)


def write(found: dict[str, list[dict[str, Any]]], folder: Path) -> None:
    assert __doc__ is not None
    about = __doc__.split("\n\n", 2)[2].strip()
    (folder / f"{STEM}.json").write_text(json.dumps(found, indent=1) + "\n")
    parts = [
        "# Gram matrices and Cholesky factors",
        about,
        f"![Speed]({STEM}.png)",
        "## Dense rows",
        dense_table(found["dense"]),
        "## Sparse rows",
        sparse_table(found["sparse"]),
        "## Factors",
        factor_table(found["factors"]),
        f"Made by `benchmarks/{STEM}.py` on {machine('scipy')}.\n",
    ]
    text = "\n\n".join(parts)
    (folder / f"{STEM}.md").write_text(text)
    draw(found["dense"], folder / f"{STEM}.png")


def measure(short: bool, repeats: int) -> dict[str, list[dict[str, Any]]]:
    dense = [dense_line(d, repeats) for d in (SHORT_SIZES if short else SIZES)]
    print(dense_table(dense), flush=True)
    rows = {"generated": generated_sparse(20_000, 300, 20)}
    if not short:
        rows["generated, fuller"] = generated_sparse(20_000, 300, 60)
        rows["generated, wide"] = generated_sparse(20_000, 2000, 40)
        if has_folder():
            rows = {name: task(name)[0] for name in ("a9a", "w8a")} | rows
    sparse = [sparse_line(name, X, repeats) for name, X in rows.items()]
    print(sparse_table(sparse), flush=True)
    factors = [factor_line(d, repeats) for d in (SHORT_SIZES if short else FACTOR_SIZES)]
    print(factor_table(factors), flush=True)
    return {"dense": dense, "sparse": sparse, "factors": factors}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--short", action="store_true", help="some sizes only; print, write nothing")
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--out", type=Path, help="write page, picture and numbers there, whatever was run")
    options = parser.parse_args()
    found = measure(options.short, 3 if options.short else options.repeats)
    if options.out is not None or not options.short:
        write(found, options.out or RESULTS)


if __name__ == "__main__":
    main()
