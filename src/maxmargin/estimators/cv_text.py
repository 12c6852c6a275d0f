"""What the docstrings of the estimators that choose C have in common, written once."""

from __future__ import annotations

import re

from maxmargin.estimators.shared_text import ATTRIBUTES, SETTINGS, SUPPORT, filled_with

__all__ = ["with_cv_text"]

SEARCH = """
Cs : int, array or (float, ..., float), default 10
    The values of C to try: so many from 1e-4 to 1e4, evenly on the logarithm's scale, or the values
    themselves. With an ellipsis in the middle, as in ``(1e-3, ..., 1e2)``, all between two values: every
    split follows its certified path, a handful of fits, and is judged at ten values of C in every decade.
    C is the same on every split and on all rows.
cv : int, splitter, iterable of splits or "loo", default 5
    How rows are held out: a number of stratified folds, any splitter of scikit-learn's, or pairs of
    training and held-out rows. "loo" finds the C with the fewest leave-one-out errors, exactly: one fit
    of all rows at every C bounds their number, and only C's that may be the best are counted to the end.
    Examples are counted one by one, each left out with its whole weight; costs stay as they are. With
    "log_loss" estimated left-out scores are judged instead.
scoring : str or callable, optional
    None or "error": the share of held-out rows that are right, 1 − error, where a row on the boundary is
    an error. "log_loss": the mean log-probability of the rows' own classes, scikit-learn's
    "neg_log_loss". Any name of a scorer, or a function of a fitted estimator, X and y. The larger the
    better. The first two count every row by its weight.
rule : {"best", "one_standard_error"}, default "best"
    The C with the best mean score, and of equal ones the smallest; or the smallest C whose mean is within
    one standard error of the best.
path_tol : float, default 1e-2
    The relative gap that is certified for every C of a range. The model at the end is fitted to ``tol``.
refit : bool, default True
    Whether to fit all rows at the C that was chosen; the splits' solutions are where it begins.
"""

SEARCH_ATTRIBUTES = """
C_ : float
    The C that was chosen.
best_estimator_ : LinearSVM or LogisticRegression
    The model as an estimator with that C, for whatever asks an estimator for its C; ``best_params_`` too.
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
    there are several. Absent where some row was never held out. With ``cv="loo"`` they are estimated.
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
