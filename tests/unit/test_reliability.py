"""Observed frequencies beside predicted probabilities, against scikit-learn and SciPy."""

import numpy as np
import pytest
from covering import each_row
from scipy.stats import binomtest
from sklearn.calibration import calibration_curve
from sklearn.linear_model import LogisticRegression as ScikitLearnLogistic
from sklearn.metrics import brier_score_loss, log_loss

from maxmargin import LinearSVM, LogisticRegression, reliability, train
from maxmargin.errors import InvalidInput, InvalidParameter


def predictions(n_rows, seed=0, *, honest=True):
    rng = np.random.default_rng(seed)
    p = rng.beta(0.7, 1.0, size=n_rows)
    return p, (rng.random(n_rows) < (p if honest else p**2)).astype(int)


def wide(n_rows, seed=0):
    rng = np.random.default_rng(seed)
    p = rng.dirichlet([0.5, 0.4, 0.6], size=n_rows)
    return p, (rng.random(n_rows)[:, None] > p.cumsum(axis=1)).sum(axis=1).clip(0, 2)


def test_scores_are_scikit_learns():
    p, outcome = predictions(500)
    found = reliability(p, outcome, bootstrap=5)
    assert found.brier.value == pytest.approx(brier_score_loss(outcome, p))
    assert found.log_loss.value == pytest.approx(log_loss(outcome, p))
    several, codes = wide(500)
    names = np.array(["a", "b", "c"])
    found = reliability(several, names[codes], bootstrap=5)
    one_hot = np.eye(3)[codes]
    assert found.brier.value == pytest.approx(((several - one_hot) ** 2).sum(axis=1).mean())
    assert found.log_loss.value == pytest.approx(log_loss(codes, several))


def test_a_probability_of_zero_that_came_true_costs_what_it_costs_in_scikit_learn():
    p, outcome = np.array([0.0, 1.0, 0.3, 0.9]), np.array([1, 1, 0, 1])
    found = reliability(p, outcome, bootstrap=5)
    assert found.log_loss.value == pytest.approx(log_loss(outcome, p))
    assert np.isfinite([found.log_loss.low, found.log_loss.high]).all()


@pytest.mark.parametrize("strategy", ["uniform", "quantile"])
def test_the_curve_is_scikit_learns(strategy):
    p, outcome = predictions(700)
    observed, predicted = calibration_curve(outcome, p, n_bins=8, strategy=strategy)
    found = reliability(p, outcome, bins=8, strategy=strategy, bootstrap=5)
    np.testing.assert_allclose(found.predicted, predicted)
    np.testing.assert_allclose(found.observed, observed)
    assert found.counts.sum() == 700


def test_expected_calibration_error_is_the_mean_distance_of_the_bins():
    p, outcome = predictions(300, honest=False)
    found = reliability(p, outcome, bins=5, strategy="uniform", bootstrap=5)
    place = np.minimum((p * 5).astype(int), 4)
    expected = sum(abs((outcome - p)[place == k].sum()) for k in range(5)) / 300
    assert found.expected_calibration_error.value == pytest.approx(expected)


def test_intervals_of_the_curve_are_scipys():
    p, outcome = predictions(200)
    found = reliability(p, outcome, bins=6, bootstrap=5)
    for share, count, low, high in zip(found.observed, found.counts, found.low, found.high, strict=True):
        exact = binomtest(round(share * count), int(count)).proportion_ci(0.95, method="exact")
        assert (low, high) == pytest.approx((exact.low, exact.high))


def test_bootstrap_intervals_hold_the_truth_about_as_often_as_they_say():
    """150 samples of honest probabilities, whose Brier score on all there are is known by integration."""
    grid = (np.arange(100_000) + 0.5) / 100_000
    truth = (grid * (1 - grid)).mean()
    held = 0
    for seed in range(150):
        rng = np.random.default_rng(seed)
        p = rng.random(200)
        found = reliability(p, rng.random(200) < p, bootstrap=100, random_state=seed)
        held += found.brier.low <= truth <= found.brier.high
    assert 0.89 <= held / 150 <= 0.99


