"""Probabilities from left-out scores: the optimum that scikit-learn finds, and what holds at the edges."""

import re
import warnings

import numpy as np
import pytest
import sklearn.calibration
from covering import each_row, every_value
from scipy.optimize import isotonic_regression, minimize_scalar
from scipy.special import expit, logsumexp, softmax
from sklearn.calibration import _SigmoidCalibration
from sklearn.isotonic import IsotonicRegression
from sklearn.metrics import log_loss

from maxmargin import LogisticRegression
from maxmargin.errors import CalibrationWarning, InvalidInput, InvalidParameter
from maxmargin.model.calibration import CALIBRATIONS, Calibration, SigmoidCurve
from maxmargin.selection.calibration import fit_calibration


def noisy(n_rows, *, slope=1.3, offset=0.4, scale=2.0, seed=0):
    """Scores, labels whose probability is a sigmoid of them, and weights of 0 to 3."""
    rng = np.random.default_rng(seed)
    scores = scale * rng.normal(size=n_rows)
    codes = (rng.random(n_rows) < expit(slope * scores + offset)).astype(np.intp)
    return scores, codes, rng.integers(0, 4, n_rows).astype(np.float64)


def three_classes(n_rows, *, seed=0):
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(n_rows, 3)) * 1.5
    shares = softmax(1.7 * scores, axis=1)
    return scores, (rng.random(n_rows)[:, None] > shares.cumsum(axis=1)).sum(axis=1)


# ---------------------------------------------------------------- sigmoid


@every_value(move=[(1.0, 0.0), (1e-6, 0.0), (1e5, 3e7)], n_rows=[8, 60, 20_000])
def test_the_sigmoid_is_platts(n_rows, move):
    scale, shift = move
    scores, codes, weights = noisy(n_rows)
    theirs = _SigmoidCalibration().fit(scores, codes, weights)
    ours = fit_calibration("sigmoid", (scale * scores + shift)[:, None], codes, weights)
    np.testing.assert_allclose(
        ours.probabilities(scale * scores + shift)[:, 1], theirs.predict(scores), atol=2e-6
    )


def test_many_rows_reach_the_optimum_as_few_do():
    """The first steps read every so many-th row; the gradient over all of them is what counts."""
    scores, codes, _ = noisy(30_000)
    curve = fit_calibration("sigmoid", scores[:, None], codes).curves[0]
    n_positive = codes.sum()
    targets = np.where(codes == 1, (n_positive + 1) / (n_positive + 2), 1 / (30_000 - n_positive + 2))
    mistake = expit(curve.slope * scores + curve.offset) - targets
    assert abs(mistake.sum()) < 1e-6
    assert abs(mistake @ scores) < 1e-6


def test_separable_scores_have_a_finite_sigmoid():
    scores = np.array([-3.0, -2.0, -1.0, 1.0, 2.0, 3.0])
    curve = fit_calibration("sigmoid", scores[:, None], np.array([0, 0, 0, 1, 1, 1])).curves[0]
    assert 0 < curve.slope < 10
    assert curve.offset == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("value", [0.0, -2.5, 1e9])
def test_scores_that_are_all_alike_give_the_share_of_the_class(value):
    codes = np.array([1, 1, 1, 0])
    p = fit_calibration("sigmoid", np.full((4, 1), value), codes).probabilities([value])[0, 1]
    assert p == pytest.approx((3 * 4 / 5 + 1 / 3) / 4)


def test_scores_that_mean_the_opposite_get_a_falling_sigmoid():
    scores, codes, _ = noisy(500, slope=-1.0, offset=0.0)
    found = fit_calibration("sigmoid", scores[:, None], codes)
    assert found.curves[0].slope < -0.5
    assert found.disagreements > 400


# ---------------------------------------------------------------- temperature


def test_the_temperature_is_the_best_one():
    scores, codes, weights = noisy(400, offset=0.0)
    n = weights[codes == 1].sum(), weights[codes == 0].sum()
    targets = np.where(codes == 1, (n[0] + 1) / (n[0] + 2), 1 / (n[1] + 2))

    def loss(slope):
        return weights @ (np.logaddexp(0, slope * scores) - targets * slope * scores)

    best = minimize_scalar(loss, bounds=(0.01, 10), options={"xatol": 1e-12}).x
    found = fit_calibration("temperature", scores[:, None], codes, weights)
    assert 1 / found.temperature == pytest.approx(best, rel=1e-6)


