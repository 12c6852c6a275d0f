"""Fit the map from left-out scores to probabilities.

All three kinds aim at Platt's targets instead of 1 and 0: a row of class k counts as (N_k + 1)/(N_k + 2) of
its own class, N_k being the weight of class k, and the rest is shared by the other classes. This is the
posterior mean after N_k rows that were all right; it keeps every probability away from 0 and 1 and every
optimum finite, also where the scores separate the classes. (With 1/(N_k + K) for each of K − 1 other classes
a few rows of many classes would count as wrong half of the time.)

A temperature T has to leave 1 for a reason. Platt's targets ask for one that is higher than the labels
themselves do; between the two, the nearest to 1 is taken, so that no temperature is worse than none on its
own rows.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from maxmargin._core import Block, StopToken
from maxmargin.errors import InvalidInput
from maxmargin.model.calibration import CALIBRATIONS, Calibration, Curve, IsotonicCurve, SigmoidCurve
from maxmargin.rows.base import Array
from maxmargin.solvers.newton_passes import Evaluate
from maxmargin.validation import check_choice

__all__ = ["fit_calibration"]

Codes = NDArray[np.integer[Any]]

MOST_STEPS = 100
FEW_ROWS = 1_000  # enough for the first steps
# A step that is predicted to lower the mean loss by less than this is the last: what it misses is the square.
ALL_BUT_THERE = 1e-9
ROUGHLY_THERE = 1e-3  # closer than a few rows can determine


def fit_calibration(
    kind: str,
    scores: Array,
    codes: Codes,
    weights: Array | None = None,
    *,
    source: str = "held-out scores",
    token: StopToken | None = None,
) -> Calibration:
    """Fit probabilities to the scores of rows that were left out of the fits.

    Parameters
    ----------
    kind : "sigmoid", "temperature" or "isotonic"
    scores : array of shape (n_rows, 1) for two classes, else (n_rows, n_classes)
        θ·x + θ₀ of each row by a model that was fitted without it. A row with a score that is not finite
        counts as absent: its fold may have lacked a class.
    codes : array of shape (n_rows,)
        The class of each row, by its number.
    weights : array of shape (n_rows,), optional
        A weight means repetition; rows of weight 0 are absent.
    source : str
        How the scores were found, for the record's sentence.
    token : StopToken, optional
        Ends the work early: Stopped or KeyboardInterrupt is then raised.

    Returns
    -------
    Calibration

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.selection.calibration import fit_calibration
    >>> scores = np.array([[-6.0], [-3.0], [-1.5], [0.9], [1.2], [4.5], [6.0]])
    >>> calibration = fit_calibration("temperature", scores, np.array([0, 0, 1, 0, 1, 1, 1]))
    >>> round(calibration.temperature, 3)
    1.782
    """
    check_choice("calibrate", kind, CALIBRATIONS)
    weight = np.ones(scores.shape[0]) if weights is None else np.asarray(weights, dtype=np.float64)
    present = (weight > 0) & np.isfinite(scores).all(axis=1)
    if not present.all():
        scores, codes, weight = scores[present], codes[present], weight[present]
    if scores.shape[0] == 0:
        raise InvalidInput(
            "there is no row to calibrate with that has a score for every class: splits that train without "
            "some class give it none. Use StratifiedKFold."
        )
    if kind == "temperature" and scores.shape[1] > 1:
        curves: tuple[Curve, ...] = (SigmoidCurve(_softmax_slope(scores, codes, weight), 0.0),)
    else:
        positives = [1] if scores.shape[1] == 1 else range(scores.shape[1])
        one = {"sigmoid": _platt, "temperature": _temperature, "isotonic": _isotonic}[kind]
        curves = tuple(
            one(_Column(scores[:, k], codes == positive, weight, token or StopToken()))
            for k, positive in enumerate(positives)
        )
    fitted = Calibration(kind, curves, scores.shape[0], source)
    if kind == "temperature":
        return fitted
    return Calibration(kind, curves, scores.shape[0], source, fitted.count_disagreements(scores))


class _Column:
    """The scores of one class against the rest, and their targets."""

    def __init__(
        self,
        scores: Array,
        is_positive: NDArray[np.bool_],
        weight: Array,
        token: StopToken,
    ) -> None:
        self.scores = scores
        self.token = token
        self.is_positive = is_positive
        self.sign = np.where(is_positive, 1, -1).astype(np.int8)
        self.weight = weight
        self.total = float(weight.sum())
        self.positive = float(weight[is_positive].sum())
        self.negative = float(weight[~is_positive].sum())
        # How far the targets stay away from 1 and from 0.
        self.from_one, self.from_zero = 1.0 / (self.positive + 2.0), 1.0 / (self.negative + 2.0)

    @property
    def prior(self) -> float:
        """The log-odds of the mean target: the best constant."""
        mean = self.positive * (1.0 - self.from_one) + self.negative * self.from_zero
        return float(np.log(mean / (self.total - mean)))


# ---------------------------------------------------------------- sigmoid, and temperature for two classes


def _platt(column: _Column) -> Curve:
    """Platt's sigmoid; equal scores carry no information, and get a slope of 0."""
    centre = float(np.average(column.scores, weights=column.weight))
    away = column.scores - centre
    scale = float(np.abs(away).max())
    if scale <= 1e-12 * abs(centre) or scale == 0:
        return SigmoidCurve(0.0, column.prior)
    start = np.array([0.0, column.prior])
    slope, offset = _largest_likelihood(column, away / scale, start, has_offset=True)
    return SigmoidCurve(float(slope) / scale, float(offset - slope * (centre / scale)))


