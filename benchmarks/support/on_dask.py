"""Our passes and fits on Dask workers beside those in one process on one thread, on the same blocks."""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from maxmargin import train
from maxmargin.rows.base import AddsArrays
from maxmargin.rows.dask.calls import Calls
from maxmargin.rows.dask.rows import DaskRows
from maxmargin.rows.kernels import Combine
from maxmargin.rows.memory import MemoryRows, block_size
from maxmargin.solvers.newton_passes import Evaluate

__all__ = ["calls", "cluster_of", "fits", "lazy_rows", "passes"]

Say = Callable[..., None]


class Nothing(AddsArrays):
    """A pass without arithmetic, whose record is as large as a Gram matrix of 28 columns."""

    reads_rows = False

    def __call__(self, block: Any, token: Any, *pieces: Any) -> np.ndarray:
        return np.zeros((29, 29))


def rows_of(folder: str) -> tuple[np.ndarray, np.ndarray]:
    return np.load(f"{folder}/rows.npy"), np.load(f"{folder}/labels.npy")


def lazy_rows(folder: str, block_rows: int | None = None) -> tuple[Any, Any]:
    """Return dask arrays whose chunks the workers read from files, cut as rows in memory are."""
    import dask.array as da
    from dask import delayed

    X = np.load(f"{folder}/rows.npy", mmap_mode="r")
    n, d = X.shape
    size = block_rows or block_size(n, d, n * d)
    read = delayed(read_piece, pure=False)
    pieces = [(first, min(first + size, n)) for first in range(0, n, size)]
    made = [
        [
            da.from_delayed(read(f"{folder}/{name}.npy", first, end), (end - first, *rest), dtype)
            for first, end in pieces
        ]
        for name, rest, dtype in (("rows", (d,), X.dtype), ("labels", (), np.float64))
    ]
    return da.concatenate(made[0]), da.concatenate(made[1])


def read_piece(path: str, first: int, end: int) -> np.ndarray:
    return np.array(np.load(path, mmap_mode="r")[first:end])


@contextmanager
def cluster_of(workers: int) -> Iterator[Any]:
    """Yield a client of processes with one thread each, on this machine."""
    from distributed import Client, LocalCluster

    alone = {"host": "127.0.0.1", "dashboard_address": "127.0.0.1:0"}
    with (
        LocalCluster(n_workers=workers, threads_per_worker=1, processes=True, **alone) as cluster,
        Client(cluster) as client,
    ):
        yield client


# ---------------------------------------------------------------- single passes


def kernels_for(rows: Any, y: np.ndarray) -> dict[str, Callable[[], Any]]:
    """Return passes over the rows by name: nothing, a product, Newton's with its Gram matrix."""
    sign, ones, z, h = rows.keep(y.astype(np.int8)), rows.filled(1.0), rows.zeros(), rows.zeros()
    n_columns = rows.n_columns
    w = np.random.default_rng(1).normal(size=n_columns) / n_columns
    newton = Evaluate("logistic", w, 0.1, gram=True)
    return {
        "nothing": lambda: rows.reduce(Nothing()),
        "Xᵀa": lambda: rows.reduce(Combine(n_columns), ones),
        "Newton's": lambda: rows.reduce(newton, sign, ones, z, h),
    }


def passes(task: dict[str, Any], say: Say) -> None:
    """Time passes in memory on one thread, then on the workers, and count what is sent."""
    from maxmargin.rows.dask.blocks import dask_blocks

    X, y = rows_of(task["folder"])
    memory = MemoryRows(X, threads=1)
    say(ready=True)
    records = {}
    for name, run in kernels_for(memory, y).items():
        wall, cpu, record = timed(run, task["repeats"])
        records[name] = pickle.dumps(record)
        say(where="one process", workers=0, name=name, seconds=wall, worker_cpu=cpu)
    for workers in task["workers"]:
        with cluster_of(workers) as client:
            rows = DaskRows(dask_blocks(*lazy_rows(task["folder"]), None), client)
            for name, run in kernels_for(rows, y).items():
                before = worker_cpu(client)
                wall, here, record = timed(run, task["repeats"])
                after = worker_cpu(client)
                say(
                    where=f"{workers} worker" + "s" * (workers > 1),
                    workers=workers,
                    name=name,
                    seconds=wall,
                    driver_cpu=here,
                    worker_cpu=(after - before) / (task["repeats"] + WARM),
                    same=pickle.dumps(record) == records[name],
                    **sent(client, run, task["repeats"]),
                )
            rows.close()


def calls(task: dict[str, Any], say: Say) -> None:
    """Find the processor time of driver and scheduler, which share this process, for calling one worker."""
    import dask.array as da

    from maxmargin.rows.dask.blocks import dask_blocks

    with cluster_of(task["workers"]) as client:
        X = da.zeros((3200, 28), chunks=(100, -1), dtype=np.float32)
        rows = DaskRows(dask_blocks(X, np.arange(3200) % 2, None), client)
        say(ready=True)
        _, here, _ = timed(lambda: rows.reduce(Nothing()), task["repeats"])
        say(seconds_per_call=here / task["workers"])
        rows.close()


