"""One fit of a large generated table in a process of its own, in units of NumPy's product with a vector.

    python -m support.large_fit '{"rows": ..., "columns": ..., "solver": ..., "repeats": ..., ...}'

A process of its own, because its peak of memory is measured: the rows, the labels, Python itself and all
that the fit needs. NumPy has one thread; its products with the same rows are timed before and after every
fit.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["measure"]

PRODUCTS = 5  # before every fit, and after the last


def measure(cap: float, **settings: Any) -> dict[str, Any]:
    """Run this module and return what it measured; ended after the cap."""
    one_thread = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "support.large_fit", json.dumps(settings)]
    here = Path(__file__).parents[1]
    try:
        done = subprocess.run(
            command,
            cwd=here,
            env={**os.environ, **one_thread},
            check=True,
            capture_output=True,
            text=True,
            timeout=cap,
        )
    except subprocess.TimeoutExpired:
        return {**settings, "failed": f"no result in {cap:g} s"}
    except subprocess.CalledProcessError as problem:
        return {**settings, "failed": problem.stderr.strip().splitlines()[-1]}
    return {**settings, **json.loads(done.stdout.splitlines()[-1])}


def resident(name: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * int(next(line for line in lines if line.startswith(name)).split()[1])


def time_products(X: np.ndarray, w: np.ndarray) -> list[float]:
    times = []
    for _ in range(PRODUCTS):
        began = time.perf_counter()
        X @ w
        times.append(time.perf_counter() - began)
    return times


def main() -> None:
    from support.generated import overlapping
    from support.own_solvers import fit_within

    task = json.loads(sys.argv[1])
    X, y = overlapping(task["rows"], task["columns"])
    y = y.astype(np.int8)
    w = np.random.default_rng(1).normal(size=X.shape[1]).astype(np.float32)
    settings = {"C": task["C"], "tol": task["tol"], "solver": task["solver"]}
    fit_within(X[:500], y[:500], 1.0, **{**settings, "tol": 1e-2})  # everything is imported and loaded
    can_measure = Path("/proc/self/clear_refs").exists()
    if can_measure:
        Path("/proc/self/clear_refs").write_text("5")  # forget the peak so far: it was that of generating
    products, fits = [], []
    for _ in range(task["repeats"]):
        products += time_products(X, w)
        found, _ = fit_within(X, y, task["max_time"], **settings)
        fits.append(found)
    products += time_products(X, w)
    seconds = [found["seconds"] for found in fits if found["seconds"] is not None]
    answer = {
        **fits[-1],
        "seconds": float(np.median(seconds)) if seconds else None,
        "runs": seconds,
        "product": float(np.median(products)),
        "peak": resident("VmHWM") if can_measure else None,
        "data": X.nbytes,
    }
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
