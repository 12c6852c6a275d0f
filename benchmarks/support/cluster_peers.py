"""Peers that fit on several workers: Spark MLlib and dask-ml, each with the settings that it is tried with.

Both get rows that are in the memory of their workers before the clock starts; what it took to start them
and to load the rows is said apart.
"""

from __future__ import annotations

import time
from typing import Any

from support.on_dask import Say, cluster_of, lazy_rows

__all__ = ["PEERS", "dask_ml", "spark"]

# name, function, solver, loss, treatment of the offset
PEERS = (
    ("Spark LinearSVC", "spark", "LinearSVC", "hinge", "free"),
    ("Spark LogisticRegression", "spark", "LogisticRegression", "logistic", "free"),
    # newton leaves the penalty out; the others penalise the offset
    ("dask-ml newton", "dask_ml", "newton", "logistic", "free"),
    ("dask-ml lbfgs", "dask_ml", "lbfgs", "logistic", "penalized"),
    ("dask-ml admm", "dask_ml", "admm", "logistic", "penalized"),
)

SPARK_SETTINGS = {
    "LogisticRegression": ({"tol": 1e-6}, {"tol": 1e-9}, {"tol": 1e-12}),
    "LinearSVC": ({"maxIter": 25}, {"maxIter": 100}, {"maxIter": 300}, {"maxIter": 1000}),
}
DASK_SETTINGS: dict[str, tuple[dict[str, Any], ...]] = {
    "newton": ({"tol": 1e-4}, {"tol": 1e-8}),
    "lbfgs": ({"tol": 1e-4}, {"tol": 1e-8, "max_iter": 500}),
    "admm": ({}, {"max_iter": 500, "solver_kwargs": {"abstol": 1e-8, "reltol": 1e-6}}),
}


def spark(task: dict[str, Any], say: Say) -> None:
    """Fit with Spark on two threads of this machine, rows cached in one partition for each."""
    began = time.perf_counter()
    from pyspark.ml.classification import LinearSVC, LogisticRegression
    from pyspark.ml.functions import array_to_vector
    from pyspark.sql import SparkSession

    settings = {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.memory": "6g",
        "spark.ui.enabled": "false",
        "spark.log.level": "ERROR",
    }
    builder = SparkSession.builder.master(f"local[{task['workers']}]").config(map=settings)
    session = builder.getOrCreate()
    started = time.perf_counter()
    table = session.read.parquet(f"{task['folder']}/rows.parquet")
    table = table.select(array_to_vector("features").alias("features"), "label")
    table = table.repartition(task["workers"]).cache()
    table.count()
    kind = {"LinearSVC": LinearSVC, "LogisticRegression": LogisticRegression}[task["solver"]]
    kind(maxIter=3).fit(table.limit(2000))  # the machine beneath it compiles on the way
    say(start=started - began, loading=time.perf_counter() - started)
    for setting in SPARK_SETTINGS[task["solver"]]:
        # Without standardisation the penalty is that of the columns as they are; it scales them inside.
        told = {"maxIter": 1000, "tol": 1e-12, **setting}
        began = time.perf_counter()
        model = kind(regParam=task["lam"], standardization=False, **told).fit(table)
        seconds = time.perf_counter() - began
        say(
            seconds=seconds,
            setting=setting,
            coef=[float(value) for value in model.coefficients],
            intercept=float(model.intercept),
        )


def dask_ml(task: dict[str, Any], say: Say) -> None:
    """Fit with dask-ml on workers of one thread each."""
    began = time.perf_counter()
    from dask_ml.linear_model import LogisticRegression

    with cluster_of(task["workers"]) as client:
        from distributed import wait

        started = time.perf_counter()
        X, y = lazy_rows(task["folder"])
        X, y = client.persist([X.rechunk((-(-X.shape[0] // (2 * task["workers"])), -1)).astype(float), y > 0])
        y = client.persist(y.rechunk((X.chunks[0],)))
        wait([X, y])
        LogisticRegression(solver=task["solver"], max_iter=2).fit(X[:2000], y[:2000])  # it compiles, too
        say(start=started - began, loading=time.perf_counter() - started)
        C = 1.0 / (task["lam"] * X.shape[0])
        for setting in DASK_SETTINGS[task["solver"]]:
            model = LogisticRegression(solver=task["solver"], C=C, **setting)
            began = time.perf_counter()
            model.fit(X, y)
            seconds = time.perf_counter() - began
            say(
                seconds=seconds,
                setting={name: value for name, value in setting.items() if name != "solver_kwargs"},
                coef=[float(value) for value in model.coef_],
                intercept=float(model.intercept_),
            )
