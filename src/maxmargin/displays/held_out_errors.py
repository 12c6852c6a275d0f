"""Errors on examples that were held out, for several C, from whatever counted them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin.errors import InvalidInput
from maxmargin.results.cross_validation import CrossValidation
from maxmargin.results.leave_one_out_search import LeaveOneOutSearch

__all__ = ["HeldOutErrors"]

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class HeldOutErrors:
    """Shares of errors for several C, in increasing order of C.

    Attributes
    ----------
    C : array
    error : array
        NaN where only an interval is known.
    low, high : arrays
        The interval.
    name : str
        How the errors were found.
    interval : str
        What the interval is; empty if there is none.
    chosen : float or None
        The C that was chosen by them.
    """

    C: Array
    error: Array
    low: Array
    high: Array
    name: str
    interval: str = ""
    chosen: float | None = None

    @classmethod
    def of(cls, given: Any) -> HeldOutErrors:
        """Read records of leave-one-out by C, a search for C, or an estimator that chose its own C.

        Parameters
        ----------
        given : mapping of float to LeaveOneOut, LeaveOneOutSearch, CrossValidation or fitted estimator
            A cross-validation, `GridSearchCV` among them, must have counted errors: its scores are shares
            of right answers.
        """
        if isinstance(given, cls):
            return given
        if isinstance(given, Mapping):
            return cls._of_records(given)
        if isinstance(given, LeaveOneOutSearch):
            if given.by != "error":
                raise InvalidInput(f"the search went by {given.by}, which is no error to draw.")
            return cls._of_table(given.results(), given.n_examples, float(given.Cs[given.best_index]))
        if isinstance(given, CrossValidation):
            best = given.best_index()
            chosen = None if best is None else float(given.Cs[best])
            return cls._of_table(given.results(), given.n_splits, chosen)
        table = getattr(given, "cv_results_", None)
        if table is None or "param_C" not in table:
            raise InvalidInput(
                "left_out must be a mapping of C to leave-one-out records, or a fitted LinearSVMCV, "
                f"LogisticRegressionCV or GridSearchCV over C; got {type(given).__name__}"
            )
        scoring = getattr(given, "scoring", None)
        if scoring not in (None, "error", "accuracy"):
            raise InvalidInput(f"the search went by scoring={scoring!r}, which is no error to draw.")
        best = getattr(given, "best_params_", {}).get("C")
        return cls._of_table(table, int(given.n_splits_), getattr(given, "C_", best))

    @classmethod
    def _of_records(cls, records: Mapping[float, Any]) -> HeldOutErrors:
        if not records:
            raise InvalidInput("left_out holds no records.")
        C = np.array(sorted(records), dtype=np.float64)
        found = [records[key] for key in sorted(records)]
        counts = np.array([[each.n_errors, each.n_undecided, max(each.n_examples, 1)] for each in found])
        low = counts[:, 0] / counts[:, 2]
        high = (counts[:, 0] + counts[:, 1]) / counts[:, 2]
        return cls._of_bounds(C, low, high, None)

    @classmethod
    def _of_table(cls, table: Mapping[str, Any], n_splits: int, chosen: float | None) -> HeldOutErrors:
        C = np.asarray(table["param_C"], dtype=np.float64)
        order = np.argsort(C)
        C = C[order]
        if "least_errors" in table:
            low, high = (np.asarray(table[f"{end}_errors"])[order] / n_splits for end in ("least", "most"))
            return cls._of_bounds(C, low, high, chosen)
        error = 1.0 - np.asarray(table["mean_test_score"], dtype=np.float64)[order]
        scores = np.array([table[f"split{split}_test_score"] for split in range(n_splits)])[:, order]
        spread = np.zeros(len(C))
        if n_splits > 1:
            spread = scores.std(axis=0, ddof=1) / math.sqrt(n_splits)
        name = f"cross-validation error ({n_splits} splits)"
        interval = "± one standard error" if n_splits > 1 else ""
        return cls(C, error, error - spread, error + spread, name, interval, chosen)

    @classmethod
    def _of_bounds(cls, C: Array, low: Array, high: Array, chosen: float | None) -> HeldOutErrors:
        error = np.where(low == high, low, np.nan)
        interval = "" if (low == high).all() else "certainly in between"
        return cls(C, error, low, high, "leave-one-out error", interval, chosen)

    def columns(self) -> dict[str, Array]:
        """Return the numbers by name, beside C."""
        return {"left_out_error": self.error, "left_out_low": self.low, "left_out_high": self.high}
