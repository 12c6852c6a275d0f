"""What is minimised: ρ/2 ‖w‖² + Σᵢ cᵢ ℓ(mᵢ) with mᵢ = sᵢ(xᵢ·w + b); ρ is 1, or 0 for maximum likelihood."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from numpy.typing import NDArray

import maxmargin._core as _core
from maxmargin._core import Block, StopToken
from maxmargin.core.exact.null_space import NullSpace, find_null_space
from maxmargin.core.offset import FreeOffset, Offset
from maxmargin.losses.base import DualForm
from maxmargin.losses.table import dual_form
from maxmargin.rows.base import Inner, Rows, RowVector

__all__ = ["Problem"]


@dataclass(frozen=True)
class ClassCosts:
    """Total cost of each sign, over rows that cost anything."""

    positive: float
    negative: float
    n_live: int

    @property
    def total(self) -> float:
        return self.positive + self.negative


@dataclass(frozen=True, eq=False)
class Problem:
    """Rows, a sign and a cost for each, a loss of the agreement, and what becomes of the offset.

    Another class is another `sign`, another fold or weight another `cost`; the rows are shared.

    Attributes
    ----------
    rows : Rows
    sign : int8 row vector of ±1
    cost : float64 row vector, >= 0; a row of cost 0 is as good as absent
    loss : str
        A loss with a dual form.
    offset : Offset
    ridge : float
        ρ, the weight of ½‖w‖²: 1, or 0 for the unregularised problem. The penalty of an offset does not
        depend on it.
    """

    rows: Rows
    sign: RowVector
    cost: RowVector
    loss: str
    offset: Offset = field(default_factory=FreeOffset)
    ridge: float = 1.0

    @property
    def is_regularised(self) -> bool:
        """Whether ½‖w‖² is there, which makes w unique and the dual bound exist."""
        return self.ridge > 0

    @property
    def dual(self) -> DualForm:
        """What the loss says about the dual problem."""
        return dual_form(self.loss)

    @property
    def n_unknowns(self) -> int:
        """The weights, and the offset if it is free: what the rows alone hold in place."""
        return self.rows.n_columns + self.offset.is_free

    @cached_property
    def class_costs(self) -> ClassCosts:
        """Total cost of each sign."""
        return self.rows.reduce(_SumCosts(), self.sign, self.cost)

    @cached_property
    def pull(self) -> float:
        """Σ c‖x‖²: the regulariser's 1 is much or little beside it."""
        return self.rows.reduce(Inner(), self.cost, self.rows.norms()[0])

    @cached_property
    def null_space(self) -> NullSpace:
        """Changes of (w, b) that change no agreement; found once, by one or two passes."""
        return find_null_space(self.rows, self.cost, has_offset=self.offset.is_free)


@dataclass(frozen=True)
class _SumCosts:
    reads_rows = False

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> ClassCosts:
        sign, cost = pieces
        sums = _core.class_costs(sign, cost)
        return ClassCosts(sums.positive, sums.negative, sums.n_live)

    def merge(self, first: ClassCosts, second: ClassCosts) -> ClassCosts:
        return ClassCosts(
            first.positive + second.positive, first.negative + second.negative, first.n_live + second.n_live
        )
