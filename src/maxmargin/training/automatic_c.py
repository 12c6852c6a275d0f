"""C without a word from the user: by leave-one-out where that is cheap, else by folds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin.errors import InvalidInput, InvalidParameter
from maxmargin.selection.cross_validation import JUDGES
from maxmargin.selection.stratified import stratified_splits
from maxmargin.training.cross_validation import select_by_folds
from maxmargin.training.leave_one_out_search import select_by_leave_one_out
from maxmargin.training.selected import Selected
from maxmargin.training.validation_task import ValidationTask

__all__ = ["Way", "choose_way", "select_C"]

_FOLDS = 5
# The exact count costs some ten to a hundred fits a C; up to so many rows that is a matter of seconds.
# Several classes need exact scores of every row, not only their signs.
_FEW_ROWS, _FEW_ROWS_OF_SEVERAL_CLASSES = 5000, 1000


@dataclass(frozen=True)
class Way:
    """How values of C are judged, and why this way.

    Attributes
    ----------
    n_splits : int
        How many folds; 0 for leave-one-out.
    reason : str
        Empty where the user chose.
    """

    n_splits: int
    reason: str = ""

    def __str__(self) -> str:
        return f"{self.n_splits} folds" if self.n_splits else "leave-one-out"


def choose_way(y: NDArray[Any], asked: str | int | None = None) -> Way:
    """Return how to judge C on rows with these labels.

    Parameters
    ----------
    y : array
        The labels.
    asked : "loo", int or None
        Leave-one-out, a number of folds, or whichever suits.

    Examples
    --------
    >>> print(choose_way(np.repeat([-1, 1], 100)), choose_way(np.repeat([-1, 1], 10000)), sep=", ")
    leave-one-out, 5 folds
    """
    _, counts = np.unique(y, return_counts=True)
    n_rows, smallest = len(y), int(counts.min())
    if asked == "loo":
        return Way(0)
    if asked is not None:
        return Way(_checked_folds(int(asked), n_rows, smallest, len(counts)))
    few = _FEW_ROWS if len(counts) == 2 else _FEW_ROWS_OF_SEVERAL_CLASSES
    if n_rows <= few:
        return Way(0, f"exact, and quick for {n_rows:,} rows")
    if len(counts) == 2 and smallest < 2:
        return Way(0, "the smaller class has one row, which no fold could do without")
    folds = min(_FOLDS, smallest) if len(counts) == 2 else _FOLDS
    return Way(folds, f"quicker than leaving each of {n_rows:,} rows out")


def _checked_folds(folds: int, n_rows: int, smallest: int, n_classes: int) -> int:
    if folds < 2:
        raise InvalidParameter(f"C is judged by leave-one-out (loo) or by 2 folds or more; got {folds}")
    if folds > n_rows:
        raise InvalidInput(f"{folds} folds of {n_rows} rows: some would be empty")
    if n_classes == 2 and smallest < 2:
        raise InvalidInput("one class has one row only, and the fold that holds it out would not know it")
    return folds


def select_C(  # noqa: N802 - C is the letter's name
    task: ValidationTask,
    Cs: NDArray[np.float64],
    way: Way,
    *,
    rule: str = "best",
    calibrate: str | None = None,
    path_tol: float | None = None,
    refit: bool = True,
) -> Selected:
    """Return the C with the fewest errors among rows left or held out, and the fit of all rows at it.

    Parameters
    ----------
    task : ValidationTask
        Whose seed deals the rows out.
    Cs : array
        The values to try.
    way : Way
    rule : {"best", "one_standard_error"}
    calibrate : None, "sigmoid", "temperature" or "isotonic"
    path_tol : float or None
        For folds: follow every split's path over the range of Cs.
    refit : bool
        Whether a model is wanted.
    """
    if not way.n_splits:
        return select_by_leave_one_out(task, Cs, by="error", rule=rule, refit=refit, calibrate=calibrate)
    splits = stratified_splits(task.targets.codes, way.n_splits, task.settings.seed)
    judge = JUDGES["error"]
    return select_by_folds(
        task, splits, Cs, judge=judge, rule=rule, refit=refit, calibrate=calibrate, path_tol=path_tol
    )