def _temperature(column: _Column) -> Curve:
    scale = float(np.abs(column.scores).max())
    if scale == 0:
        return SigmoidCurve(1.0, 0.0)  # all are ½ at any temperature
    x = column.scores / scale
    found = _largest_likelihood(column, x, np.zeros(2), has_offset=False)
    slope = _above_zero(float(found[0])) / scale
    if slope < 1.0 and (column.sign * x < 0).any():
        column.from_one = column.from_zero = 0.0
        found = _largest_likelihood(column, x, found, has_offset=False)
        return SigmoidCurve(_nearest_to_one(slope, float(found[0]) / scale), 0.0)
    return SigmoidCurve(max(slope, 1.0), 0.0)


def _above_zero(slope: float) -> float:
    """Return a slope that keeps the order of the scores: probabilities of ½ where none is better."""
    return max(slope, 1e-9)


def _nearest_to_one(of_targets: float, of_labels: float) -> float:
    """Return what is nearest to 1 between the slope for Platt's targets and that for the labels."""
    return max(of_targets, min(of_labels, 1.0))


def _largest_likelihood(column: _Column, x: Array, start: Array, *, has_offset: bool) -> Array:
    """Maximise the likelihood of the targets by Newton's method; scores x in [−1, 1].

    With many rows, the first steps use a regular subsample.
    """
    every = x.shape[0] // FEW_ROWS
    if every > 1:
        few = _Likelihood(column, x, slice(None, None, every), has_offset)
        start = _newton(few, start, enough=ROUGHLY_THERE)
    return _newton(_Likelihood(column, x, slice(None), has_offset), start)


class _Likelihood:
    """Minus the log-likelihood of the targets at (slope, offset), with gradient and Hessian.

    With u the distance of a target from 1 or 0, the loss of a row is that of its label plus u·s·z: logistic
    regression with a linear term, whose sums the compiled core adds up in one reading.
    """

    def __init__(self, column: _Column, x: Array, which: slice, has_offset: bool) -> None:
        self.x = np.ascontiguousarray(x[which])
        self.block = Block(self.x[:, None])
        self.sign = np.ascontiguousarray(column.sign[which])
        self.weight = np.ascontiguousarray(column.weight[which])
        self.has_offset = has_offset
        self.token = column.token
        shift = self.weight * np.where(self.sign > 0, column.from_one, -column.from_zero)
        self.linear = np.array([np.einsum("i,i->", shift, self.x), shift.sum()])
        self.z, self.h = np.zeros_like(self.x), np.zeros_like(self.x)
        self.total = float(self.weight.sum())

    def __call__(self, point: Array) -> tuple[float, Array, Array]:
        kernel = Evaluate("logistic", point[:1].copy(), float(point[1]))
        sums = kernel(self.block, self.token, self.sign, self.weight, self.z, self.h)
        gradient = np.array([sums.gradient[0], sums.losses.slope]) + self.linear
        hx = self.h * self.x
        corner = float(hx.sum())
        square = float(np.einsum("i,i->", hx, self.x))
        hessian = np.array([[square, corner], [corner, sums.losses.curvature]])
        if not self.has_offset:
            gradient[1], hessian = 0.0, np.array([[square, 0.0], [0.0, 1.0]])
        return sums.losses.loss + float(self.linear @ point), gradient, hessian


class _Smooth(Protocol):
    """A convex function of few variables; `total` is the weight of the rows it is summed over."""

    total: float

    def __call__(self, point: Array) -> tuple[float, Array, Array]:
        """Return value, gradient and Hessian."""
        ...


