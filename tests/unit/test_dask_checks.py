"""What is looked at before and during a fit on a cluster: memory, processors, pace."""

import time
import warnings
from types import SimpleNamespace

import numpy as np
import pytest

from maxmargin.errors import ClusterWarning, MaxMarginError

pytest.importorskip("distributed")
da = pytest.importorskip("dask.array")

from reference.on_dask import client_here  # noqa: E402

from maxmargin import train  # noqa: E402
from maxmargin.rows.dask import checks as dask_checks  # noqa: E402
from maxmargin.rows.dask.checks import PassTimer, check_memory, warn_of_other_processors  # noqa: E402


def cluster(*limits):
    workers = {f"worker {k}": {"memory_limit": limit} for k, limit in enumerate(limits)}
    return SimpleNamespace(scheduler_info=lambda n_workers: {"workers": workers})


def test_too_little_memory_is_refused_with_figures():
    with pytest.raises(
        MaxMarginError, match=r"1,000,000 rows take 8 GB, .* 0.136 GB more; .* 2 workers .* 4 GB"
    ):
        check_memory(cluster(2e9, 2e9), 1_000_000, 8_000_000_000)


def test_a_warning_says_that_memory_may_run_short():
    with pytest.warns(ClusterWarning, match="memory may run short: 1,000 rows take 0.8 GB"):
        check_memory(cluster(1e9), 1_000, 800_000_000)


@pytest.mark.parametrize("limits", [(), (1e3, None), (0,), (10e9,)])
def test_enough_memory_or_no_limit_is_silent(limits):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_memory(cluster(*limits), 1_000, 800_000_000)


def test_a_fit_is_refused_before_anything_is_computed(monkeypatch):
    """By the memory limits that Dask reports for its workers."""
    workers = client_here().scheduler_info(n_workers=-1)["workers"].values()
    limit = max(worker["memory_limit"] for worker in workers)
    assert limit > 1e6
    monkeypatch.setattr(dask_checks, "BYTES_PER_ROW", limit)

    def never(block):
        raise AssertionError

    X = da.zeros((40, 2), chunks=(10, -1)).map_blocks(never, dtype=float, meta=np.zeros((0, 0)))
    with pytest.raises(MaxMarginError, match="too little memory: 40 rows"):
        train(X, np.arange(40) % 2, client=client_here())


def test_a_warning_names_different_instruction_sets():
    with pytest.warns(
        ClusterWarning, match=r"different instruction sets \(avx2, avx512\).*MAXMARGIN_CPU=avx2"
    ):
        warn_of_other_processors(["avx512", "avx2", "avx512"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_of_other_processors(["avx2", "avx2"])


def test_one_warning_names_the_workers_that_a_slow_pass_waits_for(monkeypatch):
    clock = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    timer = PassTimer()
    for _ in range(8):
        with timer.time_pass():
            clock[0] += 1.0
    with timer.time_pass():
        clock[0] += 9.0
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            timer.warn_if_slow(["tcp://b"])
        clock[0] += 3.0
        with pytest.warns(ClusterWarning, match="12.0 s so far, 12 times .*waiting for tcp://a, tcp://b"):
            timer.warn_if_slow(["tcp://b", "tcp://a"])
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            timer.warn_if_slow(["tcp://b"])
