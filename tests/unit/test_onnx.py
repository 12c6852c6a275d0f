"""ONNX files: onnxruntime, which nobody here wrote, says the same as the model."""

import json
from dataclasses import replace

import numpy as np
import onnx
import onnxruntime
import pytest
from covering import every_pair, every_value
from scipy.special import softmax

from maxmargin import (
    LinearClassifier,
    LinearModel,
    LogisticRegression,
    export_onnx,
    load_model,
    save_model,
    train,
)
from maxmargin.encoding import Encoding, SourceColumn
from maxmargin.errors import InvalidInput, InvalidParameter, MissingFile
from maxmargin.model.calibration import Calibration, IsotonicCurve, SigmoidCurve

DTYPES = ("float32", "float64")
KINDS = (None, "sigmoid", "temperature", "isotonic")
LABELS = {
    "whole": np.array([-3, 8, 21]),
    "text": np.array(["no", "yes", "größer"]),
    "fractions": np.array([-0.5, 0.25, 7.5]),
    "small": np.array([1, 2, 3], dtype=np.uint8),
    "objects": np.array(["a", "b", "c"], dtype=object),
}


def blobs(n_classes, n_rows=240, n_columns=5, seed=3):
    random = np.random.default_rng(seed)
    y = np.arange(n_rows) % n_classes
    return random.normal(size=(n_rows, n_columns)) + random.normal(size=(n_classes, n_columns))[y], y


def run(path, X, dtype):
    session = onnxruntime.InferenceSession(path)
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(names, {"X": np.asarray(X, dtype=dtype)}), strict=True))


def rounding(model, X, dtype):
    """How far two ways of adding the same terms may end apart."""
    terms = np.abs(X) @ np.abs(model.coef).T + np.abs(model.intercept)
    return (X.shape[1] + 3) * np.finfo(dtype).eps * terms


def assert_same_predictions(path, model, X, dtype):
    """Scores agree to rounding; labels wherever rounding cannot turn them."""
    X = X.astype(dtype).astype(np.float64)
    found, expected, slack = run(path, X, dtype), model.scores(X), rounding(model, X, dtype)
    assert found["scores"].dtype == dtype
    assert found["scores"].shape == model.decision_function(X).shape
    assert (np.abs(found["scores"].reshape(expected.shape) - expected) <= slack).all()
    if expected.shape[1] == 1:
        is_clear = (np.abs(expected) > slack)[:, 0]
    else:
        ordered = np.sort(expected, axis=1)
        is_clear = ordered[:, -1] - ordered[:, -2] > 2 * slack.max(axis=1)
    assert is_clear.mean() > 0.9
    assert found["label"][is_clear].tolist() == model.predict(X)[is_clear].tolist()
    return found


@every_pair(n_classes=[2, 3], labels=LABELS, dtype=DTYPES)
def test_labels_and_scores_are_the_models(tmp_path, n_classes, labels, dtype):
    X, y = blobs(n_classes)
    model = train(X, LABELS[labels][:n_classes][y])
    export_onnx(model, tmp_path / "a.onnx", dtype=dtype)
    found = assert_same_predictions(tmp_path / "a.onnx", model, X, dtype)
    assert "probabilities" not in found


@every_value(n_classes=[2, 4], kind=KINDS, dtype=DTYPES)
def test_probabilities_are_the_models(tmp_path, n_classes, kind, dtype):
    X, y = blobs(n_classes)
    model = train(X, y, loss="logistic" if kind is None else "hinge", calibrate=kind)
    export_onnx(model, tmp_path / "a.onnx", dtype=dtype)
    X = np.vstack([X, 100 * X])  # far away as well, where probabilities underflow
    found = assert_same_predictions(tmp_path / "a.onnx", model, X, dtype)["probabilities"]
    assert found.dtype == dtype
    assert np.isfinite(found).all()
    np.testing.assert_allclose(found.sum(axis=1), 1.0, rtol=1e-6 if dtype == "float32" else 1e-14)
    X = X.astype(dtype).astype(np.float64)
    if kind != "isotonic":
        rtol = 1e-4 if dtype == "float32" else 1e-12
        np.testing.assert_allclose(found, model.predict_proba(X), rtol=rtol, atol=np.finfo(dtype).tiny)
    elif dtype == "float64":
        np.testing.assert_allclose(found, model.predict_proba(X), rtol=1e-9)
    elif n_classes == 2:  # a curve may rise steeply: it is between what it says a rounding to either side
        scores, slack = model.decision_function(X), 2 * rounding(model, X, dtype)[:, 0]
        low, high = (model.calibration.probabilities(scores + side * slack)[:, 1] for side in (-1, 1))
        assert (low * (1 - 1e-6) <= found[:, 1]).all()
        assert (found[:, 1] <= high * (1 + 1e-6)).all()


