"""Intervals and bounds for a probability of error from a count of errors: exact, and they hold."""

import math

import numpy as np
import pytest
from covering import every_value
from scipy.stats import binom, binomtest

from maxmargin.model.error_rates import clopper_pearson, largest_rate

COUNTS = [(0, 1), (1, 1), (0, 10), (3, 10), (10, 10), (4, 142), (500, 1000), (1, 100_000)]


@every_value(confidence=[0.5, 0.95, 0.999], **{"errors, n": COUNTS})
def test_interval_is_scipys_exact_one(errors, n, confidence):
    theirs = binomtest(errors, n).proportion_ci(confidence, method="exact")
    np.testing.assert_allclose(clopper_pearson(errors, n, confidence), theirs, rtol=1e-8, atol=1e-12)


@every_value(confidence=[0.8, 0.95], n=[1, 7, 40, 142])
def test_interval_covers_as_often_as_it_says(n, confidence):
    """The coverage is a sum over all counts, so it is known exactly, for any probability."""
    ends = np.array([clopper_pearson(k, n, confidence) for k in range(n + 1)])
    coverages = []
    for p in np.linspace(0.001, 0.999, 333):
        covered = (ends[:, 0] <= p) & (p <= ends[:, 1])
        coverages.append(binom.pmf(np.arange(n + 1), n, p)[covered].sum())
    assert min(coverages) >= confidence - 1e-9
    assert n == 1 or min(coverages) < confidence + 0.1  # and not by saying nothing


def test_interval_covers_in_drawn_samples():
    rng = np.random.default_rng(0)
    p, n, draws = 0.03, 142, 4000
    counts = rng.binomial(n, p, size=draws)
    ends = {k: clopper_pearson(int(k), n, 0.95) for k in np.unique(counts)}
    held = np.mean([ends[k][0] <= p <= ends[k][1] for k in counts])
    assert held >= 0.95 - 3 * math.sqrt(0.95 * 0.05 / draws)


@every_value(delta=[0.3, 0.05, 1e-9], **{"errors, n": [(0, 1), (0, 50), (2, 50), (30, 50), (400, 1000)]})
def test_largest_rate_is_refuted_by_so_few_errors(errors, n, delta):
    """Beyond it, so few errors have a probability below δ; it is no smaller than the exact inversion."""
    rate = largest_rate(errors, n, math.log(1 / delta))
    assert binom.cdf(errors, n, min(rate + 1e-9, 1.0)) <= delta
    exact = binomtest(errors, n).proportion_ci(1 - 2 * delta, method="exact").high if delta > 1e-6 else 0.0
    assert exact <= rate + 1e-9
    assert rate - exact < 0.1 or delta < 1e-6


def test_largest_rate_without_errors_is_exact():
    assert largest_rate(0, 100, math.log(20)) == pytest.approx(1 - 0.05**0.01, rel=1e-12)


def test_largest_rate_where_the_probability_underflows():
    rate, seen, n = largest_rate(10, 100_000, 5000.0), 1e-4, 100_000  # δ = e^−5000
    entropy = seen * math.log(seen / rate) + (1 - seen) * math.log((1 - seen) / (1 - rate))
    assert n * entropy == pytest.approx(5000.0, rel=1e-9)
    assert largest_rate(5, 5, 1.0) == 1.0
    assert largest_rate(0, 0, 1.0) == 1.0
