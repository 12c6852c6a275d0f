"""What the convex estimators' docstrings have in common, written once."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import TypeVar

__all__ = ["filled_with", "with_shared_text"]

SETTINGS = """
lam : float, optional
    λ of the mean form λ/2 ‖θ‖² + mean loss, instead of C: C = 1/(lam · total sample weight). 0 is
    C = inf, the loss alone: for the hinge and the logistic loss.
fit_intercept : bool, default True
    Whether there is an offset θ₀.
penalize_intercept : bool, default False
    Add θ₀²/(2·intercept_scaling²) to the objective, as LIBLINEAR and LinearSVC do. By default the
    offset is free, as in the lecture and in SVC.
intercept_scaling : float, default 1.0
    The scale of a penalised offset.
tol : float, default 1e-4
    Stop when the objective is certified to be within this share of the optimum; 1e-4 is 0.01 %.
solver : str, default "auto"
    The method; ``plan_`` says which was taken and why.
class_weight : mapping or "balanced", optional
    Positive factors on C by class; "balanced" gives all classes the same total. A class that y lacks may have
    one if all that it has do.
max_iter : int, optional
    The most iterations; by default as many as can help.
max_time : float, optional
    The most seconds; on a Dask cluster with loading. Whatever ends a fit, it keeps the best model found and
    its certificate.
warm_start : bool, default False
    Continue from the previous fit of the same rows.
n_jobs : int, optional
    Threads; by default all cores, and 1 inside joblib's workers. Results never depend on it.
random_state : int, Generator or RandomState, optional
    The order in which rows are visited; by default one fixed order.
verbose : int, default 0
    1 shows the live gap.
watch : callable, optional
    Called with a `Progress` record after every certificate; returning True stops the fit.
calibrate : {"sigmoid", "temperature", "isotonic"}, optional
    Fit probabilities to the scores that the rows would have if they were left out: Platt's sigmoid;
    σ(score/T), or softmax(scores/T) for several classes, whose most probable class is always the
    predicted one; or the best map that never falls, for many rows. By default no probabilities are fitted.
"""

ATTRIBUTES = """
coef_ : array of shape (1, d), or (n_classes, d) for more than two classes
    The weights θ; with two classes the second is the positive one, more are one against the rest.
intercept_ : array of shape (1,) or (n_classes,)
    The offsets θ₀; the midpoint where an interval of them is best.
intercept_interval_ : array of shape (1 or n_classes, 2)
    The ends of that interval.
classes_ : array
certificate_ : Certificate
    The proof of how far the objective is from the optimum; the worst of the classes.
certificates_ : list of Certificate
    One per problem: one for two classes, else one per class.
margin_ : array of shape (1,) or (n_classes,)
    1/‖θ‖, the distance from the boundary to the margin boundaries; inf at θ = 0.
n_iter_ : int
    Iterations; the most of the classes.
history_ : History
    The course of the fit: seconds, passes, objective, bound, gap; of the class with the worst certificate.
histories_ : list of History
plan_ : Plan
    Which solver was chosen and why, in words.
calibration_ : Calibration
    The map from scores to probabilities, where ``calibrate`` asked for one.
n_features_in_ : int
feature_names_in_ : array of str
    Where X had names.
"""

SUPPORT = """
support_ : array
    Rows with a positive dual variable in any class: the support vectors. Hinge losses only.
dual_coef_ : array of shape (1 or n_classes, len(support_))
    Their dual variables times their signs, as LIBSVM keeps them.
"""

Class = TypeVar("Class", bound=type)


def filled_with(texts: Mapping[str, str]) -> Callable[[Class], Class]:
    """Return a class decorator that fills the names in braces in a docstring."""

    def fill(estimator: Class) -> Class:
        if estimator.__doc__ is not None:  # absent under python -OO
            text = inspect.cleandoc(estimator.__doc__)
            for name, shared in texts.items():
                text = text.replace(f"{{{name}}}", shared.strip())
            estimator.__doc__ = text
        return estimator

    return fill


with_shared_text = filled_with({"settings": SETTINGS, "attributes": ATTRIBUTES, "support": SUPPORT})
