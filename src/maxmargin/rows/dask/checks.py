"""Checks of a cluster: its memory and processors before a fit, and the time that passes take during one."""

from __future__ import annotations

import time
import warnings
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from statistics import median
from typing import Any

from maxmargin.errors import ClusterWarning, MaxMarginError

__all__ = ["PassTimer", "check_memory", "warn_of_other_processors"]


BYTES_PER_ROW = 136  # of per-row arrays, by the solver that has most of them, the interior point
REFUSE_AT, WARN_AT = (
    0.95,
    0.6,
)  # of the limit: Dask ends a worker at the first share, and spills at the second
SLOW_RATIO = 10.0  # to the median time of a pass
SLOW_SECONDS = 5.0  # a pass that takes less is never called slow
GIGABYTE = 1e9


def check_memory(client: Any, n_rows: int, n_bytes: int) -> None:
    """Compare the memory that a fit needs with the workers' limits; refuse or warn.

    Parameters
    ----------
    n_rows, n_bytes : int
        Of all blocks; the bytes are those of the features.
    """
    workers = client.scheduler_info(n_workers=-1)["workers"].values()
    limits = [worker.get("memory_limit") or 0 for worker in workers]
    if not limits or not all(limits):  # some worker has no limit
        return
    per_row, allowed = BYTES_PER_ROW * n_rows, sum(limits)
    figures = (
        f"{n_rows:,} rows take {n_bytes / GIGABYTE:.3g} GB, and the solver's arrays up to "
        f"{per_row / GIGABYTE:.3g} GB more; the memory limits of the {len(limits)} workers add up to "
        f"{allowed / GIGABYTE:.3g} GB"
    )
    if n_bytes + per_row > REFUSE_AT * allowed:
        raise MaxMarginError(f"too little memory: {figures}. Use more workers, or float32 columns")
    if n_bytes + per_row > WARN_AT * allowed:
        warnings.warn(f"memory may run short: {figures}", ClusterWarning, stacklevel=2)


def warn_of_other_processors(instruction_sets: Iterable[str]) -> None:
    """Warn that the last digits depend on the placement of blocks if workers use different instructions."""
    different = sorted(set(instruction_sets))
    if len(different) > 1:
        warnings.warn(
            f"the workers use different instruction sets ({', '.join(different)}), so the last digits of the "
            "result depend on which worker holds which rows. For identical bits, set "
            f"MAXMARGIN_CPU={different[0]} on all workers",
            ClusterWarning,
            stacklevel=2,
        )


class PassTimer:
    """Times of recent passes, to notice one that takes unusually long."""

    def __init__(self) -> None:
        self._seconds: deque[float] = deque(maxlen=100)
        self._began = 0.0
        self._has_warned = False

    @contextmanager
    def time_pass(self) -> Iterator[None]:
        """Time a pass; one that ends early is not counted."""
        self._began = time.monotonic()
        yield
        self._seconds.append(time.monotonic() - self._began)

    def warn_if_slow(self, unanswered: Iterable[str]) -> None:
        """Warn, once, if the present pass takes far longer than others did; name the workers waited for."""
        if self._has_warned or len(self._seconds) < 5:
            return
        usual, now = median(self._seconds), time.monotonic() - self._began
        if now > max(SLOW_RATIO * usual, SLOW_SECONDS):
            self._has_warned = True
            warnings.warn(
                f"a pass has taken {now:.1f} s so far, {now / usual:.0f} times as long as usual; waiting for "
                f"{', '.join(sorted(unanswered))}",
                ClusterWarning,
                stacklevel=2,
            )