def test_the_temperature_of_several_classes_is_the_best_one():
    scores, codes = three_classes(400)
    n = np.bincount(codes)
    targets = np.repeat(0.5 / (n[codes] + 2)[:, None], 3, axis=1)
    targets[np.arange(400), codes] = ((n + 1) / (n + 2))[codes]

    def loss(slope):
        return (logsumexp(slope * scores, axis=1) - (targets * slope * scores).sum(axis=1)).sum()

    best = minimize_scalar(loss, bounds=(0.01, 10), options={"xatol": 1e-12}).x
    found = fit_calibration("temperature", scores, codes)
    assert 1 / found.temperature == pytest.approx(best, rel=1e-6)
    np.testing.assert_allclose(found.probabilities(scores), softmax(best * scores, axis=1), atol=1e-6)


def their_probabilities(logits, labels, weights):
    """Scale the temperature as scikit-learn does; by SciPy where scikit-learn is older than that."""
    scaling = getattr(sklearn.calibration, "_TemperatureScaling", None)
    if scaling is not None:
        return scaling().fit(logits, labels, weights).predict
    own = logits[np.arange(len(labels)), labels.astype(int)]
    best = minimize_scalar(
        lambda slope: weights @ (logsumexp(slope * logits, axis=1) - slope * own),
        bounds=(0.01, 10),
        options={"xatol": 1e-12},
    ).x
    return lambda given: softmax(best * given, axis=1)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_temperature_is_scikit_learns(n_classes):
    """Where the targets are spelt out as rows of two labels each, both solve the same problem."""
    if n_classes == 2:
        scores, codes, _ = noisy(300, offset=0.0)
        columns, logits = scores[:, None], np.stack([-scores / 2, scores / 2], axis=1)
    else:
        columns, codes = three_classes(300)
        logits = columns
    n = np.bincount(codes)
    shares = np.repeat(1 / ((n_classes - 1) * (n[codes] + 2))[:, None], n_classes, axis=1)
    shares[np.arange(300), codes] = ((n + 1) / (n + 2))[codes]
    labels = np.tile(np.arange(n_classes, dtype=np.float64), 300)
    theirs = their_probabilities(np.repeat(logits, n_classes, axis=0), labels, shares.ravel())
    ours = fit_calibration("temperature", columns, codes)
    np.testing.assert_allclose(ours.probabilities(columns), theirs(logits), atol=1e-7)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_temperature_of_scores_that_are_too_sure_is_that_of_the_labels(n_classes):
    if n_classes == 2:
        scores, codes, _ = noisy(300, offset=0.0)
        columns, logits = 4 * scores[:, None], 4 * np.stack([-scores / 2, scores / 2], axis=1)
    else:
        columns, codes = three_classes(300)
        columns = logits = 4 * columns
    theirs = their_probabilities(logits, codes.astype(np.float64), np.ones(300))
    ours = fit_calibration("temperature", columns, codes)
    assert ours.temperature > 1
    np.testing.assert_allclose(ours.probabilities(columns), theirs(logits), atol=1e-7)


@every_value(n_classes=[2, 4], scale=[0.1, 1.0, 3.0], seed=range(4))
def test_a_temperature_is_no_worse_than_none_on_its_own_rows(n_classes, scale, seed):
    random = np.random.default_rng(seed)
    scores = random.normal(size=(20, 1 if n_classes == 2 else n_classes))
    table = np.hstack([np.zeros((20, 1)), scores]) if n_classes == 2 else scores
    codes = (table + random.gumbel(size=table.shape)).argmax(axis=1)
    codes[:n_classes] = np.arange(n_classes)
    found = fit_calibration("temperature", scale * scores, codes)
    own = np.arange(20), codes
    loss = -found.log_probabilities(scale * scores)[own].sum()
    assert loss <= -np.log(softmax(scale * table, axis=1)[own]).sum() + 1e-9


def test_a_temperature_that_labels_and_targets_disagree_about_is_one():
    scores = np.array([[-3.0], [-2.0], [2.0], [3.0]])
    assert fit_calibration("temperature", scores, np.array([0, 0, 1, 1])).temperature == 1.0
    three = 3.0 * np.eye(3)[[0, 0, 1, 1, 2, 2]]
    assert fit_calibration("temperature", three, np.array([0, 0, 1, 1, 2, 2])).temperature == 1.0


def test_useless_scores_get_a_temperature_that_says_one_half():
    scores, codes, _ = noisy(500, slope=-1.0, offset=0.0)
    found = fit_calibration("temperature", scores[:, None], codes)
    assert np.isfinite(found.temperature)
    np.testing.assert_allclose(found.probabilities(scores), 0.5, atol=1e-6)
    assert (found.probabilities(scores).argmax(axis=1) == (scores >= 0)).all()


