"""The kind of separation for rows of many columns, by linear programs in floats.

The same programs as in `separability`; their answers are taken as they are, after the weights have been
solved for once more. Whether a separator separates is still decided without rounding errors, row by row, and
where floats cannot tell, everything is.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin._core import StopToken
from maxmargin.core.exact.arithmetic import as_integers
from maxmargin.errors import InvalidInput
from maxmargin.rows.base import Array
from maxmargin.separation.exact import Verdict, decide
from maxmargin.separation.guess import Guess, guess_direction, guess_separator, likely_basis
from maxmargin.separation.signed_rows import SignedRows

__all__ = ["decide_in_floats"]


_MOST_COLUMNS = 3_000
_NOTHING = 1e-9


def decide_in_floats(X: Any, sign: NDArray[np.int8], *, has_offset: bool, token: StopToken) -> Verdict:
    """Return the kind of separation as far as floats tell."""
    rows = SignedRows.of(X, sign, has_offset=has_offset)
    guess = guess_separator(rows, token)
    if guess.w is not None:
        w = as_integers(guess.w[None, :])[0]
        if (rows.signs(w, token) > 0).all():
            return Verdict("complete", _weights(rows, guess.w), guess.rows[:0], [], n_separated=rows.n_rows)
    if guess.w is not None or len(guess.rows) == 0:  # floats cannot tell
        return decide(X, sign, has_offset=has_offset, token=token)
    if rows.n_columns > _MOST_COLUMNS:
        raise InvalidInput(
            f"the classes are not completely separable, and telling overlapping classes from quasi-complete "
            f"separation needs a matrix of all columns by all columns, at most {_MOST_COLUMNS:,}; "
            f"X has {X.shape[1]:,}."
        )
    basis = likely_basis(rows, np.arange(rows.n_rows), 2 * rows.n_columns)
    target = -rows.dense(basis).sum(axis=0)
    second = guess_direction(rows, -target, token)
    given = _signed(X, sign, has_offset)
    if second.w is None:
        held, weights = _opposite(rows, basis, target, second)
        return Verdict("overlapping", [], held, _shares(rows, given, held, weights), len(basis))
    value, _ = rows.products(second.w)
    separated = int(np.count_nonzero(value > _NOTHING))
    held, weights = _convex(rows, guess)
    shares = _shares(rows, given, held, weights)
    return Verdict("quasi-complete", _weights(rows, second.w), held, shares, n_separated=separated)


def _weights(rows: SignedRows, w: Array) -> list[Fraction]:
    weights, offset = rows.to_original(w)
    return [Fraction(value) for value in [*weights.tolist(), *([offset] if rows.has_offset else [])]]


def _signed(X: Any, sign: NDArray[np.int8], has_offset: bool) -> Any:
    def of(indices: NDArray[np.intp]) -> Array:
        values = X[indices]
        dense = np.asarray(values if isinstance(values, np.ndarray) else values.toarray(), dtype=np.float64)
        lifted = np.hstack([dense, np.ones((len(dense), int(has_offset)))])
        return np.asarray(lifted * sign[indices][:, None])

    return of


def _shares(rows: SignedRows, given: Any, held: NDArray[np.intp], weights: Array) -> list[Fraction]:
    """Return the weights of the rows as they were given, of sum 1."""
    scaled, original = rows.dense(held), given(held)
    column = np.abs(scaled).argmax(axis=1)
    places = np.arange(len(held))
    top = np.ldexp(scaled[places, column], rows.column_powers[column])
    bottom = original[places, column]
    shares = weights * np.where(bottom == 0, 1.0, top / np.where(bottom == 0, 1.0, bottom))
    return [Fraction(value) for value in (shares / shares.sum()).tolist()]


def _opposite(
    rows: SignedRows, basis: NDArray[np.intp], target: Array, guess: Guess
) -> tuple[NDArray[np.intp], Array]:
    """Return the basis and what makes minus its sum, solved for once more."""
    chosen = guess.rows
    weights = np.maximum(np.linalg.lstsq(rows.dense(chosen).T, target, rcond=None)[0], 0.0)
    total = np.zeros(rows.n_rows)
    total[basis] += 1.0
    np.add.at(total, chosen, weights)
    held = np.flatnonzero(total)
    return held, total[held]


def _convex(rows: SignedRows, guess: Guess) -> tuple[NDArray[np.intp], Array]:
    """Return a convex combination that is 0, solved for once more."""
    values = rows.dense(guess.rows)
    lifted = np.hstack([values, np.ones((len(values), 1))])
    aim = np.zeros(lifted.shape[1])
    aim[-1] = 1.0
    weights = np.maximum(np.linalg.lstsq(lifted.T, aim, rcond=None)[0], 0.0)
    return guess.rows[weights > 0], weights[weights > 0]