WARM = 3


def timed(run: Callable[[], Any], repeats: int) -> tuple[float, float, Any]:
    """Return the median of seconds, processor seconds of this process for each, and the last result."""
    for _ in range(WARM):
        run()
    times = []
    cpu = time.process_time()
    for _ in range(repeats):
        began = time.perf_counter()
        result = run()
        times.append(time.perf_counter() - began)
    return float(np.median(times)), (time.process_time() - cpu) / repeats, result


def worker_cpu(client: Any) -> float:
    return float(sum(client.run(time.process_time).values()))


def sent(client: Any, run: Callable[[], Any], repeats: int) -> dict[str, float]:
    """Return bytes a pass: our questions, our answers, and what the loopback device says."""
    counts = {"asked": 0, "answered": 0}
    call = client.run

    def counting(function: Any, *arguments: Any, workers: list[str], **settings: Any) -> dict[str, Any]:
        counts["asked"] += len(workers) * len(pickle.dumps((function, arguments)))
        answers: dict[str, Any] = call(function, *arguments, workers=workers, **settings)
        counts["answered"] += sum(len(pickle.dumps(answer)) for answer in answers.values())
        return answers

    before = loopback()
    with patch.object(client, "run", counting):
        for _ in range(repeats):
            run()
    found = {name: count / repeats for name, count in counts.items()}
    return {**found, "loopback": (loopback() - before) / repeats}


def loopback() -> int:
    """Return all bytes that this machine has sent to itself; 0 where the system does not say."""
    file = Path("/proc/net/dev")
    lines = file.read_text().splitlines() if file.exists() else []
    return next((int(line.split(":")[1].split()[0]) for line in lines if line.strip().startswith("lo:")), 0)


# ---------------------------------------------------------------- whole fits


def fits(task: dict[str, Any], say: Say) -> None:
    """Fit in turn in this process, on one thread and several, and on the workers, to rows in their memory."""
    from distributed import wait

    X, y = rows_of(task["folder"])
    with cluster_of(task["workers"]) as client:
        train(X[:5000], y[:5000], n_jobs=1)  # everything is imported and loaded
        train(*lazy_rows(task["folder"], 1 << 20), tol=0.1)
        began = time.perf_counter()
        there = client.persist(lazy_rows(task["folder"]))
        wait(there)
        loading = time.perf_counter() - began
        say(ready=True)
        for loss, tol in task["fits"]:
            settings = {"loss": loss, "tol": tol, "lam": task["lam"]}
            for _ in range(task["repeats"]):
                line: dict[str, Any] = {"loss": loss, "tol": tol, "loading": loading}
                bits = None
                if task["beside"]:
                    first, second = in_one_process(X, y, 1, settings), in_one_process(X, y, 1, settings)
                    line |= {"alone_first": first["seconds"], "alone": second["seconds"]}
                    line |= {"alone_cpu": second["cpu"]}
                    line["threads"] = in_one_process(X, y, task["workers"], settings)["seconds"]
                    bits = second["bits"]
                    line["first"] = on_workers(client, there, settings, bits)["seconds"]
                line |= on_workers(client, there, settings, bits)
                say(**line)


def in_one_process(X: Any, y: Any, threads: int, settings: dict[str, Any]) -> dict[str, Any]:
    began, cpu = time.perf_counter(), time.process_time()
    model = train(X, y, n_jobs=threads, **settings)
    return {
        "seconds": time.perf_counter() - began,
        "cpu": time.process_time() - cpu,
        "bits": model.coef.tobytes() + model.intercept.tobytes(),
    }


def on_workers(client: Any, there: Any, settings: dict[str, Any], bits: bytes | None) -> dict[str, Any]:
    taking, calls = [], []
    load, begin = DaskRows.__init__, Calls.make

    def timing(self: Any, *given: Any, **named: Any) -> None:
        began = time.perf_counter()
        load(self, *given, **named)
        taking.append(time.perf_counter() - began)

    def counting(self: Any, *given: Any) -> None:
        calls.append(1)
        begin(self, *given)

    before = worker_cpu(client)
    with patch.object(DaskRows, "__init__", timing), patch.object(Calls, "make", counting):
        began = time.perf_counter()
        model = train(*there, **settings)
        seconds = time.perf_counter() - began
    n_workers = len(client.ncores())
    return {
        "workers": n_workers,
        "seconds": seconds,
        "taking": taking[0],
        "worker_cpu": worker_cpu(client) - before,
        "round_trips": len(calls) / n_workers,
        "same": bits is None or bits == model.coef.tobytes() + model.intercept.tobytes(),
        "gap": model.certificate.relative_gap,
    }
