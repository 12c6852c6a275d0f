"""One piece of work on rows on disk, in a process whose memory the system limits.

    python -m support.limited '{"work": "fit", "folder": ..., "limit": ..., ...}'

The limit is RLIMIT_DATA: private memory that can be written, which is all that a process owns; files that
are mapped for reading do not count, and the system may drop their pages at any time.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["run_limited"]

ROWS_AT_ONCE = 50_000


def run_limited(work: str, cap: float = 3600.0, **task: Any) -> dict[str, Any]:
    """Run this module and return what it measured."""
    threads = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "support.limited", json.dumps({"work": work, **task})]
    done = subprocess.run(
        command,
        cwd=Path(__file__).parents[1],
        env={**os.environ, **threads},
        capture_output=True,
        text=True,
        timeout=cap,
        check=False,
    )
    if done.returncode != 0:
        return {"work": work, **task, "failed": (done.stderr.strip().splitlines() or ["killed"])[-1]}
    return {"work": work, **task, **json.loads(done.stdout.splitlines()[-1])}


# ---------------------------------------------------------------- the work


def write(task: dict[str, Any]) -> dict[str, Any]:
    """Generate the rows, batch by batch, and store them."""
    from maxmargin import store_data

    plane = np.random.default_rng(0).normal(size=task["columns"]) / np.sqrt(task["columns"])

    def batches() -> Any:
        for number, first in enumerate(range(0, task["rows"], ROWS_AT_ONCE)):
            rng = np.random.default_rng((0, number))
            count = min(ROWS_AT_ONCE, task["rows"] - first)
            X = rng.standard_normal((count, task["columns"]), dtype=np.float32)
            yield X, np.einsum("ij,j->i", X, plane) + rng.standard_normal(count) > 0

    began = time.perf_counter()
    store = store_data(batches(), task["folder"])
    return {"seconds": time.perf_counter() - began, "bytes": store.n_bytes}


def fit(task: dict[str, Any]) -> dict[str, Any]:
    """Fit to the rows on disk."""
    from maxmargin import LinearClassifier

    model = LinearClassifier(C=task["C"], loss=task["loss"], tol=task["tol"])
    began = time.perf_counter()
    model.fit(task["folder"])
    proof = model.certificate_
    return {
        "seconds": time.perf_counter() - began,
        "passes": float(model.history_.passes[-1]),
        "gap": proof.relative_gap,
        "objective": proof.objective,
        "bound": proof.bound,
        "plan": str(model.plan_),
    }


def stream(task: dict[str, Any]) -> dict[str, Any]:
    """Let SGDClassifier see the rows batch by batch, pass after pass, until it is as good as asked."""
    from sklearn.linear_model import SGDClassifier

    from maxmargin import open_store

    store = open_store(task["folder"])
    X, y = store.arrays["X"], store.arrays["labels"]
    loss = {"hinge": "hinge", "squared_hinge": "squared_hinge", "logistic": "log_loss"}[task["loss"]]
    alpha = 1.0 / (task["C"] * store.n_rows)
    model = SGDClassifier(loss=loss, alpha=alpha, average=task["average"], random_state=0)
    spent, course = 0.0, []
    for _ in range(task["max_passes"]):
        began = time.perf_counter()
        for first in range(0, store.n_rows, ROWS_AT_ONCE):
            piece = slice(first, first + ROWS_AT_ONCE)
            model.partial_fit(X[piece], y[piece], classes=[0, 1])
        spent += time.perf_counter() - began
        objective = objective_of(model.coef_[0], float(model.intercept_[0]), X, y, task)
        course.append([spent, objective])
        if objective <= task["target"] or spent > task["max_time"]:
            break
    best = min(objective for _, objective in course)
    return {"seconds": spent, "objective": best, "course": course, "passes": len(course)}


def wabbit(task: dict[str, Any]) -> dict[str, Any]:
    """Let Vowpal Wabbit read its own cache of the rows, with as many passes as it takes."""
    from vowpalwabbit import Workspace

    from maxmargin import open_store

    store = open_store(task["folder"])
    X, y = store.arrays["X"], store.arrays["labels"]
    text = Path(task["folder"]).with_suffix(".vw")
    if not text.exists():
        write_text(X, y, text)
    l2 = 1.0 / (task["C"] * store.n_rows)
    shared = f"--quiet --loss_function {task['loss']} --holdout_off -d {text} --cache_file {text}.cache"
    if not Path(f"{text}.cache").exists():
        Workspace(f"{shared} -k --passes 2").finish()  # as our rows were written before
    course, passes = [], 1
    while passes <= task["max_passes"]:
        began = time.perf_counter()
        model = Workspace(f"{shared} --passes {passes} {task['setting'].format(l2=l2)}")
        spent = time.perf_counter() - began
        model.save(str(text.with_suffix(".model")))  # only then are weights shrunk as l2 asks
        model.finish()
        model = Workspace(f"--quiet -t -i {text.with_suffix('.model')}")
        w = np.array([model.get_weight(column) for column in range(store.n_columns)])
        offset = model.get_weight(11650396)  # where Vowpal Wabbit keeps its constant
        model.finish()
        course.append([spent, objective_of(w, offset, X, y, task)])
        if course[-1][1] <= task["target"] or spent > task["max_time"]:
            break
        passes *= 2
    best = min(objective for _, objective in course)
    return {"seconds": course[-1][0], "objective": best, "course": course, "passes": passes}


def write_text(X: Any, y: Any, path: Path) -> None:
    with path.open("w") as file:
        for first in range(0, len(y), 1000):
            for row, label in zip(X[first : first + 1000].tolist(), y[first : first + 1000], strict=True):
                pairs = " ".join(f"{column}:{value:.8g}" for column, value in enumerate(row))
                file.write(f"{1 if label else -1} | {pairs}\n")


def objective_of(w: np.ndarray, b: float, X: Any, y: Any, task: dict[str, Any]) -> float:
    """Return the objective of anybody's weights, their offset as it is."""
    from maxmargin.losses.table import find_loss

    value = find_loss(task["loss"]).value
    total = 0.0
    for first in range(0, len(y), ROWS_AT_ONCE):
        piece = slice(first, first + ROWS_AT_ONCE)
        agreement = (2.0 * y[piece] - 1.0) * (X[piece].astype(np.float64) @ w + b)
        total += float(value(agreement).sum())
    return 0.5 * float(w @ w) + task["C"] * total


def main() -> None:
    task = json.loads(sys.argv[1])
    work = {"write": write, "fit": fit, "stream": stream, "wabbit": wabbit}[task["work"]]
    if task.get("limit"):
        resource.setrlimit(resource.RLIMIT_DATA, (task["limit"], task["limit"]))
    print(json.dumps(work(task)))


if __name__ == "__main__":
    main()
