"""A disk that is full before its time: the system refuses to make files longer than a few bytes."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def little_room(n_bytes: int) -> Iterator[None]:
    """Let no file grow beyond so many bytes; writing fails as it does on a full disk, with another number."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
