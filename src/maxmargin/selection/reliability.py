"""Predicted probabilities against what came true."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from maxmargin.results.reliability import Reliability, WithInterval
from maxmargin.rows import Array
from maxmargin.selection.error_rates import clopper_pearson

__all__ = ["BINNING", "judge_probabilities"]

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

    The samples miss the value as the value misses the truth, so their quantiles are turned around it, which
    takes a bias off. Chance alone keeps the calibration error above 0: where outcomes that are drawn with
    the predicted probabilities show as large an error, its interval begins at 0.
    """
    bootstrap, seed = draws
    n_rows = place.shape[0]
    order = np.argsort(place, kind="stable")
    starts = np.flatnonzero(np.diff(place[order], prepend=-1))
    means, p, came_true = means[:, order], p[order], came_true[order]

    def all_three(times: Array) -> Array:
        """How often each row was drawn decides everything; bins are those of the rows themselves."""
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
