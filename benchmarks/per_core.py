"""What one core does with a row: nanoseconds for a pass and for a whole fit, by columns and loss.

    python benchmarks/per_core.py            # 28 to 1,000 columns; writes results/ and docs/scale.md's tables
    python benchmarks/per_core.py --short    # 28 and 100 columns, few rows; prints only

Rows are generated: normal columns in float32, labels from a plane with as much noise as signal, λ = 1e-5;
fits are certified to 1e-6, in memory on one thread, in processor time, so that a busy machine changes little.
A Gram pass is one that adds up a (d + 1)² matrix; round trips are the passes that a Dask cluster would wait
for, others go along with them. Bytes are those of a row and of the numbers beside it while the fit runs. The
last figure is the processor time of driver and scheduler for asking one worker, from passes without
arithmetic.
"""

from __future__ import annotations

import json
import time
import weakref
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from support.alone import run_alone
from support.contest_script import folder_for, options_of
from support.generated import overlapping
from support.pictures import plain_axis, pyplot
from support.report import RESULTS, Page
from support.scale_model import measured_table, with_tables

from maxmargin import train
from maxmargin.rows.base import JoinsNothing, written_by
from maxmargin.rows.memory import MemoryRows

STEM, TITLE = "per_core", "What one core does with a row"
SCALE_PAGE = Path(__file__).parents[1] / "docs" / "scale.md"
SHAPES = {28: 1_000_000, 100: 400_000, 300: 150_000, 1000: 60_000}
FITS = (
    ("hinge", "semismooth_newton"),
    ("hinge", "interior_point"),
    ("squared_hinge", "newton"),
    ("logistic", "newton"),
)


class Watch:
    """Counts and times the passes of fits over all rows."""

    def __init__(self, n_rows: int) -> None:
        self.n_rows = n_rows
        self.seconds: list[float] = []
        self.grams: list[float] = []
        self.round_trips = 0
        self.alive: list[weakref.ref[np.ndarray]] = []
        self.most = 0.0

    def reduce(self, pass_over: Any) -> Any:
        def timed(rows: Any, kernel: Any, *vectors: Any, **named: Any) -> Any:
            began = time.process_time()
            record = pass_over(rows, kernel, *vectors, **named)
            spent = time.process_time() - began
            if rows.n_rows == self.n_rows:
                self.seconds.append(spent)
                self.round_trips += not (written_by(kernel) and isinstance(kernel, JoinsNothing))
                if has_gram(record, rows.n_columns):
                    self.grams.append(spent)
            return record

        return timed

    def make(self, maker: Any) -> Any:
        def noted(rows: Any, *given: Any, **named: Any) -> Any:
            vector = maker(rows, *given, **named)
            if rows.n_rows == self.n_rows:
                self.alive.append(weakref.ref(vector))
                there = [found for ref in self.alive if (found := ref()) is not None]
                self.most = max(self.most, sum(found.itemsize for found in there))
            return vector

        return noted


def has_gram(record: Any, n_columns: int) -> bool:
    parts = record.__dict__.values() if hasattr(record, "__dict__") else [record]
    return any(isinstance(part, np.ndarray) and part.size >= n_columns**2 for part in parts)


def measure(loss: str, solver: str, X: np.ndarray, y: np.ndarray) -> dict[str, Any]:
    n, d = X.shape
    watch = Watch(n)
    settings = {"loss": loss, "solver": solver, "lam": 1e-5, "tol": 1e-6, "n_jobs": 1}
    makers = {name: watch.make(getattr(MemoryRows, name)) for name in ("zeros", "filled", "copied")}
    with patch.multiple(MemoryRows, reduce=watch.reduce(MemoryRows.reduce), **makers):
        model = train(X, y, **settings)
    return {
        "columns": d,
        "loss": loss,
        "solver": solver,
        "rows": n,
        "round_trips": watch.round_trips,
        "gram_passes": len(watch.grams),
        "gram_ns_per_row": 1e9 * float(np.median(watch.grams)) / n if watch.grams else None,
        "ns_per_row": 1e9 * sum(watch.seconds) / n,
        "bytes_per_row": X.itemsize * d + watch.most,
        "gap": model.certificate.relative_gap,
    }


def seconds_per_call(repeats: int) -> float:
    found, failed = run_alone("support.on_dask:calls", {"workers": 2, "repeats": repeats}, cap=120.0)
    if failed is not None:
        raise SystemExit(f"passes on Dask workers: {failed}")
    return float(found[-1]["seconds_per_call"])


def draw(measured: dict[str, Any], path: Path) -> None:
    plt = pyplot()
    figure, axis = plt.subplots(figsize=(7, 4.2), layout="constrained")
    colours = ("#0072B2", "#56B4E9", "#D55E00", "#009E73")
    for (loss, solver), colour in zip(FITS, colours, strict=True):
        own = [line for line in measured["fits"] if (line["loss"], line["solver"]) == (loss, solver)]
        columns = [line["columns"] for line in own]
        label = f"{loss}, {solver}".replace("_", " ")
        axis.plot(columns, [line["ns_per_row"] for line in own], "o-", color=colour, label=label)
        with_gram = [line for line in own if line["gram_ns_per_row"] is not None]
        times = [line["gram_ns_per_row"] for line in with_gram]
        axis.plot([line["columns"] for line in with_gram], times, ":", color=colour)
    axis.set(xscale="log", yscale="log", xlabel="columns", ylabel="nanoseconds for a row")
    axis.set_xticks(list(SHAPES), [f"{d:,}" for d in SHAPES])
    axis.minorticks_off()
    axis.set_title("one core: a whole fit (dotted: one Gram pass)", loc="left")
    axis.grid(color="0.92")
    axis.legend(frameon=False)
    plain_axis(axis)
    figure.savefig(path, dpi=150)
    plt.close(figure)


def main() -> None:
    options = options_of(__doc__)
    shapes = {28: 50_000, 100: 20_000} if options.short else SHAPES
    fits = []
    for columns, rows in shapes.items():
        X, y = overlapping(rows, columns)
        train(X[:2000], y[:2000])
        fits += [measure(loss, solver, X, y) for loss, solver in FITS if options.only in loss]
    measured = {"fits": fits, "seconds_per_call": seconds_per_call(20 if options.short else 100)}
    body = measured_table(measured)
    print(body)
    folder = folder_for(options, needs_data=False)
    if folder is None:
        return
    page = Page(STEM, TITLE, __doc__ or "", folder)
    page.publish(measured, body, lambda path: draw(measured, path), "distributed")
    if folder == RESULTS:
        kept = json.loads((RESULTS / f"{STEM}.json").read_text())["lines"]
        SCALE_PAGE.write_text(with_tables(SCALE_PAGE.read_text(encoding="utf-8"), kept), encoding="utf-8")


if __name__ == "__main__":
    main()
