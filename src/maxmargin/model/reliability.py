"""Predicted probabilities against observed frequencies, for any classifier that gives probabilities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin.errors import InvalidInput, InvalidParameter
from maxmargin.model.error_rates import clopper_pearson
from maxmargin.model.settings import seed_from
from maxmargin.presentation.frames import frame_of
from maxmargin.presentation.wording import Readable, chosen_percent, plural
from maxmargin.rows.base import Array
from maxmargin.validation import check_choice, check_labels, check_positive, refuse_masked

__all__ = ["Reliability", "WithInterval", "reliability"]


def reliability(
    model_or_probabilities: Any,
    X_or_y: Any,
    y: Any = None,
    *,
    classes: Any = None,
    bins: int = 10,
    strategy: str = "quantile",
    bootstrap: int = 1000,
    random_state: Any = None,
) -> Reliability:
    """Compare predicted probabilities with observed frequencies on rows that were not fitted to.

    ``reliability(model, X, y)`` calls ``predict_proba``; ``reliability(probabilities, y)`` does not.

    Parameters
    ----------
    model_or_probabilities : fitted classifier, or array
        Anything with ``predict_proba``, of this package or another; or probabilities of shape (n_rows,),
        of the second class, or (n_rows, n_classes).
    X_or_y : the rows for the model, or the labels for the probabilities
    y : array of shape (n_rows,)
        The labels, where the first is a model.
    classes : sequence, optional
        The labels in the order of the columns; by default the model's, or the labels in y in increasing
        order.
    bins : int, default 10
        At most so many points on the curve.
    strategy : {"quantile", "uniform"}, default "quantile"
        Bins that hold about as many rows each, or bins of the same width.
    bootstrap : int, default 1000
        Samples of the rows behind the intervals of the scores.
    random_state : int, Generator or RandomState, optional
        Draws the samples; by default always the same.

    Returns
    -------
    Reliability
        The curve with an interval at each point, Brier score, log-loss and expected calibration error, each
        with an interval. For more than two classes the curve is about the most probable class: how often it
        comes true.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin import reliability
    >>> p = np.repeat([0.1, 0.5, 0.9], 100)
    >>> outcome = np.concatenate([np.arange(100) < 12, np.arange(100) < 50, np.arange(100) < 87])
    >>> found = reliability(p, outcome, bins=3)
    >>> found.observed
    array([0.12, 0.5 , 0.87])
    >>> print(found.brier)
    0.1567 (0.1316 to 0.1812)
    """
    check_choice("strategy", strategy, BINNING)
    check_positive("bins", bins, integer=True)
    check_positive("bootstrap", bootstrap, integer=True)
    if hasattr(model_or_probabilities, "predict_proba") or not _is_array(model_or_probabilities):
        if y is None:
            raise InvalidInput("y is missing: reliability(model, X, y) needs the labels of the rows.")
        probabilities = _asked(model_or_probabilities, X_or_y)
        known = _own_classes(model_or_probabilities) if classes is None else classes
    else:
        if y is not None:
            raise InvalidInput("reliability(probabilities, y) takes two arrays; with a model three.")
        probabilities, y, known = model_or_probabilities, X_or_y, classes
    shares = _checked(probabilities)
    labels = check_labels(y, shares.shape[0])
    names = np.unique(labels) if known is None else np.asarray(known)
    codes = _codes(labels, names, shares.shape[1])
    about = f"class {names[1]!s}" if shares.shape[1] == 2 else "the most probable class"
    return judge_probabilities(
        shares,
        codes,
        bins=bins,
        strategy=strategy,
        bootstrap=bootstrap,
        seed=seed_from(random_state),
        about=about,
    )


def _is_array(given: Any) -> bool:
    return isinstance(given, list | tuple) or hasattr(given, "__array__") or hasattr(given, "__dataframe__")


def _asked(model: Any, X: Any) -> Any:
    ask = getattr(model, "predict_proba", None)
    if ask is None:
        raise InvalidInput(
            f"{type(model).__name__} gives no probabilities. With maxmargin fit with calibrate='sigmoid' or "
            "the logistic loss; scikit-learn has CalibratedClassifierCV."
        )
    return ask(X)


def _own_classes(model: Any) -> Any:
    return getattr(model, "classes_", None) if hasattr(model, "classes_") else getattr(model, "classes", None)


def _checked(probabilities: Any) -> NDArray[np.float64]:
    """Return probabilities with one column per class."""
    refuse_masked("probabilities", probabilities)
    try:
        shares = np.asarray(probabilities, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidInput("probabilities must be numbers between 0 and 1.") from None
    if shares.ndim == 2 and shares.shape[1] == 1:
        shares = shares[:, 0]
    if shares.ndim not in (1, 2) or shares.shape[0] == 0:
        raise InvalidInput(f"probabilities must be a vector or a matrix with rows; got shape {shares.shape}.")
    good = (shares >= 0) & (shares <= 1)
    if not good.all():
        where = tuple(int(place) for place in np.argwhere(~good)[0])
        raise InvalidInput(f"probabilities lie between 0 and 1; the one at {where} is {shares[where]}.")
    if shares.ndim == 1:
        return np.stack([1.0 - shares, shares], axis=1)
    sums = shares.sum(axis=1)
    if np.abs(sums - 1.0).max() > 1e-6:
        row = int(np.abs(sums - 1.0).argmax())
        raise InvalidInput(f"the probabilities of a row add up to 1; those of row {row} to {sums[row]:g}.")
    return shares


def _codes(labels: NDArray[Any], names: NDArray[Any], n_columns: int) -> NDArray[np.intp]:
    if names.ndim != 1 or len(names) != n_columns:
        raise InvalidParameter(
            f"{n_columns} columns of probabilities need {n_columns} classes; got {len(names)}. Name them "
            "with classes=, in the order of the columns."
        )
    order = np.argsort(names)
    place = np.minimum(np.searchsorted(names[order], labels), n_columns - 1)
    codes = order[place]
    unknown = np.flatnonzero(names[codes] != labels)
    if unknown.size:
        raise InvalidInput(
            f"y[{unknown[0]}] is {labels[unknown[0]]!s}, which is none of the classes "
            f"{', '.join(str(name) for name in names)}."
        )
    return np.asarray(codes, dtype=np.intp)


# ------------------------------------------------------------------------------------------------
# Predicted probabilities against what came true.

BINNING = ("quantile", "uniform")
CONFIDENCE = 0.95
LEAST = float(np.finfo(np.float64).eps)  # a probability of 0 that came true costs no more than this one


def judge_probabilities(
    probabilities: Array,
    codes: NDArray[np.integer],
    *,
    bins: int,
    strategy: str,
    bootstrap: int,
    seed: int,
    about: str,
) -> Reliability:
    """Compare probabilities of all classes, one row each, with the classes' numbers.

    For two classes the curve is that of the second; for more, of whichever class is the most probable.
    """
    n_rows, n_classes = probabilities.shape
    everyone = np.arange(n_rows)
    if n_classes == 2:
        p, came_true = probabilities[:, 1], (codes == 1).astype(np.float64)
        brier = (p - came_true) ** 2
    else:
        guess = probabilities.argmax(axis=1)
        p, came_true = probabilities[everyone, guess], (codes == guess).astype(np.float64)
        own = probabilities[everyone, codes]
        brier = np.einsum("ik,ik->i", probabilities, probabilities) - 2.0 * own + 1.0
    log_loss = -np.log(np.clip(probabilities[everyone, codes], LEAST, 1.0))
    place = _bins(p, bins, strategy)
    counts = np.bincount(place)
    hits = np.bincount(place, weights=came_true)
    ends = [clopper_pearson(round(k), int(n), CONFIDENCE) for k, n in zip(hits, counts, strict=True)]
    scores = _bootstrap(np.stack([brier, log_loss]), p, came_true, place, (bootstrap, seed))
    return Reliability(
        predicted=np.bincount(place, weights=p) / counts,
        observed=hits / counts,
        low=np.array([low for low, _ in ends]),
        high=np.array([high for _, high in ends]),
        counts=counts,
        brier=scores[0],
        log_loss=scores[1],
        expected_calibration_error=scores[2],
        about=about,
        n_rows=n_rows,
        confidence=CONFIDENCE,
    )


def _bins(p: Array, bins: int, strategy: str) -> NDArray[np.intp]:
    """Return the number of each row's bin, counting only bins that hold rows.

    A bin reaches from just above its lower edge to its upper edge, as scikit-learn has it.
    """
    shares = np.linspace(0.0, 1.0, bins + 1)
    edges = np.quantile(p, shares) if strategy == "quantile" else shares
    place = np.searchsorted(edges[1:-1], p)
    return np.asarray(np.unique(place, return_inverse=True)[1])


def _bootstrap(
    means: Array, p: Array, came_true: Array, place: NDArray[np.intp], draws: tuple[int, int]
) -> list[WithInterval]:
    """Return two means and the expected calibration error, with intervals from samples of the rows.

    The samples differ from the value as the value differs from the true one, so their quantiles are reflected
    about it, which removes a bias. Chance alone keeps the calibration error above 0: where outcomes that are
    drawn with the predicted probabilities show as large an error, its interval begins at 0.
    """
    bootstrap, seed = draws
    n_rows = place.shape[0]
    order = np.argsort(place, kind="stable")
    starts = np.flatnonzero(np.diff(place[order], prepend=-1))
    means, p, came_true = means[:, order], p[order], came_true[order]

    def all_three(times: Array) -> Array:
        """Only how often each row was drawn matters; bins are those of the rows themselves."""
        return np.append(means @ times / n_rows, error_of(times * (p - came_true)))

    def error_of(differences: Array) -> float:
        return float(np.abs(np.add.reduceat(differences, starts)).sum() / n_rows)

    value = all_three(np.ones(n_rows))
    rng = np.random.default_rng(seed)
    drawn, by_chance = np.empty((bootstrap, 3)), np.empty(bootstrap)
    for k in range(bootstrap):
        times = np.bincount(rng.integers(n_rows, size=n_rows), minlength=n_rows)
        drawn[k] = all_three(times.astype(np.float64))
        by_chance[k] = error_of(p - (rng.random(n_rows) < p))
    tail = 0.5 * (1.0 - CONFIDENCE)
    lower, upper = np.quantile(drawn, [tail, 1.0 - tail], axis=0)
    low, high = np.maximum(2.0 * value - upper, 0.0), 2.0 * value - lower
    if value[2] <= np.quantile(by_chance, 1.0 - tail):
        low[2] = 0.0
    ends = zip(value.tolist(), low.tolist(), np.maximum(high, value).tolist(), strict=True)
    return [WithInterval(*three) for three in ends]


# ------------------------------------------------------------------------------------------------
# How far predicted probabilities are from observed frequencies.


@dataclass(frozen=True)
class WithInterval(Readable):
    """An estimate from a sample, with its confidence interval."""

    value: float
    low: float
    high: float

    def __float__(self) -> float:
        return self.value

    def __str__(self) -> str:
        return f"{self.value:.4f} ({self.low:.4f} to {self.high:.4f})"


@dataclass(frozen=True, eq=False)
class Reliability(Readable):
    """Predicted probabilities and observed frequencies, and scores that summarise the difference.

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
