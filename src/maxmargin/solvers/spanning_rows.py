"""Independent rows that span all rows, without rounding errors."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from maxmargin._core import Stopped, StopToken
from maxmargin.problem.exact_arithmetic import Echelon
from maxmargin.problem.exact_systems import independent_columns
from maxmargin.solvers.separation_guess import spread_out
from maxmargin.solvers.signed_rows import SignedRows

__all__ = ["likely_basis", "spanning_rows"]

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
