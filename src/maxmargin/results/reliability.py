"""How far predicted probabilities are from observed frequencies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin.rows.base import Array
from maxmargin.results.table import frame_of
from maxmargin.results.wording import Readable, chosen_percent, plural

__all__ = ["Reliability", "WithInterval"]



@dataclass(frozen=True)
class WithInterval(Readable):
    """A number found from a sample, and the interval in which other samples of the kind would put it."""

    value: float
    low: float
    high: float

    def __float__(self) -> float:
        return self.value

    def __str__(self) -> str:
        return f"{self.value:.4f} ({self.low:.4f} to {self.high:.4f})"


@dataclass(frozen=True, eq=False)
class Reliability(Readable):
    """Predicted probabilities beside observed frequencies, and scores that sum up the difference.

    Attributes
    ----------
    predicted : array
        The mean predicted probability of each bin; bins without rows are left out.
    observed : array
        The share of rows in the bin for which the prediction came true.
    low, high : arrays
        The Clopper–Pearson interval of the probability behind that share.
    counts : array
        Rows per bin.
    brier : WithInterval
        The mean of (p − outcome)² for two classes, the outcome being 1 or 0; for more, of Σ (p − outcome)²
        over the classes.
    log_loss : WithInterval
        The mean of −log p of the class that came true; p counts as 2.2e-16 at least.
    expected_calibration_error : WithInterval
        The mean over rows of |observed − predicted| of their bin. Chance alone keeps it above 0: the more
        bins and the fewer rows, the more.
    about : str
        What the probabilities are of: the second class, or for more than two the most probable one.
    n_rows : int
    confidence : float
        Of all intervals.

    The intervals of the three scores come from resampling the rows ("basic" bootstrap). That of the
    calibration error begins at 0 where chance alone would show as much.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin import reliability
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(2000)
    >>> found = reliability(p, rng.random(2000) < p, bins=4, random_state=0)
    >>> found.predicted.round(2).tolist(), found.observed.round(2).tolist()
    ([0.12, 0.37, 0.63, 0.88], [0.12, 0.39, 0.6, 0.9])
    >>> found.n_covered, len(found.frame()), list(found.columns())
    (4, 4, ['predicted', 'observed', 'low', 'high', 'counts'])
    """

    predicted: Array
    observed: Array
    low: Array
    high: Array
    counts: NDArray[np.intp]
    brier: WithInterval
    log_loss: WithInterval
    expected_calibration_error: WithInterval
    about: str
    n_rows: int
    confidence: float = 0.95

    def __len__(self) -> int:
        return len(self.counts)

    def columns(self) -> dict[str, Any]:
        """Return the curve as a dictionary of columns."""
        names = ("predicted", "observed", "low", "high", "counts")
        return {name: getattr(self, name) for name in names}

    def frame(self) -> Any:
        """Return the curve as a pandas data frame, or as a dictionary of columns without pandas."""
        return frame_of(self.columns())

    @property
    def n_covered(self) -> int:
        """Bins whose interval of the observed share holds the predicted probability."""
        return int(np.count_nonzero((self.low <= self.predicted) & (self.predicted <= self.high)))

    def __str__(self) -> str:
        intervals = f"with {chosen_percent(self.confidence)} intervals"
        lines = [f"the probability of {self.about} on {plural(self.n_rows, 'row')}, {intervals}"]
        lines += [
            f"  Brier score                {self.brier}",
            f"  log-loss                   {self.log_loss}",
            f"  expected calibration error {self.expected_calibration_error}",
            "  predicted  observed            rows",
        ]
        for p, share, low, high, count in zip(*self.columns().values(), strict=True):
            lines.append(f"  {p:9.3f}  {share:.3f} ({low:.3f}–{high:.3f})  {count:,}")
        right = f"{self.n_covered} of {plural(len(self), 'bin')}"
        return "\n".join([*lines, f"  the interval holds the predicted probability in {right}"])
