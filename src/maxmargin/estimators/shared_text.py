"""What the convex estimators' docstrings have in common, written once."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from typing import TypeVar

__all__ = ["with_cv_text", "with_online_text", "with_shared_text"]


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
    Stop when the relative gap between objective and bound is certified to be at most this; 1e-4 is 0.01 %.
solver : str, default "auto"
    The method; ``plan_`` says which was used and why.
class_weight : mapping or "balanced", optional
    Positive factors on C by class; "balanced" gives all classes the same total weight. A weight for a class
    that y lacks is an error, but where scikit-learn splits the rows and a part may lack it.
max_iter : int, optional
    The largest number of iterations; by default as many as can help.
max_time : float, optional
    The time limit in seconds, on a Dask cluster including loading. Whatever ends a fit, the best model found
    is kept, with its certificate.
warm_start : bool, default False
    Continue from the previous fit of the same rows.
n_jobs : int, optional
    Number of threads; by default all cores, and 1 inside joblib's workers. Results never depend on it.
random_state : int, Generator or RandomState, optional
    The order in which rows are visited; by default one fixed order.
verbose : int, default 0
    1 shows the gap during the fit.
watch : callable, optional
    Called with a `Progress` record after every certificate; returning True stops the fit.
calibrate : {"sigmoid", "temperature", "isotonic"}, optional
    Fit probabilities to the scores that the rows have when they are left out: Platt's sigmoid; σ(score/T), or
    softmax(scores/T) for several classes, whose most probable class is always the predicted one; or the best
    non-decreasing map, for many rows. By default no probabilities are fitted.
multi_class : {"auto", "one_vs_rest", "softmax", "crammer_singer"}, default "auto"
    What becomes of three or more classes: one problem for all of them with one certificate, softmax for the
    logistic loss and the hinge of Crammer and Singer, or a problem for each against the rest. "auto" takes
    the former where the loss has it: for all but the squared hinge. Two classes have one problem whatever
    this says. With an L1 term each class is fitted against the rest.
l1_ratio : float, default 0.0
    r of the penalty (1 − r)/2 ‖θ‖² + r ‖θ‖₁ in the place of ½‖θ‖²: 0 is the ridge, 1 the L1 norm alone. Above
    0 the weights of columns that matter little are exactly 0. For the logistic loss and the squared hinge.
"""

ATTRIBUTES = """
coef_ : array of shape (1, d), or (n_classes, d) for more than two classes
    The weights θ. With two classes the second is the positive one.
intercept_ : array of shape (1,) or (n_classes,)
    The offsets θ₀; the midpoint if all offsets of an interval are optimal.
intercept_interval_ : array of shape (1 or n_classes, 2)
    The ends of that interval.
classes_ : array
certificate_ : Certificate
    The proof of how far the objective is from the optimum; the worst over the classes.
certificates_ : list of Certificate
    One per problem: one alone, of two classes or of all, or one per class against the rest.
margin_ : array of shape (1,) or (n_classes,)
    1/‖θ‖, the distance from the boundary to the margin boundaries; inf at θ = 0. Where all classes have one
    problem, boundaries lie between two classes, and `margins` measures from these.
n_iter_ : int
    Number of iterations, at least 1; the largest over the problems.
history_ : History
    The history of the fit: seconds, passes, objective, bound, gap; of the class with the worst certificate.
histories_ : list of History
plan_ : Plan
    Which solver was chosen and why, in words.
calibration_ : Calibration
    The map from scores to probabilities, if ``calibrate`` was set.
n_features_in_ : int
feature_names_in_ : array of str
    If X had names.
"""

SUPPORT = """
support_ : array
    Rows with a positive dual variable in any class: the support vectors. Hinge losses only.
dual_coef_ : array of shape (1 or n_classes, len(support_))
    Their dual variables times their signs, as in LIBSVM.
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


# ------------------------------------------------------------------------------------------------
# What the online estimators' docstrings have in common, written once.

TEXTS = {
    "shuffle": """
shuffle : bool or "draws"
    The order of the examples. False: the order of the rows. True: a new random order of all rows in every
    pass. (Beyond 1,024 rows, groups of 16 neighbours are drawn at random and shuffled, 64 groups at a time,
    since neighbouring rows are read faster.) "draws": each example is drawn at random from all rows, with
    replacement; a pass is then as many draws as there are rows.
""",
    "random_state": """
random_state : int, Generator or RandomState, optional
    The order in which examples are visited; by default one fixed order.
""",
    "trace": """
trace : bool, default False
    Record every step in ``trace_``, with a copy of the rows. It costs nothing if it is off.
""",
    "attributes": """
stopped_ : str
    Why it stopped, in words.
n_draws_, n_updates_ : int
    Examples visited, and examples that changed the weights, in the last call; summed over the classes.
n_passes_ : int
    Passes over the rows that were started; the largest over the classes.
