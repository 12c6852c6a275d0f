"""The result of a search for C."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from maxmargin.core.solution import Status
from maxmargin.errors import ConvergenceWarning
from maxmargin.model.model import LinearModel
from maxmargin.presentation.wording import chosen_percent, percent, plural, short
from maxmargin.rows.base import Array
from maxmargin.selection.folds.record import CrossValidation
from maxmargin.selection.leave_one_out.record import LeaveOneOut
from maxmargin.selection.leave_one_out.search_record import LeaveOneOutSearch
from maxmargin.selection.path.record import Path

__all__ = ["Selected"]


@dataclass(frozen=True, eq=False)
class Selected:
    """The C that was chosen, why, and the model at it.

    Attributes
    ----------
    C : float
    index : int
        Its place in the table.
    table : CrossValidation or LeaveOneOutSearch
    model : LinearModel or None
        The fit of all rows at that C; None where none was asked for.
    left_out : array or None
        Scores of every row from fits that did not see it, at that C; NaN where there was none. None if no C
        could be judged.
    status : Status
        SOLVED if every fit ended by itself, else what cut the search short.
    search_tol : float
        The relative gap that was asked of each C; along a path it is larger than that of the model.
    leave_one_out : LeaveOneOut or None
        The errors at that C, example by example, where they were counted.
    path : Path or None
        The path of all rows, where C was looked for in a range.
    missing : str
        What to say of splits that had no row of some class to train on; empty where all had.
    """

    C: float
    index: int
    table: CrossValidation | LeaveOneOutSearch
    model: LinearModel | None
    left_out: Array | None
    status: Status
    search_tol: float
    leave_one_out: LeaveOneOut | None = None
    path: Path | None = None
    missing: str = ""

    def warning(
        self, tol: float, category: type[ConvergenceWarning] = ConvergenceWarning
    ) -> ConvergenceWarning | None:
        """Return a warning if some fits were not finished or not certified, else None."""
        said = [self._about_the_search(), self._about_the_model(tol)]
        message = " ".join(sentence for sentence in said if sentence)
        return category(message, parameter="tol", value=self.search_tol) if message else None

    def _about_the_search(self) -> str:
        table, tol = self.table, self.search_tol
        missing = [short(C) for C in table.unfinished]
        if missing and self.status is not Status.SOLVED:
            listed = ", ".join(missing[:10]) + (", …" if len(missing) > 10 else "")
            chosen = f"C = {short(self.C)} is the choice among the others"
            if len(missing) == len(table.Cs):
                chosen = f"no C is finished, and the model has C = {short(self.C)}, the smallest, unjudged"
            judged = "counted to the end" if isinstance(table, LeaveOneOutSearch) else "judged on all splits"
            return f"{self.status.value}: C = {listed} could not be {judged}; {chosen}."
        gaps = table.relative_gaps
        if not (gaps > tol).any():
            return ""
        count, worst = int(np.count_nonzero(gaps > tol)), percent(float(gaps.max()), "up")
        return (
            f"{plural(count, 'fit')} of {gaps.size} within the splits missed the {chosen_percent(tol)} asked "
            f"for by {{parameter}}; the worst is within {worst} of its optimum. Scale the columns to similar "
            "ranges, leave out the largest C, or raise {parameter}."
        )

    def _about_the_model(self, tol: float) -> str:
        proof = None if self.model is None else self.model.certificate
        if self.model is None or self.model.status is None or proof is None or proof.relative_gap <= tol:
            return ""
        return (
            f"The model at C = {short(self.C)} is within {percent(proof.relative_gap, 'up')} of the optimum, "
            f"not the {chosen_percent(tol)} asked for by {{parameter}}: {self.model.status.value}."
        )
