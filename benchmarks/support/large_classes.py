"""A softmax fit, or a path, of generated embeddings: in a process of its own, to measure its memory."""

from __future__ import annotations

import resource
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import maxmargin as mm
from support.generated import embeddings

__all__ = ["fit", "path"]

Say = Callable[..., None]


def fit(task: dict[str, Any], say: Say) -> None:
    """Fit once, and say time, passes, gap and peak."""
    X, y = embeddings(task["rows"], task["columns"], task["classes"], np.dtype(task["dtype"]))
    y = y.astype(np.int32)
    say(data=X.nbytes, before=peak(), gemm=seconds_of_gemm(X, task["classes"]))
    began = time.perf_counter()
    model = mm.train(
        X, y, loss="logistic", multi_class="softmax", C=task["C"], tol=task["tol"], n_jobs=task["threads"]
    )
    spent = time.perf_counter() - began
    history = model.histories[0]
    gap = model.certificate.relative_gap
    say(seconds=spent, passes=float(history.passes[-1]), gap=gap, peak=peak(), plan=str(model.plans[0]))


def path(task: dict[str, Any], say: Say) -> None:
    """Fit at the largest C alone, then all values; say time and passes of both, and the largest gap."""
    X, y = embeddings(task["rows"], task["columns"], task["classes"], np.dtype(task["dtype"]))
    Cs = np.geomspace(task["C_min"], task["C_max"], task["count"])
    settings = {"loss": "logistic", "multi_class": "softmax", "tol": task["tol"], "n_jobs": task["threads"]}
    say(data=X.nbytes, before=peak())
    began = time.perf_counter()
    model = mm.train(X, y, C=task["C_max"], **settings)
    one = time.perf_counter() - began
    began = time.perf_counter()
    found = mm.regularization_path(X, y, Cs=Cs, **settings)
    whole = time.perf_counter() - began
    passes = float(model.histories[0].passes[-1])
    say(one=one, passes=passes, seconds=whole, gap=float(found.gaps.max()), fits=found.n_fits, peak=peak())


def seconds_of_gemm(X: np.ndarray, classes: int) -> float:
    """Return what the two products of a pass would take by NumPy, in single precision on its own threads."""
    piece = np.asarray(X[:20_000], dtype=np.float32)
    W = np.ones((classes, X.shape[1]), dtype=np.float32)
    times = []
    for _ in range(3):
        began = time.perf_counter()
        scores = piece @ W.T
        scores.T @ piece
        times.append(time.perf_counter() - began)
    return float(np.median(times)) * len(X) / len(piece)


def peak() -> int:
    """Return the most memory that this process has had, in bytes."""
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
