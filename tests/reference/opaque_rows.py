"""Rows whose numbers nobody can look at: what files or other machines would keep, kept here under seal.

They answer with the bits of the `MemoryRows` inside. Whoever computes with a vector between passes, writes to
one that the kernel did not name, or reads the rows after saying that it would not, is found out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from maxmargin._core import Block, StopToken
from maxmargin.rows.base import Rows, looks_at_rows, written_by
from maxmargin.rows.memory import MemoryRows


class Sealed:
    """A row vector that can be handed on, and nothing else."""

    def __init__(self, numbers: np.ndarray) -> None:
        object.__setattr__(self, "_Sealed__numbers", numbers)

    def _refuse(self, *_: Any, **__: Any) -> Any:
        raise AssertionError("a row vector was looked into between passes")

    __hash__ = object.__hash__
    __getitem__ = __setitem__ = __len__ = __iter__ = __contains__ = __bool__ = __float__ = __int__ = _refuse
    __add__ = __radd__ = __iadd__ = __sub__ = __rsub__ = __isub__ = __mul__ = __rmul__ = __imul__ = _refuse
    __truediv__ = __rtruediv__ = __itruediv__ = __pow__ = __neg__ = __abs__ = __matmul__ = __rmatmul__ = (
        _refuse
    )
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __and__ = __or__ = __invert__ = _refuse
    __array__ = __array_ufunc__ = __array_function__ = __copy__ = __deepcopy__ = _refuse
    __getattr__ = __setattr__ = _refuse


def _opened(vector: Any) -> np.ndarray:
    assert isinstance(vector, Sealed), f"not a vector of these rows: {type(vector).__name__}"
    return object.__getattribute__(vector, "_Sealed__numbers")  # type: ignore[no-any-return]


@dataclass(frozen=True)
class _Guarded:
    """A kernel that gets what it has asked for and no more."""

    kernel: Any
    nothing: Block

    def __call__(self, block: Block, token: StopToken, *pieces: np.ndarray) -> Any:
        handed = []
        for k, piece in enumerate(pieces):
            view = piece.view()
            view.flags.writeable = k in written_by(self.kernel)
            handed.append(view)
        return self.kernel(block if looks_at_rows(self.kernel) else self.nothing, token, *handed)


class OpaqueRows(Rows):
    """The rows of a `MemoryRows`, with sealed vectors beside them."""

    def __init__(self, inside: MemoryRows) -> None:
        self._inside = inside
        self.n_rows, self.n_columns, self.n_values = inside.n_rows, inside.n_columns, inside.n_values

    @property
    def largest_block(self) -> int:
        return self._inside.largest_block

    def zeros(self, dtype: Any = np.float64) -> Sealed:
        return Sealed(self._inside.zeros(dtype))

    def filled(self, value: float) -> Sealed:
        return Sealed(self._inside.filled(value))

    def copied(self, vector: Sealed) -> Sealed:
        return Sealed(self._inside.copied(_opened(vector)))

    def keep(self, numbers: np.ndarray) -> Sealed:
        return Sealed(np.array(numbers))

    def take(self, indices: np.ndarray, *vectors: Sealed) -> list[np.ndarray]:
        return self._inside.take(indices, *(_opened(vector) for vector in vectors))

    def holds(self, vector: Any) -> bool:
        return isinstance(vector, Sealed) and self._inside.holds(_opened(vector))

    def reduce(self, kernel: Any, *vectors: Sealed, token: StopToken | None = None) -> Any:
        nothing = Block(np.zeros((0, self.n_columns)))
        arrays = (_opened(vector) for vector in vectors)
        return self._inside.reduce(_Guarded(kernel, nothing), *arrays, token=token)

    def sweep(self, kernel: Any, seed: int, number: int, *vectors: Sealed, token: StopToken) -> Any:
        arrays = (_opened(vector) for vector in vectors)
        return self._inside.sweep(kernel, seed, number, *arrays, token=token)

    def subset(self, indices: np.ndarray) -> MemoryRows:
        return self._inside.subset(indices)

    def condensed(self, token: StopToken) -> OpaqueRows:
        return OpaqueRows(self._inside.condensed(token))

    def norms(self) -> tuple[Sealed, float]:
        norm2, largest = self._inside.norms()
        return Sealed(norm2), largest
