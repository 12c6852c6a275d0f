"""Linear programs in floats that say where to look: a separator, or the rows that rule it out.

Constraints are taken from some of the rows first and from those that the answer offends next, until it
offends none. Nothing here is proved; `exact_simplex` and the agreements themselves do that.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from maxmargin._core import Stopped, StopToken
from maxmargin.core.exact.arithmetic import Echelon
from maxmargin.core.exact.systems import independent_columns
from maxmargin.rows.base import Array
from maxmargin.separation.programs import solve_program
from maxmargin.separation.signed_rows import SignedRows

__all__ = ["Guess", "guess_direction", "guess_separator", "likely_basis", "spanning_rows"]


FIRST_ROWS = 2_000
MORE_ROWS = 1_000
_NOTHING = 1e-9  # an optimum below this is the program's own tolerance
_THIN = 1e-6  # smallest spread of the rows, as a share of the largest, that programs see well enough


@dataclass(frozen=True, eq=False)
class Guess:
    """What a program found.

    Attributes
    ----------
    w : array or None
        Weights for the scaled rows, if the program's optimum is above 0.
    rows, weights : arrays
        The rows with a dual variable above 0, and these.
    """

    w: Array | None
    rows: NDArray[np.intp]
    weights: Array


def spread_out(n_rows: int, count: int) -> NDArray[np.intp]:
    """Return so many rows from everywhere, or all of them."""
    if n_rows <= count:
        return np.arange(n_rows)
    return np.linspace(0, n_rows - 1, count).astype(np.intp)


def guess_separator(rows: SignedRows, token: StopToken) -> Guess:
    """Maximise t subject to m·w ≥ t for every row and |w| ≤ 1 in every entry."""
    units = _Units.of(rows)
    goal = np.zeros(rows.n_columns + 1)
    goal[-1] = -1.0
    lowest = np.append(np.full(rows.n_columns, -1.0), 0.0)
    return _generate(rows, units, goal, lowest, token)


def guess_direction(rows: SignedRows, aim: Array, token: StopToken) -> Guess:
    """Maximise aim·w subject to m·w ≥ 0 for every row and |w| ≤ 1 in every entry."""
    units = _Units.of(rows)
    goal = -units.apply(aim[None, :])[0]
    return _generate(rows, units, goal, np.full(rows.n_columns, -1.0), token)


def _generate(rows: SignedRows, units: _Units, goal: Array, lowest: Array, token: StopToken) -> Guess:
    has_height = len(lowest) > rows.n_columns
    taken = spread_out(rows.n_rows, FIRST_ROWS)
    while True:
        result = _solve(rows, units, goal, lowest, taken, token)
        duals = np.zeros(0)
        if result.x is None:
            return Guess(None, taken[:0], duals)
        duals = np.abs(result.duals)
        held = np.flatnonzero(duals > 1e-13 * max(duals.max(initial=0.0), 1e-300))
        if -result.objective <= _NOTHING * max(1.0, float(np.abs(goal).max())):
            return Guess(None, taken[held], duals[held])
        w = units.undo(result.x[: rows.n_columns])
        value, _ = rows.products(w)
        # Rows that the program has seen are at the height it found, in whatever units.
        allowed = 0.9 * float(value[taken].min()) if has_height else -_NOTHING
        offended = np.setdiff1d(np.flatnonzero(value < allowed), taken)
        if len(offended) == 0:
            return Guess(w, taken[held], duals[held])
        order = np.argsort(value[offended], kind="stable")
        taken = np.append(taken, offended[order[:MORE_ROWS]])


def _solve(
    rows: SignedRows,
    units: _Units,
    goal: Array,
    lowest: Array,
    taken: NDArray[np.intp],
    token: StopToken,
) -> Any:
    matrix = rows.matrix[taken]
    constraints: Any
    if isinstance(matrix, np.ndarray):
        constraints = -units.apply(matrix)
        if len(lowest) > rows.n_columns:
            constraints = np.hstack([constraints, np.ones((len(taken), 1))])
    else:
        constraints = -matrix
        if len(lowest) > rows.n_columns:
            constraints = sp.hstack([constraints, sp.csr_array(np.ones((len(taken), 1)))])
    return solve_program(
        token,
        goal,
        constraints,
        (-np.inf, 0.0),
        (lowest, 1.0),
        tolerance=1e-10,
    )


@dataclass(frozen=True, eq=False)
class _Units:
    """The columns as the programs see them: shifted by their means, where an offset takes it up again.

    Where all rows lie near a plane, which may be what separates them, the programs could not see them leave
    it: then columns are also mixed, so that the rows spread as far in every direction.
    """

    shift: Array | None
    spread: Array
    mixing: Array | None = None

    @classmethod
    def of(cls, rows: SignedRows) -> _Units:
        spread = np.ones(rows.n_columns)
        if not rows.has_offset or not isinstance(rows.matrix, np.ndarray):
            return cls(None, spread)
        few = rows.dense(spread_out(rows.n_rows, FIRST_ROWS))
        heights = few[:, -1]
        shift = np.einsum("ij,i->j", few, heights) / max(float(np.einsum("i,i->", heights, heights)), 1e-300)
        shift[-1] = 0.0
        size = np.sqrt(((few - heights[:, None] * shift) ** 2).mean(axis=0))
        plain = cls(shift, np.where(size > 1e-14, size, spread))
        return replace(plain, mixing=_mixing(plain.apply(few)))

    def apply(self, matrix: Array) -> Array:
        """Return the rows in these units."""
        if self.shift is None:
            return matrix
        seen = (matrix - matrix[:, -1:] * self.shift) / self.spread
        return seen if self.mixing is None else np.asarray(np.dot(seen, self.mixing))

    def undo(self, w: Array) -> Array:
        """Return weights for the rows as they were."""
        if self.shift is None:
            return w
        back = (w if self.mixing is None else np.dot(self.mixing, w)) / self.spread
        back[-1] -= float(np.einsum("i,i->", self.shift, back))
        return np.asarray(back / np.abs(back).max(initial=1.0))


def _mixing(few: Array) -> Array | None:
    """Return a matrix after which the rows spread as far in every direction, if they are far from that."""
    # Of the triangular factor, which has the same sizes and directions at a fraction of the time.
    factor = np.linalg.qr(few / np.sqrt(len(few)), mode="r")
    _, sizes, directions = np.linalg.svd(factor, full_matrices=False)
    if len(sizes) < few.shape[1] or not 1e-15 < sizes[-1] / sizes[0] < _THIN:
        return None
    return np.asarray(directions.T / sizes)


# ------------------------------------------------------------------------------------------------
# Independent rows that span all rows, without rounding errors.

_LOOKED_AT = 4_000


def spanning_rows(rows: SignedRows, token: StopToken) -> NDArray[np.intp]:
    """Return rows that are linearly independent and on which every row depends."""
    chosen = likely_basis(rows, np.arange(rows.n_rows))
    integers = rows.integers(chosen)
    if len(chosen) == rows.n_columns == len(independent_columns(integers)):
        return np.sort(chosen)
    echelon = Echelon(rows.n_columns)
    basis = [int(row) for row, values in zip(chosen, integers, strict=True) if echelon.take(values)]
    while echelon.rank < rows.n_columns:
        if token.poll():
            raise Stopped
        outside = next(
            (
                int(np.flatnonzero(signs)[0])
                for signs in (rows.signs(vector, token) for vector in echelon.null_vectors())
                if signs.any()
            ),
            None,
        )
        if outside is None:
            break
        echelon.take(rows.integers(np.array([outside]))[0])
        basis.append(outside)
    return np.array(sorted(basis), dtype=np.intp)


def likely_basis(rows: SignedRows, among: NDArray[np.intp], look_at: int = _LOOKED_AT) -> NDArray[np.intp]:
    """Return rows that are independent as far as floats tell, by pivoting on some of them."""
    from scipy.linalg import qr

    few = among[spread_out(len(among), max(look_at, _LOOKED_AT))]
    _, triangle, order = qr(rows.dense(few).T, mode="economic", pivoting=True)
    sizes = np.abs(np.diag(triangle))
    count = int(np.count_nonzero(sizes > 1e-12 * max(float(sizes.max(initial=0.0)), 1e-300)))
    return few[order[:count]]