@pytest.mark.parametrize(("power", "least"), [(1.0, 0.93), (1.6, 0.88)])
def test_intervals_of_the_calibration_error_hold_the_truth(power, least):
    """Outcomes come true with probability p^power: what uniform bins of endless rows would show is known."""
    grid = (np.arange(100_000) + 0.5) / 100_000
    truth = np.abs((grid - grid**power).reshape(10, -1).mean(axis=1)).mean()
    held = 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        p = rng.random(1_000)
        found = reliability(p, rng.random(1_000) < p**power, strategy="uniform", bootstrap=100)
        error = found.expected_calibration_error
        assert error.low <= error.value <= error.high
        held += error.low <= truth <= error.high
    assert held / 100 >= least


def test_the_same_seed_draws_the_same_samples():
    p, outcome = predictions(100)
    first, again, other = (reliability(p, outcome, bootstrap=50, random_state=s).brier for s in (1, 1, 2))
    assert first == again
    assert first.value == other.value
    assert first != other


def test_models_and_probabilities_are_judged_alike():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    y = np.where(X[:, 0] + rng.normal(size=300) > 0, "yes", "no")
    model = LogisticRegression().fit(X, y)
    from_model = reliability(model, X, y, bootstrap=5)
    from_array = reliability(model.predict_proba(X), y, bootstrap=5)
    from_column = reliability(model.predict_proba(X)[:, 1], y, bootstrap=5)
    from_record = reliability(model.to_model(), X, y, bootstrap=5)
    assert from_model.brier == from_array.brier == from_column.brier == from_record.brier
    assert from_model.about == "class yes"
    theirs = ScikitLearnLogistic().fit(X, y)
    assert reliability(theirs, X, y, bootstrap=5).brier.value == pytest.approx(
        from_model.brier.value, abs=1e-3
    )
    turned = reliability(model.predict_proba(X)[:, ::-1], y, classes=["yes", "no"], bootstrap=5)
    assert turned.log_loss.value == pytest.approx(from_model.log_loss.value)
    assert turned.about == "class no"
    assert str(reliability(train(X, y, calibrate="temperature"), X, y, bootstrap=5)).startswith(
        "the probability of class yes on 300 rows, with 95 % intervals"
    )


def test_it_reads_as_a_table():
    p, outcome = predictions(100)
    found = reliability(p, outcome, bins=4, bootstrap=5)
    assert len(found) == 4
    assert list(found.frame().columns) == ["predicted", "observed", "low", "high", "counts"]
    lines = str(found).splitlines()
    assert len(lines) == 10
    assert lines[-1].endswith(f"in {found.n_covered} of 4 bins")
    about_most_probable = reliability(*wide(50), bootstrap=5)
    assert "the most probable class" in str(about_most_probable)


@each_row(
    ("arguments", "message"),
    [
        (([0.2, 1.5], [0, 1]), r"between 0 and 1; the one at \(1,\) is 1.5"),
        (([0.2, float("nan")], [0, 1]), "between 0 and 1"),
        (([[0.2, 0.2], [0.5, 0.5]], [0, 1]), "add up to 1; those of row 0 to 0.4"),
        (([0.2, 0.3], [0, 1, 1]), "inconsistent numbers of samples"),
        (([0.2, 0.3], [0, 1], [0, 1]), "takes two arrays"),
        (([0.2, 0.3], [1, 1]), "2 columns of probabilities need 2 classes; got 1"),
        (([], []), "with rows; got shape"),
        ((["x"], [1]), "must be numbers"),
    ],
)
def test_wrong_probabilities_are_refused(arguments, message):
    with pytest.raises((InvalidInput, InvalidParameter), match=message):
        reliability(*arguments)


def test_wrong_models_and_settings_are_refused():
    X, y = [[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 1]
    with pytest.raises(InvalidInput, match="LinearSVM gives no probabilities.*calibrate='sigmoid'"):
        reliability(LinearSVM().fit(X, y), X, y)
    model = LogisticRegression().fit(X, y)
    with pytest.raises(InvalidInput, match="y is missing"):
        reliability(model, X)
    with pytest.raises(InvalidInput, match=r"y\[1\] is 7, which is none of the classes 0, 1"):
        reliability(model, X, [0, 7, 1, 1])
    with pytest.raises(InvalidParameter, match="strategy must be one of"):
        reliability(model, X, y, strategy="width")
    with pytest.raises(InvalidParameter, match="bins must be a positive whole number"):
        reliability(model, X, y, bins=0)
