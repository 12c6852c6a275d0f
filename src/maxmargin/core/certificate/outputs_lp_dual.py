"""The proof for the hinge of all classes where ρ = 0, by multipliers; see `lp_dual` for two classes.

The loss of a row is c max(0, 1 + max over k ≠ y of z_k − z_y). For multipliers β ≥ 0 of the pairs of a row
and another class, with Σ β ≤ c over the pairs of a row, and the pull p = Σ β (e_y − e_k) ⊗ (x, 1),

    Σ c loss  ≥  Σ β − p·(W, b)  at any point, so that  Σ β  bounds the smallest total loss where p = 0.

What a row's multipliers leave of c is the share of its own class, so that each row has shares a ≥ 0 of all
classes that add up to c. A transfer of t from a row's largest share, of class m, to another one changes p by
t (e_m − e_k) ⊗ (x, 1); all transfers of a row together may take no more than it has. So each may be of any
size up to a room h, in both directions, and what is proved for two classes about rows with room holds for
transfers: with G = Σ h a aᵀ over the transfers' a, λ² = pᵀG⁻¹p and R² = max aᵀG⁻¹a, *if λR ≤ 1, some
multipliers have p = 0 and sum to at least Σ β − λ √(Σ h)*, the last sum over the transfers that a row's own
class has part in: others do not change Σ β.

The weights of all classes may grow alike, so those of the first are held at 0.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from maxmargin._core import Factor, StopToken
from maxmargin.core.certificate.lp_dual import MOST_COLUMNS, Pull, price
from maxmargin.core.certificate.outputs import CombineOutputs, FeasibleDuals, OutputScores, best_hinge_offset
from maxmargin.core.certificate.point import CertifiedPoint, certificate_of
from maxmargin.core.exact.arithmetic import as_integers
from maxmargin.core.exact.systems import independent_columns, solve_from_left
from maxmargin.core.problem import Problem
from maxmargin.core.rounding import UNIT, is_worth_precision, precise_scores, sizes_of_scores, total
from maxmargin.rows.base import Array
from maxmargin.rows.kernels import Gram, Scores
from maxmargin.rows.memory import MemoryRows

if TYPE_CHECKING:
    import scipy.sparse as sp

__all__ = ["examine_classes_by_multipliers", "violations"]


_ROUNDS = 8
_HOLD = 1e-11  # added to a unit diagonal: fewer transfers than columns leave ways that nothing holds
_NEAR = (0.0, 1e-9, 1e-6, 1e-4)  # how near to 0, as a part of c, a share is put there
_CONTENT = 1e-13  # a price below this part of the bound is not worth another attempt
_MOST_VALUES = 50_000_000  # of the transfers
_MOST_WHOLE_COLUMNS, _MOST_WHOLE_NUMBERS = 150, 2_000_000  # what is solved in whole numbers within seconds
_LEAST_PRODUCT = 1e-290  # of a share and a value: smaller ones would vanish


def examine_classes_by_multipliers(
    problem: Problem,
    W: Array,
    b: Array | None,
    duals: Array | None,
    *,
    near: Array | None = None,
    in_whole_numbers: bool = True,
    token: StopToken | None = None,
) -> CertifiedPoint:
    """Certify the point (W, b) of the hinge of all classes; None takes the best offsets for these weights.

    A point without any loss needs no multipliers: it is optimal.
    """
    rows, K = problem.rows, problem.n_outputs
    kind = np.dtype((np.float64, (K,)))
    W = np.ascontiguousarray(W, dtype=np.float64)
    z, feasible = rows.zeros(kind), rows.zeros(kind)
    vectors = (problem.targets.values, problem.cost)
    rows.reduce(OutputScores(W, np.zeros(K)), z, token=token)
    given = feasible if duals is None else np.where(np.isfinite(duals), duals, 0.0)
    rows.reduce(FeasibleDuals(K), *vectors, given, feasible, token=token)
    if b is None:
        b = np.zeros(K) if near is None else np.ascontiguousarray(near, dtype=np.float64)
        if problem.offset.is_free:
            b = best_hinge_offset(problem, z, feasible, b - b.mean(), 0.0, token)
    b = np.ascontiguousarray(b, dtype=np.float64)
    loss, rounding = _total_loss(problem, W, b, z)
    if not 0 < loss < math.inf:
        certificate = certificate_of("lp-dual", loss, 0.0, rounding)
        return CertifiedPoint(W, b, (b, b), feasible, z, certificate)
    proof = _prove(problem, feasible, in_whole_numbers, token)
    rounding += (4.0 + K) * UNIT * proof.bound  # sums of multipliers are kept below c by as much
    plain = certificate_of("lp-dual", loss, proof.bound, rounding)
    certificate = replace(plain, residuals={"pull": proof.pull})
    return CertifiedPoint(W, b, (b, b), proof.duals, z, certificate)


# ------------------------------------------------------------------------------------------------
# The total loss, stated above what rounding may have made of it.


def violations(
    problem: Problem, W: Array, b: Array, z: Array | None = None, *, precisely: bool = False
) -> tuple[Array, Array]:
    """Return 1 + z_k − z_y of every row and class, and how far off each may be: 0 for k = y.

    Parameters
    ----------
    z : array of shape (n_rows, K)
        The scores W x, if they are known.
    precisely : bool
        Make the scores in more than twice the precision, where rows are in memory.
    """
    rows, K = problem.rows, len(b)
    with np.errstate(over="ignore", invalid="ignore"):
        if precisely and isinstance(rows, MemoryRows):
            parts = [precise_scores(rows.X, W[k], float(b[k])) for k in range(K)]
            score, error = (np.stack(part, axis=1) for part in zip(*parts, strict=True))
        else:
            if z is None:
                z = rows.zeros(np.dtype((np.float64, (K,))))
                rows.reduce(OutputScores(W, np.zeros(K)), z)
            sizes = np.stack([sizes_of_scores(problem, W[k], float(b[k])) for k in range(K)], axis=1)
            score, error = z + b, (W.shape[1] + 4) * UNIT * sizes
        own = problem.targets.values[:, None].astype(np.intp)
        of_own, error_of_own = np.take_along_axis(score, own, 1), np.take_along_axis(error, own, 1)
        v = 1.0 + (score - of_own)
        error = error + error_of_own + 4.0 * UNIT * (1.0 + np.abs(score) + np.abs(of_own))
        error = np.where(np.isfinite(v + error), error, np.inf)
        v = np.where(np.isfinite(v), v, 0.0)
    is_none = np.broadcast_to(problem.cost[:, None] == 0, v.shape).copy()
    np.put_along_axis(is_none, own, True, 1)
    return np.where(is_none, 0.0, v), np.where(is_none, 0.0, error)


def _total_loss(problem: Problem, W: Array, b: Array, z: Array) -> tuple[float, float]:
    """Return a number that the total loss does not exceed, and how far rounding errors reach in it."""
    loss = doubt = 0.0
    for precisely in (False, True):
        v, error = violations(problem, W, b, z, precisely=precisely)
        most = np.maximum((v + error).max(axis=1), 0.0)
        loss = total(problem.cost * most) * (1.0 + 8.0 * UNIT)
        doubt = 2.0 * total(problem.cost * error.max(axis=1))
        if not is_worth_precision(problem, doubt, loss):
            break
    return loss, doubt + 8.0 * UNIT * loss


# ------------------------------------------------------------------------------------------------
# The bound.


@dataclass(frozen=True, eq=False)
class _Proof:
    """Multipliers as duals, the largest entry of their pull, and the bound that they prove."""

    duals: Array
    pull: float
    bound: float


def _prove(problem: Problem, duals: Array, in_whole_numbers: bool, token: StopToken | None) -> _Proof:
    """Return multipliers near the duals that bound the optimum best.

    Duals of soft margins, divided by C, have a part of W in them: small, and in the way where shares should
    be 0. So small shares are put there, smaller ones first.
    """
    best = _Proof(np.zeros_like(duals), 0.0, 0.0)
    chosen = np.flatnonzero((duals < 0).any(axis=1))  # other rows pull at nothing
    if len(chosen) == 0:
        return best
    part = problem.part(chosen)
    given = _Shares.of(part, duals[chosen])
    balancing, attempts = _Balancing(part, token), []
    for near in _NEAR:
        shares = given.without(near)
        pull = balancing.pull(shares)
        for _ in range(_ROUNDS):
            if np.all(np.abs(pull.r) <= 2.0 * pull.rounding * pull.size):
                break
            shares, before = balancing.moved(shares, pull), shares
            if shares is before:
                break
            pull = balancing.pull(shares)
        attempts.append(shares)
        sum_of_all = math.fsum(shares.beta.ravel())
        bound = math.nextafter(sum_of_all - balancing.price(shares, pull), -math.inf)
        if bound > best.bound:
            best = _Proof(_placed(duals, chosen, shares), float(np.abs(pull.r).max(initial=0.0)), bound)
        if sum_of_all - bound <= max(_CONTENT, 4.0 * pull.rounding) * sum_of_all:
            return best
    attempts.sort(key=lambda shares: -float(shares.beta.sum()))
    for shares in attempts if in_whole_numbers else ():
        exact = _in_whole_numbers(part, shares, token)
        if exact is not None and exact[1] > best.bound:
            return _Proof(_placed(duals, chosen, exact[0]), 0.0, exact[1])
    return best


def _placed(duals: Array, chosen: NDArray[np.intp], shares: _Shares) -> Array:
    placed = np.zeros_like(duals)
    placed[chosen] = shares.duals
    return placed


@dataclass(frozen=True, eq=False)
class _Shares:
    """The shares of all classes in what rows cost; those of other classes are the multipliers β.

    Attributes
    ----------
    label, cost : arrays of shape (n_rows,)
    beta : array of shape (n_rows, K)
        0 for the row's own class.
    has_own : bool array of shape (n_rows,)
        Whether the own class has a share that can be taken from.
    """

    label: NDArray[np.intp]
    cost: Array
    beta: Array
    has_own: NDArray[np.bool_]

    @classmethod
    def of(cls, problem: Problem, duals: Array) -> _Shares:
        label = problem.targets.values.astype(np.intp)
        beta = np.maximum(-duals, 0.0)
        beta[np.arange(len(label)), label] = 0.0
        return cls(label, problem.cost, beta, np.ones(len(label), dtype=bool)).feasible()

    def feasible(self) -> _Shares:
        """Return shares whose sum is c, whatever rounding did."""
        K = self.beta.shape[1]
        sums = self.beta.sum(axis=1)
        most = self.cost * (1.0 - 2.0 * K * UNIT)
        is_full = sums >= most
        shrink = np.where(is_full, most / np.where(is_full, sums, 1.0), 1.0)
        return replace(self, beta=self.beta * shrink[:, None], has_own=~is_full)

    def without(self, near: float) -> _Shares:
        """Return shares of which those below a part of c have gone to the row's largest."""
        a, rows = self.all, np.arange(len(self.cost))
        largest = a.argmax(axis=1)
        is_small = a <= near * self.cost[:, None]
        is_small[rows, largest] = False
        beta = np.where(is_small, 0.0, a)
        beta[rows, self.label] = 0.0
        is_own = largest == self.label
        others = np.where(is_small, a, 0.0).sum(axis=1)
        beta[rows[~is_own], largest[~is_own]] += others[~is_own]
        found = replace(self, beta=beta).feasible()
        return replace(found, has_own=found.has_own & ~is_small[rows, self.label])

    @property
    def all(self) -> Array:
        """The shares, those of the own classes included."""
        a = self.beta.copy()
        own = np.maximum(self.cost * (1.0 - 2.0 * a.shape[1] * UNIT) - self.beta.sum(axis=1), 0.0)
        a[np.arange(len(own)), self.label] = np.where(self.has_own, own, 0.0)
        return a

    @property
    def duals(self) -> Array:
        """β as r = Σ β (e_y − e_k)."""
        r = -self.beta
        r[np.arange(len(self.label)), self.label] = self.beta.sum(axis=1)
        return r


