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
from maxmargin.rows.dask.checks import Pace, check_memory, warn_of_other_processors  # noqa: E402


def cluster(*limits):
    workers = {f"worker {k}": {"memory_limit": limit} for k, limit in enumerate(limits)}
    return SimpleNamespace(scheduler_info=lambda: {"workers": workers})


def test_too_little_memory_is_refused_with_figures():
    with pytest.raises(MaxMarginError, match=r"1,000,000 rows take 8 GB and 0.136 GB .* 2 workers .* 4 GB"):
        check_memory(cluster(2e9, 2e9), 1_000_000, 8_000_000_000)


def test_scarce_memory_is_told():
    with pytest.warns(ClusterWarning, match="memory may be scarce: 1,000 rows take 0.8 GB"):
        check_memory(cluster(1e9), 1_000, 800_000_000)


@pytest.mark.parametrize("limits", [(), (1e3, None), (0,), (10e9,)])
def test_enough_memory_or_no_limit_is_silent(limits):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_memory(cluster(*limits), 1_000, 800_000_000)


def test_a_fit_is_refused_before_anything_is_computed(monkeypatch):
    """By the limits that Dask itself tells of its workers."""
    (limit, *_) = dask_checks._limits(client_here())
    assert limit > 1e6
    monkeypatch.setattr(dask_checks, "BYTES_BESIDE", limit)

    def never(block):
        raise AssertionError

    X = da.zeros((40, 2), chunks=(10, -1)).map_blocks(never, dtype=float, meta=np.zeros((0, 0)))
    with pytest.raises(MaxMarginError, match="too little memory: 40 rows"):
        train(X, np.arange(40) % 2, client=client_here())


def test_other_processors_are_told():
    with pytest.warns(ClusterWarning, match=r"different instructions \(avx2, avx512\).*MAXMARGIN_CPU=avx2"):
        warn_of_other_processors(["avx512", "avx2", "avx512"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_of_other_processors(["avx2", "avx2"])


def test_a_slow_pass_is_told_once_with_who_is_at_it(monkeypatch):
    clock = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    pace = Pace()
    for _ in range(8):
        with pace.of_a_pass():
            clock[0] += 1.0
    with pace.of_a_pass():
        clock[0] += 9.0
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            pace.look(["tcp://b"])
        clock[0] += 3.0
        with pytest.warns(ClusterWarning, match="12.0 s by now, 12 times .*still at it: tcp://a, tcp://b"):
            pace.look(["tcp://b", "tcp://a"])
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            pace.look(["tcp://b"])