def _newton(function: _Smooth, start: Array, enough: float = ALL_BUT_THERE) -> Array:
    """Minimise by Newton steps, halved until they help."""
    point = start
    value, gradient, hessian = function(point)
    for _ in range(MOST_STEPS):
        step = _newton_step(gradient, hessian)
        decrease = -float(gradient @ step)
        if not decrease > enough * function.total:
            return np.asarray(point + step)
        share = 1.0
        trial = function(point + step)
        while trial[0] > value - 1e-4 * share * decrease and share > 1e-9:
            share *= 0.5
            trial = function(point + share * step)
        if trial[0] > value:
            break
        point = point + share * step
        value, gradient, hessian = trial
    return point


def _newton_step(gradient: Array, hessian: Array) -> Array:
    """Solve for one or two unknowns; where curvature is lost to rounding, along the axes."""
    diagonal = np.maximum(np.diagonal(hessian), 1e-300)
    if len(gradient) == 1:
        return -gradient / diagonal
    corner = float(hessian[0, 1])
    determinant = diagonal[0] * diagonal[1] - corner * corner
    if not determinant > 1e-13 * diagonal[0] * diagonal[1]:
        return np.asarray(-0.5 * gradient / diagonal)
    first = diagonal[1] * gradient[0] - corner * gradient[1]
    second = diagonal[0] * gradient[1] - corner * gradient[0]
    return np.asarray(-np.array([first, second]) / determinant)


# ---------------------------------------------------------------- temperature for several classes


def _softmax_slope(scores: Array, codes: Codes, weight: Array) -> float:
    """Return 1/T of softmax(scores/T)."""
    scale = float(np.abs(scores - scores.mean(axis=1, keepdims=True)).max())
    if scale == 0:
        return 1.0  # every class is as likely as any other, at any temperature
    x = (scores - scores.max(axis=1, keepdims=True)) / scale
    likelihood = _SoftmaxLikelihood(x, codes, weight)
    found = _newton(likelihood, np.zeros(1))
    slope = _above_zero(float(found[0])) / scale
    if slope < 1.0 and likelihood.of_labels < 0:
        likelihood.wanted = likelihood.of_labels
        return _nearest_to_one(slope, float(_newton(likelihood, found)[0]) / scale)
    return max(slope, 1.0)


class _SoftmaxLikelihood:
    """Minus the log-likelihood of the targets under softmax(slope · x), with its derivatives.

    The largest entry of each row of x is 0. `wanted` is Σ targets · x, and `of_labels` what it is for the
    labels: below 0 unless the largest score of every row is that of its class.
    """

    def __init__(self, x: Array, codes: Codes, weight: Array) -> None:
        n_rows, n_classes = x.shape
        self.x, self.weight = x, weight
        self.total = float(weight.sum())
        held = np.bincount(codes, weights=weight, minlength=n_classes)
        other = 1.0 / ((n_classes - 1) * (held + 2.0))[codes]
        own = x[np.arange(n_rows), codes]
        self.of_labels = self._sum(own)
        # Of a row: as much of its own class as of any other, and the rest of its own.
        self.wanted = self._sum(other * x.sum(axis=1) + (1.0 - n_classes * other) * own)

    def _sum(self, values: Array) -> float:
        return float(np.einsum("i,i->", self.weight, values))

    def __call__(self, point: Array) -> tuple[float, Array, Array]:
        shares = np.exp(point[0] * self.x)
        sums = shares.sum(axis=1)
        shares /= sums[:, None]
        shares *= self.x
        mean = shares.sum(axis=1)
        square = np.einsum("ik,ik->i", shares, self.x)
        value = self._sum(np.log(sums)) - float(point[0]) * self.wanted
        slope, curvature = self._sum(mean) - self.wanted, self._sum(square - mean * mean)
        return value, np.array([slope]), np.array([[curvature]])


# ---------------------------------------------------------------- isotonic


def _isotonic(column: _Column) -> Curve:
    """The best function that never falls; SciPy finds it, squeezed between the two targets."""
    from scipy.optimize import isotonic_regression

    knots, place = np.unique(column.scores, return_inverse=True)
    weight = np.bincount(place, weights=column.weight)
    share = np.bincount(place, weights=column.weight * column.is_positive) / weight
    found = isotonic_regression(share, weights=weight)
    # Regression commutes with squeezing, so fitting the targets is squeezing the fit of 1 and 0.
    low, high = column.from_zero, 1.0 - column.from_one
    values = low + (high - low) * np.clip(found.x, 0.0, 1.0)
    # The ends of each step are all that interpolation needs.
    ends = np.unique(np.concatenate([found.blocks[:-1], found.blocks[1:] - 1]))
    return IsotonicCurve(knots[ends], values[ends])
