"""The regularisation path: weights for every C, each with its certificate."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin.core.certificate.record import Certificate
from maxmargin.errors import InvalidParameter
from maxmargin.losses.multiclass import JOINT_FORMS
from maxmargin.presentation.frames import frame_of
from maxmargin.presentation.wording import Readable, chosen_percent, percent, plural, short
from maxmargin.validation import check_positive

__all__ = ["Mixtures", "Path", "PathPoint"]


Array = NDArray[np.float64]

_SAME_C = 1e-12  # relative; a value that was converted to text or to a logarithm still counts as the same


@dataclass(frozen=True, eq=False)
class PathPoint(Readable):
    """The weights at one C.

    Attributes
    ----------
    C : float
    coef : array of shape (1, d), or (n_classes, d) for more than two classes
    intercept : array of shape (1,) or (n_classes,)
    certificates : list of Certificate
        One per problem: one per row of `coef`, or one where all classes have one problem.
    """

    C: float
    coef: Array
    intercept: Array
    certificates: list[Certificate]

    @property
    def certificate(self) -> Certificate:
        """The worst of the classes' certificates."""
        return max(self.certificates, key=lambda proof: proof.relative_gap)

    def __str__(self) -> str:
        return f"C = {short(self.C)}: {self.certificate}"


@dataclass(frozen=True, eq=False, repr=False)
class Path(Readable):
    """Weights over a range of C, with a certificate for every C in it.

    What is kept is a matrix of weights per fit and, between two neighbours, some eighty numbers per class:
    for a few mixtures of the two the terms of objective and bound that do not depend on C. From them `at`
    writes down the certificate of the best mixture at any C, exactly and without the data. No vector as long
    as the data is kept.

    Attributes
    ----------
    C : array
        The values with weights of their own, in increasing order; ``len(path)`` of them. For a range of C
        these are the fits, for given values of C (``is_grid``) the values themselves.
    coef : array of shape (len, 1 or n_classes, d)
    intercept : array of shape (len, 1 or n_classes)
    certificates : list of lists of Certificate
        For each C, one per problem.
    training_error : array
        The share of the rows, by sample weight, that are wrong: agreement ≤ 0, or another class ahead.
    n_support : array of int, or None
        Rows with a dual variable above 0 in any class; None for the logistic loss, which has no other rows.
    loss, offset, multi_class : str
    classes : array
    tol : float
        The relative gap that was asked for.
    n_fits : int
    mixtures : list of lists of Mixtures
        Between each C and the next, one per class; none where all classes have one problem.
    is_grid : bool
        Whether the path is made of single values of C; then nothing is claimed between them.
    reason : str
        Why it ended early; empty if it did not.

    Examples
    --------
    >>> from maxmargin import regularization_path
    >>> X, y = [[0.0], [1.0], [2.0], [3.0], [4.0]], [-1, -1, 1, -1, 1]
    >>> path = regularization_path(X, y, C_min=0.01, C_max=10, tol=0.05)
    >>> path.certified
    [(0.01, 10.0)]
    >>> path.at(0.5).certificate.relative_gap <= 0.05
    True
    >>> path.is_certified, bool((path.gaps <= 0.05).all()), bool(path.margin[0] > path.margin[-1])
    (True, True, True)
    >>> len(path.frame()) == len(path)
    True
    """

    C: Array
    coef: Array
    intercept: Array
    certificates: list[list[Certificate]]
    training_error: Array
    n_support: NDArray[np.intp] | None
    loss: str
    offset: str
    classes: NDArray[Any]
    tol: float
    n_fits: int
    mixtures: list[list[Mixtures]]
    is_grid: bool = False
    reason: str = ""
    multi_class: str = "one_vs_rest"

    def __len__(self) -> int:
        return len(self.C)

    def __iter__(self) -> Iterator[PathPoint]:
        return (self._stop(k) for k in range(len(self)))

    @property
    def gaps(self) -> Array:
        """The certified relative gap at each C of `C`, of the worst class."""
        return np.array([max(proof.relative_gap for proof in proofs) for proofs in self.certificates])

    @property
    def margin(self) -> Array:
        """1/‖θ‖ at each C of `C`, the smallest of the classes'; inf at θ = 0."""
        length = np.sqrt(np.einsum("kij,kij->ki", self.coef, self.coef)).max(axis=1)
        return np.asarray(np.divide(1.0, length, out=np.full(len(self), math.inf), where=length > 0))

    @property
    def certified(self) -> list[tuple[float, float]]:
        """The ranges of C in which every C is certified within `tol`, in increasing order.

        For given values of C each of them is a range of its own.
        """
        good = self.gaps <= self.tol
        if self.is_grid or len(self) == 1:
            return [(float(C), float(C)) for C in self.C[good]]
        holes = [
            hole
            for k, pair in enumerate(self.mixtures)
            for of_class in pair
            for hole in of_class.missing(float(self.C[k]), float(self.C[k + 1]), self.tol)
        ]
        ranges, begin, last = [], float(self.C[0]), float(self.C[-1])
        for left, right in sorted(holes):
            if left > begin:
                ranges.append((begin, left))
            begin = max(begin, right)
        return [*ranges, (begin, last)] if begin < last else ranges

    @property
    def is_certified(self) -> bool:
        """Whether everything that was asked for is certified."""
        if self.reason:
            return False
        if self.is_grid:
            return bool((self.gaps <= self.tol).all())
        return self.certified == [(float(self.C[0]), float(self.C[-1]))]

    def at(self, C: float) -> PathPoint:
        """Return weights for any C of the range, with their certificate.

        The weights are those of the best mixture of the neighbouring fits; objective and bound of the
        certificate are computed for this C from the numbers kept, by the formulas of the certificate.

        Parameters
        ----------
        C : float
            Within the range, or one of the given values.

        Returns
        -------
        PathPoint
        """
        C = check_positive("C", C)
        near = np.flatnonzero(np.abs(self.C - C) <= _SAME_C * C)
        if near.size:
            return self._stop(int(near[0]))
        self._refuse_outside(C)
        k = int(np.searchsorted(self.C, C)) - 1
        shares = np.array([of_class.best_weights(C) for of_class in self.mixtures[k]])
        coef = self.coef[k] + shares[:, None] * (self.coef[k + 1] - self.coef[k])
        intercept = self.intercept[k] + shares * (self.intercept[k + 1] - self.intercept[k])
        return PathPoint(C, coef, intercept, [of_class.certificate(C) for of_class in self.mixtures[k]])

    def _stop(self, k: int) -> PathPoint:
        return PathPoint(float(self.C[k]), self.coef[k], self.intercept[k], self.certificates[k])

    def _refuse_outside(self, C: float) -> None:
        low, high = short(self.C[0]), short(self.C[-1])
        if self.is_grid:
            raise InvalidParameter(
                f"the path holds {plural(len(self), 'value')} of C between {low} and {high}, and claims "
                f"nothing between them; got C={C!r}. {self._instead}"
            )
        if not self.C[0] <= C <= self.C[-1]:
            early = f" (it ended early: {self.reason})" if self.reason else ""
            raise InvalidParameter.must_be("C", f"on the path, from {low} to {high}{early}", C)

    @property
    def _instead(self) -> str:
        if self.multi_class != "one_vs_rest":
            return "Give Cs that hold it; multi_class='one_vs_rest' has every C of a range."
        return "Give C_min and C_max instead of Cs for every C."

    def frame(self) -> Any:
        """Return a table with one row per C of `C`: gap, training error, support vectors, margin, ‖θ‖.

        A pandas data frame, or its columns by name where pandas is missing.
        """
        columns: dict[str, Any] = {
            "C": self.C,
            "relative_gap": self.gaps,
            "objective": [sum(proof.objective for proof in proofs) for proofs in self.certificates],
            "training_error": self.training_error,
        }
        if self.n_support is not None:
            columns["n_support"] = self.n_support
        columns["margin"] = self.margin
        return frame_of(columns, index="C")

    def __str__(self) -> str:
        fits, within = plural(self.n_fits, "fit"), f"within {chosen_percent(self.tol)} of its optimum"
        if self.is_grid:
            good = int(np.count_nonzero(self.gaps <= self.tol))
            words = f"{good:,} of {plural(len(self), 'value')} of C certified {within}, by {fits}"
        elif self.certified:
            words = " and ".join(f"from {short(low)} to {short(high)}" for low, high in self.certified)
            words = f"every C {words} certified {within}, by {fits}"
        else:
            words = f"no range of C certified {within}, by {fits}"
        error = f"training error {percent(self.training_error[0])} to {percent(self.training_error[-1])}"
        form = JOINT_FORMS.get(self.multi_class, self.loss)
        return f"{form}: {words}; {error}{f'; {self.reason}' if self.reason else ''}"

    __repr__ = __str__


