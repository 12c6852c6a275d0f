"""What is minimised: penalty(W) + Σᵢ cᵢ ℓ(zᵢ, yᵢ) with zᵢ = W xᵢ + b, plus what the offset b is charged."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from maxmargin._core import ClassCosts
from maxmargin.core.exact.null_space import NullSpace, find_null_space
from maxmargin.core.offset import FreeOffset, Offset
from maxmargin.core.penalties import Penalty, Ridge
from maxmargin.core.targets import BinaryTargets, ClassTargets, Targets
from maxmargin.losses.base import DualForm, Loss, MulticlassLoss
from maxmargin.losses.table import dual_form, find_loss
from maxmargin.rows.base import Array, Inner, Rows, RowVector

__all__ = ["Problem"]


@dataclass(frozen=True, eq=False)
class Problem:
    """Rows, their targets, a loss, a penalty of the weights, and what becomes of the offset.

    With two classes there is one output, and the loss is one of the agreement m = s(x·w + b), s = ±1. Another
    class is another sign, another fold or weight another cost; the rows are shared.

    Attributes
    ----------
    rows : Rows
    targets : Targets
        A sign or class, and a cost, of each row.
    loss : Loss or MulticlassLoss
    penalty : Penalty
    offset : Offset
    """

    rows: Rows
    targets: Targets
    loss: Loss | MulticlassLoss
    penalty: Penalty = field(default_factory=Ridge)
    offset: Offset = field(default_factory=FreeOffset)

    @classmethod
    def binary(
        cls,
        rows: Rows,
        sign: RowVector,
        cost: RowVector,
        loss: str,
        offset: Offset | None = None,
        penalty: Penalty | None = None,
    ) -> Problem:
        """Return the problem of two classes, by the name of a loss."""
        targets = BinaryTargets(sign, cost)
        return cls(rows, targets, find_loss(loss), penalty or Ridge(), offset or FreeOffset())

    def with_cost(self, cost: RowVector, penalty: Penalty | None = None) -> Problem:
        """Return the problem with other costs of the rows, and another penalty if one is given."""
        return replace(self, targets=self.targets.with_cost(cost), penalty=penalty or self.penalty)

    def part(self, indices: NDArray[Any]) -> Problem:
        """Return the problem of some rows, copied into memory; per-row arrays have to be there already."""
        return replace(self, rows=self.rows.subset(indices), targets=self.targets.part(indices))

    @property
    def sign(self) -> RowVector:
        """The signs of two classes, int8 and ±1."""
        return cast(BinaryTargets, self.targets).values

    @property
    def cost(self) -> RowVector:
        return self.targets.cost

    @property
    def is_regularised(self) -> bool:
        """Whether there is a penalty, and with it a dual bound."""
        return not self.penalty.is_absent

    @property
    def agreement_loss(self) -> Loss:
        """The loss, if there are two classes."""
        assert isinstance(self.loss, Loss), "this is for two classes"
        return self.loss

    @property
    def dual(self) -> DualForm:
        """What the loss of two classes says about the dual problem."""
        return dual_form(self.agreement_loss.name)

    def loss_change(self, loss: float, error: float) -> float:
        """Return the most by which a total loss changes if no score changes by more than an error."""
        if isinstance(self.loss, MulticlassLoss):
            return self.loss.loss_change(loss, self.total_cost, error)
        return self.dual.loss_change(loss, self.total_cost, error)

    @property
    def n_outputs(self) -> int:
        """Vectors of weights: 1 for two classes, K for K."""
        return self.loss.n_outputs

    @property
    def zero_weights(self) -> Array:
        """W = 0, of the shape that weights have."""
        if isinstance(self.loss, MulticlassLoss):
            return np.zeros((self.loss.n_outputs, self.rows.n_columns))
        return np.zeros(self.rows.n_columns)

    @property
    def n_unknowns(self) -> int:
        """The weights, and the offset if it is free, of one output: what the rows alone hold in place."""
        return self.rows.n_columns + self.offset.is_free

    @cached_property
    def class_costs(self) -> ClassCosts:
        """Total cost of each sign, if there are two classes."""
        return cast(BinaryTargets, self.targets).class_costs(self.rows)

    @cached_property
    def costs_by_class(self) -> Array:
        """Total cost of each class, if there are many."""
        return cast(ClassTargets, self.targets).class_costs(self.rows)

    @property
    def total_cost(self) -> float:
        """Total cost of the rows."""
        if isinstance(self.loss, MulticlassLoss):
            return float(self.costs_by_class.sum())
        return self.class_costs.total

    @cached_property
    def weighted_norm2(self) -> float:
        """Σ c‖x‖²: the regulariser's 1 is much or little beside it."""
        return self.rows.reduce(Inner(), self.cost, self.rows.norms()[0])

    @cached_property
    def null_space(self) -> NullSpace:
        """Changes of (w, b) that change no agreement; found once, by one or two passes."""
        return find_null_space(self.rows, self.cost, has_offset=self.offset.is_free)

    # The duality gap of a point (W, b) and a dual point, term by term. Solvers use it to guess when they are
    # done; `core.certificate` computes the same terms with bounds of their rounding errors.

    def gap(self, loss_gap: float, W: Array, V: Array, b: float, balance: float, reach: float) -> float:
        """Return the duality gap.

        Parameters
        ----------
        loss_gap : float
            Σ of the rows' shares, cℓ(m) + cℓ*(−α/c) + αm.
        W, V : arrays
            The weights, and Σ sαx, which they are at the optimum.
        b, balance : float
            The offset, and Σ sα.
        reach : float
            A bound of |b| at the optimum, which a free offset needs.
        """
        return loss_gap + self.penalty.fenchel_gap(W, V) + self.offset.gap(b, balance, reach)

    def dual_value(self, loss_dual: float, V: Array, balance: float) -> float:
        """Return the value of a dual point: `loss_dual` = −Σ c ℓ*(−α/c), V = Σ sαx, `balance` = Σ sα."""
        return loss_dual - self.penalty.conjugate(V) - self.offset.dual_penalty(balance)
