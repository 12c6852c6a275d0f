"""From scores to probabilities: a fitted map that can be kept in a file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin.errors import InvalidInput
from maxmargin.presentation.wording import Readable, plural

__all__ = ["CALIBRATIONS", "Calibration", "IsotonicCurve", "SigmoidCurve", "most_probable_first", "predicted"]


Array = NDArray[np.float64]

CALIBRATIONS = ("sigmoid", "temperature", "isotonic")


@dataclass(frozen=True)
class SigmoidCurve:
    """The probability 1/(1 + exp(−(slope · score + offset)))."""

    slope: float
    offset: float

    def log_pair(self, scores: Array) -> tuple[Array, Array]:
        """Return log(1 − p) and log p, both exact where p is next to 0 or 1."""
        z = _within_floats(self.slope, scores, self.offset)
        return -np.logaddexp(0.0, z), -np.logaddexp(0.0, -z)

    def favours(self, scores: Array) -> NDArray[np.bool_]:
        """Return where p is above ½."""
        return np.asarray(self.slope * scores + self.offset > 0)

    def __str__(self) -> str:
        offset = f" {'−' if self.offset < 0 else '+'} {abs(self.offset):.3g}" if self.offset else ""
        return f"P = 1/(1 + exp(−({self.slope:.3g}·score{offset})))".replace("(-", "(−")


@dataclass(frozen=True, eq=False)
class IsotonicCurve:
    """A probability that never falls with the score: linear between knots, constant beyond them.

    Attributes
    ----------
    scores, probabilities : arrays of the same length
        The knots; scores increase, probabilities do not decrease and are never 0 or 1.
    """

    scores: Array
    probabilities: Array

    def log_pair(self, scores: Array) -> tuple[Array, Array]:
        """Return log(1 − p) and log p."""
        p = np.interp(scores, self.scores, self.probabilities)
        return np.log1p(-p), np.log(p)

    def favours(self, scores: Array) -> NDArray[np.bool_]:
        """Return where p is above ½."""
        return np.asarray(np.interp(scores, self.scores, self.probabilities) > 0.5)

    def __str__(self) -> str:
        return f"P rises from {self.probabilities[0]:.3g} to {self.probabilities[-1]:.3g} in steps"


Curve = SigmoidCurve | IsotonicCurve


@dataclass(frozen=True, eq=False)
class Calibration(Readable):
    """A map from scores to probabilities, fitted to scores of rows that were left out.

    Attributes
    ----------
    kind : "sigmoid", "temperature" or "isotonic"
        Platt's sigmoid of each class's score; σ(score/T), or softmax(scores/T) for more than two classes;
        or the best function that never falls.
    curves : tuple
        A `SigmoidCurve` or `IsotonicCurve` for each column of scores; for "temperature" a single one, whose
        slope is 1/T.
    n_rows : int
        How many left-out rows it was fitted to.
    source : str
        How their scores were found.
    disagreements : int
        For how many of them the most probable class is not the one that `predict` gives. Always 0 for
        "temperature"; "sigmoid" and "isotonic" move the place where the probability is ½.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin import LinearSVM
    >>> X = np.arange(40.0)[:, None]
    >>> y = np.where(np.arange(40) % 8 == 5, 1, np.arange(40) > 19)
    >>> found = LinearSVM(calibrate="temperature").fit(X, y).calibration_
    >>> found.kind, found.n_rows, round(found.temperature, 2)
    ('temperature', 40, 1.0)
    >>> scores = [-1.0, 2.0]
    >>> found.probabilities(scores).round(2).tolist(), found.log_probabilities(scores).round(2).tolist()
    ([[0.73, 0.27], [0.12, 0.88]], [[-0.31, -1.31], [-2.13, -0.13]])
    >>> found.count_disagreements(scores)
    0
    """

    kind: str
    curves: tuple[Curve, ...]
    n_rows: int
    source: str = "held-out scores"
    disagreements: int = 0

    @property
    def temperature(self) -> float:
        """T of the kind "temperature"."""
        curve = self.curves[0]
        if self.kind != "temperature" or not isinstance(curve, SigmoidCurve):
            raise AttributeError(f"a calibration by {self.kind} has no temperature")
        return 1.0 / curve.slope

    def probabilities(self, scores: Any) -> Array:
        """Return the probability of each class, one row per score; rows add up to 1.

        Parameters
        ----------
        scores : array of shape (n_rows,) or (n_rows, 1) for two classes, else (n_rows, n_classes)
            What `decision_function` gives.

        Examples
        --------
        >>> from maxmargin.model.calibration import Calibration, SigmoidCurve
        >>> Calibration("temperature", (SigmoidCurve(0.5, 0.0),), 100).probabilities([-2.0, 0.0]).round(3)
        array([[0.731, 0.269],
               [0.5  , 0.5  ]])
        """
        columns = self._columns(scores)
        found = np.exp(self._log_shares(columns))
        return most_probable_first(found, predicted(columns)) if self.kind == "temperature" else found

    def log_probabilities(self, scores: Any) -> Array:
        """Return the logarithms of the probabilities, finite even where these underflow."""
        columns = self._columns(scores)
        found = self._log_shares(columns)
        return most_probable_first(found, predicted(columns)) if self.kind == "temperature" else found

    def count_disagreements(self, scores: Any) -> int:
        """Count the rows whose most probable class is not the class with the largest score."""
        if self.kind == "temperature":
            return 0
        columns = self._columns(scores)
        if columns.shape[1] == 1:
            likely = self.curves[0].favours(columns[:, 0]).astype(np.intp)
        else:
            likely = self.probabilities(columns).argmax(axis=1)
        return int(np.count_nonzero(likely != predicted(columns)))

    def _columns(self, scores: Any) -> Array:
        columns = np.asarray(scores, dtype=np.float64)
        columns = columns[:, None] if columns.ndim == 1 else columns
        expected = columns.shape[-1:] if self.kind == "temperature" else (len(self.curves),)
        if columns.ndim != 2 or columns.shape[1:] != expected:
            raise InvalidInput(
                f"the calibration takes {len(self.curves)} column(s) of scores; got shape {columns.shape}."
            )
        return columns

    def _log_shares(self, columns: Array) -> Array:
        if columns.shape[1] == 1:
            return np.stack(self.curves[0].log_pair(columns[:, 0]), axis=1)
        if self.kind == "temperature":
            below = columns - columns.max(axis=1, keepdims=True)
            found = _within_floats(1.0 / self.temperature, below, 0.0)
        else:
            pairs = [curve.log_pair(columns[:, k]) for k, curve in enumerate(self.curves)]
            found = np.stack([positive for _, positive in pairs], axis=1)
        found -= found.max(axis=1, keepdims=True)  # first: 1e300 would absorb the logarithm of the sum
        return np.asarray(found - np.logaddexp.reduce(found, axis=1, keepdims=True))

    def __str__(self) -> str:
        if self.kind == "temperature":
            how = f"temperature T = {self.temperature:.3g}"
        elif len(self.curves) == 1:
            how = f"{self.kind}, {self.curves[0]}"
        else:
            how = f"{self.kind} of each of {len(self.curves)} classes against the rest, scaled to add up to 1"
        agreeing = "the most probable class is always the predicted one"
        if self.disagreements or self.kind != "temperature":
            agreeing = (
                f"the most probable class is not the predicted one for {self.disagreements:,} of them "
                f"({100.0 * self.disagreements / max(self.n_rows, 1):.2g} %)"
            )
        return f"{how}; fitted to {plural(self.n_rows, 'row')}, {self.source}; {agreeing}"

    # ------------------------------------------------------------ in files

    def to_fields(self) -> dict[str, Any]:
        """Return numbers and text that `from_fields` takes back, bit for bit."""
        return {
            "kind": self.kind,
            "curves": [
                {name: np.asarray(value).tolist() for name, value in vars(curve).items()}
                for curve in self.curves
            ],
            "n_rows": self.n_rows,
            "source": self.source,
            "disagreements": self.disagreements,
        }

    @classmethod
    def from_fields(cls, fields: Mapping[str, Any], n_columns: int) -> Calibration:
        """Make the calibration of a model with so many columns of scores; ValueError where it is none."""
        kind = fields["kind"]
        if kind not in CALIBRATIONS:
            raise ValueError(f"calibration {kind!r}")
        make = _isotonic if kind == "isotonic" else _sigmoid
        curves = tuple(make(entry) for entry in fields["curves"])
        if len(curves) != (1 if kind == "temperature" else n_columns):
            raise ValueError(f"{len(curves)} calibration curves for {n_columns} problems")
        if kind == "temperature" and not curves[0].slope > 0:  # type: ignore[union-attr]
            raise ValueError("a temperature that is not above 0")
        counts = [int(fields[name]) for name in ("n_rows", "disagreements")]
        return cls(kind, curves, counts[0], str(fields["source"]), counts[1])


def _sigmoid(entry: Mapping[str, Any]) -> Curve:
    curve = SigmoidCurve(float(entry["slope"]), float(entry["offset"]))
    if not np.isfinite([curve.slope, curve.offset]).all():
        raise ValueError("a calibration curve that is not finite")
    return curve


def _isotonic(entry: Mapping[str, Any]) -> Curve:
    knots = [np.array(entry[name], dtype=np.float64) for name in ("scores", "probabilities")]
    scores, probabilities = knots
    good = scores.ndim == 1 and scores.shape == probabilities.shape and scores.size > 0
    good = good and bool(np.isfinite(scores).all()) and bool((np.diff(scores) > 0).all())
    good = good and bool((np.diff(probabilities) >= 0).all())
    if not (good and probabilities[0] > 0 and probabilities[-1] < 1):
        raise ValueError("a calibration curve whose knots do not increase")
    return IsotonicCurve(scores, probabilities)


def _within_floats(slope: float, scores: Array, offset: float) -> Array:
    """Return slope · scores + offset, or the nearest that sums of it do not overflow."""
    with np.errstate(over="ignore"):
        return np.clip(slope * scores + offset, -1e300, 1e300)


# ---------------------------------------------------------------- the order of the classes


def predicted(columns: Array) -> NDArray[np.intp]:
    """Return the number of the predicted class of each row of scores; a score of 0 counts as positive."""
    if columns.shape[1] == 1:
        return (columns[:, 0] >= 0).astype(np.intp)
    return np.asarray(columns.argmax(axis=1))


def most_probable_first(values: Array, chosen: NDArray[np.intp]) -> Array:
    """Return values whose argmax is the chosen class, where rounding alone had made it another one.

    A score of exactly 0 is ½ and ½, of which argmax takes the first class and `predict` the second; the
    first is then made the next smaller number, which leaves the sum at 1.
    """
    wrong = np.flatnonzero(values.argmax(axis=1) != chosen)
    if wrong.size:
        largest = values[wrong, chosen[wrong]]
        below = np.nextafter(largest, -np.inf)[:, None]
        lowered = np.minimum(values[wrong], below)
        lowered[np.arange(wrong.size), chosen[wrong]] = largest
        values[wrong] = lowered
    return values