# ------------------------------------------------------------------------------------------------
# What mixtures of two neighbouring solutions prove about every C: a few numbers, no vectors.
#
# Weights with q = ½‖w‖² (plus the penalty of an offset) and loss R at unit cost have the objective q + C R
# at every C; duals with value G at unit cost and Q = ‖Σ sτx‖² give the bound C G − ½C²Q there.

# A bound of the relative rounding errors of objective and bound, which are subtracted.
ROUNDING_OF_SUMS = 2.0**-43


@dataclass(frozen=True, eq=False)
class Mixtures:
    """Mixtures of two solutions of one problem, at C₁ and C₂.

    Attributes
    ----------
    primal_share, penalty, loss : arrays
        The share of the second solution's weights, and q and R of that mixture.
    dual_share, gain, square : arrays
        The share of the second solution's duals (each divided by its C), and G and Q of that mixture.
    """

    primal_share: Array
    penalty: Array
    loss: Array
    dual_share: Array
    gain: Array
    square: Array

    def objectives(self, C: Array | float) -> Array:
        """Return q + C R; one row per C if there are several."""
        C = np.asarray(C, dtype=np.float64)[..., None]
        return np.asarray(self.penalty + C * self.loss)

    def bounds(self, C: Array | float) -> Array:
        """Return C G − ½C²Q; one row per C if there are several."""
        C = np.asarray(C, dtype=np.float64)[..., None]
        return np.asarray(C * (self.gain - 0.5 * C * self.square))

    def relative_gaps(self, C: Array | float) -> Array:
        """Return the certified relative gap of the best mixtures at each C."""
        objective, bound = self.objectives(C).min(axis=-1), self.bounds(C).max(axis=-1)
        rounding = ROUNDING_OF_SUMS * objective
        gap, bound = np.maximum(objective - bound, 0.0) + 2.0 * rounding, bound - rounding
        return np.asarray(np.divide(gap, bound, out=np.full_like(gap, np.inf), where=bound > 0))

    def best_weights(self, C: float) -> float:
        """Return the share of the second solution in the weights with the least objective."""
        return float(self.primal_share[int(np.argmin(self.objectives(C)))])

    def best_duals(self, C: float) -> float:
        """Return the share of the second solution in the duals with the largest bound."""
        return float(self.dual_share[int(np.argmax(self.bounds(C)))])

    def certificate(self, C: float) -> Certificate:
        """Return the proof about the best weights at C; nothing is read for it, the formulas are exact."""
        objective = float(self.objectives(C).min())
        rounding = ROUNDING_OF_SUMS * objective
        bound = min(float(self.bounds(C).max()), objective) - rounding
        return Certificate("duality", objective + rounding, max(bound, 0.0), 2.0 * rounding)

    def missing(self, low: float, high: float, tol: float) -> list[tuple[float, float]]:
        """Return the ranges of [low, high] at which the best mixtures are not within `tol`.

        Two mixtures are, between the roots of ½(1 + tol) Q C² − ((1 + tol) G − R) C + q; the union of all
        these intervals is what is certified.
        """
        grown = 1.0 + tol * (1.0 - 1e-6) - 4.0 * ROUNDING_OF_SUMS
        middle = (grown * self.gain - self.loss[:, None]).ravel()
        square, constant = (
            np.broadcast_to(x, (len(self.loss), len(self.gain))).ravel()
            for x in (grown * self.square, self.penalty[:, None])
        )
        under_root = middle * middle - 2.0 * square * constant
        has_roots = (middle > 0) & (under_root >= 0)
        root = middle[has_roots] + np.sqrt(under_root[has_roots])
        begin = 2.0 * constant[has_roots] / root
        with np.errstate(divide="ignore"):
            end = root / square[has_roots]  # no end if Q = 0
        order = np.argsort(begin, kind="stable")
        begin = np.append(begin[order], np.inf)
        reached = np.maximum.accumulate(np.concatenate(([low], end[order])))
        holes = np.flatnonzero((begin > reached) & (reached < high))
        return [(float(reached[k]), float(min(begin[k], high))) for k in holes]
