"""What solvers may ask of the data: two kinds of pass, and numbers kept beside the rows."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from maxmargin._core import Block, StopToken

if TYPE_CHECKING:
    from maxmargin.rows.memory import MemoryRows

__all__ = [
    "AddsArrays",
    "AddsNumbers",
    "Array",
    "Copy",
    "Fill",
    "Helpers",
    "Inner",
    "JoinsNothing",
    "ReduceKernel",
    "RowVector",
    "Rows",
    "Scale",
    "Smallest",
    "SweepKernel",
    "Tree",
    "inner",
    "looks_at_rows",
    "merge_in_tree",
    "results_of",
    "will_visit",
    "written_by",
]


Array = NDArray[np.float64]

# One number for each row, wherever the rows keep it: an array in memory, a file, pieces on other machines.
# Who is handed one may hand it to `reduce` and `sweep`, and may not look inside.
RowVector: TypeAlias = Any

R = TypeVar("R")
Record = TypeVar("Record", covariant=True)


class ReduceKernel(Protocol[R]):
    """One block's share of a pass in which order does not matter.

    A kernel may have two attributes more, which save rows that are not in memory the work:

    writes : tuple of int
        Which of the vectors it rewrites; without it, none. The pieces of all others may be read-only.
    reads_rows : bool
        False if the vectors are all it looks at: the block may then be an empty one.

    A vector may be given twice, to be read and to be written.
    """

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> R:
        """Read the block and its pieces of the row vectors; may rewrite the pieces named by `writes`."""
        ...

    def merge(self, first: R, second: R) -> R:
        """Join the records of two neighbouring ranges of blocks."""
        ...


class SweepKernel(Protocol[R]):
    """One block's share of a pass that visits rows one by one and changes a state on the way.

    A kernel may have a method ``will_visit(*pieces)``: False says that it will leave all rows of the block
    alone, so that they need not be fetched.
    """

    def __call__(
        self, block: Block, token: StopToken, order: tuple[int, int, int], *pieces: NDArray[Any]
    ) -> R:
        """Visit the block's rows in the order named by (seed, pass, block)."""
        ...

    def merge(self, first: R, second: R) -> R:
        """Join the records of two blocks, in the order of their visits."""
        ...


def written_by(kernel: ReduceKernel[Any]) -> tuple[int, ...]:
    """Return which of its vectors a kernel rewrites."""
    return tuple(getattr(kernel, "writes", ()))


def looks_at_rows(kernel: ReduceKernel[Any]) -> bool:
    """Whether a kernel needs the rows themselves, or only numbers beside them."""
    return bool(getattr(kernel, "reads_rows", True))


def will_visit(kernel: SweepKernel[Any], pieces: Sequence[NDArray[Any]]) -> bool:
    """Whether a kernel may look at any row of the block with these pieces."""
    asked = getattr(kernel, "will_visit", None)
    return asked is None or bool(asked(*pieces))


