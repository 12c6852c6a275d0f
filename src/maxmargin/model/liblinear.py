"""Conversion of models from and to LIBLINEAR, which has other conventions.

LIBLINEAR counts the first of two labels as the positive one, we the larger; it multiplies the last weight by
the bias, we add an offset; its file names the solver but neither C nor weights of classes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin.core.objective import Objective
from maxmargin.core.offset import FreeOffset, NoOffset, Offset, PenalizedOffset
from maxmargin.errors import InvalidInput, InvalidParameter, Setting
from maxmargin.io.liblinear import LARGEST_LABEL, LiblinearModel
from maxmargin.model.foreign import StatedProblem
from maxmargin.model.model import LinearModel

__all__ = ["LOSSES", "from_liblinear", "labels_in_order", "problem_of_liblinear", "to_liblinear"]


# What each of LIBLINEAR's solvers with a squared-norm penalty minimises.
LOSSES = {
    "L2R_LR": "logistic",
    "L2R_LR_DUAL": "logistic",
    "L2R_L2LOSS_SVC": "squared_hinge",
    "L2R_L2LOSS_SVC_DUAL": "squared_hinge",
    "L2R_L1LOSS_SVC_DUAL": "hinge",
    "MCSVM_CS": "hinge",
}
# Solvers with other penalties: their models predict here, but cannot be certified.
_OTHER_PENALTIES = {"L1R_LR": "logistic", "L1R_L2LOSS_SVC": "squared_hinge"}
JOINT = "MCSVM_CS"  # one problem of all classes, and a score for each of two as well

# The solver that a model of ours is written as, for its loss.
SOLVER_TYPES = {"hinge": "L2R_L1LOSS_SVC_DUAL", "squared_hinge": "L2R_L2LOSS_SVC", "logistic": "L2R_LR"}


def from_liblinear(found: LiblinearModel) -> LinearModel:
    """Return a model of ours with the same scores: a classifier that was given, without certificate.

    Predictions are the same except where a score is exactly 0: there LIBLINEAR takes the second label of its
    file, we the larger one.

    Examples
    --------
    >>> found = LiblinearModel("L2R_LR", (-1, 1), 1.0, np.array([[2.0], [-1.0]]))
    >>> model = from_liblinear(found)
    >>> model.classes, model.coef, model.intercept
    (array([-1.,  1.]), array([[-2.]]), array([1.]))
    """
    labels = np.array(found.labels, dtype=np.float64)
    order = np.argsort(labels)
    coef, intercept = found.coef, found.intercept
    if len(labels) == 2:
        if coef.shape[0] == 2:  # a score for each, as Crammer and Singer have it
            coef, intercept = coef[:1] - coef[1:], intercept[:1] - intercept[1:]
        sign = 1.0 if labels[0] > labels[1] else -1.0
        coef, intercept = sign * coef, sign * intercept
    else:
        coef, intercept = coef[order], intercept[order]
    offset = _offset_of(found, free_bias=False)
    return LinearModel(
        coef=coef + 0.0,  # no negative zeros, which would be printed
        intercept=intercept + 0.0,
        classes=labels[order],
        loss={**LOSSES, **_OTHER_PENALTIES}[found.solver_type],
        multi_class="crammer_singer" if found.solver_type == JOINT and len(labels) > 2 else "one_vs_rest",
        offset=offset.kind,
        intercept_scaling=offset.scale,
        scheme="libsvm",
    )


def to_liblinear(
    model: LinearModel,
    *,
    solver_type: str | None = None,
    labels: Sequence[int] | None = None,
    bias: float | None = None,
) -> LiblinearModel:
    """Return one of our models as LIBLINEAR would store it.

    Parameters
    ----------
    model : LinearModel
        Of two classes or more, whose labels are whole numbers.
    solver_type : str, optional
        What to call it; by default the primal solver of its loss, where LIBLINEAR has one.
    labels : sequence of int, optional
        The classes in the order of the file; by default the positive one first, or as they are.
    bias : float, optional
        The value of the bias; by default the scale of a penalised offset, 1 for a free one, and -1 for none.

    Raises
    ------
    InvalidInput
        For labels that LIBLINEAR cannot hold, and problems that it does not have, such as softmax.

    Examples
    --------
    >>> from maxmargin import train
    >>> found = to_liblinear(train([[0.0], [1.0], [3.0], [4.0]], [-1, -1, 1, 1], C=10))
    >>> found.solver_type, found.labels, found.bias, found.weights.round(9).tolist()
    ('L2R_L1LOSS_SVC_DUAL', (1, -1), 1.0, [[1.0], [-2.0]])
    """
    if model.loss not in SOLVER_TYPES:
        raise InvalidInput(
            f"LIBLINEAR has no {model.loss.replace('_', ' ')} loss; it can hold models with "
            f"{', '.join(SOLVER_TYPES)} loss"
        )
    if model.multi_class == "softmax":
        raise InvalidInput(
            "LIBLINEAR has no softmax: its logistic models are one class against the rest, and it would "
            "compute other probabilities",
            remedy="Write a model of its own kind, as fitted with {form}, or an ONNX file",
            form=Setting("multi_class", "one_vs_rest"),
        )
    if solver_type is None:
        solver_type = JOINT if model.is_joint else SOLVER_TYPES[model.loss]
    known = whole_labels(model.classes)
    if labels is None:
        labels = known[::-1] if len(known) == 2 else known
    rows = [known.index(label) for label in labels]
    if len(known) <= 2:
        sign = 1.0 if len(known) == 1 or rows[0] == 1 else -1.0
        coef, intercept = sign * model.coef, sign * model.intercept
        if solver_type == JOINT and len(known) == 2:
            coef, intercept = np.vstack([coef, -coef]) / 2, np.hstack([intercept, -intercept]) / 2
    else:
        coef, intercept = model.coef[rows], model.intercept[rows]
    if bias is None:
        scale = model.intercept_scaling if model.offset == "penalized" else 1.0
        bias = scale if model.offset != "none" or model.intercept.any() else -1.0
    weights = coef.T
    if bias >= 0:
        weights = np.vstack([weights, intercept[None, :] / bias if bias > 0 else 0.0 * intercept[None, :]])
    return LiblinearModel(solver_type, tuple(labels), float(bias), np.ascontiguousarray(weights))


def whole_labels(labels: NDArray[Any]) -> list[int]:
    """Return labels as the whole numbers that they are, or refuse them."""
    if labels.dtype.kind not in "biuf":
        raise InvalidInput(
            f'LIBLINEAR has whole numbers as labels; got "{labels[0]}". Give the classes numbers first'
        )
    for label in labels.tolist():
        if label != int(label) or abs(label) > LARGEST_LABEL:
            raise InvalidInput(f"LIBLINEAR has whole numbers of 32 bits as labels; got {label!r}")
    return [int(label) for label in labels.tolist()]


def labels_in_order(y: NDArray[Any]) -> tuple[int, ...]:
    """Return the labels as LIBLINEAR orders them: as they come, but +1 before -1.

    Examples
    --------
    >>> labels_in_order(np.array([3.0, 1.0, 3.0, 2.0])), labels_in_order(np.array([-1.0, 1.0]))
    ((3, 1, 2), (1, -1))
    """
    values, first = np.unique(y, return_index=True)
    labels = tuple(whole_labels(values[np.argsort(first)]))
    return (1, -1) if labels == (-1, 1) else labels


def problem_of_liblinear(
    found: LiblinearModel,
    C: float | None = None,
    class_weight: Mapping[Any, float] | str | None = None,
    *,
    lam: float | None = None,
    free_bias: bool = False,
) -> StatedProblem:
    """Return the coefficients with the problem that LIBLINEAR solved for them, for `certify`.

    Parameters
    ----------
    found : LiblinearModel
    C, lam : float
        LIBLINEAR's -c, or λ of the mean form in its place; the file does not keep it.
    class_weight : mapping from label to weight, optional
        LIBLINEAR's -wi, which it does not keep either.
    free_bias : bool
        Whether the bias was not penalised (-R); it does not keep that either.
    """
    if found.solver_type not in LOSSES:
        raise InvalidParameter(
            f"{found.solver_type} penalises Σ|θⱼ|, which is not certified here; LIBLINEAR's -s 0, 1, 2, 3, 4 "
            "and 7 are"
        )
    model = from_liblinear(found)
    offset = _offset_of(found, free_bias=free_bias)
    loss = LOSSES[found.solver_type]
    objective = Objective(
        loss,
        offset,
        C=C,
        lam=lam,
        class_weight=class_weight,
        rest_weighs_one=True,
        multi_class=model.multi_class,
    )
    if found.solver_type == JOINT and len(found.labels) == 2:
        objective = twice_as_strong(objective)
    return StatedProblem(model.coef, model.intercept, model.classes, objective)


def twice_as_strong(objective: Objective) -> Objective:
    """Return the problem that Crammer and Singer's is for two classes.

    With u = w₁ − w₀, ½‖w₁‖² + ½‖w₀‖² = ¼‖u‖²; the offset is a difference as well, and penalised alike.
    """
    if objective.lam is not None:
        return replace(objective, lam=objective.lam / 2)
    return replace(objective, C=2 * (1.0 if objective.C is None else objective.C))


def _offset_of(found: LiblinearModel, *, free_bias: bool) -> Offset:
    if found.bias <= 0:
        return NoOffset()  # a bias of the value 0 adds nothing
    return FreeOffset() if free_bias else PenalizedOffset(found.bias)
