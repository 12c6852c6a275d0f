"""Every estimator survives pickle, joblib, skops, our model files and ONNX with the same predictions."""

import inspect
import io
import pickle
import subprocess
import sys
import warnings
from functools import cache

import joblib
import numpy as np
import onnxruntime
import pytest
import skops.io
from covering import every_value
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.preprocessing import scale

import maxmargin as mm
from maxmargin import export_onnx, load_model, save_model, train

ESTIMATORS = {
    "ExponentialLossClassifier": {"on_separable": "direction"},
    "HardMarginSVM": {"on_inseparable": "closest"},
    "HingeSGD": {},
    "LeastAbsoluteClassifier": {},
    "LeastSquaresClassifier": {},
    "LinearClassifier": {"loss": "squared_hinge"},
    "LinearProgramSeparator": {"on_inseparable": "closest"},
    "LinearSVM": {"calibrate": "isotonic"},
    "LinearSVMCV": {"Cs": [0.1, 1.0], "cv": 2, "calibrate": "temperature"},
    "LogisticRegression": {"class_weight": "balanced"},
    "LogisticRegressionCV": {"Cs": [0.1, 1.0], "cv": 2},
    "LogisticSGD": {},
    "Pegasos": {},
    "Perceptron": {"trace": True},
    "ZeroOneClassifier": {"node_limit": 1},
}


def data_of(n_classes):
    X, y = load_breast_cancer(return_X_y=True) if n_classes == 2 else load_wine(return_X_y=True)
    X = scale(X)[:90:2] if n_classes == 2 else scale(X)[::4]
    return X, (y[:90:2] if n_classes == 2 else y[::4])


def test_every_estimator_is_here():
    public = {name for name in mm.__all__ if inspect.isclass(getattr(mm, name))}
    assert {name for name in public if hasattr(getattr(mm, name), "fit")} == ESTIMATORS.keys()


@cache
def fitted(name, n_classes):
    X, y = data_of(n_classes)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mm.ConvergenceWarning)
        return X, getattr(mm, name)(**ESTIMATORS[name]).fit(X, y)


def answers_of(model, X):
    """What a classifier says of rows, as bytes."""
    names = ["predict", "decision_function"]
    names += ["predict_proba"] if hasattr(model, "predict_proba") else []
    return {name: getattr(model, name)(X).tobytes() for name in names}


@every_value(name=ESTIMATORS, n_classes=[2, 3])
def test_pickle_and_joblib(name, n_classes):
    X, model = fitted(name, n_classes)
    file = io.BytesIO()
    joblib.dump(model, file, compress=3)
    file.seek(0)
    copies = [pickle.loads(pickle.dumps(model, protocol)) for protocol in range(2, 6)]
    for copy in [*copies, joblib.load(file)]:
        assert type(copy) is type(model)
        assert copy.get_params() == model.get_params()
        assert answers_of(copy, X) == answers_of(model, X)
        assert repr(copy) == repr(model)
        if hasattr(model, "certificate_"):
            assert copy.certificate_ == model.certificate_
        assert copy.to_model().coef.tobytes() == model.coef_.tobytes()


@every_value(name=ESTIMATORS, n_classes=[2, 3])
def test_skops(name, n_classes):
    """All that has to be trusted is ours."""
    X, model = fitted(name, n_classes)
    check_skops(model, X)


@pytest.mark.parametrize("C", [1.0, 1e-6])  # with the smaller one, classes are never predicted
@pytest.mark.filterwarnings("ignore::maxmargin.DegenerateModelWarning")
def test_softmax_is_kept(C, tmp_path):
    X, y = data_of(3)
    model = mm.LogisticRegression(C=C, multi_class="softmax", class_weight={0: 0.1}).fit(X, y)
    check_skops(model, X)
    copy = pickle.loads(pickle.dumps(model))
    assert answers_of(copy, X) == answers_of(model, X)
    assert copy.to_model().degenerate == model.to_model().degenerate
    save_model(model, tmp_path / "a.model")
    read = mm.LogisticRegression.from_model(load_model(tmp_path / "a.model"))
    assert answers_of(read, X) == answers_of(model, X)
    assert read.to_model().multi_class == "softmax"


SEARCHES = {"leave-one-out": {"cv": "loo"}, "without a model": {"cv": 2, "refit": False}}