@dataclass(frozen=True, eq=False)
class _Transfers:
    """What may go from a row's largest share, of class `giver`, to another one, of class `taker`."""

    row: NDArray[np.intp]
    giver: NDArray[np.intp]
    taker: NDArray[np.intp]
    room: Array

    @classmethod
    def of(cls, shares: _Shares) -> _Transfers:
        a = shares.all
        n_in_use = (a > 0).sum(axis=1)
        largest = a.argmax(axis=1)
        may_take = a > 0
        may_take[np.arange(len(a)), largest] = False
        row, taker = np.nonzero(may_take)
        giver = largest[row]
        room = np.minimum(a[row, taker], a[row, giver] / np.maximum(n_in_use[row] - 1, 1)) * (1.0 - 2.0**-48)
        return cls(row, giver, taker, room)

    def table(self, X: Any, shift: Array | None, n_classes: int, has_offset: bool) -> sp.csr_array:
        """Return (e_giver − e_taker) ⊗ (x − shift, 1) of every transfer, less the first class's columns."""
        import scipy.sparse as sp  # no other fit waits for it

        d = X.shape[1]
        width = d + has_offset
        chosen: Any = X[self.row]
        if isinstance(chosen, np.ndarray):
            chosen = chosen.astype(np.float64) - (0.0 if shift is None else shift)
        chosen = sp.coo_array(chosen)
        row, column = chosen.coords
        number = np.asarray(chosen.data, dtype=np.float64)
        if has_offset:
            row = np.concatenate([row, np.arange(len(self.row))])
            column = np.concatenate([column, np.full(len(self.row), d)])
            number = np.concatenate([number, np.ones(len(self.row))])
        parts = []
        for of_class, sign in ((self.giver, 1.0), (self.taker, -1.0)):
            kept = of_class[row] > 0
            parts.append((sign * number[kept], row[kept], (of_class[row[kept]] - 1) * width + column[kept]))
        values, rows, columns = (np.concatenate(part) for part in zip(*parts, strict=True))
        table = sp.csr_array((values, (rows, columns)), shape=(len(self.row), (n_classes - 1) * width))
        table.sort_indices()
        return table

    def made(self, shares: _Shares, amount: Array) -> _Shares:
        """Return the shares after transfers of these amounts."""
        beta = shares.beta.copy()
        np.add.at(beta, (self.row, self.taker), amount)
        np.add.at(beta, (self.row, self.giver), -amount)
        beta = np.maximum(beta, 0.0)
        beta[np.arange(len(beta)), shares.label] = 0.0
        found = replace(shares, beta=beta).feasible()
        return replace(found, has_own=found.has_own & shares.has_own)