@pytest.mark.parametrize("slope", [1e-9, 1.0, 1e9])
def test_the_most_probable_class_is_the_predicted_one(slope):
    tiny = np.array([0.0, -0.0, 5e-324, -5e-324, 1e-17, -1e-17, 1e-3, -1e-3, 1e3, -1e3])
    found = Calibration("temperature", (SigmoidCurve(slope, 0.0),), 10)
    for values in (found.probabilities(tiny), found.log_probabilities(tiny)):
        assert (values.argmax(axis=1) == (tiny >= 0)).all()
    np.testing.assert_allclose(found.probabilities(tiny).sum(axis=1), 1.0, rtol=0, atol=1e-15)
    assert found.probabilities([0.0])[0, 1] == 0.5
    close = 1.0 + np.array([[0, 1, 2], [2, 1, 0], [0, 2, 1], [0, 0, 0], [1, 1, 0], [0, 1, 1]]) * 2.0**-52
    assert (found.probabilities(close).argmax(axis=1) == close.argmax(axis=1)).all()


# ---------------------------------------------------------------- isotonic


def test_isotonic_is_scipys_between_the_targets():
    scores = np.sort(noisy(300)[0])
    codes = noisy(300)[1]
    share = isotonic_regression(codes).x
    n = codes.sum(), 300 - codes.sum()
    low, high = 1 / (n[1] + 2), (n[0] + 1) / (n[0] + 2)
    found = fit_calibration("isotonic", scores[:, None], codes).probabilities(scores)[:, 1]
    np.testing.assert_allclose(found, low + (high - low) * share, atol=1e-12)


def test_isotonic_is_scikit_learns_also_between_and_beyond_the_scores():
    scores, codes, weights = noisy(300)
    scores = np.round(scores, 1)  # many ties
    n = weights[codes == 1].sum(), weights[codes == 0].sum()
    low, high = 1 / (n[1] + 2), (n[0] + 1) / (n[0] + 2)
    theirs = IsotonicRegression(out_of_bounds="clip").fit(scores, low + (high - low) * codes, weights)
    ours = fit_calibration("isotonic", scores[:, None], codes, weights)
    asked = np.linspace(-12, 12, 997)
    np.testing.assert_allclose(ours.probabilities(asked)[:, 1], theirs.predict(asked), atol=1e-12)
    assert len(ours.curves[0].scores) < 100  # ends of steps, not all scores


# ---------------------------------------------------------------- all kinds


@pytest.mark.parametrize("kind", CALIBRATIONS)
def test_weights_mean_repetition(kind):
    scores, codes, weights = noisy(80)
    times = weights.astype(int)
    whole = fit_calibration(kind, scores[:, None], codes, weights)
    repeated = fit_calibration(kind, scores.repeat(times)[:, None], codes.repeat(times))
    np.testing.assert_allclose(whole.probabilities(scores), repeated.probabilities(scores), rtol=1e-8)


@pytest.mark.parametrize("kind", CALIBRATIONS)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_probabilities_are_probabilities(kind, n_classes):
    scores, codes = three_classes(100)
    if n_classes == 2:
        scores, codes = scores[:, :1], (codes == 0).astype(int)
    found = fit_calibration(kind, 1e-3 * scores, codes)  # steep enough for the farthest scores to overflow
    far = np.concatenate([scores, [[1e307] * scores.shape[1]], [[-1e307] * scores.shape[1]]])
    p, logs = found.probabilities(far), found.log_probabilities(far)
    assert p.shape == (102, n_classes)
    assert ((p >= 0) & (p <= 1)).all()
    assert np.isfinite(logs).all()
    np.testing.assert_allclose(p.sum(axis=1), 1.0, atol=1e-12)
    np.testing.assert_allclose(np.exp(logs), p, atol=1e-12)


@pytest.mark.parametrize("kind", CALIBRATIONS)
def test_disagreements_are_counted(kind):
    scores, codes, _ = noisy(400, offset=1.0)
    found = fit_calibration(kind, scores[:, None], codes)
    differ = found.probabilities(scores).argmax(axis=1) != (scores >= 0)
    assert found.disagreements == differ.sum() == found.count_disagreements(scores)
    assert (found.disagreements == 0) == (kind == "temperature")
    words = "is always the predicted one" if kind == "temperature" else f"for {differ.sum()} of them"
    assert words in str(found)
    wide, labels = three_classes(300)
    found = fit_calibration(kind, wide, labels)
    assert found.disagreements == (found.probabilities(wide).argmax(axis=1) != wide.argmax(axis=1)).sum()


@pytest.mark.parametrize("kind", CALIBRATIONS)
def test_a_calibration_comes_back_from_its_fields(kind):
    scores, codes = three_classes(100)
    found = fit_calibration(kind, scores, codes, source="somewhere")
    again = Calibration.from_fields(found.to_fields(), 3)
    assert str(again) == str(found)
    assert again.probabilities(scores).tobytes() == found.probabilities(scores).tobytes()


