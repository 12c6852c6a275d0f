"""Reading fitted models of other libraries: what they minimised, from their class name and settings.

Nothing is imported; scikit-learn's documented attributes (``coef_``, ``intercept_``, ``classes_``) and
``get_params`` are enough.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from maxmargin.core.objective import Objective, multi_class_of
from maxmargin.core.offset import FreeOffset, NoOffset, Offset, PenalizedOffset
from maxmargin.errors import InvalidInput, InvalidParameter
from maxmargin.losses.table import DUAL_LOSSES
from maxmargin.model.model import Support
from maxmargin.model.settings import offset_from

__all__ = [
    "HOW_TO_GIVE_COEFFICIENTS",
    "StatedProblem",
    "is_fitted_by_us",
    "is_layer",
    "is_model",
    "is_ours",
    "read_layer",
    "read_model",
    "read_settings",
    "refuse_other_losses",
    "unwrap",
]


Params = Mapping[str, Any]

HOW_TO_GIVE_COEFFICIENTS = (
    "give the coefficients and name their problem: certify(coef, X, y, intercept=…, "
    "loss='hinge', 'squared_hinge' or 'logistic', C=… or lam=…)"
)


@dataclass(frozen=True, eq=False)
class StatedProblem:
    """Coefficients and the problem they are meant to solve.

    Attributes
    ----------
    coef, intercept : as the model keeps them
    classes : array or None
        The model's classes in its own order; None if only the data know them.
    objective : Objective
        What they are meant to minimise.
    support : Support or None
        The rows with a dual variable above 0, where the model has them.
    """

    coef: Any
    intercept: Any
    classes: Any
    objective: Objective
    support: Support | None = None


def is_model(candidate: Any) -> bool:
    """Return whether this looks like an estimator rather than an array of coefficients."""
    return hasattr(candidate, "get_params") or hasattr(candidate, "coef_")


def is_layer(candidate: Any) -> bool:
    """Return whether this has a ``weight`` and a ``bias`` like ``torch.nn.Linear``, and is no estimator."""
    return hasattr(candidate, "weight") and hasattr(candidate, "bias") and not is_model(candidate)


def read_layer(layer: Any) -> tuple[Any, Any]:
    """Return weights and bias of a linear layer as arrays; None for a bias that it does not have."""
    return _as_array(layer.weight), None if layer.bias is None else _as_array(layer.bias)


def _as_array(tensor: Any) -> Any:
    for step in ("detach", "cpu", "double", "numpy"):  # what a tensor needs before NumPy can read it
        tensor = getattr(tensor, step)() if hasattr(tensor, step) else tensor
    return tensor


def is_ours(model: Any) -> bool:
    """Return whether this is an estimator of this package whose settings state what it minimises."""
    if _own_name(model) in _ONLINE:
        return True
    return hasattr(model, "get_params") and {"lam", "penalize_intercept"} <= set(model.get_params(deep=False))


def is_fitted_by_us(model: Any) -> bool:
    """Return whether this is a fitted estimator of this package."""
    return hasattr(model, "to_model") and hasattr(model, "classes_")


def refuse_other_losses(loss: str, certificate: Any) -> None:
    """Refuse a loss that has no dual here; the learners of such losses certify their models themselves."""
    if loss not in DUAL_LOSSES:
        raise InvalidInput(
            f"certify solves problems with {', '.join(DUAL_LOSSES)} loss; this model minimises the {loss} "
            f"loss, and its own certificate says how far it is from the best: {certificate}."
        )


def _own_name(model: Any) -> str:
    """Return the nearest class of this package among a model's, for subclasses of users."""
    own = (kind.__name__ for kind in type(model).__mro__ if kind.__module__.startswith("maxmargin."))
    return next(own, "")


