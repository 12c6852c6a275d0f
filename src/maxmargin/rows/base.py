"""The interface between solvers and data: two kinds of pass over the rows, and per-row arrays."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, fields
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, Generic, Protocol, Self, TypeAlias, TypeVar, get_type_hints

import numpy as np
from numpy.typing import NDArray

from maxmargin._core import Block, StopToken

if TYPE_CHECKING:
    from maxmargin.rows.memory import MemoryRows

__all__ = [
    "Array",
    "Copy",
    "Fill",
    "Helpers",
    "Inner",
    "Largest",
    "Record",
    "ReduceKernel",
    "RowVector",
    "Rows",
    "Scale",
    "Smallest",
    "SweepKernel",
    "Tree",
    "dtype_of_row",
    "inner",
    "looks_at_rows",
    "record_type",
    "results_of",
    "will_visit",
    "written_by",
]


Array = NDArray[np.float64]

# A per-row array, of shape (n_rows,) or (n_rows, n_outputs), wherever the rows keep it: in memory, in a file,
# on other machines. It is opaque: it can be passed to `reduce` and `sweep`, and read in no other way.
RowVector: TypeAlias = Any

R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)


def dtype_of_row(numbers: NDArray[Any]) -> np.dtype[Any]:
    """Return what `Rows.zeros` makes an array of the same type and shape from."""
    return np.dtype((numbers.dtype, numbers.shape[1:]))


class ReduceKernel(Protocol[R_co]):
    """What a pass does to one block, where the order of blocks does not matter.

    The records of neighbouring ranges of blocks are joined by ``+=``, which may overwrite the first: numbers,
    arrays, lists, a `Record`, or a record of the compiled core. A kernel that only writes returns None.

    A kernel may have two more attributes, which save work for rows that are not in memory:

    writes : tuple of int
        Positions of the per-row arrays that it writes; by default none. All others may be read-only.
    reads_rows : bool
        False if it reads per-row arrays only: the block may then be an empty one.

    An array may be given twice, to be read and to be written.
    """

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> R_co:
        """Read a block and its pieces of the per-row arrays; write to those pieces that `writes` names."""
        ...


class SweepKernel(Protocol[R_co]):
    """What a pass does to one block, where rows are visited one by one and each visit changes a state.

    Its records are joined by ``+=`` as well, in the order of the visits.

    A kernel may have a method ``will_visit(*pieces)``: False means that it skips all rows of the block, so
    that they need not be read.
    """

    def __call__(
        self, block: Block, token: StopToken, order: tuple[int, int, int], *pieces: NDArray[Any]
    ) -> R_co:
        """Visit the block's rows in the order named by (seed, pass, block)."""
        ...


def written_by(kernel: ReduceKernel[Any]) -> tuple[int, ...]:
    """Return the positions of the per-row arrays that a kernel writes."""
    return tuple(getattr(kernel, "writes", ()))


def looks_at_rows(kernel: ReduceKernel[Any]) -> bool:
    """Whether a kernel reads the rows themselves, or per-row arrays only."""
    return bool(getattr(kernel, "reads_rows", True))


def will_visit(kernel: SweepKernel[Any], pieces: Sequence[NDArray[Any]]) -> bool:
    """Whether a kernel may read any row of the block with these pieces."""
    asked = getattr(kernel, "will_visit", None)
    return asked is None or bool(asked(*pieces))


@cache
def record_type(kernel_type: type) -> Any:
    """Return what a kernel says that it returns."""
    return get_type_hints(kernel_type.__call__)["return"]


