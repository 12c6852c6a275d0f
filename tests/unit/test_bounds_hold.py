"""The bounds hold on drawn samples as often as they say, where they are tight enough to be refuted."""

import math
from itertools import combinations

import numpy as np
import pytest
from scipy.special import ndtr

from maxmargin import LinearSVM, leave_one_out, mistake_bound, train
from maxmargin.model.error_rates import largest_rate
from maxmargin.selection.guarantees.lines import (
    Circumstances,
    compression_bound,
    held_out_line,
    margin_bound,
    mistake_rate,
    uniform_bound,
)
from maxmargin.selection.leave_one_out.record import Reason


def best_of_all_pairs(rng, n):
    """Labels are coins, so every classifier errs half of the time; return the luckiest pair's errors.

    Two examples determine a classifier: + between them, − elsewhere, or the other way round, as the label of
    the first says.
    """
    x, y = rng.random(n), rng.choice([-1, 1], size=n)
    fewest = n
    for i, j in combinations(range(n), 2):
        inside = (x > min(x[i], x[j])) & (x < max(x[i], x[j]))
        wrong = np.where(inside, y[i], -y[i]) != y
        wrong[[i, j]] = False
        fewest = min(fewest, int(wrong.sum()))
    return fewest


@pytest.fixture(scope="module")
def lucky_pairs():
    rng = np.random.default_rng(0)
    return [best_of_all_pairs(rng, 16) for _ in range(300)]


def test_compression_pays_for_choosing_the_examples(lucky_pairs):
    delta = 0.5
    failures = np.mean([compression_bound(16, 2, errors, delta) < 0.5 for errors in lucky_pairs])
    assert failures <= delta


def test_compression_would_fail_without_paying(lucky_pairs):
    """The same sample refutes the bound that takes the pair as if it had been fixed beforehand."""
    unpaid = np.mean([largest_rate(errors, 14, math.log(1 / 0.5)) < 0.5 for errors in lucky_pairs])
    assert unpaid > 0.5 + 3 * math.sqrt(0.25 / len(lucky_pairs))


@pytest.mark.parametrize(("n", "kept", "errors"), [(100, 0, 3), (100, 5, 0), (1000, 30, 12)])
def test_compression_is_the_union_bound(n, kept, errors):
    odds = math.log(math.comb(n, kept)) + math.log(n) + math.log(20)
    assert compression_bound(n, kept, errors, 0.05) == pytest.approx(largest_rate(errors, n - kept, odds))
    assert compression_bound(n, kept, errors, 0.05, math.log(7)) > compression_bound(n, kept, errors, 0.05)
    assert compression_bound(n, n, 0, 0.05) == 1.0


def covered(errors, n, k, p, *, on_test):
    """Whether the interval of the best of k candidates holds its probability of error."""
    about = Circumstances(1000, 0.95, 0.5, selected_from=k, selected_on_test=on_test)
    low, high = held_out_line(int(errors), n, (0, 0), about).interval
    return low <= p <= high


def test_interval_of_the_best_of_many_holds_only_if_it_is_paid_for():
    rng = np.random.default_rng(5)
    p, n, k, draws = 0.2, 100, 30, 400
    best = rng.binomial(n, p, size=(draws, k)).min(axis=1)
    paid = np.mean([covered(errors, n, k, p, on_test=True) for errors in best])
    unpaid = np.mean([covered(errors, n, k, p, on_test=False) for errors in best])
    assert paid >= 0.95
    assert unpaid < 0.9


def gaussian(rng, n, d=2, shift=1.5):
    """Two spherical classes around ±shift on the first axis."""
    y = rng.choice([-1, 1], size=n)
    X = rng.normal(size=(n, d))
    X[:, 0] += shift * y
    return X, y


def true_error(w, b, shift=1.5):
    """The error of a linear classifier there."""
    norm = np.linalg.norm(w)
    if norm == 0:
        return 0.5 if b else 1.0  # always the same class, or always on the boundary
    return 0.5 * (ndtr((-shift * w[0] - b) / norm) + ndtr((-shift * w[0] + b) / norm))