def unwrap(model: Any, X: Any) -> tuple[Any, Any]:
    """Return the linear model inside pipelines and searches, and X as that model gets it."""
    while True:
        if hasattr(model, "best_estimator_"):
            model = model.best_estimator_
        elif isinstance(getattr(model, "steps", None), list) and hasattr(model, "named_steps"):
            for name, step in model.steps[:-1]:
                X = _transformed(name, step, X)
            model = model.steps[-1][1]
        else:
            return model, X


def _transformed(name: str, step: Any, X: Any) -> Any:
    if step is None or (isinstance(step, str) and step == "passthrough"):
        return X
    if not hasattr(step, "transform"):
        raise InvalidInput(
            f"step {name!r} of the pipeline ({type(step).__name__}) has no transform, so the rows that the "
            "last step learned from are unknown. Certify the last step with those rows: "
            "certify(pipe[-1], rows, labels)."
        )
    return step.transform(X)


def read_model(model: Any) -> StatedProblem:
    """Return what a fitted model minimised, or refuse it by name."""
    name, reader = _reader(model)
    if not hasattr(model, "classes_"):
        raise InvalidInput(f"this {name} is not fitted yet: fit it, then certify it.")
    return reader(model, model.get_params(deep=False))


def read_settings(model: Any, asking: str) -> StatedProblem:
    """Return the problem that an estimator states, fitted or not, with its coefficients if it has any."""
    try:
        name, reader = _reader(model)
    except InvalidInput:
        raise InvalidInput(
            f"{asking} cannot read {type(model).__name__}. It takes LinearSVM, LogisticRegression and other "
            "estimators of maxmargin that name a loss and C (or lam), fitted or not; a LinearModel; and "
            "fitted LinearSVC, SVC(kernel='linear'), LogisticRegression(CV) and SGDClassifier of "
            "scikit-learn."
        ) from None
    if not hasattr(model, "classes_") and not is_ours(model):
        raise InvalidInput(f"this {name} is not fitted yet: fit it first.")
    return reader(model, model.get_params(deep=False))


def _reader(model: Any) -> tuple[str, Callable[[Any, Params], StatedProblem]]:
    own = type(model).__name__
    if not hasattr(model, "get_params"):
        raise InvalidInput(_cannot_read(own))
    if is_ours(model):
        return own, _ONLINE.get(_own_name(model), _read_ours)
    # A subclass of a known class is read as that class: the nearest class of scikit-learn itself decides.
    names = (kind.__name__ for kind in type(model).__mro__ if kind.__module__.split(".")[0] == "sklearn")
    nearest = next(names, own)
    if nearest not in _READERS:
        raise InvalidInput(_cannot_read(own))
    return own, _READERS[nearest]


def _cannot_read(name: str) -> str:
    advice = {
        "OneVsRestClassifier": "certify one class at a time: "
        "certify(model.estimators_[k], X, y == model.classes_[k]).",
        "OneVsOneClassifier": "certify its pairs one at a time, each with the rows of its two classes.",
    }.get(name, f"for anything else {HOW_TO_GIVE_COEFFICIENTS}.")
    return (
        f"certify cannot read {name}. It reads LinearSVC, SVC(kernel='linear'), LogisticRegression(CV), "
        f"SGDClassifier and maxmargin's own models; {advice}"
    )


def _refuse(model: Any, setting: str, why: str) -> InvalidParameter:
    return InvalidParameter(
        f"{type(model).__name__}({setting}) {why}. certify knows the hinge, squared hinge and logistic "
        "losses with the ridge, the last two also with an L1 term of the weights and the last without a "
        "regulariser, for two classes or one class against the rest, and the softmax and Crammer–Singer "
        "forms of all classes."
    )


def _penalised(params: Params) -> Offset:
    if not params["fit_intercept"]:
        return NoOffset()
    return PenalizedOffset(float(params["intercept_scaling"]))


