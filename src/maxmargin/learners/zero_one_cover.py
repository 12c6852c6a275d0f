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
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint

from maxmargin._core import StopToken
from maxmargin.learners.subsystems import proves_infeasible
from maxmargin.results.solution import Status
from maxmargin.rows import Array
from maxmargin.solvers.linear_program import solve_integer_program, solve_program

__all__ = ["Cover", "cover_errors"]

_EXACT: Any = {"primal_feasibility_tolerance": 1e-9, "dual_feasibility_tolerance": 1e-9}
_ZERO = 1e-9  # a weight λ below this is the program's own tolerance
_ROOT_ROUNDS = 60
_STALE = 5
_PER_ROUND = 6  # peelings with different preferences
_MARGIN = 1e-9  # HiGHS's own tolerance on the bound of a cover
_OF_THE_TIME = 0.9  # what a cover problem may take of what is left: its bound has to arrive before the end

Index = NDArray[np.intp]


@dataclass
class Cover:
    """What is known: subsystems, the least weight of errors that they force, and the best direction so far.

    Attributes
    ----------
    v, errors : the best direction and the weight of its errors
    bound : no direction has errors of less weight
    status : why it ended
    """

    A: Array
    weight: Array
    v: Array
    errors: float
    bound: float = 0.0
    status: Status = Status.SOLVED
    nodes: int = 0
    subsystems: list[Index] = field(default_factory=list)
    known: set[bytes] = field(default_factory=set)
    are_proved: bool = True
    scaled: Array = field(init=False)

    def __post_init__(self) -> None:
        self.scaled = _scaled(self.A)

    def propose(self, v: Array) -> None:
        """Keep a direction if it has fewer errors."""
        errors = float(self.weight.sum(where=np.einsum("ij,j->i", self.A, v) <= 0))
        if errors < self.errors:
            self.v, self.errors = v, errors
            self._meet()

    def add(self, subsystem: Index) -> bool:
        """Add a subsystem if it is new and proved."""
        key = np.sort(subsystem).tobytes()
        if key in self.known:
            return False
        self.known.add(key)
        if not proves_infeasible(self.A[subsystem]):
            self.are_proved = False
            return False
        self.subsystems.append(subsystem)
        return True

    def raise_bound(self, value: float) -> None:
        """Take note of the value of a cover problem; whole weights make whole errors."""
        if (self.weight == np.round(self.weight)).all():
            value = math.ceil(value - 1e-5)
        else:
            value = value * (1.0 - _MARGIN)
        self.bound = min(max(self.bound, value), self.errors)
        self._meet()

    def _meet(self) -> None:
        """Sums of weights and values of cover problems are rounded: what is nearly met is met."""
        if self.errors - self.bound <= 1e-7 * self.errors:
            self.bound = self.errors

    @property
    def is_closed(self) -> bool:
        return self.bound >= self.errors


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
        found += cover.add(left[part])
        left = np.delete(left, part)
    return found


def _subsystem(rows: Array, price: Array, token: StopToken) -> Index | None:
    """Return a smallest subsystem without a solution, cheap ones first; None if there is none."""
    n, m = rows.shape
    equations = np.vstack([rows.T, np.ones((1, n))])
    target = np.append(np.zeros(m), 1.0)
    result = solve_program(
        token,
        c=price,
        A_eq=equations,
        b_eq=target,
        bounds=(0.0, None),
        method="highs-ds",
        options=_EXACT,
    )
    if result.status == 2:
        return None
    if result.x is None:
        return np.zeros(0, dtype=np.intp)
    return np.flatnonzero(result.x > _ZERO)


def _separator(rows: Array, token: StopToken) -> Array | None:
    """Return the direction of the largest smallest product with the rows."""
    n, m = rows.shape
    constraints = np.hstack([-rows, np.ones((n, 1))])
    bounds = [(-1.0, 1.0)] * m + [(None, 1.0)]
    goal = np.append(np.zeros(m), -1.0)
    result = solve_program(
        token, c=goal, A_ub=constraints, b_ub=np.zeros(n), bounds=bounds, method="highs-ds"
    )
    if result.x is None or not result.x[-1] > 0:
        return None
    return np.asarray(result.x[:-1])


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
    least = np.ones(len(cover.subsystems))
    result: Any = solve_program(
        token, c=cover.weight, A_ub=-_constraint(cover), b_ub=-least, bounds=(0, 1), method="highs-ds"
    )
    return np.asarray(result.x), float(result.fun)


def _cheapest_cover(
    cover: Cover, nodes: int, seconds: float | None, token: StopToken
) -> tuple[NDArray[np.bool_] | None, bool]:
    """Return the rows of a cover, None if there is none yet, and whether it is proved to be the cheapest."""
    if not cover.subsystems:
        return np.zeros(len(cover.weight), dtype=bool), True
    options: Any = {"node_limit": nodes, "mip_rel_gap": 0.0}
    if seconds is not None:
        options["time_limit"] = max(_OF_THE_TIME * seconds, 0.01)
    result = solve_integer_program(
        token,
        c=cover.weight,
        integrality=np.ones(len(cover.weight), dtype=np.int64),
        bounds=Bounds(0.0, 1.0),
        constraints=LinearConstraint(_constraint(cover), lb=1.0),
        options=options,
    )
    cover.nodes += max(int(result.mip_node_count or 0), 1)
    if result.mip_dual_bound is not None and math.isfinite(result.mip_dual_bound):
        cover.raise_bound(float(result.mip_dual_bound))
    if result.x is None:
        return None, False
    return np.asarray(result.x) > 0.5, result.status == 0