def test_bounds_on_a_support_vector_machine_hold():
    rng = np.random.default_rng(1)
    for _ in range(40):
        X, y = gaussian(rng, 400)
        model = LinearSVM(C=1).fit(X, y)
        w, b = model.coef_[0], float(model.intercept_[0])
        risk = true_error(w, b)
        rest = np.setdiff1d(np.arange(400), model.support_)
        errors = int((model.agreements(X[rest], y[rest]) <= 0).sum())
        assert risk <= compression_bound(400, len(model.support_), errors, 0.05)
        agreements = model.agreements(X, y)
        norm = math.sqrt(w @ w + b * b)
        assert risk <= margin_bound(agreements / norm, float((X**2).sum()) + 400, 0.05)[0]
        assert risk <= uniform_bound(float((agreements <= 0).mean()), 400, 2, 0.05, has_offset=True)


def test_margin_bound_is_the_theorem_at_its_margin():
    rng = np.random.default_rng(2)
    margins, squares, delta = rng.normal(3.0, 1.0, size=50_000), 5e5, 0.05
    bound, rho = margin_bound(margins, squares, delta)
    scales = sum(1.0 / (1 + abs(j)) ** 2 for j in range(-(10**5), 10**5))
    failure = delta / (scales * (1 + abs(math.log2(rho))) ** 2)
    counted = np.minimum(1.0, np.maximum(0.0, 1 - margins / rho)).mean()
    by_hand = counted + 2 * math.sqrt(squares) / (rho * 50_000) + 3 * math.sqrt(math.log(2 / failure) / 1e5)
    assert bound == pytest.approx(by_hand, rel=1e-4)
    assert bound < 0.2


def test_margin_bound_of_coins_is_no_better_than_a_coin():
    """More columns than examples separate any labels, with a margin; the bound is not deceived."""
    rng = np.random.default_rng(3)
    n, d = 60, 200
    X = rng.normal(size=(n, d)) / math.sqrt(d)
    y = rng.choice([-1, 1], size=n)
    model = LinearSVM(C=1e3, fit_intercept=False).fit(X, y)
    margins = model.margins(X, y)
    assert margins.min() > 0.1
    assert margin_bound(margins, float((X**2).sum()), 0.05)[0] > 0.5
    assert margin_bound(np.zeros(5), 5.0, 0.05) == (1.0, math.inf)


def test_mistakes_of_a_pass_bound_its_mean_error():
    rng = np.random.default_rng(4)
    n, shift, failures = 200, 3.0, 0
    for _ in range(60):
        X, y = gaussian(rng, n, shift=shift)
        w, errors, mistakes = np.zeros(3), [], 0
        for x, label in zip(np.hstack([X, np.ones((n, 1))]), y, strict=True):
            errors.append(true_error(w[:2], w[2], shift))
            if label * (w @ x) <= 0:
                w, mistakes = w + label * x, mistakes + 1
        bound = mistake_bound(X, y)
        assert mistakes <= bound.most
        failures += np.mean(errors) > mistake_rate(mistakes, n, 0.3)
    assert failures <= 0.3 * 60 + 3 * math.sqrt(60 * 0.3 * 0.7)
    assert mistake_rate(math.inf, n, 0.3) == 1.0


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::maxmargin.errors.LeaveOneOutWarning")  # some draws have no free one
def test_leave_one_out_error_is_right_on_average_and_support_vectors_are_more():
    """Its mean is the mean error of training on one example less, and below the share of support vectors."""
    rng = np.random.default_rng(6)
    n, draws, C = 24, 150, 1.0
    left_out, shares, errors = np.empty(draws), np.empty(draws), np.empty(draws)
    for k in range(draws):
        X, y = gaussian(rng, n, shift=0.7)
        found = leave_one_out(LinearSVM(C=C), X, y)
        left_out[k] = found.error_rate
        shares[k] = 1 - found.counts.get(Reason.NO_SUPPORT_VECTOR, 0) / n
        fewer = train(X[:-1], y[:-1], C=C, tol=1e-6)
        errors[k] = true_error(fewer.coef[0], float(fewer.intercept[0]), 0.7)
    spread = math.sqrt((left_out.var() + errors.var()) / draws)
    assert abs(left_out.mean() - errors.mean()) < 3 * spread
    assert spread < 0.02
    assert errors.mean() + 3 * spread < shares.mean()
    assert (left_out <= shares).all()