def _read_linear_svc(model: Any, params: Params) -> StatedProblem:
    l1_ratio = 1.0 if params["penalty"] == "l1" else 0.0
    if l1_ratio > 0:
        _refuse_l1_of_offset(model, params)
    is_joint = params["multi_class"] == "crammer_singer"
    return StatedProblem(
        model.coef_,
        model.intercept_,
        model.classes_,
        Objective(
            "hinge" if is_joint else params["loss"],
            _penalised(params),
            # Of two classes it has two vectors w, and of their difference the penalty is half as large.
            C=2.0 * params["C"] if is_joint and len(model.classes_) == 2 else params["C"],
            class_weight=params["class_weight"],
            rest_weighs_one=True,
            multi_class="crammer_singer" if is_joint else "one_vs_rest",
            l1_ratio=l1_ratio,
        ),
    )


def _refuse_l1_of_offset(model: Any, params: Params) -> None:
    if params["fit_intercept"]:
        setting = "solver='liblinear'" if "solver" in params else "penalty='l1'"
        raise _refuse(model, setting, "has an L1 term of the offset as well")


def _read_svc(model: Any, params: Params) -> StatedProblem:
    if params["kernel"] != "linear":
        raise _refuse(model, f"kernel={params['kernel']!r}", "has no linear coefficients")
    if len(model.classes_) > 2:
        raise _refuse(
            model, "kernel='linear'", f"with {len(model.classes_)} classes is one classifier for each pair"
        )
    return StatedProblem(
        model.coef_,
        model.intercept_,
        model.classes_,
        Objective("hinge", C=params["C"], class_weight=params["class_weight"], balances_weights=False),
    )


def _read_logistic_regression(model: Any, params: Params) -> StatedProblem:
    l1_ratio = _l1_ratio(params)
    if l1_ratio > 0 and params["solver"] == "liblinear":
        _refuse_l1_of_offset(model, params)
    one_vs_rest = params["solver"] == "liblinear" or params.get("multi_class") == "ovr"
    by_liblinear = params["solver"] == "liblinear"
    if len(model.classes_) > 2 and params["class_weight"] is not None and one_vs_rest and not by_liblinear:
        raise _refuse(
            model, "multi_class='ovr'", "with class_weight weighs each of its problems in its own way"
        )
    free = FreeOffset() if params["fit_intercept"] else NoOffset()
    return StatedProblem(
        model.coef_,
        model.intercept_,
        model.classes_,
        Objective(
            "logistic",
            _penalised(params) if by_liblinear else free,
            C=math.inf if params.get("penalty", "deprecated") is None else params["C"],
            class_weight=params["class_weight"],
            rest_weighs_one=by_liblinear,
            multi_class="one_vs_rest" if one_vs_rest else "softmax",
            l1_ratio=l1_ratio,
        ),
    )


def _read_logistic_regression_cv(model: Any, params: Params) -> StatedProblem:
    if not params["refit"]:
        raise _refuse(model, "refit=False", "has the mean of several models' coefficients")
    strengths = np.unique(model.C_)
    if len(strengths) > 1:
        raise _refuse(model, "multi_class='ovr'", "has another C for each class")
    ratios = {float(ratio or 0.0) for ratio in np.ravel(model.l1_ratio_)}
    chosen = {"C": float(strengths[0]), "l1_ratio": max(ratios)}
    return _read_logistic_regression(model, {**params, **chosen})


def _l1_ratio(params: Params) -> float:
    """Return the share of the L1 term, as scikit-learn writes it before and since its version 1.8."""
    penalty, l1_ratio = params.get("penalty", "deprecated"), params.get("l1_ratio")
    if penalty is None or math.isinf(params["C"]):
        return 0.0  # the penalty has no weight
    if penalty == "l1":
        return 1.0
    return float(l1_ratio or 0.0) if penalty in ("deprecated", "elasticnet") else 0.0


_SGD_LOSSES = {"hinge": "hinge", "squared_hinge": "squared_hinge", "log_loss": "logistic"}


