"""What is minimised: ρ/2 ‖w‖² + Σᵢ cᵢ ℓ(mᵢ) with mᵢ = sᵢ(xᵢ·w + b); ρ is 1, or 0 for maximum likelihood."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from numpy.typing import NDArray

import maxmargin._core as _core
from maxmargin._core import Block, StopToken
from maxmargin.core.exact.null_space import NullSpace, find_null_space
from maxmargin.errors import InvalidParameter
from maxmargin.losses.base import DualForm
from maxmargin.losses.table import dual_form
from maxmargin.presentation.wording import short
from maxmargin.rows.base import Inner, Rows, RowVector

__all__ = ["Offset", "Problem"]


_LEAST_SCALE, _MOST_SCALE = 1e-50, 1e50  # of an offset: its square counts like a C, and has the same range


@dataclass(frozen=True)
class Offset:
    """What becomes of b.

    ``"free"``: no penalty, the default. ``"penalized"``: b²/(2·scale²) is added, LIBLINEAR's problem.
    ``"none"``: b = 0.
    """

    kind: Literal["free", "penalized", "none"] = "free"
    scale: float = 1.0

    def __post_init__(self) -> None:
        if self.kind == "penalized" and not _LEAST_SCALE <= self.scale <= _MOST_SCALE:
            raise InvalidParameter(
                f"intercept_scaling must be between {_LEAST_SCALE:g} and {_MOST_SCALE:g}; got "
                f"intercept_scaling={self.scale!r}. Beyond, the offset is 0, or as good as unpenalised; fit "
                "without an offset, or without its penalty, instead."
            )

    @property
    def square(self) -> float:
        """The factor of (Σ sα)² in the dual: scale² when penalised, else 0."""
        return self.scale * self.scale if self.kind == "penalized" else 0.0

    def penalty(self, b: float) -> float:
        """What b adds to the objective."""
        return 0.5 * (b / self.scale) * (b / self.scale) if self.kind == "penalized" else 0.0

    def __str__(self) -> str:
        if self.kind == "penalized":
            scale = "" if self.scale == 1 else f" of scale {short(self.scale)}"
            return f"penalised offset{scale}"
        return {"free": "unpenalised offset", "none": "no offset"}[self.kind]


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
    offset: Offset = Offset()
    ridge: float = 1.0

    @property
    def is_regularised(self) -> bool:
        """Whether ½‖w‖² is there, which makes w unique and the dual bound exist."""
        return self.ridge > 0

    @property
    def dual(self) -> DualForm:
        """What the loss says about the dual problem."""
        return dual_form(self.loss)

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
        return find_null_space(self.rows, self.cost, has_offset=self.offset.kind == "free")


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