class _Balancing:
    """Makes transfers until the pull of the multipliers is a rounding error; prices what is left."""

    def __init__(self, problem: Problem, token: StopToken | None) -> None:
        self._problem, self._token = problem, token
        self._has_offset = problem.offset.is_free
        assert isinstance(problem.rows, MemoryRows)
        self._X = X = problem.rows.X
        self._is_dense = isinstance(X, np.ndarray)
        self._sizes = MemoryRows(abs(X))
        values = np.abs(X if self._is_dense else X.data)
        self._least = float(values.min(initial=math.inf, where=values > 0))
        self._transfers: _Transfers | None = None
        self._table: MemoryRows | None = None

    def pull(self, shares: _Shares) -> Pull:
        problem, token, d = self._problem, self._token, self._problem.rows.n_columns
        duals, K = shares.duals, problem.n_outputs
        V = problem.rows.reduce(CombineOutputs(d), duals, token=token)
        size = self._sizes.reduce(CombineOutputs(d), np.abs(duals), token=token)
        balance, of_balance = duals.sum(axis=0), np.abs(duals).sum(axis=0)
        self._transfers = transfers = _Transfers.of(shares)
        freedom = float(transfers.room.sum())
        shift = np.zeros(d)
        if self._has_offset and self._is_dense and freedom > 0:
            shares_of_room = transfers.room / freedom
            shift = np.einsum("i,ij->j", shares_of_room, self._X[transfers.row].astype(np.float64))
            V = V - np.multiply.outer(balance, shift)
            size = size + np.multiply.outer(of_balance, np.abs(shift))
        if self._has_offset:
            V, size = np.hstack([V, balance[:, None]]), np.hstack([size, of_balance[:, None]])
        width = (K - 1) * V.shape[1]
        r, size = np.append(V[1:].ravel(), 0.0), np.append(size[1:].ravel(), 0.0)
        gram, self._table = None, None
        n_values = 2 * len(transfers.row) * V.shape[1]
        if freedom > 0 and width <= MOST_COLUMNS and n_values <= _MOST_VALUES:
            table = transfers.table(self._X, shift, K, self._has_offset)
            self._table = MemoryRows(table)
            gram = self._table.reduce(Gram(width), transfers.room, token=token)
            gram[-1, :] = gram[:, -1] = 0.0
        rounding = (len(duals) + K + 16) * 2.0 * UNIT
        return Pull(r, size, rounding, np.zeros(width), transfers.room, gram)

    def moved(self, shares: _Shares, pull: Pull) -> _Shares:
        """Return shares that pull less: every transfer is made by a part of its room."""
        if pull.gram is None or self._table is None or self._transfers is None:
            return shares
        held = pull.gram.copy()
        np.einsum("ii->i", held)[:] *= 1.0 + _HOLD  # what an answer lacks for that, a further round adds
        y = Factor(held).solve(pull.r)
        part: Array = self._table.zeros()
        self._table.reduce(Scores(np.ascontiguousarray(y[:-1])), part, token=self._token)
        if not np.isfinite(part).all():
            return shares
        return self._transfers.made(shares, -np.clip(part, -1.0, 1.0) * pull.room)

    def price(self, shares: _Shares, pull: Pull) -> float:
        """Return by how much the bound falls for what is left of the pull; infinite where none knows."""
        if not pull.size.any():
            return 0.0
        least = float(shares.beta.min(initial=math.inf, where=shares.beta > 0))
        if self._table is None or self._transfers is None or least * self._least < _LEAST_PRODUCT:
            return math.inf
        own = shares.label[self._transfers.row]
        concerns_own = (self._transfers.giver == own) | (self._transfers.taker == own)
        return price(pull, self._table, float(pull.room[concerns_own].sum()), self._token)


