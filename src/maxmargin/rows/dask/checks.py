"""What is looked at before a fit on a cluster begins, and while it goes on: memory, processors, pace."""

from __future__ import annotations

import time
import warnings
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from statistics import median
from typing import Any

from maxmargin.errors import ClusterWarning, MaxMarginError

__all__ = ["Pace", "check_memory", "warn_of_other_processors"]


BYTES_BESIDE = 136  # for each row: the vectors of the solver that has most of them, the interior point
REFUSED, TOLD = 0.95, 0.6  # shares of the limit: at the first Dask ends a worker, at the second it spills
SLOW = 10.0  # times the usual time of a pass
NOT_SLOW = 5.0  # seconds
GIGABYTE = 1e9


def check_memory(client: Any, n_rows: int, n_bytes: int) -> None:
    """Compare what a fit will hold with what the workers may; refuse what they cannot, warn where it is much.

    Parameters
    ----------
    n_rows, n_bytes : int
        Of all blocks, as numbers.
    """
    limits = list(_limits(client))
    if not limits or not all(limits):  # some worker has none
        return
    needed, allowed = n_bytes + BYTES_BESIDE * n_rows, sum(limits)
    told = (
        f"{n_rows:,} rows take {n_bytes / GIGABYTE:.3g} GB and {BYTES_BESIDE * n_rows / GIGABYTE:.3g} GB for "
        f"numbers beside them; the limits of {len(limits)} workers add up to {allowed / GIGABYTE:.3g} GB"
    )
    if needed > REFUSED * allowed:
        raise MaxMarginError(f"too little memory: {told}. Use more workers, or float32 columns")
    if needed > TOLD * allowed:
        warnings.warn(f"memory may be scarce: {told}", ClusterWarning, stacklevel=2)


def _limits(client: Any) -> Iterator[int]:
    for worker in client.scheduler_info()["workers"].values():
        yield worker.get("memory_limit") or 0


def warn_of_other_processors(kinds: Iterable[str]) -> None:
    """Say that the last digits depend on who computes them, where workers use different instructions."""
    different = sorted(set(kinds))
    if len(different) > 1:
        warnings.warn(
            f"the workers use different instructions ({', '.join(different)}): the last digits of the result "
            f"depend on which of them has which rows. Set MAXMARGIN_CPU={different[0]} on all of them for "
            "equal bits",
            ClusterWarning,
            stacklevel=2,
        )


class Pace:
    """How long passes take, and who keeps one waiting."""

    def __init__(self) -> None:
        self._seconds: deque[float] = deque(maxlen=100)
        self._began = 0.0
        self._was_told = False

    @contextmanager
    def of_a_pass(self) -> Iterator[None]:
        """Time a pass; one that ends early counts for nothing."""
        self._began = time.monotonic()
        yield
        self._seconds.append(time.monotonic() - self._began)

    def look(self, waiting: Iterable[str]) -> None:
        """Warn, once, if this pass takes far longer than others did."""
        if self._was_told or len(self._seconds) < 5:
            return
        usual, now = median(self._seconds), time.monotonic() - self._began
        if now > max(SLOW * usual, NOT_SLOW):
            self._was_told = True
            warnings.warn(
                f"a pass has taken {now:.1f} s by now, {now / usual:.0f} times as long as usual; "
                f"still at it: {', '.join(sorted(waiting))}",
                ClusterWarning,
                stacklevel=2,
            )