def _read_sgd_classifier(model: Any, params: Params) -> StatedProblem:
    if params["loss"] not in _SGD_LOSSES:
        raise _refuse(model, f"loss={params['loss']!r}", "minimises a loss that has no certificate here")
    has_penalty = params["penalty"] is not None and params["alpha"] != 0
    if not has_penalty and params["loss"] != "log_loss":
        setting = "penalty=None" if params["penalty"] is None else "alpha=0"
        raise _refuse(model, setting, "is not regularised")
    ratios = {"l1": 1.0, "elasticnet": float(params["l1_ratio"] or 0.0)}
    if params["early_stopping"]:
        raise _refuse(model, "early_stopping=True", "learns from some of the rows and does not say which")
    return StatedProblem(
        model.coef_,
        model.intercept_,
        model.classes_,
        Objective(
            _SGD_LOSSES[params["loss"]],
            FreeOffset() if params["fit_intercept"] else NoOffset(),
            alpha=params["alpha"] if has_penalty else 0.0,
            class_weight=params["class_weight"],
            rest_weighs_one=True,
            balances_weights=False,
            l1_ratio=ratios.get(params["penalty"], 0.0) if has_penalty else 0.0,
        ),
    )


_OF_THE_OFFSET = ("fit_intercept", "penalize_intercept", "intercept_scaling")


def _read_ours(model: Any, params: Params) -> StatedProblem:
    """Read an estimator of this package, which has the same settings as `train`."""
    by_lam = params["lam"] is not None
    offset = offset_from(*(params[name] for name in _OF_THE_OFFSET))
    return StatedProblem(
        *_fitted(model),
        Objective(
            params.get("loss", "logistic"),
            offset,
            C=None if by_lam else params["C"],
            lam=params["lam"],
            class_weight=params["class_weight"],
            multi_class=_our_form(params),
            l1_ratio=params.get("l1_ratio", 0.0),
        ),
        model.to_model().support if is_fitted_by_us(model) else None,
    )


def _our_form(params: Params) -> str:
    form = params.get("multi_class", "auto")
    if form == "auto" and params.get("l1_ratio", 0.0) > 0:
        return "one_vs_rest"
    return multi_class_of(form, params.get("loss", "logistic"))


def _fitted(model: Any) -> tuple[Any, Any, Any]:
    """Return coefficients, offsets and classes; None for each before there are any."""
    coef, intercept, classes = (getattr(model, name, None) for name in ("coef_", "intercept_", "classes_"))
    return coef, intercept, classes


def _read_pegasos(model: Any, params: Params) -> StatedProblem:
    return _read_online(model, "hinge", lam=params["lam"])


def _read_hinge_sgd(model: Any, params: Params) -> StatedProblem:
    return _read_online(model, "hinge", C=math.inf)


def _read_logistic_sgd(model: Any, params: Params) -> StatedProblem:
    return _read_online(model, "logistic", C=math.inf)


def _read_online(model: Any, loss: str, **strength: Any) -> StatedProblem:
    """Read an online learner of this package: its class determines the objective."""
    offset = FreeOffset() if model.fit_intercept else NoOffset()
    return StatedProblem(*_fitted(model), Objective(loss, offset, **strength))


def _read_perceptron(model: Any, params: Params) -> StatedProblem:
    raise InvalidInput(
        "a perceptron minimises no objective, so there is no optimum to compare it with. Its certificate_, "
        "and its own certify(X, y), say whether it separates the rows; to judge its coefficients by a loss, "
        f"{HOW_TO_GIVE_COEFFICIENTS}."
    )


_ONLINE: dict[str, Callable[[Any, Params], StatedProblem]] = {
    "Pegasos": _read_pegasos,
    "HingeSGD": _read_hinge_sgd,
    "LogisticSGD": _read_logistic_sgd,
    "Perceptron": _read_perceptron,
}

_READERS: dict[str, Callable[[Any, Params], StatedProblem]] = {
    "LinearSVC": _read_linear_svc,
    "SVC": _read_svc,
    "LogisticRegression": _read_logistic_regression,
    "LogisticRegressionCV": _read_logistic_regression_cv,
    "SGDClassifier": _read_sgd_classifier,
}
