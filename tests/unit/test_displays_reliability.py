"""The picture of probabilities against frequencies."""

import matplotlib as mpl
import numpy as np
import pytest
from drawn import legend_of
from scipy.stats import binomtest
from sklearn.calibration import calibration_curve
from sklearn.linear_model import LogisticRegression as OtherLogisticRegression
from sklearn.metrics import brier_score_loss, log_loss
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from maxmargin import LinearSVM, LogisticRegression, ReliabilityDisplay, reliability, train
from maxmargin.errors import InvalidInput

mpl.use("Agg")
pytestmark = pytest.mark.usefixtures("close_figures")

GENERATOR = np.random.default_rng(6)
PREDICTED = GENERATOR.uniform(size=500)
OUTCOME = (GENERATOR.uniform(size=500) < 0.5 + 0.6 * (PREDICTED - 0.5)).astype(int)  # overconfident
LABELS = np.repeat([0, 1], 40)
ROWS = GENERATOR.normal(size=(80, 2)) + LABELS[:, None]


@pytest.fixture
def display():
    return ReliabilityDisplay.from_reliability(reliability(PREDICTED, OUTCOME, strategy="uniform", bins=8))


def points_of(display):
    """Return places and vertical ends of all drawn points, from left to right."""
    places, ends = [], []
    for points in display.points_.values():
        line, _, (bars,) = points.lines
        places.append(line.get_xydata())
        ends.append([segment[:, 1] for segment in bars.get_segments()])
    places, ends = np.concatenate(places), np.concatenate(ends)
    order = np.argsort(places[:, 0])
    return places[order], ends[order]


def test_the_curve_is_that_of_scikit_learn(display):
    observed, predicted = calibration_curve(OUTCOME, PREDICTED, n_bins=8)
    places, _ = points_of(display)
    np.testing.assert_allclose(places, np.c_[predicted, observed])


def test_intervals_are_those_of_scipy_and_numbers_stand_below(display):
    place = np.digitize(PREDICTED, np.linspace(0, 1, 9)[1:-1], right=True)
    counts = np.bincount(place)
    _, ends = points_of(display)
    for k, count in enumerate(counts):
        exact = binomtest(int(OUTCOME[place == k].sum()), int(count)).proportion_ci(0.95, "exact")
        np.testing.assert_allclose(ends[k], exact, atol=1e-9)
    assert [bar.get_height() for bar in display.bars_] == list(counts)
    centres = [bar.get_x() + bar.get_width() / 2 for bar in display.bars_]
    np.testing.assert_allclose(centres, display.record.predicted)


def test_points_off_the_diagonal_look_different(display):
    record = display.record
    off = (record.predicted < record.low) | (record.predicted > record.high)
    assert off.any()
    assert not off.all()
    np.testing.assert_array_equal(display.points_[False].lines[0].get_xdata(), record.predicted[off])
    assert display.points_[False].lines[0].get_marker() != display.points_[True].lines[0].get_marker()
    assert legend_of(display)[:2] == [
        f"95 % interval holds the prediction ({8 - off.sum()} of 8)",
        f"it does not ({off.sum()})",
    ]


def test_scores_with_intervals_are_written(display):
    brier, entropy, error = legend_of(display)[2:]
    assert brier.startswith(f"Brier score {brier_score_loss(OUTCOME, PREDICTED):.3f} (")
    assert entropy.startswith(f"log-loss {log_loss(OUTCOME, PREDICTED):.3f} (")
    ece = display.record.expected_calibration_error
    assert error == f"calibration error {ece.value:.3f} ({ece.low:.3f}–{ece.high:.3f})"


def test_the_table(display):
    table = display.frame()
    np.testing.assert_array_equal(table["is_covered"], display.is_covered)
    assert sum(table["counts"]) == 500


def test_models_judge_themselves():
    expected = reliability(LogisticRegression().fit(ROWS, LABELS).predict_proba(ROWS), LABELS, bins=4)
    for model in (LogisticRegression().fit(ROWS, LABELS), train(ROWS, LABELS, loss="logistic")):
        found = ReliabilityDisplay.from_estimator(model, ROWS, LABELS, bins=4).record
        np.testing.assert_allclose(found.predicted, expected.predicted, atol=1e-3)
    scaled = make_pipeline(StandardScaler(), LinearSVM(calibrate="sigmoid")).fit(ROWS, LABELS)
    display = ReliabilityDisplay.from_estimator(scaled, ROWS, LABELS, bins=4)
    own = reliability(scaled.predict_proba(ROWS), LABELS, bins=4)
    np.testing.assert_array_equal(display.record.predicted, own.predicted)
    assert "class 1" in display.ax_[1].get_xlabel()


def test_what_gives_no_probabilities():
    with pytest.raises(InvalidInput, match="LinearSVM gives no probabilities; LogisticRegression does"):
        ReliabilityDisplay.from_estimator(LinearSVM().fit(ROWS, LABELS), ROWS, LABELS)
    with pytest.raises(InvalidInput, match=r"from_reliability\(maxmargin.reliability\(model, X, y\)\)"):
        ReliabilityDisplay.from_estimator(OtherLogisticRegression().fit(ROWS, LABELS), ROWS, LABELS)
