"""Pictures of curves: how a fit, a loss or an error goes with something else."""

import functools
from types import SimpleNamespace

import numpy as np
from images.picture import Picture

from maxmargin import (
    CoefficientsDisplay,
    ConvergenceDisplay,
    LeaveOneOutDisplay,
    LossDisplay,
    RegularizationPathDisplay,
    ReliabilityDisplay,
    regularization_path,
    reliability,
)
from maxmargin.core.solution import History
from maxmargin.displays.regularization_path import HeldOutErrors
from maxmargin.selection.leave_one_out.record import REASONS, LeaveOneOut, Reason

__all__ = ["CURVES"]

HISTORY = History(
    seconds=np.array([0.01, 0.02, 0.04]),
    passes=np.array([9.0, 15.0, 30.0]),
    objective=np.array([12.0, 10.5, 10.0]),
    bound=np.array([0.0, 8.0, 9.99]),
    gap=np.array([12.0, 2.5, 0.01]),
)
SLOW = History(
    seconds=np.array([0.02, 0.1, 0.4, 0.9]),
    passes=np.array([5.0, 60.0, 240.0, 600.0]),
    objective=np.array([25.0, 14.0, 11.0, 10.3]),
    bound=np.array([1.0, 4.0, 8.5, 9.7]),
    gap=np.array([24.0, 10.0, 2.5, 0.6]),
)

GENERATOR = np.random.RandomState(5)  # its numbers are the same in every version of NumPy
SIGNS = np.repeat([-1, 1], 30)
ROWS = GENERATOR.normal(size=(60, 3)) + 0.7 * SIGNS[:, None] * np.array([1.0, 0.5, 0.0])
SEPARATOR = (np.array([1.5, 0.8, -0.1]), 0.1)

LEFT_OUT = HeldOutErrors(
    C=np.array([0.01, 0.1, 1.0, 10.0]),
    error=np.array([np.nan, 0.3333, 0.3, 0.3167]),
    low=np.array([0.3, 0.3333, 0.3, 0.3167]),
    high=np.array([0.6, 0.3333, 0.3, 0.3167]),
    name="leave-one-out error",
    interval="certainly in between",
    chosen=1.0,
)


@functools.cache
def path():
    """Follow the path of the rows once, and not before it is needed."""
    return regularization_path(ROWS, SIGNS, C_min=0.01, C_max=10.0, tol=1e-2)


def left_out():
    """Return a record with examples of every kind."""
    full = np.concatenate([np.linspace(-1.4, 0.9, 12), np.linspace(1.0, 4.0, 28)])
    without = full - np.concatenate([np.linspace(0.5, 0.2, 12), np.zeros(28)])
    without[[12, 13, 14]] -= [0.4, 1.3, 2.2]
    reasons = [Reason.WRONG_ALREADY] * 8 + [Reason.FOLLOWED] * 6 + [Reason.UNDECIDED]
    reasons += [Reason.NO_SUPPORT_VECTOR] * 25
    codes = np.array([REASONS.index(reason) for reason in reasons], dtype=np.uint8)
    wrong = (without <= 0) & (codes != REASONS.index(Reason.UNDECIDED))
    return LeaveOneOut(wrong, codes, 8, without, "exact", full_agreements=full)


@functools.cache
def judged():
    """Return what overconfident probabilities are worth."""
    predicted = np.random.RandomState(2).uniform(size=600)
    outcome = np.random.RandomState(3).uniform(size=600) < 0.5 + 0.7 * (predicted - 0.5)
    return reliability(predicted, outcome.astype(int))


def coefficients(n_classes):
    """Return a model of named columns."""
    words = ["excellent", "superb", "moving", "warm", "plot", "actor", "dull", "boring", "worst", "waste"]
    coef = np.random.RandomState(4).normal(size=(n_classes, 10)) + np.linspace(1.5, -1.5, 10)
    labels = ["bad", "good"] if n_classes == 1 else ["bad", "fair", "good"]
    return SimpleNamespace(coef=coef, intercept=np.zeros(n_classes), classes=labels, feature_names=words)


PANELS = (3.0, 4.0)  # inches for two panels and a legend

CURVES: dict[str, Picture] = {
    "coefficients": Picture(lambda ax: CoefficientsDisplay.from_estimator(coefficients(1), ax=ax)),
    "coefficients_of_three": Picture(
        lambda ax: CoefficientsDisplay.from_estimator(
            coefficients(3), top=3, X=ROWS @ np.ones((3, 10)), ax=ax
        ),
        (6.0, 4.0),
    ),
    "convergence": Picture(lambda ax: ConvergenceDisplay.from_history(HISTORY, tol=1e-2, ax=ax), PANELS),
    "convergence_of_two": Picture(
        lambda ax: ConvergenceDisplay.from_history({"newton": HISTORY, "descent": SLOW}, tol=1e-2, ax=ax),
        PANELS,
    ),
    "leave_one_out": Picture(lambda ax: LeaveOneOutDisplay.from_leave_one_out(left_out(), ax=ax), (3.0, 4.6)),
    "loss": Picture(lambda ax: LossDisplay.from_losses(ax=ax), (3.0, 3.0)),
    "loss_with_examples": Picture(
        lambda ax: LossDisplay.from_estimator(
            SEPARATOR, ROWS, SIGNS, losses=["zero_one", "hinge", "logistic"], ax=ax
        )
    ),
    "logistic_curve": Picture(
        lambda ax: LossDisplay.from_estimator(SEPARATOR, ROWS, SIGNS, kind="probability", ax=ax)
    ),
    "regularization_path": Picture(
        lambda ax: RegularizationPathDisplay.from_path(path(), left_out=LEFT_OUT, ax=ax), (3.0, 4.6)
    ),
    "regularization_path_coefficients": Picture(
        lambda ax: RegularizationPathDisplay.from_path(
            path(), kind="coefficients", names=["width", "height", "noise"], chosen=1.0, ax=ax
        )
    ),
    "reliability": Picture(lambda ax: ReliabilityDisplay.from_reliability(judged(), ax=ax), (3.0, 4.2)),
}