class Rows(ABC):
    """The rows of a problem, cut into blocks that only the data decide.

    Numbers beside the rows (duals, scores, flags) are made by `zeros`; a solver hands them to the passes
    and leaves it to the rows where they are kept.

    Attributes
    ----------
    vectors_at_hand : bool
        Whether numbers beside the rows are NumPy arrays that anybody may look at and compute with.
    can_sweep : bool
        Whether rows can be visited one by one; where not, `sweep` refuses in words.
    swept_together : int
        How many neighbours a sweep visits before it goes to others; 1 where its order is drawn over all rows.
    most_copied : float
        How many values `subset` should take into memory at the most.
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
        """The most rows that a pass adds up one after the other, by which rounding errors are bounded."""
        return self.n_rows

    @abstractmethod
    def zeros(self, dtype: Any = np.float64) -> RowVector:
        """One number for each row."""

    @abstractmethod
    def filled(self, value: float) -> RowVector:
        """Return the same number for each row."""

    @abstractmethod
    def keep(self, numbers: NDArray[Any]) -> RowVector:
        """Put numbers beside the rows, one for each; the array itself may be what is kept."""

    @abstractmethod
    def copied(self, vector: RowVector) -> RowVector:
        """Return a copy that later passes over the vector do not change."""

    @abstractmethod
    def take(self, indices: NDArray[np.intp], *vectors: RowVector) -> list[NDArray[Any]]:
        """Bring the numbers of a few rows into memory, an array for each vector."""

    @abstractmethod
    def holds(self, vector: RowVector) -> bool:
        """Whether it is a vector of these rows, or of as many: what a warm start asks first."""

    @abstractmethod
    def reduce(self, kernel: ReduceKernel[R], *vectors: RowVector, token: StopToken | None = None) -> R:
        """Let the kernel read every block; join its records in one binary tree over block numbers."""

    @abstractmethod
    def sweep(
        self, kernel: SweepKernel[R], seed: int, number: int, *vectors: RowVector, token: StopToken
    ) -> R:
        """Let the kernel visit every row once, in an order drawn for (seed, number)."""

    @abstractmethod
    def subset(self, indices: NDArray[np.intp]) -> MemoryRows:
        """Copy a few of the rows into memory, for a problem that only they decide."""

    def condensed(self, token: StopToken) -> Rows:
        """Return the same rows, stored so that many passes are cheap, or these where it does not pay.

        Products with the two agree up to rounding; solvers that pass over the rows many times ask for it
        once, while certificates are always made from the rows as they were given.
        """
        return self

    @property
    def owned_bytes(self) -> int:
        """Memory that a condensed copy of the rows takes; 0 if they are read where they are."""
        return 0

    @abstractmethod
    def norms(self) -> tuple[RowVector, float]:
        """Squared norms of the rows and the largest of them; refuses values that are not finite."""


class Tree(Generic[R]):
    """Joins records pairwise, always in the same shape, so that sums have the same bits everywhere.

    Records may come in any order and from any thread; a pair is joined as soon as both halves are there, so
    that few records are alive at a time.
    """

    def __init__(self, count: int, kernel: ReduceKernel[R] | SweepKernel[R]) -> None:
        self._count = count
        self._kernel = kernel
        self._waiting: dict[tuple[int, int], R] = {}
        self._lock = threading.Lock()

    def put(self, number: int, record: R, level: int = 0) -> None:
        """Take the record of one block, or of a branch from `branches`, and join what can be joined."""
        size = -(-self._count >> level)
        while size > 1:
            partner = number ^ 1
            if partner < size:
                with self._lock:
                    if (level, partner) not in self._waiting:
                        self._waiting[level, number] = record
                        return
                    other = self._waiting.pop((level, partner))
                merge = self._kernel.merge
                record = merge(record, other) if number < partner else merge(other, record)
            level, number, size = level + 1, number // 2, (size + 1) // 2
        self._waiting[level, 0] = record

    def branches(self) -> list[tuple[int, int, R]]:
        """Return what is joined so far, as (number, level, record): another tree takes it from there."""
        return [(number, level, record) for (level, number), record in self._waiting.items()]

    def root(self) -> R:
        """Return the one record that is left when all have come."""
        ((_, record),) = self._waiting.items()
        return record


def merge_in_tree(records: Sequence[R], kernel: ReduceKernel[R] | SweepKernel[R]) -> R:
    """Join records that are all there already."""
    tree = Tree(len(records), kernel)
    for number, record in enumerate(records):
        tree.put(number, record)
    return tree.root()


# ------------------------------------------------------------------------------------------------
# How the records of two neighbouring ranges of blocks are joined, for kernels that do nothing unusual.


class JoinsNothing:
    """A kernel that only writes to its vectors."""

    def merge(self, first: None, second: None) -> None:
        return None


class AddsNumbers:
    """A kernel whose record is a sum."""

    def merge(self, first: float, second: float) -> float:
        return first + second


class AddsArrays:
    """A kernel whose record is an array of sums."""

    def merge(self, first: Array, second: Array) -> Array:
        first += second
        return first


# ------------------------------------------------------------------------------------------------
# The passes that need only numbers beside the rows: sums, multiples, order.


@dataclass(frozen=True)
class Inner(AddsNumbers):
    """Add up the products of two vectors."""

    reads_rows = False

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> float:
        a, b = pieces
        return float(np.einsum("i,i->", a, b))


@dataclass(frozen=True)
class Scale(JoinsNothing):
    """Fill the second vector with the first, times a number; they may be the same."""

    factor: float

    writes = (1,)
    reads_rows = False

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> None:
        a, scaled = pieces
        np.multiply(a, self.factor, out=scaled)


@dataclass(frozen=True)
class Smallest:
    """Return the so many smallest sizes |a| of rows with c > 0, in no order; vectors a and c."""

    count: int

    reads_rows = False

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> Array:
        a, c = pieces
        return self._least(np.abs(a[c > 0]))

    def merge(self, first: Array, second: Array) -> Array:
        return self._least(np.concatenate([first, second]))

    def _least(self, sizes: Array) -> Array:
        return sizes if len(sizes) <= self.count else np.partition(sizes, self.count - 1)[: self.count]


@dataclass(frozen=True)
class Fill(JoinsNothing):
    """Fill a vector with one number."""

    value: float

    writes = (0,)
    reads_rows = False

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> None:
        (a,) = pieces
        a[:] = self.value


@dataclass(frozen=True)
class Copy(JoinsNothing):
    """Fill the second vector with the first."""

    writes = (1,)
    reads_rows = False

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> None:
        a, copy = pieces
        copy[:] = a


# ------------------------------------------------------------------------------------------------
# The product of two vectors as long as a row or as the rows are many.


def inner(u: Array, v: Array) -> float:
    """Return u·v without BLAS, whose bits depend on its threads, and without a copy."""
    return float(np.einsum("i,i->", u, v))


# ------------------------------------------------------------------------------------------------
# Threads that help, and waiting for them so that a Ctrl-C is always heard.

_LONGEST_SLEEP = 0.1  # seconds


class Helpers(ThreadPoolExecutor):
    """Threads that work for others, at most so many.

    Where the system starts no further thread, those that there are do the work, and so does whoever hands it
    out: it takes longer, and the results are the same.
    """

    def __init__(self, most: int) -> None:
        super().__init__(most, thread_name_prefix="maxmargin")

    def submit(self, work: Callable[..., R], /, *arguments: Any, **settings: Any) -> Future[R]:
        """Hand out some work; return what will hold its result."""
        task = _Task(lambda: work(*arguments, **settings))
        try:
            super().submit(task)
        except RuntimeError as error:
            if "start new thread" not in str(error):
                raise
            task()  # the executor keeps it, too: for a thread that may never be
        return task.future


class _Task(Generic[R]):
    """Work that is done once, whoever comes to it."""

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

    A signal that arrives just before a thread falls asleep does not wake it: whoever waits without an end
    may wait for ever, although Ctrl-C was pressed. So this wakes up now and then to look.
    """
    found = []
    for future in futures:
        while not future.done():
            wait([future], timeout=_LONGEST_SLEEP)
        found.append(future.result())
    return found