def test_rows_without_finite_scores_are_absent():
    scores, codes, _ = noisy(50)
    holes = np.concatenate([scores, [-np.inf, np.nan]])[:, None]
    found = fit_calibration("sigmoid", holes, np.append(codes, [1, 1]))
    assert found.n_rows == 50
    assert found.curves[0] == fit_calibration("sigmoid", scores[:, None], codes).curves[0]
    with pytest.raises(InvalidInput, match="no row to calibrate with"):
        fit_calibration("sigmoid", np.full((3, 1), np.nan), np.zeros(3, dtype=int))


def test_what_cannot_be_is_refused():
    scores, codes = three_classes(30)
    with pytest.raises(
        InvalidParameter, match="calibrate must be one of 'sigmoid', .*; got calibrate='beta'"
    ):
        fit_calibration("beta", scores, codes)
    found = fit_calibration("sigmoid", scores, codes)
    with pytest.raises(InvalidInput, match=r"takes 3 column\(s\) of scores; got shape \(30, 1\)"):
        found.probabilities(scores[:, 0])
    with pytest.raises(AttributeError, match="by sigmoid has no temperature"):
        found.temperature  # noqa: B018 - looking it up is the test


@each_row(
    ("change", "message"),
    [
        ({"kind": "beta"}, "calibration 'beta'"),
        ({"curves": []}, "0 calibration curves for 1 problems"),
        ({"curves": [{"slope": float("nan"), "offset": 0.0}]}, "not finite"),
        ({"kind": "temperature", "curves": [{"slope": -1.0, "offset": 0.0}]}, "not above 0"),
        ({"kind": "isotonic", "curves": [{"scores": [1, 0], "probabilities": [0.1, 0.2]}]}, "not increase"),
        ({"kind": "isotonic", "curves": [{"scores": [0, 1], "probabilities": [0.1, 1.0]}]}, "not increase"),
        ({"kind": "isotonic", "curves": [{"scores": [0], "probabilities": [0.1, 0.2]}]}, "not increase"),
    ],
)
def test_damaged_fields_are_refused(change, message):
    fields = Calibration("sigmoid", (SigmoidCurve(1.0, 0.5),), 10).to_fields()
    with pytest.raises(ValueError, match=message):
        Calibration.from_fields({**fields, **change}, 1)


def gestures(seed=0):
    """Fifteen classes of 24 rows with 90 columns, as curves in a plane are: Libras in short."""
    random = np.random.default_rng(seed)
    t = np.linspace(0, 1, 45)
    rows = []
    for _ in range(15):
        shape = random.normal(size=(2, 4))
        for _ in range(24):
            at = t + 0.1 * random.normal()
            curves = (shape + 0.25 * random.normal(size=(2, 4))) @ [at, at**2, np.sin(3 * at), np.cos(5 * at)]
            rows.append(curves.ravel() + 0.02 * random.normal(size=90))
    X = np.array(rows)
    return (X - X.min(axis=0)) / np.ptp(X, axis=0), np.repeat(np.arange(15), 24)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::maxmargin.errors.CalibrationWarning")
@pytest.mark.parametrize(("form", "C"), [("one_vs_rest", 10), ("softmax", 1)])
def test_few_rows_of_many_classes_keep_their_temperature(form, C):
    X, y = gestures()
    held = np.arange(len(y)) % 3 == 0
    loss = {}
    for kind in (None, "temperature"):
        model = LogisticRegression(C=C, multi_class=form, calibrate=kind).fit(X[~held], y[~held])
        loss[kind] = log_loss(y[held], model.predict_proba(X[held]))
    assert loss["temperature"] < loss[None] < np.log(15)


@pytest.mark.slow
def test_a_calibration_that_is_worse_than_none_is_told_with_both_figures():
    X, y = gestures()
    with pytest.warns(CalibrationWarning, match="makes the probabilities worse: the log loss") as told:
        model = LogisticRegression(C=100, calibrate="sigmoid").fit(X, y)
    after, before = map(float, re.findall(r" is ([0-9.]+), and ([0-9.]+) with", str(told[0].message))[0])
    assert after > before
    assert model.calibration_ is not None
    with warnings.catch_warnings():
        warnings.simplefilter("error", CalibrationWarning)
        LogisticRegression(C=1, calibrate="temperature").fit(X, y)


def test_scores_that_are_all_zero_say_one_half_at_any_temperature():
    calibration = fit_calibration("temperature", np.zeros((6, 1)), np.array([0, 1, 0, 1, 1, 1]))
    assert calibration.temperature == 1.0
    np.testing.assert_allclose(calibration.probabilities(np.zeros((1, 1))), [[0.5, 0.5]], rtol=1e-15)
