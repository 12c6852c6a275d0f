"""BLAS with one thread, while several threads of a worker may be at passes."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from threadpoolctl import ThreadpoolController

__all__ = ["one_blas_thread"]

# Sums by BLAS depend on its threads. The limit belongs to the process, so the last pass to end lifts it.
_limits: list[Any] = []
_n_limited = 0
_limit_lock = threading.Lock()
_libraries = ThreadpoolController()  # finding them takes longer than a small pass


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Have BLAS use one thread until the last of those who asked for it is done."""
    global _n_limited
    with _limit_lock:
        if _n_limited == 0:
            _limits.append(_libraries.limit(limits=1))
        _n_limited += 1
    try:
        yield
    finally:
        with _limit_lock:
            _n_limited -= 1
            if _n_limited == 0:
                _limits.pop().restore_original_limits()
