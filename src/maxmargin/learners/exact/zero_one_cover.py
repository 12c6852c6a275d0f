"""The fewest errors by covering: combinatorial Benders decomposition (Codato and Fischetti, 2006).

Signed lifted rows a are right where a·v > 0. A few of them that cannot all be right together, a combination
Σ λ a = 0 with λ > 0 (Gordan), hold at least one error. So the errors cover every such subsystem:

    minimise Σ c z ,   Σ z over the subsystem ≥ 1 for each of them ,   z = 0 or 1 .

Subsystems are found one by one: a vertex of {λ ≥ 0, Σ λ a = 0, Σ λ = 1} is one that has no smaller one inside
(Gleeson and Ryan, 1990). HiGHS covers those known so far; the rows that its cover calls right either can be
separated, which ends it, or hold further subsystems. There is no large constant in it, and the value of any
cover problem is an honest lower bound, because each subsystem is proved in whole numbers first.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from maxmargin._core import Stopped, StopToken
from maxmargin.core.exact.arithmetic import Echelon, as_integers
from maxmargin.core.exact.systems import solve_from_left
from maxmargin.core.solution import Status
from maxmargin.rows.base import Array
from maxmargin.separation.programs import solve_program

__all__ = ["Cover", "cover_errors", "next_total", "proves_infeasible"]


_TOLERANCE = 1e-9  # of the programs: a weight λ below this is 0
_ROOT_ROUNDS = 60
_STALE = 5
_PER_ROUND = 6  # peelings with different preferences
_RELATIVE, _ABSOLUTE = 1e-9, 2e-6  # what the value of a program by HiGHS may be off
_CLOSED = 1e-7  # of the errors: what tolerances of HiGHS leave open is not worth another program
_MOST_TOTALS = 100_000
_OF_THE_TIME = 0.9  # what a cover problem may take of what is left: its bound has to arrive before the end

Index = NDArray[np.intp]


@dataclass
class Cover:
    """What is known: subsystems, the least weight of errors that they force, and the best direction so far.

    Attributes
    ----------
    count : the weight of the errors of a direction
    v, errors : the best direction and the weight of its errors
    bound : no direction has errors of less weight
    status : why it ended
    """

    A: Array
    weight: Array
    v: Array
    count: Callable[[Array], float]
    errors: float = field(init=False)
    bound: float = 0.0
    status: Status = Status.SOLVED
    nodes: int = 0
    subsystems: list[Index] = field(default_factory=list)
    known: set[bytes] = field(default_factory=set)
    are_proved: bool = True
    scaled: Array = field(init=False)
    price: Array = field(init=False)

    def __post_init__(self) -> None:
        self.errors = self.count(self.v)
        self.scaled = _scaled(self.A)
        # HiGHS stops at a difference of 1e-6 in whatever units: the largest weight is to be about 1,000.
        self.price = self.weight * 1024.0 / _power_of_two(self.weight.max(initial=0.0, keepdims=True))

    def propose(self, v: Array) -> None:
        """Keep a direction if it has fewer errors."""
        errors = self.count(v)
        if errors < self.errors:
            self.v, self.errors = v, errors

    def add(self, subsystem: Index, token: StopToken) -> bool:
        """Add a subsystem if it is new and proved."""
        key = np.sort(subsystem).tobytes()
        if key in self.known:
            return False
        self.known.add(key)
        if not proves_infeasible(self.A[subsystem], token):
            self.are_proved = False
            return False
        self.subsystems.append(subsystem)
        return True

    def raise_bound(self, value: float) -> None:
        """Take note of the value of a cover problem in prices, less what HiGHS may be off."""
        slack = _RELATIVE * abs(value) + _ABSOLUTE * (1.0 + len(self.weight))
        value = (value - slack) * float(self.weight.max()) / float(self.price.max())
        self.bound = min(max(self.bound, next_total(self.weight, value)), self.errors)

    @property
    def is_closed(self) -> bool:
        """Whether nothing is left to find: weights without a common measure leave a little open."""
        return self.errors - self.bound <= _CLOSED * self.errors


def next_total(weight: Array, low: float) -> float:
    """Return the smallest total of some of the weights that is not below `low`, or `low` itself.

    Without rounding errors, by trying how many rows there are of each weight; of very many different weights
    hardly any total is out of reach.
    """
    values, counts = np.unique(weight, return_counts=True)
    if low <= 0 or math.prod((counts[:-1] + 1).tolist()) > _MOST_TOTALS:
        return max(low, 0.0)
    whole = as_integers(np.append(values, low)[None, :])[0].tolist()
    unit = Fraction(float(values[0])) / whole[0]
    *others, last = whole[:-1]
    sums = {0}
    for value, count in zip(others, counts.tolist(), strict=False):
        sums = {total + k * value for total in sums for k in range(count + 1)}
    most = int(counts[-1])
    needed = ((total, max(-((total - whole[-1]) // last), 0)) for total in sums)
    reached = [total + k * last for total, k in needed if k <= most]
    return float(min(reached) * unit) if reached else low


def cover_errors(
    cover: Cover, node_limit: int, better: Callable[[Array], Array], token: StopToken, seconds: Any
) -> None:
    """Add subsystems until the bound meets the best direction, or a limit ends it.

    Parameters
    ----------
    node_limit : int
        The most nodes of all cover problems together; one that needs none counts 1.
    better : callable
        Improves a direction.
    seconds : callable
        What is left of the time; None without a limit.

    Raises
    ------
    Stopped
        If the token ends it within a program; what the cover knows by then holds.
    """
    random = np.random.default_rng(0)
    _relaxed_rounds(cover, random, better, token)
    while not cover.is_closed:
        if token.poll():
            cover.status = Status.MAX_TIME
            return
        if cover.nodes >= node_limit:
            cover.status = Status.NODE_LIMIT
            return
        chosen, is_optimal = _cheapest_cover(cover, node_limit - cover.nodes, seconds(), token)
        if cover.is_closed or chosen is None:
            continue
        found = 0
        for _ in range(_PER_ROUND):
            found += _peel(cover, ~chosen, random.uniform(0.5, 1.5, len(cover.weight)), better, token)
        if found == 0 and is_optimal and not cover.is_closed:
            cover.status = (
                Status.STALLED
            )  # the rest can be separated, but not in floats; or nothing is proved
            return


def _relaxed_rounds(
    cover: Cover, random: np.random.Generator, better: Callable[[Array], Array], token: StopToken
) -> None:
    """Begin with covers by fractions: linear programs, whose bound is good and cheap."""
    share = np.zeros(len(cover.weight))
    stale = 0
    for _ in range(_ROOT_ROUNDS):
        if token.poll() or stale >= _STALE or cover.is_closed:
            return
        before = cover.bound
        price = share + 1e-3 * random.uniform(0.5, 1.5, len(share))
        if _peel(cover, np.ones(len(share), dtype=bool), price, better, token) == 0:
            return
        share, value = _fractions(cover, token)
        cover.raise_bound(value)
        stale = 0 if cover.bound > before else stale + 1


def _peel(
    cover: Cover,
    kept: NDArray[np.bool_],
    price: Array,
    better: Callable[[Array], Array],
    token: StopToken,
) -> int:
    """Take subsystems, no row twice, off the kept rows until the rest can be separated; count new ones."""
    left, found = np.flatnonzero(kept), 0
    while len(left):
        part = _subsystem(cover.scaled[left], price[left], token)
        if part is None:
            v = _separator(cover.scaled[left], token)
            if v is not None:
                before = cover.errors
                cover.propose(_unscaled(cover, v))
                if cover.errors < before:
                    cover.propose(better(cover.v))
            break
        if len(part) == 0:
            break
        found += cover.add(left[part], token)
        left = np.delete(left, part)
    return found


def _subsystem(rows: Array, price: Array, token: StopToken) -> Index | None:
    """Return a smallest subsystem without a solution, cheap ones first; None if there is none."""
    n, m = rows.shape
    equations = np.vstack([rows.T, np.ones((1, n))])
    target = np.append(np.zeros(m), 1.0)
    result = solve_program(
        token,
        price,
        equations,
        (target, target),
        (0.0, np.inf),
        tolerance=_TOLERANCE,
    )
    if result.status == "infeasible":
        return None
    if result.x is None:
        return np.zeros(0, dtype=np.intp)
    return np.flatnonzero(result.x > _TOLERANCE)


def _separator(rows: Array, token: StopToken) -> Array | None:
    """Return the direction of the largest smallest product with the rows."""
    n, m = rows.shape
    constraints = np.hstack([-rows, np.ones((n, 1))])
    lowest = np.append(np.full(m, -1.0), -np.inf)
    goal = np.append(np.zeros(m), -1.0)
    result = solve_program(token, goal, constraints, (-np.inf, 0.0), (lowest, 1.0))
    if result.x is None or not result.x[-1] > 0:
        return None
    return result.x[:-1]


def _scaled(A: Array) -> Array:
    """Divide columns, then rows, by powers of two near their sizes."""
    column = np.abs(A).max(axis=0, initial=0.0)
    scaled = A / _power_of_two(column)
    return np.asarray(scaled / _power_of_two(np.abs(scaled).max(axis=1, initial=0.0))[:, None])


def _unscaled(cover: Cover, v: Array) -> Array:
    return np.asarray(v / _power_of_two(np.abs(cover.A).max(axis=0, initial=0.0)))


def _power_of_two(size: Array) -> Array:
    return np.where(size > 0, 2.0 ** np.round(np.log2(np.where(size > 0, size, 1.0))), 1.0)


def _constraint(cover: Cover) -> Any:
    places = np.concatenate(cover.subsystems)
    lengths = [len(part) for part in cover.subsystems]
    starts = np.concatenate([[0], np.cumsum(lengths)])
    shape = (len(lengths), len(cover.weight))
    return sp.csr_array((np.ones(len(places)), places, starts), shape=shape)


def _fractions(cover: Cover, token: StopToken) -> tuple[Array, float]:
    """Return the cheapest cover by fractions of rows, and its value."""
    if not cover.subsystems:
        return np.zeros(len(cover.weight)), 0.0
    result = solve_program(token, cover.price, _constraint(cover), (1.0, np.inf), (0.0, 1.0))
    assert result.x is not None  # taking every row is a cover
    return result.x, result.objective


def _cheapest_cover(
    cover: Cover, nodes: int, seconds: float | None, token: StopToken
) -> tuple[NDArray[np.bool_] | None, bool]:
    """Return the rows of a cover, None if there is none yet, and whether it is proved to be the cheapest."""
    if not cover.subsystems:
        return np.zeros(len(cover.weight), dtype=bool), True
    result = solve_program(
        token,
        cover.price,
        _constraint(cover),
        (1.0, np.inf),
        (0.0, 1.0),
        integer=True,
        mip_max_nodes=nodes,
        mip_rel_gap=0.0,
        time_limit=math.inf if seconds is None else max(_OF_THE_TIME * seconds, 0.01),
    )
    cover.nodes += max(result.n_nodes, 1)
    if math.isfinite(result.bound):
        cover.raise_bound(result.bound)
    if result.x is None:
        return None, False
    return result.x > 0.5, result.status == "optimal"


# ------------------------------------------------------------------------------------------------
# Rows that cannot all be right together, proved without rounding errors.

_FEW_ROWS = 10  # up to so many, elimination is quicker than finding digit after digit


def proves_infeasible(A: Array, token: StopToken) -> bool:
    """Whether the only combination of the signed rows that is 0 has positive weights alone.

    Then no v has a·v > 0 for all of them, and every proper part of them has such a v. Raises Stopped if the
    token ends it.
    """
    rows = as_integers(A)
    if len(rows) > _FEW_ROWS:
        # The last row turned round is a combination of the others, which are independent.
        found = solve_from_left(rows[:-1], -rows[-1], token)
        if found is None and token.poll():
            raise Stopped
        return found is not None and all(weight > 0 for weight in found)
    equations = Echelon(len(rows))
    for column in rows.T:
        equations.take(column)
    if equations.rank != len(rows) - 1:
        return False
    (weights,) = equations.null_vectors()
    return all(weight > 0 for weight in weights) or all(weight < 0 for weight in weights)