class Rows(ABC):
    """The rows of a problem, in blocks that depend on the data only.

    Per-row arrays (duals, scores, flags) are made by `zeros`; a solver passes them to `reduce` and `sweep`,
    and the rows decide where they are kept.

    Attributes
    ----------
    vectors_at_hand : bool
        Whether per-row arrays are NumPy arrays that a solver may read and compute with.
    can_sweep : bool
        Whether rows can be visited one by one; if not, `sweep` raises an error.
    swept_together : int
        How many neighbouring rows a sweep visits in turn; 1 if its order is drawn over all rows.
    most_copied : float
        How many values `subset` should copy into memory at most.
    """

    n_rows: int
    n_columns: int
    n_values: int  # stored numbers: n_rows · n_columns when dense
    vectors_at_hand = False
    can_sweep = True
    swept_together = 1
    most_copied = float("inf")

    @property
    def largest_block(self) -> int:
        """The most rows that a pass adds up one after the other; rounding errors are bounded by it."""
        return self.n_rows

    @abstractmethod
    def zeros(self, dtype: Any = np.float64) -> RowVector:
        """Return a per-row array of zeros.

        A dtype with a shape, such as ``np.dtype((np.float64, (3,)))``, makes it one of shape (n_rows, 3).
        """

    @abstractmethod
    def filled(self, value: float) -> RowVector:
        """Return a per-row array with the same value in each row."""

    @abstractmethod
    def keep(self, numbers: NDArray[Any]) -> RowVector:
        """Return a per-row array with these values, one or more for each row; it may share their memory."""

    @abstractmethod
    def copied(self, vector: RowVector) -> RowVector:
        """Return a copy, which later passes over the original do not change."""

    @abstractmethod
    def take(self, indices: NDArray[np.intp], *vectors: RowVector) -> list[NDArray[Any]]:
        """Return the entries at a few rows, for each per-row array an array of shape (len(indices),)."""

    @abstractmethod
    def holds(self, vector: RowVector) -> bool:
        """Whether it is a per-row array of these rows, or of as many: a warm start needs to know."""

    @abstractmethod
    def reduce(self, kernel: ReduceKernel[R], *vectors: RowVector, token: StopToken | None = None) -> R:
        """Apply the kernel to every block; join its records in a binary tree over block numbers."""

    @abstractmethod
    def sweep(
        self, kernel: SweepKernel[R], seed: int, number: int, *vectors: RowVector, token: StopToken
    ) -> R:
        """Have the kernel visit every row once, in an order drawn for (seed, number)."""

    @abstractmethod
    def subset(self, indices: NDArray[np.intp]) -> MemoryRows:
        """Copy a few of the rows into memory."""

    def condensed(self, token: StopToken) -> Rows:
        """Return the same rows in a storage that makes passes cheaper, or `self` if there is none.

        Products with the two agree up to rounding. Solvers with many passes use it; certificates are always
        computed from the rows as they were given.
        """
        return self

    def interrupt(self) -> None:  # noqa: B027 - where nobody is waited for, there is nothing to do
        """Take note that the user has interrupted the fit: passes that follow should not wait for long."""

    @property
    def owned_bytes(self) -> int:
        """Bytes of a condensed copy of the rows; 0 if they are read in place."""
        return 0

    @abstractmethod
    def norms(self) -> tuple[RowVector, float]:
        """Return the squared norms of the rows and the largest of them; refuse values that are not finite."""


class Tree(Generic[R]):
    """Joins records pairwise in a fixed binary tree, so that sums have the same bits everywhere.

    Records may come in any order and from any thread; a pair is joined as soon as both halves are there, so
    that few records are in memory at a time.
    """

    def __init__(self, count: int) -> None:
        self._count = count
        self._waiting: dict[tuple[int, int], R] = {}
        self._lock = threading.Lock()

    def put(self, number: int, record: R, level: int = 0) -> None:
        """Add the record of one block, or of a branch from `branches`, and join what can be joined."""
        size = -(-self._count >> level)
        while size > 1:
            partner = number ^ 1
            if partner < size:
                with self._lock:
                    if (level, partner) not in self._waiting:
                        self._waiting[level, number] = record
                        return
                    other = self._waiting.pop((level, partner))
                record = _join(record, other) if number < partner else _join(other, record)
            level, number, size = level + 1, number // 2, (size + 1) // 2
        self._waiting[level, 0] = record

    def branches(self) -> list[tuple[int, int, R]]:
        """Return what is joined so far, as (number, level, record), to be put into another tree."""
        return [(number, level, record) for (level, number), record in self._waiting.items()]

    def root(self) -> R:
        """Return the one record that is left when all have been added."""
        ((_, record),) = self._waiting.items()
        return record


def _join(first: Any, second: Any) -> Any:
    """Return first + second, in place where the first is an array; None if there is nothing to join."""
    if first is not None:
        first += second
    return first


@dataclass(frozen=True, eq=False)
class Record:
    """A record of several parts, each of which is joined on its own.

    ``x: float`` is added, arrays in place; ``x: Annotated[float, max]`` is joined by the function that is
    named. Numbers that the compiled core adds up are one part, a record of the core.
    """

    def __iadd__(self, other: Self) -> Self:
        kind: Any = type(self)
        parts = (joined(getattr(self, name), getattr(other, name)) for name, joined in _joins(kind))
        return kind(*parts)  # type: ignore[no-any-return]


