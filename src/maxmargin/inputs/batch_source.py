"""Batches of rows as users hand them in: a generator, a list, a function that begins anew, rows on disk."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin.errors import InvalidInput, MaxMarginError
from maxmargin.inputs.row_store import RowStore
from maxmargin.inputs.stored_batches import stored_batches
from maxmargin.results.encoding import Encoding

__all__ = ["BatchSource", "batch_source", "in_batch", "is_batches"]


@dataclass(frozen=True, eq=False)
class BatchSource:
    """Where batches come from.

    Attributes
    ----------
    begin : callable
        Returns an iterator over (X, y) or (X, y, weight), from the first batch on.
    repeats : bool
        Whether they can be begun again.
    classes : array or None
        Where they are known beforehand.
    feature_names, encoding
        What rows on disk know of their columns.
    """

    begin: Callable[[], Iterator[Any]]
    repeats: bool
    classes: NDArray[Any] | None = None
    feature_names: tuple[str, ...] | None = None
    encoding: Encoding | None = None

    def numbered(self) -> Iterator[tuple[int, Any, Any, Any]]:
        """Yield the number of each batch, its rows, labels and weights (or None)."""
        batches, number = self.begin(), 0
        while True:
            try:
                batch = next(batches)
            except StopIteration:
                return
            except Exception as error:
                error.add_note(f"while batch {number} (counted from 0) was read")
                raise
            yield (number, *_parts(batch, number))
            number += 1


def is_batches(X: Any) -> bool:
    """Whether X, handed in without y, can only be batches: no table, but something to go through."""
    is_table = any(hasattr(X, name) for name in ("shape", "__array__", "__dataframe__", "__arrow_c_stream__"))
    return not is_table and (isinstance(X, Iterable) or callable(X))


def batch_source(X: Any) -> BatchSource:
    """Return rows on disk, or whatever can be gone through, as batches."""
    if isinstance(X, RowStore):
        return BatchSource(lambda: stored_batches(X), True, X.classes, X.feature_names, X.encoding)
    if callable(X):
        return BatchSource(lambda: _begun(X()), repeats=True)
    return BatchSource(lambda: iter(X), repeats=not isinstance(X, Iterator))


def _begun(made: Any) -> Iterator[Any]:
    if not isinstance(made, Iterable):
        raise InvalidInput(
            "a function that makes batches must return something to go through, say a generator; "
            f"got {type(made).__name__}"
        )
    return iter(made)


def _parts(batch: Any, number: int) -> tuple[Any, Any, Any]:
    is_pair = isinstance(batch, tuple | list) and len(batch) in (2, 3)
    if not is_pair or isinstance(batch[0], numbers.Number | str):
        raise InvalidInput(
            f"batch {number} (counted from 0) must be (X, y) or (X, y, sample_weight); got {_told(batch)}. "
            "For one table of rows call fit(X, y)."
        )
    return batch[0], batch[1], batch[2] if len(batch) == 3 else None


def _told(batch: Any) -> str:
    name = type(batch).__name__
    if isinstance(batch, tuple | list):
        return f"a {name} of {len(batch)}"
    return f"{name} of shape {np.shape(batch)}" if hasattr(batch, "shape") else name


@contextmanager
def in_batch(number: int) -> Iterator[None]:
    """Name the batch in errors about its content."""
    try:
        yield
    except (MaxMarginError, ValueError) as error:
        raise InvalidInput(f"batch {number} (counted from 0): {error}") from error
    except TypeError as error:
        raise TypeError(f"batch {number} (counted from 0): {error}") from error
