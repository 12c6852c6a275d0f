"""What cross-validation found: a score and a certificate for every C and every split."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin.core.certificate.record import Certificate
from maxmargin.presentation.frames import frame_of
from maxmargin.presentation.wording import Readable, percent, plural, short

__all__ = ["RULES", "CrossValidation"]


RULES = ("best", "one_standard_error")


@dataclass(frozen=True, eq=False, repr=False)
class CrossValidation(Readable):
    """Scores of held-out rows, the larger the better, for every C and every split.

    Attributes
    ----------
    Cs : array of shape (n_Cs,)
        In the order in which they were given.
    scores : array of shape (n_Cs, n_splits)
        NaN where there was no time for the fit.
    certificates : array of Certificate or None, of shape (n_Cs, n_splits)
        The worst of the classes'.
    fit_seconds, score_seconds : arrays of shape (n_Cs, n_splits)
    """

    Cs: NDArray[np.float64]
    scores: NDArray[np.float64]
    certificates: NDArray[np.object_]
    fit_seconds: NDArray[np.float64]
    score_seconds: NDArray[np.float64]

    @property
    def n_splits(self) -> int:
        """How many splits there are."""
        return int(self.scores.shape[1])

    @property
    def is_finished(self) -> NDArray[np.bool_]:
        """Which C's have a score on every split."""
        return np.asarray(~np.isnan(self.scores).any(axis=1))

    @property
    def unfinished(self) -> NDArray[np.float64]:
        """The C's that have no score on some split."""
        return self.Cs[~self.is_finished]

    @property
    def mean(self) -> NDArray[np.float64]:
        """The mean score of each C over the splits; NaN where one is missing."""
        return np.asarray(self.scores.mean(axis=1))

    @property
    def standard_error(self) -> NDArray[np.float64]:
        """The standard error of the mean: the splits' standard deviation over the root of their number.

        Splits share training rows, so this is a rule of thumb; with one split it is 0.
        """
        if self.n_splits < 2:
            return np.zeros(len(self.Cs))
        return np.asarray(self.scores.std(axis=1, ddof=1) / math.sqrt(self.n_splits))

    def best_index(self, rule: str = "best") -> int | None:
        """Return the place of the C to take, of those that are finished; None if none is.

        Parameters
        ----------
        rule : {"best", "one_standard_error"}
            The largest mean, and of equal ones the smallest C; or the smallest C whose mean is at most one
            standard error of the best below it.
        """
        places = np.flatnonzero(self.is_finished)
        if len(places) == 0:
            return None
        mean = self.mean
        best = min(places, key=lambda place: (-mean[place], self.Cs[place]))
        if rule == "one_standard_error":
            good = places[mean[places] >= mean[best] - self.standard_error[best]]
            best = min(good, key=lambda place: self.Cs[place])
        return int(best)

    @property
    def relative_gaps(self) -> NDArray[np.float64]:
        """The certified relative gap of every fit; NaN where there is none."""
        gaps = [
            [math.nan if proof is None else proof.relative_gap for proof in row] for row in self.certificates
        ]
        return np.array(gaps, dtype=np.float64)

    @property
    def worst_certificate(self) -> Certificate | None:
        """The certificate with the largest relative gap."""
        proofs = [proof for proof in self.certificates.ravel() if proof is not None]
        return max(proofs, key=lambda proof: proof.relative_gap, default=None)

    def results(self) -> dict[str, Any]:
        """Return the table as `GridSearchCV` has it, with a certified relative gap for every fit."""
        mean = self.mean
        ranked = np.where(np.isnan(mean), np.nanmin(mean, initial=0.0) - 1.0, mean)
        table: dict[str, Any] = {}
        for name, seconds in (("fit", self.fit_seconds), ("score", self.score_seconds)):
            table[f"mean_{name}_time"] = seconds.mean(axis=1)
            table[f"std_{name}_time"] = seconds.std(axis=1)
        table["param_C"] = np.ma.masked_array(self.Cs, mask=False)
        table["params"] = [{"C": float(C)} for C in self.Cs]
        for split in range(self.n_splits):
            table[f"split{split}_test_score"] = self.scores[:, split].copy()
        table["mean_test_score"], table["std_test_score"] = mean, self.scores.std(axis=1)
        table["rank_test_score"] = np.array([1 + int((ranked > own).sum()) for own in ranked], dtype=np.int32)
        gaps = self.relative_gaps
        for split in range(self.n_splits):
            table[f"split{split}_relative_gap"] = gaps[:, split]
        table["max_relative_gap"] = gaps.max(axis=1)
        return table

    def frame(self) -> Any:
        """Return the table as a pandas data frame, one row per C; without pandas, as a dictionary."""
        return frame_of(
            {"C": self.Cs, **{k: v for k, v in self.results().items() if k != "params"}}, index="C"
        )

    def __str__(self) -> str:
        best, worst = self.best_index(), self.worst_certificate
        tried = f"{plural(len(self.Cs), 'value')} of C on {plural(self.n_splits, 'split')}"
        if best is None or worst is None:
            return f"{tried}: none is finished"
        missing = int(np.count_nonzero(~self.is_finished))
        unfinished = f", {missing} not finished" if missing else ""
        found = f"best C = {short(self.Cs[best])} with score {short(self.mean[best])}"
        proof = f"every fit within {percent(worst.relative_gap, 'up')} of its optimum"
        return f"{tried}{unfinished}: {found}; {proof}"

    __repr__ = __str__
