"""Automatic choice of C: by leave-one-out where that is cheap, otherwise by folds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin.errors import InvalidInput, InvalidParameter
from maxmargin.selection.folds.cross_validation import JUDGES
from maxmargin.selection.search.cross_validation import select_by_folds
from maxmargin.selection.search.leave_one_out import select_by_leave_one_out
from maxmargin.selection.search.selected import Selected
from maxmargin.selection.search.task import ValidationTask

__all__ = ["Way", "choose_way", "select_C", "stratified_splits"]


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


# ------------------------------------------------------------------------------------------------
# Splits that hold out every row once and keep the shares of the classes, without scikit-learn.


def stratified_splits(
    codes: NDArray[np.integer[Any]], n_splits: int, seed: int = 0
) -> list[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Return (training rows, held-out rows) of each split; each class is dealt out evenly, in random order.

    Files are often sorted, by class, date or source; so rows are assigned to splits at random.

    Parameters
    ----------
    codes : array of int
        The number of each row's class.
    n_splits : int
        At most the number of rows.
    seed : int
        Of the order.

    Examples
    --------
    >>> splits = stratified_splits(np.array([0, 0, 0, 0, 1, 1]), 2)
    >>> [held_out.tolist() for _, held_out in splits]
    [[1, 2, 4], [0, 3, 5]]
    """
    random = np.random.RandomState(seed % 2**32)  # reproducible in every version of NumPy
    fold = np.empty(len(codes), dtype=np.intp)
    dealt = 0  # every class continues where the last one ended, so that splits are of equal size
    for code in np.unique(codes):
        rows = random.permutation(np.flatnonzero(codes == code))
        fold[rows] = (dealt + np.arange(len(rows))) % n_splits
        dealt += len(rows)
    return [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(n_splits)]
