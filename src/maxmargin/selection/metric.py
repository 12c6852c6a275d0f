"""Lengths of rows in the metric of a Hessian: how far one example can move the solution, and its own score.

With curvatures h the Hessian is E + Σ h x̃x̃ᵀ, x̃ = (x, 1), E the penalties of weights and offset. A row's
leverage is x̃ᵀH⁻¹x̃.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin._core import Block, Factor, StopToken
from maxmargin.problem import Problem
from maxmargin.rows import Array, Rows
from maxmargin.rows.kernels import Gram
from maxmargin.solvers.frame import Frame, mean_of_table

__all__ = ["Metric"]


@dataclass(frozen=True, eq=False)
class Metric:
    """The Hessian of some curvatures, factorised.

    Attributes
    ----------
    rows : Rows
    frame : Frame
        The coordinates; vectors have n_columns + 1 entries, the offset's last.
    factor : Factor
    """

    rows: Rows
    frame: Frame
    factor: Factor

    @classmethod
    def of(
        cls, problem: Problem, h: Array, token: StopToken, frame: Frame | None = None, *, hold: float = 0.0
    ) -> Metric:
        """Add up and factorise the Hessian of the curvatures h; `hold` keeps an offset that no row keeps."""
        rows = problem.rows.condensed(token)
        if frame is None:
            frame = Frame(problem.offset, rows.n_columns, mean_of_table(problem, rows, token))
        gram = rows.reduce(Gram(rows.n_columns, frame.shift), h, token=token)
        return cls(rows, frame, frame.factor(gram, hold=hold))

    def leverages(self, chosen: NDArray[np.bool_], token: StopToken) -> Array:
        """Return x̃ᵀH⁻¹x̃ of the chosen rows, and 0 for the others."""
        forms: Array = self.rows.zeros()
        kernel = _Forms(self.factor, self.frame.shift)
        self.rows.reduce(kernel, chosen.astype(np.float64), forms, token=token)
        if self.frame.offset.kind == "none":  # the coordinate that is held at 0 by a penalty of 1
            forms[chosen] -= 1.0
        return np.maximum(forms, 0.0)


@dataclass(frozen=True)
class _Forms:
    factor: Factor
    shift: Array | None

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> None:
        chosen, forms = pieces
        self.factor.quadratic_forms(block, self.shift, chosen, forms, token)

    def merge(self, first: None, second: None) -> None:
        return None
