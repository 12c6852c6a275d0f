"""`calibrate=`: who has probabilities when, what they agree with, and what is kept when time runs out."""

import pickle
import signal
import threading
import time

import numpy as np
import pytest
from covering import every_value
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.linear_model import LogisticRegression as ScikitLearnLogistic
from sklearn.metrics import brier_score_loss, log_loss
from sklearn.model_selection import cross_val_predict, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from maxmargin import LinearClassifier, LinearSVM, LogisticRegression, load_model, save_model, train
from maxmargin.errors import CalibrationWarning, Interrupted, InvalidInput, InvalidParameter
from maxmargin.model.calibration import CALIBRATIONS

LOSSES = ("hinge", "squared_hinge", "logistic")


@pytest.fixture(scope="module")
def tumours():
    X, y = load_breast_cancer(return_X_y=True)
    return StandardScaler().fit_transform(X), y


@pytest.fixture(scope="module")
def overlapping():
    """Rows whose probability is known: 1/(1 + exp(−2x₁))."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4_000, 4))
    p = 1 / (1 + np.exp(-2 * X[:, 0]))
    return X, np.where(rng.random(4_000) < p, "yes", "no"), p


# ---------------------------------------------------------------- what they are


@every_value(n_classes=[2, 3], loss=LOSSES, kind=CALIBRATIONS)
def test_every_loss_and_number_of_classes(kind, loss, n_classes):
    X, y = load_iris(return_X_y=True)
    X, y = X[y < n_classes], y[y < n_classes]
    model = LinearClassifier(loss=loss, calibrate=kind).fit(X, y)
    p = model.predict_proba(X)
    assert p.shape == (len(y), n_classes)
    np.testing.assert_allclose(p.sum(axis=1), 1.0, atol=1e-12)
    np.testing.assert_allclose(np.exp(model.predict_log_proba(X)), p, atol=1e-12)
    assert log_loss(y, p) < 0.7
    assert model.calibration_.kind == kind
    assert model.calibration_.n_rows == len(y)
    plain = LinearClassifier(loss=loss).fit(X, y)
    np.testing.assert_array_equal(model.decision_function(X), plain.decision_function(X))
    np.testing.assert_array_equal(model.predict(X), plain.predict(X))


@every_value(kind=["sigmoid", "temperature"], loss=LOSSES)
def test_probabilities_are_near_the_truth(overlapping, loss, kind):
    X, y, truth = overlapping
    model = LinearClassifier(loss=loss, calibrate=kind).fit(X, y)
    assert np.sqrt(((model.predict_proba(X)[:, 1] - truth) ** 2).mean()) < 0.03


def test_training_scores_would_be_too_sure_and_left_out_ones_are_not():
    """Nearly as many columns as rows: any labels can be fitted, and the map must not believe it."""
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(120, 80)), np.repeat([0, 1], 60)
    p = LinearSVM(C=100, calibrate="sigmoid").fit(X, y).predict_proba(rng.normal(size=(500, 80)))
    assert np.abs(p - 0.5).mean() < 0.2


@every_value(loss=LOSSES, C=[1e-6, 1e-4, 1e-2, 1.0, 1e2, 1e4])
def test_no_cost_turns_probabilities_around(C, loss):
    """At a tiny C leaving one row out moves the offset across all others: the pathology of leave-one-out."""
    rng = np.random.default_rng(5)
    y = np.repeat([0, 1], 40)
    X = rng.normal(size=(80, 3)) + y[:, None]
    model = LinearClassifier(C=C, loss=loss, calibrate="sigmoid").fit(X, y)
    assert model.calibration_.curves[0].slope > 0
    assert brier_score_loss(y, model.predict_proba(X)[:, 1]) < 0.22


@pytest.mark.slow
def test_without_a_regulariser(overlapping, tumours):
    """Folds; where the classes of a fold can be separated, maximum likelihood has no maximum: said so."""
    X, y, truth = overlapping
    X, y, truth = X[:400], y[:400], truth[:400]
    for estimator in (
        LinearSVM(C=np.inf, calibrate="sigmoid"),
        LogisticRegression(C=np.inf, calibrate="sigmoid"),
    ):
        p = estimator.fit(X, y).predict_proba(X)[:, 1]
        assert "by 5 folds" in str(estimator.calibration_)
        assert np.sqrt(((p - truth) ** 2).mean()) < 0.1
    hard = LinearSVM(C=np.inf, calibrate="temperature").fit(*tumours)
    assert log_loss(tumours[1], hard.predict_proba(tumours[0])) < 0.1
    one_wrong = (
        np.array([[-3.0], [-2.0], [-1.0], [1.0], [2.0], [3.0], [4.0], [-4.0]]),
        [0, 0, 0, 1, 1, 1, 0, 0],
    )
    with pytest.warns(CalibrationWarning, match="a fit without some of the rows failed"):
        LogisticRegression(C=np.inf, calibrate="sigmoid").fit(*one_wrong)


@pytest.mark.parametrize("load", [load_breast_cancer, load_iris, load_wine])
def test_the_most_probable_class_is_the_predicted_one_with_temperature(load):
    X, y = load(return_X_y=True)
    model = LinearSVM(calibrate="temperature").fit(X, y)
    assert (model.predict_proba(X).argmax(axis=1) == np.searchsorted(model.classes_, model.predict(X))).all()
    assert model.calibration_.disagreements == 0


@pytest.mark.parametrize("classes", [("no", "yes"), ("a", "b", "c")])
def test_the_most_probable_class_of_the_logistic_model_is_the_predicted_one(classes):
    """Also on the boundary, where the scores are exactly alike."""
    weights = np.array([1.0]) if len(classes) == 2 else np.array([[1.0], [0.0], [-1.0]])
    offsets = 0.0 if len(classes) == 2 else np.zeros(3)
    model = LinearClassifier.from_parameters(weights, offsets, classes=classes, loss="logistic")
    X = np.array([[0.0], [1e-300], [-1e-300], [1e-17], [-1e-17], [40.0], [-40.0], [800.0]])
    for values in (model.predict_proba(X), model.predict_log_proba(X)):
        assert (model.classes_[values.argmax(axis=1)] == model.predict(X)).all()


def test_disagreements_of_the_sigmoid_are_counted(overlapping):
    X, y, _ = overlapping
    model = LinearSVM(calibrate="sigmoid", class_weight={"yes": 4.0}).fit(X, y)
    likely = model.classes_[model.predict_proba(X).argmax(axis=1)]
    differ = int((likely != model.predict(X)).sum())
    assert differ > 100  # the weight moved the boundary; the probabilities are still those of the rows
    assert model.calibration_.count_disagreements(model.decision_function(X)) == differ
    assert abs(model.calibration_.disagreements - differ) < 40
    assert abs(model.predict_proba(X)[:, 1].mean() - (y == "yes").mean()) < 0.01


def test_as_good_as_five_fits(tumours):
    """Brier score on rows of their own beside CalibratedClassifierCV, averaged over splits."""
    X, y = tumours
    ours, theirs = [], []
    for seed in range(6):
        first, second, labels, truth = train_test_split(X, y, random_state=seed, test_size=0.5)
        svm = LinearSVM(C=0.01, calibrate="sigmoid").fit(first, labels)
        peer = CalibratedClassifierCV(LinearSVC(C=0.01, loss="hinge", max_iter=50_000), ensemble=False, cv=5)
        peer.fit(first, labels)
        ours.append(brier_score_loss(truth, svm.predict_proba(second)[:, 1]))
        theirs.append(brier_score_loss(truth, peer.predict_proba(second)[:, 1]))
    assert np.mean(ours) <= 1.02 * np.mean(theirs)


# ---------------------------------------------------------------- who has them


@pytest.mark.parametrize("estimator", [LinearSVM(), LinearClassifier(), LinearSVM(loss="squared_hinge")])
def test_without_calibration_there_are_none_and_it_says_what_to_do(estimator, tumours):
    assert not hasattr(estimator, "predict_proba")
    model = clone(estimator).fit(*tumours)
    for name in ("predict_proba", "predict_log_proba", "calibration_"):
        with pytest.raises(
            AttributeError, match=f"no attribute '{name}'.*calibrate='sigmoid' .or temperature"
        ):
            getattr(model, name)
    with pytest.raises(InvalidInput, match="this model has loss='.*hinge' and no calibration"):
        model.to_model().predict_proba(tumours[0])


def test_with_calibration_they_are_there_before_the_fit_too(tumours):
    model = LinearSVM(calibrate="sigmoid")
    assert hasattr(model, "predict_proba")
    with pytest.raises(AttributeError, match="'calibration_': it is not fitted yet"):
        model.calibration_  # noqa: B018 - looking it up is the test
    assert hasattr(model.fit(*tumours), "predict_proba")
    model.set_params(calibrate=None).fit(*tumours)
    assert not hasattr(model, "predict_proba")
    assert not hasattr(model, "calibration_")


def test_logistic_regression_has_its_own_unless_asked(tumours):
    X, y = tumours
    own, calibrated = LogisticRegression().fit(X, y), LogisticRegression(calibrate="isotonic").fit(X, y)
    with pytest.raises(AttributeError, match="probabilities are the logistic model's own"):
        own.calibration_  # noqa: B018
    np.testing.assert_array_equal(own.decision_function(X), calibrated.decision_function(X))
    assert np.abs(own.predict_proba(X) - calibrated.predict_proba(X)).max() > 1e-3


@pytest.mark.parametrize("kind", ["platt", True, 1, "Sigmoid"])
def test_other_kinds_are_refused_by_name(kind):
    with pytest.raises(
        InvalidParameter, match="calibrate must be one of 'sigmoid', 'temperature', 'isotonic'"
    ):
        LinearSVM(calibrate=kind).fit([[0.0], [1.0]], [0, 1])


# ---------------------------------------------------------------- weights and absent rows


@pytest.mark.parametrize("kind", CALIBRATIONS)
def test_a_row_of_weight_zero_is_absent(kind, overlapping):
    X, y, _ = overlapping
    X, y = X[:300], y[:300]
    weight = np.ones(300)
    weight[::7] = 0
    y_wrong = y.copy()
    y_wrong[::7] = "neither"
    part = LinearSVM(tol=1e-10, calibrate=kind).fit(X[weight > 0], y[weight > 0])
    whole = LinearSVM(tol=1e-10, calibrate=kind).fit(X, y_wrong, sample_weight=weight)
    assert whole.calibration_.n_rows == part.calibration_.n_rows == int(weight.sum())
    np.testing.assert_allclose(whole.predict_proba(X), part.predict_proba(X), atol=1e-6)


# ---------------------------------------------------------------- carried along


@pytest.mark.parametrize("kind", CALIBRATIONS)
def test_models_files_and_pickles_keep_them(kind, tumours, tmp_path):
    X, y = tumours
    estimator = LinearSVM(calibrate=kind).fit(X, y)
    p = estimator.predict_proba(X)
    model = train(X, y, calibrate=kind)
    assert model.predict_proba(X).tobytes() == p.tobytes()
    save_model(estimator, tmp_path / "a.model")
    loaded = load_model(tmp_path / "a.model")
    assert loaded.predict_proba(X).tobytes() == p.tobytes()
    assert str(loaded.calibration) == str(estimator.calibration_)
    again = LinearSVM.from_model(loaded)
    assert again.calibrate == kind
    assert again.predict_proba(X).tobytes() == p.tobytes()
    assert pickle.loads(pickle.dumps(estimator)).predict_proba(X).tobytes() == p.tobytes()


def test_in_scikit_learns_tools(tumours):
    X, y = tumours
    pipeline = make_pipeline(StandardScaler(), LinearSVM(C=0.1, calibrate="sigmoid"))
    p = cross_val_predict(pipeline, X, y, method="predict_proba")[:, 1]
    reference = cross_val_predict(ScikitLearnLogistic(), X, y, method="predict_proba")[:, 1]
    assert log_loss(y, p) < log_loss(y, reference) + 0.03


def test_the_result_does_not_depend_on_the_number_of_threads(overlapping):
    X, y, _ = overlapping
    for labels in (y, np.where(X[:, 1] > 1, "maybe", y)):
        one, two = (LinearSVM(calibrate="sigmoid", n_jobs=n).fit(X, labels) for n in (1, 2))
        assert one.predict_proba(X).tobytes() == two.predict_proba(X).tobytes()


# ---------------------------------------------------------------- no time left


def test_a_fit_without_time_to_calibrate_keeps_the_model_and_says_so(tumours):
    X, y = tumours
    with pytest.warns() as seen:
        model = LinearSVM(calibrate="sigmoid", max_time=1e-9).fit(X, y)
    assert {warning.category for warning in seen} >= {CalibrationWarning}
    (told,) = [str(warning.message) for warning in seen if warning.category is CalibrationWarning]
    assert (
        "predicts, but not probabilities; the scores were not calibrated: the time limit was reached" in told
    )
    assert seen[-1].filename == __file__
    assert model.predict(X).shape == y.shape
    with pytest.raises(AttributeError, match="'predict_proba': the scores were not calibrated: the time"):
        model.predict_proba(X)
    with pytest.warns() as seen:
        model = train(X, y, calibrate="isotonic", max_time=1e-9)
    assert CalibrationWarning in {warning.category for warning in seen}
    assert model.calibration is None


def test_time_is_for_fit_and_calibration_together(tumours, monkeypatch):
    from maxmargin.selection import calibrated as module

    seen = []
    real = module.Deadline

    def deadline(seconds):
        seen.append(seconds)
        return real(seconds)

    monkeypatch.setattr(module, "Deadline", deadline)
    LinearSVM(calibrate="sigmoid", max_time=100.0).fit(*tumours)
    (left,) = seen
    assert 0 < left < 100


def test_an_interrupt_while_many_classes_are_calibrated_ends_all_of_them(overlapping, monkeypatch):
    from maxmargin.selection import calibrated as module

    started, ended, turn = [], [], threading.Lock()

    def waits(problem, solution, token, **_):
        with turn:
            started.append(True)
            is_second = len(started) == 2
        if is_second:  # both threads are at work, and soon the main one waits for them
            time.sleep(0.2)
            signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
        for _ in range(60_000):  # a minute; then it is no use waiting
            if token.stopped:
                break
            time.sleep(0.001)
        ended.append(True)
        raise module.Stopped

    monkeypatch.setattr(module, "left_out_scores", waits)
    X, y, _ = overlapping
    model = LinearSVM(calibrate="sigmoid", n_jobs=2, multi_class="one_vs_rest")
    with pytest.raises(Interrupted):
        model.fit(X, np.where(X[:, 1] > 1, "maybe", y))
    assert len(ended) == len(started) >= 2
    assert not hasattr(model, "predict_proba")


def test_an_interrupt_while_calibrating_keeps_the_model(tumours, monkeypatch):
    from maxmargin.selection import calibrated as module

    def interrupted(*_, **__):
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(module, "left_out_scores", interrupted)
    X, y = tumours
    model = LinearSVM(calibrate="sigmoid")
    with pytest.raises(Interrupted, match="keeps the best model found, .* optimum"):
        model.fit(X, y)
    assert model.certificate_.relative_gap <= 1e-4
    with pytest.raises(AttributeError, match="not calibrated: it was interrupted"):
        model.predict_proba(X)
    with pytest.raises(Interrupted) as caught:
        train(X, y, calibrate="sigmoid")
    assert caught.value.model.predict(X).shape == y.shape