@pytest.mark.parametrize("settings", SEARCHES.values(), ids=SEARCHES.keys())
def test_skops_takes_what_a_search_found(settings):
    X, y = data_of(2)
    model = mm.LinearSVMCV(Cs=[0.1, 1.0], **settings).fit(X, y)
    copy = check_skops(model, X)
    assert copy.cv_results_["mean_test_score"].tolist() == model.cv_results_["mean_test_score"].tolist()
    if settings["cv"] == "loo":
        assert str(copy.leave_one_out_) == str(model.leave_one_out_)


def check_skops(model, X):
    written = skops.io.dumps(model)
    trusted = skops.io.get_untrusted_types(data=written)
    assert [kind for kind in trusted if not kind.startswith("maxmargin.")] == []
    copy = skops.io.loads(written, trusted=trusted)
    assert copy.get_params() == model.get_params()
    if hasattr(model, "coef_"):
        assert answers_of(copy, X) == answers_of(model, X)
        assert copy.to_model().statuses == model.to_model().statuses
    if hasattr(model, "separability_"):
        assert copy.separability_.check()
        assert copy.separability_.exact_weights == model.separability_.exact_weights
    return copy


IN_ANOTHER_PROCESS = """
import pickle, sys
import numpy as np
X, models = pickle.load(sys.stdin.buffer)
pickle.dump({name: model.predict(X) for name, model in models.items()}, sys.stdout.buffer)
"""


def test_pickles_open_in_a_process_that_has_not_imported_us():
    X, models = data_of(2)[0], {name: fitted(name, 2)[1] for name in ESTIMATORS}
    content = pickle.dumps((X, models))
    told = [sys.executable, "-c", IN_ANOTHER_PROCESS]
    found = pickle.loads(subprocess.run(told, input=content, stdout=subprocess.PIPE, check=True).stdout)
    for name, model in models.items():
        np.testing.assert_array_equal(found[name], model.predict(X))


@every_value(name=ESTIMATORS, n_classes=[2, 3])
def test_model_files(name, n_classes, tmp_path):
    X, model = fitted(name, n_classes)
    save_model(model, tmp_path / "a.model")
    found = load_model(tmp_path / "a.model")
    assert found.predict(X).tobytes() == model.predict(X).tobytes()
    assert found.decision_function(X).tobytes() == model.decision_function(X).tobytes()
    assert found.has_probabilities == hasattr(model, "predict_proba")
    if found.has_probabilities:
        assert found.predict_proba(X).tobytes() == model.predict_proba(X).tobytes()
    assert found.certificates == model.to_model().certificates


@every_value(name=ESTIMATORS, n_classes=[2, 3], dtype=["float32", "float64"])
def test_onnx(name, n_classes, dtype, tmp_path):
    X, model = fitted(name, n_classes)
    rows = X.astype(dtype)
    export_onnx(model, tmp_path / "a.onnx", dtype=dtype)
    session = onnxruntime.InferenceSession(tmp_path / "a.onnx")
    label, scores = session.run(["label", "scores"], {"X": rows})
    expected = model.decision_function(rows.astype(float))
    # The terms of a sum decide how many digits it has.
    size = np.abs(rows) @ np.abs(model.coef_).T + np.abs(model.intercept_)
    digits = 100 * np.finfo(dtype).eps * size.reshape(expected.shape)
    assert (np.abs(scores - expected) <= digits).all()
    if expected.ndim == 1:
        doubtful = np.abs(expected) <= digits
    else:
        doubtful = margins_of(expected) <= 2 * digits.max(axis=1)
    np.testing.assert_array_equal(label[~doubtful], model.predict(rows)[~doubtful])
    assert doubtful.mean() < 0.1


def margins_of(scores):
    """By how much the largest score of a row is larger than the next."""
    ordered = np.sort(scores, axis=1)
    return ordered[:, -1] - ordered[:, -2]


def test_a_model_of_train_survives_too():
    X, y = data_of(3)
    model = train(X, np.array(["a", "bé", "c"])[y], calibrate="sigmoid")
    file = io.BytesIO()
    joblib.dump(model, file)
    file.seek(0)
    for copy in (pickle.loads(pickle.dumps(model)), joblib.load(file)):
        assert answers_of(copy, X) == answers_of(model, X)
        assert copy.certificates == model.certificates
        assert copy.plans == model.plans
        assert repr(copy) == repr(model)
