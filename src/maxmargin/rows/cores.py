"""How many threads may be used."""

from __future__ import annotations

import os
import sys
import threading
from typing import Any

from maxmargin.errors import InvalidParameter

__all__ = ["resolve_jobs"]

_MOST = 1024  # more would only wait for each other


def resolve_jobs(n_jobs: Any) -> int:
    """Return a number of threads; the results never depend on it.

    None means all cores that this process may use, but 1 where somebody else already runs things side by
    side: in a worker process (joblib, Dask, multiprocessing) and outside the main thread. Negative numbers
    count back from all cores, as in joblib.
    """
    if n_jobs is None:
        inside_worker = threading.current_thread() is not threading.main_thread() or _has_parent()
        return 1 if inside_worker else _cores()
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, int) or n_jobs == 0:
        raise InvalidParameter.must_be(
            "n_jobs", "a whole number other than 0 (-1: all cores)", n_jobs, or_none=True
        )
    return min(n_jobs, _MOST) if n_jobs > 0 else max(1, _cores() + 1 + n_jobs)


def _has_parent() -> bool:
    multiprocessing = sys.modules.get("multiprocessing")  # a child of it has imported it
    return multiprocessing is not None and multiprocessing.parent_process() is not None


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
