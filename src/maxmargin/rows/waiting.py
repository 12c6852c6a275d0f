"""Waiting for threads so that a Ctrl-C is always heard."""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import Future, wait
from typing import TypeVar

__all__ = ["results_of"]

R = TypeVar("R")

_LONGEST_SLEEP = 0.1  # seconds


def results_of(futures: Iterable[Future[R]]) -> list[R]:
    """Return the results in order, or raise what the first that failed raised.

    A signal that arrives just before a thread falls asleep does not wake it: whoever waits without an end
    may wait for ever, although Ctrl-C was pressed. So this wakes up now and then to look.
    """
    found = []
    for future in futures:
        while not future.done():
            wait([future], timeout=_LONGEST_SLEEP)
        found.append(future.result())
    return found
