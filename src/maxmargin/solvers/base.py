"""What a solver is: settings, a state, and one step at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from maxmargin._core import StopToken
from maxmargin.core.certificate.point import CertifiedPoint
from maxmargin.core.problem import Problem
from maxmargin.core.solution import WarmStart
from maxmargin.rows.base import Array, Rows, RowVector

__all__ = ["Needs", "Point", "Solver", "Step", "begin_together", "is_small", "is_wide"]

State = TypeVar("State")

_SMALL = 20_000  # values: chosen, so that Newton's steps take microseconds


def is_small(rows: Rows) -> bool:
    """Whether X and a square matrix of its columns are so small that all digits cost next to nothing."""
    return max(rows.n_rows, rows.n_columns) * rows.n_columns <= _SMALL


_WIDE = 64  # columns, from which the Gram matrices of a few rows are dearer than reading them; chosen
_WORTH_SHARING = 10_000_000  # values of the rows, for each problem: below, a fit takes a fraction of a second


def is_wide(rows: Rows) -> bool:
    """Whether rows are dense, in the storage they were given in, and have many columns."""
    is_dense = rows.n_values == rows.n_rows * rows.n_columns and rows.owned_bytes == 0
    return is_dense and rows.n_columns >= _WIDE


def begin_together(rows: Rows, n_problems: int) -> bool:
    """Whether so many hinge problems on these rows gain by one start for all of them."""
    return n_problems > 1 and is_wide(rows) and n_problems * rows.n_values >= _WORTH_SHARING


@dataclass(frozen=True)
class Needs:
    """What a solver asks of a problem; checked before it starts, with a sentence if it is missing.

    Attributes
    ----------
    losses : frozenset of str
    vectors_at_hand : bool
        Whether it computes with per-row arrays between passes, so that they must be in memory. A solver that
        only hands them to passes runs wherever the rows are.
    """

    losses: frozenset[str]
    vectors_at_hand: bool = False


@dataclass(frozen=True, eq=False)
class Point:
    """A candidate.

    Attributes
    ----------
    w : array
        The weights, of shape (n_columns,), or (K, n_columns) for K outputs.
    b : float, array of shape (K,) or None
        The offset; None: whatever is best for the weights.
    alpha : per-row array, SoftmaxDuals or None
        A dual point; None, for softmax, is that of the probabilities themselves.
    near : float, array of shape (K,) or None
        Where to begin to look for the best offset.
    """

    w: Array
    b: Any
    alpha: RowVector
    near: Any = None


@dataclass(frozen=True)
class Step:
    """What one step tells the loop.

    Attributes
    ----------
    passes : float
        Readings of all rows that the step cost.
    relative_gap : float
        The solver's own estimate. It decides when a certificate is worth a pass, and nothing else.
    wants_certificate : bool
        Whether the solver has reached a point at which it cannot judge itself.
    is_exhausted : bool
        Whether rounding leaves the solver nothing to gain: a certificate is made, and it is the last.
    grams : float
        Gram matrices that the step added up, one over all rows counting 1.
    goes_on : bool
        Whether a few more steps give all digits for nothing, so that reaching the tolerance is no reason to
        stop.
    is_start : bool
        Whether it only found out where the fit begins: that is no iteration, or fits of one iteration each
        would never get anywhere.
    may_wait : bool
        Whether a certificate would surely show that there is far to go, so that none is made merely because
        many passes have gone by.
    """

    passes: float
    relative_gap: float
    wants_certificate: bool = False
    is_exhausted: bool = False
    grams: float = 0.0
    goes_on: bool = False
    is_start: bool = False
    may_wait: bool = False


class Solver(Protocol[State]):
    """An immutable record of settings; everything that changes is in the state.

    `name` is what users give, `title` what they read.
    """

    name: str
    title: str
    needs: Needs

    def start(
        self, problem: Problem, warm_start: WarmStart | None, seed: int, tol: float, token: StopToken
    ) -> State:
        """Prepare, at the point of an earlier fit of the same rows if there is one.


        `tol` is the relative gap that is wanted, to plan with; the loop alone decides when it is reached.
        """
        ...

    def step(self, problem: Problem, state: State, token: StopToken) -> Step:
        """Change the state; consistent whenever it is interrupted."""
        ...

    def point(self, problem: Problem, state: State) -> Point:
        """Return the candidate of this state."""
        ...

    def learn(self, problem: Problem, state: State, examination: CertifiedPoint) -> None:
        """Take note of a certificate that was not good enough."""
        ...

    def warm_start(self, state: State) -> WarmStart | None:
        """Return from where a later fit can go on."""
        ...

    def default_max_iter(self, problem: Problem) -> int:
        """How many steps to take when the user sets no limit."""
        ...
