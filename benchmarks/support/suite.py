"""Every kind of problem that the benchmarks know, by name, for tables over all of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from support import task
from support.generated import at_zero, covtype_like, one_hot_ties, overlapping, sparse_binary
from support.problems import covtype

__all__ = ["problems"]

Made = Callable[[], tuple[Any, np.ndarray]]

REAL = ("a9a", "w8a", "skin_nonskin", "ijcnn1_val", "spambase", "imdb", "20news_binary_bigram")


def unscaled(rows: int, columns: int) -> tuple[np.ndarray, np.ndarray]:
    X, y = overlapping(rows, columns)
    return X * np.logspace(-4, 4, columns), y


def separable(rows: int, columns: int) -> tuple[np.ndarray, np.ndarray]:
    X, _ = overlapping(rows, columns)
    score = X @ np.random.default_rng(2).normal(size=columns)
    return X, np.where(score > 0, 1.0, -1.0)


def generated(share: int) -> dict[str, Made]:
    """Return generated problems with 1/share of the rows."""
    tables: dict[str, Made] = {}
    for rows, columns in ((200_000, 50), (1_000_000, 28), (20_000, 300), (1000, 10), (500, 1000)):
        rows = max(rows // share, 500)
        tables[f"generated, {rows:,} × {columns:,}"] = lambda shape=(rows, columns): overlapping(*shape)
    return {
        **tables,
        "one-hot with massive ties": lambda: one_hot_ties(50_000 // share),
        "optimum at w = 0": lambda: at_zero(200_000 // share),
        "unscaled columns": lambda: unscaled(50_000 // share, 30),
        "separable": lambda: separable(50_000 // share, 30),
    }


def problems(short: bool, has_data: bool) -> dict[str, Made]:
    """Return the whole suite; without the data, generated rows of the same kind take their place."""
    if has_data and not short:
        real: dict[str, Made] = {name: lambda name=name: task(name) for name in REAL}
        return {"covtype": covtype, **real, **generated(1)}
    share = 50 if short else 1
    like = {
        "generated, like covtype": lambda: covtype_like(581_012 // share),
        "generated, like a9a": lambda: sparse_binary(32_561 // share),
    }
    return {**like, **generated(share)}