def _in_whole_numbers(
    problem: Problem, shares: _Shares, token: StopToken | None
) -> tuple[_Shares, float] | None:
    """Solve for independent transfers so that the pull is exactly 0; return the shares and their sum.

    Transfers with much room are asked first. None where that leads nowhere.
    """
    transfers = _Transfers.of(shares)
    K, d, has_offset = problem.n_outputs, problem.rows.n_columns, problem.offset.is_free
    width = (K - 1) * (d + has_offset)
    if width > _MOST_WHOLE_COLUMNS or len(transfers.row) > 20 * width:
        return None
    if width * (len(transfers.row) + len(shares.cost)) > _MOST_WHOLE_NUMBERS:
        return None
    assert isinstance(problem.rows, MemoryRows)
    X: Any = problem.rows.X
    dense = np.asarray(X if isinstance(X, np.ndarray) else X.toarray(), dtype=np.float64)
    lifted = np.hstack([dense, np.ones((len(dense), int(has_offset)))])
    values = as_integers(np.ascontiguousarray(lifted.T)).T  # each column times a power of two
    both = as_integers(np.concatenate([shares.beta.ravel(), shares.cost])[None, :])[0]
    beta, cost = both[: shares.beta.size].reshape(shares.beta.shape).copy(), both[shares.beta.size :]
    unit = Fraction(float(shares.cost[0])) / int(cost[0])
    full = np.flatnonzero(~shares.has_own)
    beta[full, shares.beta[full].argmax(axis=1)] += cost[full] - beta[full].sum(axis=1)
    r = -beta
    r[np.arange(len(r)), shares.label] = beta.sum(axis=1)
    pull = np.dot(r.T, values)[1:].ravel()
    order = np.lexsort((-transfers.room,))
    pairs = np.zeros((len(order), K, values.shape[1]), dtype=object)
    at = np.arange(len(order))
    pairs[at, transfers.giver[order]] += values[transfers.row[order]]
    pairs[at, transfers.taker[order]] -= values[transfers.row[order]]
    table = pairs[:, 1:].reshape(len(order), width)
    may_move = at
    for _ in range(_ROUNDS):
        taken = may_move[independent_columns(table[may_move].T)] if len(may_move) else may_move
        if len(taken) == 0:
            amounts: list[Fraction] | None = None if pull.any() else []
        else:
            amounts = solve_from_left(table[taken], -pull, token or StopToken())
        if amounts is None:
            return None
        change: dict[tuple[int, int], Fraction] = {}
        for amount, k in zip(amounts, taken.tolist(), strict=True):
            j = int(order[k])
            row, giver, taker = int(transfers.row[j]), int(transfers.giver[j]), int(transfers.taker[j])
            change[row, taker] = change.get((row, taker), Fraction(0)) + amount
            change[row, giver] = change.get((row, giver), Fraction(0)) - amount
        outside = set()
        found = {place: int(beta[place]) + value for place, value in change.items()}
        for row in {row for row, _ in change}:
            own = int(shares.label[row])
            others = [found.get((row, k), Fraction(int(beta[row, k]))) for k in range(K) if k != own]
            if min(others) < 0 or sum(others) > int(cost[row]):
                outside.add(row)
        if not outside:
            exact = shares.beta.copy()
            whole = Fraction(int(beta.sum()))
            for (row, k), value in found.items():
                if k != shares.label[row]:
                    exact[row, k] = float(value * unit)
                    whole += value - int(beta[row, k])
            bound = math.nextafter(float(whole * unit), -math.inf)
            return replace(shares, beta=exact), bound
        may_move = may_move[~np.isin(transfers.row[order[may_move]], list(outside))]
    return None