@every_value(kind=[None, "temperature"], dtype=DTYPES)
def test_probabilities_of_softmax(tmp_path, kind, dtype):
    X, y = blobs(4)
    model = train(X, y, loss="logistic", multi_class="softmax")
    if kind is not None:
        model = replace(model, calibration=Calibration(kind, (SigmoidCurve(0.4, 0.0),), 240))
    export_onnx(model, tmp_path / "a.onnx", dtype=dtype)
    X = np.vstack([X, 100 * X]).astype(dtype).astype(np.float64)
    found = assert_same_predictions(tmp_path / "a.onnx", model, X, dtype)["probabilities"]
    scores = X @ model.coef.T + model.intercept
    expected = softmax(scores * (1.0 if kind is None else 0.4), axis=1)
    rtol, atol = (1e-4, 1e-30) if dtype == "float32" else (1e-11, 1e-300)
    np.testing.assert_allclose(found, expected, rtol=rtol, atol=atol)
    notes = {entry.key: entry.value for entry in onnx.load(tmp_path / "a.onnx").metadata_props}
    assert notes["maxmargin.multi_class"] == "softmax"


@every_value(n_knots=[1, 2, 3, 4, 7, 8, 9, 1000], dtype=DTYPES)
def test_isotonic_curves_of_any_number_of_knots(tmp_path, n_knots, dtype):
    random = np.random.default_rng(n_knots)
    knots = np.unique(random.integers(-500, 500, size=n_knots)) / 64.0  # numbers that float32 has as well
    curve = IsotonicCurve(knots, np.sort(random.uniform(0.01, 0.99, size=len(knots))))
    model = LinearModel(
        np.array([[1.0]]), np.zeros(1), np.array([0, 1]), calibration=Calibration("isotonic", (curve,), 9)
    )
    export_onnx(model, tmp_path / "a.onnx", dtype=dtype)
    X = np.r_[knots, knots + 1 / 256, knots - 1 / 256, -1e30, 1e30, 0.0][:, None]
    found = run(tmp_path / "a.onnx", X, dtype)["probabilities"]
    np.testing.assert_allclose(found, model.predict_proba(X), rtol=0, atol=4 * np.finfo(dtype).eps)


@every_pair(n_classes=[2, 3], kind=KINDS, dtype=DTYPES)
def test_scores_beyond_all_bounds_give_no_nan(tmp_path, n_classes, kind, dtype):
    n_columns = 1 if n_classes == 2 else n_classes
    curves = {
        "sigmoid": (SigmoidCurve(1e5, -2.0),) * n_columns,
        "temperature": (SigmoidCurve(1e5, 0.0),),
        "isotonic": (IsotonicCurve(np.array([-1.0, 2.0]), np.array([0.1, 0.8])),) * n_columns,
    }
    calibration = None if kind is None else Calibration(kind, curves[kind], 10)
    coef = np.arange(1.0, n_columns + 1)[:, None] * 1e8
    model = LinearModel(
        coef, np.zeros(n_columns), np.arange(n_classes), loss="logistic", calibration=calibration
    )
    export_onnx(model, tmp_path / "a.onnx", dtype=dtype)
    found = run(tmp_path / "a.onnx", [[1e25], [-1e25], [0.0], [1e-9], [-1e-9]], dtype)["probabilities"]
    assert np.isfinite(found).all()
    np.testing.assert_allclose(found.sum(axis=1), 1.0, rtol=1e-6)