@cache
def _joins(kind: type[Record]) -> list[tuple[str, Callable[[Any, Any], Any]]]:
    """Return the names of a record's parts in their order, each with the function that joins two."""
    hints = get_type_hints(kind, include_extras=True)
    return [(part.name, getattr(hints[part.name], "__metadata__", [_join])[0]) for part in fields(kind)]


@dataclass(frozen=True, eq=False)
class Largest(Record):
    """The largest of the blocks' numbers."""

    value: Annotated[float, max]


# ------------------------------------------------------------------------------------------------
# Passes that need per-row arrays only: sums, multiples, order.


@dataclass(frozen=True)
class Inner:
    """Inner product of two per-row arrays."""

    reads_rows = False

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> float:
        a, b = pieces
        return float(np.einsum("i,i->", a, b))


@dataclass(frozen=True)
class Scale:
    """Write the first per-row array, times a factor, to the second; they may be the same."""

    factor: float

    writes = (1,)
    reads_rows = False

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> None:
        a, scaled = pieces
        np.multiply(a, self.factor, out=scaled)


@dataclass(frozen=True, eq=False)
class SmallestSizes:
    """The `count` smallest of some sizes, in no order."""

    count: int
    sizes: Array

    def __add__(self, other: SmallestSizes) -> SmallestSizes:
        return SmallestSizes.among(np.concatenate([self.sizes, other.sizes]), self.count)

    @classmethod
    def among(cls, sizes: Array, count: int) -> SmallestSizes:
        return cls(count, sizes if len(sizes) <= count else np.partition(sizes, count - 1)[:count])


@dataclass(frozen=True)
class Smallest:
    """Return the `count` smallest |a| of rows with c > 0, in no order; per-row arrays a and c."""

    count: int

    reads_rows = False

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> SmallestSizes:
        a, c = pieces
        return SmallestSizes.among(np.abs(a[c > 0]), self.count)


@dataclass(frozen=True)
class Fill:
    """Fill a per-row array with one value."""

    value: float

    writes = (0,)
    reads_rows = False

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> None:
        (a,) = pieces
        a[:] = self.value


@dataclass(frozen=True)
class Copy:
    """Copy the first per-row array to the second."""

    writes = (1,)
    reads_rows = False

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> None:
        a, copy = pieces
        copy[:] = a


# ------------------------------------------------------------------------------------------------
# The inner product of arrays in memory.


def inner(u: Array, v: Array) -> float:
    """Return u·v without BLAS, whose bits depend on its threads, and without a copy."""
    return float(np.einsum("i,i->", u, v))


# ------------------------------------------------------------------------------------------------
# A thread pool, and waiting for it so that Ctrl-C is always noticed.

_LONGEST_WAIT = 0.1  # seconds


class Helpers(ThreadPoolExecutor):
    """A thread pool of limited size.

    If the system cannot start another thread, the work is done by the threads that exist and by the caller:
    it takes longer, and the results are the same.
    """

    def __init__(self, most: int) -> None:
        super().__init__(most, thread_name_prefix="maxmargin")

    def submit(self, work: Callable[..., R], /, *arguments: Any, **settings: Any) -> Future[R]:
        """Schedule some work; return the future of its result."""
        task = _Task(lambda: work(*arguments, **settings))
        try:
            super().submit(task)
        except RuntimeError as error:
            if "start new thread" not in str(error):
                raise
            task()  # the executor keeps it, too, for a thread that may never start
        return task.future


class _Task(Generic[R]):
    """Work that is done once, by whichever thread calls it first."""

    def __init__(self, work: Callable[[], R]) -> None:
        self.future: Future[R] = Future()
        self._waiting = [work]  # of two threads that `pop`, one gets the work

    def __call__(self) -> None:
        try:
            work = self._waiting.pop()
        except IndexError:
            return
        if not self.future.set_running_or_notify_cancel():
            return
        try:
            self.future.set_result(work())
        except BaseException as error:
            self.future.set_exception(error)
            if not isinstance(error, Exception):
                raise


def results_of(futures: Iterable[Future[R]]) -> list[R]:
    """Return the results in order, or raise what the first that failed raised.

    A signal that arrives just before a thread begins to wait does not interrupt it: without a timeout it
    could wait forever although Ctrl-C was pressed. So the wait is cut into short ones.
    """
    found = []
    for future in futures:
        while not future.done():
            wait([future], timeout=_LONGEST_WAIT)
        found.append(future.result())
    return found