trace_ : Trace, or a list with one per class for more than two
    Every step, with trace=True: ``frame()``, ``weights(t)``, ``explain(t)``. After partial_fit, of the last
    call.
coef_ : array of shape (1, d), or (n_classes, d) for more than two classes
    The weights θ; with two classes the second is the positive one, more are one against the rest.
intercept_ : array of shape (1,) or (n_classes,)
classes_ : array
margin_ : array of shape (1,) or (n_classes,)
    1/‖θ‖; inf at θ = 0.
n_features_in_ : int
feature_names_in_ : array of str
    Where X had names.
""",
    "streaming": """
``partial_fit`` makes one pass over the given rows and continues from the weights, the step count and the
averages of the previous call. The classes are fixed by its first call.

``fit`` on batches does the same, pass after pass; `shuffle` applies within each batch. What needs all rows
(the best weights so far, a certificate) reads the batches once more, and is not available for a generator,
which can be read only once.

There is no ``sample_weight`` and no ``class_weight``: a weight means repetition here, and the effect of
repeating an example depends on when the repetitions come. Repeat the rows instead.
""",
}

with_online_text = filled_with(TEXTS)


# ------------------------------------------------------------------------------------------------
# What the docstrings of the estimators that choose C have in common, written once.

SEARCH = """
Cs : int, array or (float, ..., float), default 10
    The values of C to try: how many from 1e-4 to 1e4, evenly spaced on a logarithmic scale, or the values
    themselves. With an ellipsis in the middle, as in ``(1e-3, ..., 1e2)``, the range between two values:
    every split follows its certified regularisation path, a handful of fits, and is evaluated at ten values
    of C per decade; one problem of all classes is fitted at each of these. C is the same on every split and
    on all rows.
cv : int, splitter, iterable of splits or "loo", default 5
    How rows are held out: a number of stratified folds, any scikit-learn splitter, or pairs of training and
    held-out rows. "loo" finds the C with the fewest leave-one-out errors, exactly: one fit of all rows at
    every C bounds their number, and only values of C that may be the best are counted to the end. Examples
    are counted one by one, each left out with its whole weight; costs do not change. With "log_loss",
    estimated leave-one-out scores are evaluated instead.
scoring : str or callable, optional
    None or "error": the accuracy on held-out rows, 1 − error, where a row on the boundary is an error.
    "log_loss": the mean log-probability of the rows' own classes, scikit-learn's "neg_log_loss". Or the name
    of any scorer, or a function of a fitted estimator, X and y. Larger is better. The first two count every
    row by its weight.
rule : {"best", "one_standard_error"}, default "best"
    The C with the best mean score, the smallest in case of ties; or the smallest C whose mean is within one
    standard error of the best.
path_tol : float, default 1e-2
    The relative gap that is certified for every C in a range. The final model is fitted to ``tol``.
refit : bool, default True
    Whether to fit all rows at the chosen C, starting from the solutions of the splits.
"""

SEARCH_ATTRIBUTES = """
C_ : float
    The chosen C.
best_estimator_ : LinearSVM or LogisticRegression
    The model as an estimator with that C, for tools that need one; ``best_params_`` too.
best_index_ : int
    Its place in the table.
best_score_ : float
    Its mean score.
cv_results_ : dict
    The table, as `GridSearchCV` has it, and with a certified relative gap for every fit.
    With ``cv="loo"`` it tells the errors' number, or between which numbers it certainly is, in the columns
    ``least_errors``, ``most_errors`` and ``errors_are_exact``; scores that are not known are NaN.
cv_certificates_ : array of Certificate, of shape (n_Cs, n_splits), or (n_Cs, 1) with "loo"
    The certificate of every fit of the search; the worst of the classes'.
n_splits_ : int
path_ : Path
    Where a range of C was given: the path of all rows, with weights and a certificate for every C of it.
leave_one_out_ : LeaveOneOut
    With ``cv="loo"``: which rows are wrong when they are left out, at the chosen C, and why that is known.
left_out_agreements_ : array of shape (n_rows,), or (n_rows, n_classes) for more than two classes
    y(θ·x + θ₀) of every row by the splits that did not learn from it, at the chosen C; their mean where
    there are several. A vector where one problem has all classes: by how much the score of the row's own
    class exceeds all others. Absent where some row was never held out. With ``cv="loo"`` they are estimated.
"""

_LEFT_OUT = ("lam", "warm_start")


def _without(text: str, names: tuple[str, ...]) -> str:
    """Return the parameters' text without some of them."""
    entries = re.split(r"\n(?=\w)", text.strip())
    return "\n".join(entry for entry in entries if not entry.startswith(tuple(f"{name} :" for name in names)))


with_cv_text = filled_with(
    {
        "search": SEARCH,
        "settings": _without(SETTINGS, _LEFT_OUT),
        "search_attributes": SEARCH_ATTRIBUTES,
        "attributes": ATTRIBUTES,
        "support": SUPPORT,
    }
)