def test_a_score_of_zero_is_positive_and_the_first_of_equal_scores_wins(tmp_path):
    two = LinearModel(np.array([[1.0]]), np.array([-2.0]), np.array(["no", "yes"]))
    export_onnx(two, tmp_path / "two.onnx")
    assert run(tmp_path / "two.onnx", [[2.0]], "float32")["label"].tolist() == ["yes"]
    three = LinearModel(np.ones((3, 1)), np.zeros(3), np.array([4, 5, 6]))
    export_onnx(three, tmp_path / "three.onnx")
    assert run(tmp_path / "three.onnx", [[2.0]], "float32")["label"].tolist() == [4] == three.predict([[2.0]])


def test_truth_values_and_no_rows(tmp_path):
    X, y = blobs(2)
    model = train(X, y == 1)
    export_onnx(model, tmp_path / "a.onnx", dtype="float64")
    found = run(tmp_path / "a.onnx", X, "float64")["label"]
    assert found.dtype == bool
    assert (found == model.predict(X)).all()
    assert run(tmp_path / "a.onnx", X[:0], "float64")["scores"].shape == (0,)


def test_what_the_file_tells(tmp_path):
    X, y = blobs(2)
    names = ["größe", *"bcde"]
    encoding = Encoding(tuple(SourceColumn(name, fill=0.5) for name in names))
    model = replace(
        train(X, y, loss="logistic", C=0.5, calibrate="sigmoid"), feature_names=names, encoding=encoding
    )
    export_onnx(model, tmp_path / "a.onnx")
    kept = onnx.load(tmp_path / "a.onnx")
    assert kept.producer_name == "maxmargin"
    notes = {prop.key: prop.value for prop in kept.metadata_props}
    assert notes["maxmargin.certificate"] == str(model.certificate)
    assert notes["maxmargin.calibration"] == str(model.calibration)
    assert json.loads(notes["maxmargin.feature_names"]) == names
    assert Encoding.from_fields(json.loads(notes["maxmargin.encoding"])) == encoding
    assert (notes["maxmargin.loss"], notes["maxmargin.C"]) == ("logistic", "0.5")


def test_the_same_model_gives_the_same_bytes_from_memory_file_and_estimator(tmp_path):
    X, y = blobs(3)
    estimator = LogisticRegression().fit(X, y)
    save_model(estimator, tmp_path / "a.model")
    for number, one in enumerate((estimator, estimator.to_model(), load_model(tmp_path / "a.model"))):
        export_onnx(one, tmp_path / f"{number}.onnx")
    assert len({(tmp_path / f"{number}.onnx").read_bytes() for number in range(3)}) == 1


def test_what_cannot_be_exported(tmp_path):
    path = tmp_path / "a.onnx"
    X, y = blobs(2)
    with pytest.raises(InvalidInput, match="two classes or more"):
        export_onnx(train(X, np.ones(len(X))), path)
    with pytest.raises(InvalidInput, match="a weight of 1e\\+39 is beyond what float32 can hold"):
        export_onnx(LinearClassifier.from_parameters([1e39], 0.0), path)
    export_onnx(LinearClassifier.from_parameters([1e39], 0.0), path, dtype="float64")
    path.unlink()
    with pytest.raises(InvalidParameter, match="dtype must be one of 'float32', 'float64'; got dtype='half'"):
        export_onnx(train(X, y), path, dtype="half")
    with pytest.raises(InvalidInput, match="export_onnx takes what train returned"):
        export_onnx({}, path)
    large = LinearModel(np.ones((1, 1)), np.zeros(1), np.array([0, 2**64 - 1], dtype=np.uint64))
    with pytest.raises(InvalidInput, match="the class 18446744073709551615 is beyond"):
        export_onnx(large, path)
    assert not path.exists()
    with pytest.raises(MissingFile, match="there is no folder"):
        export_onnx(train(X, y), tmp_path / "nowhere" / "a.onnx")


def test_without_the_package_the_error_says_how_to_get_it(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "onnx", None)
    with pytest.raises(InvalidParameter, match=r"pip install 'maxmargin\[onnx\]'"):
        export_onnx(train(*blobs(2)), tmp_path / "a.onnx")
