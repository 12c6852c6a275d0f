"""Models in files: round trips are exact, old files stay readable, wrong ones are refused."""

import json
import zipfile
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest
from covering import every_value

from maxmargin import LinearModel, certify, load_model, save_model, train
from maxmargin.encoding import Encoding, SourceColumn
from maxmargin.errors import InvalidInput, InvalidParameter, MissingFile, ModelFileError, UnreadableFile
from maxmargin.io.models import read_model, write_model

GOLDEN = Path(__file__).parents[1] / "data"

X = np.array([[0.0, 1.0], [1.0, 0.5], [0.4, -1.0], [3.0, 0.3], [4.0, -2.0], [2.0, 2.0]])
TWO = np.array([-1, -1, -1, 1, 1, 1])
THREE = np.array([0, 0, 2, 2, 7, 7])

SIZES = Encoding((SourceColumn("größe", "categories", ("groß", "klein"), fill="klein"),))

NOT_KEPT = {"histories", "warm_starts", "agreement_counts", "degenerate"}


def assert_same(found, expected):
    """Field by field, with the same types and the same bits."""
    for field in fields(LinearModel):
        if field.name in NOT_KEPT:
            assert not getattr(found, field.name)
            continue
        first, second = getattr(found, field.name), getattr(expected, field.name)
        if field.name == "support" and second is not None:
            first, second = vars(first), vars(second)
            assert first.keys() == second.keys()
            for name, array in first.items():
                assert array.dtype == second[name].dtype
                np.testing.assert_array_equal(array, second[name])
        elif field.name == "calibration" and second is not None:
            assert first.to_fields() == second.to_fields()
        elif isinstance(second, np.ndarray):
            assert first.dtype == second.dtype
            assert first.tobytes() == second.tobytes()
        else:
            assert first == second, field.name


@every_value(
    encoding=[None, SIZES],
    settings=[
        {"loss": "hinge"},
        {"loss": "logistic", "penalize_intercept": True, "class_weight": "balanced"},
        {"loss": "hinge", "calibrate": "sigmoid"},
        {"loss": "squared_hinge", "calibrate": "temperature"},
        {"loss": "hinge", "calibrate": "isotonic"},
        {"loss": "logistic", "multi_class": "softmax"},
    ],
    labels=[TWO, THREE, TWO == 1, np.array(list("aabbéé"))],
)
def test_a_fitted_model_comes_back_bit_for_bit(tmp_path, labels, settings, encoding):
    model = replace(
        train(X, labels, intercept_scaling=3.0, **settings),
        feature_names=["height", "größe"],
        scheme="csv",
        label="outcome",
        encoding=encoding,
    )
    save_model(model, tmp_path / "a.model")
    found = load_model(tmp_path / "a.model")
    assert_same(found, model)
    for first, second in zip(found.certificates, model.certificates, strict=True):
        assert dict(first.residuals) == dict(second.residuals)
    np.testing.assert_array_equal(found.scores(X), model.scores(X))
    np.testing.assert_array_equal(found.predict(X), model.predict(X))


def test_a_given_classifier_comes_back(tmp_path):
    model = LinearModel(np.array([[1.0, -0.0]]), np.array([0.1]), np.array(["no", "yes"]))
    save_model(model, tmp_path / "a.model")
    found = load_model(tmp_path / "a.model")
    assert_same(found, model)
    assert found.C is None
    assert found.certificate is None
    assert found.support is None


def test_infinite_intervals_are_kept(tmp_path):
    model = train(X, np.ones(6, dtype=int))
    assert model.intercept_intervals == [(1.0, np.inf)]
    save_model(model, tmp_path / "a.model")
    assert_same(load_model(tmp_path / "a.model"), model)


def test_the_same_model_gives_the_same_bytes(tmp_path):
    for name in ("first", "second"):
        save_model(train(X, TWO), tmp_path / name)
    assert (tmp_path / "first").read_bytes() == (tmp_path / "second").read_bytes()


def test_labels_that_are_python_objects_become_text_or_numbers(tmp_path):
    model = train(X, np.array(["a", "a", "a", "b", "b", "b"], dtype=object))
    save_model(model, tmp_path / "a.model")
    assert load_model(tmp_path / "a.model").classes.tolist() == ["a", "b"]
    mixed = replace(model, classes=np.array([("a", 1), "b"], dtype=object))
    with pytest.raises(InvalidInput, match="neither numbers nor text cannot be kept"):
        save_model(mixed, tmp_path / "b.model")
    assert not (tmp_path / "b.model").exists()


def test_only_models_are_saved(tmp_path):
    with pytest.raises(
        InvalidInput, match="takes what train returned or a fitted estimator of maxmargin; got dict"
    ):
        save_model({}, tmp_path / "a.model")


def test_a_model_is_not_called_onnx(tmp_path):
    with pytest.raises(InvalidInput, match="export_onnx"):
        save_model(train(X, TWO), tmp_path / "a.ONNX")
    assert not list(tmp_path.iterdir())


def test_an_estimator_is_saved_as_its_model(tmp_path):
    from maxmargin import LinearSVM

    estimator = LinearSVM(C=2.0).fit(X, TWO)
    save_model(estimator, tmp_path / "a.model")
    found = load_model(tmp_path / "a.model")
    assert found.C == 2.0
    np.testing.assert_array_equal(found.coef, estimator.coef_)


# ---------------------------------------------------------------- files of earlier versions


@pytest.mark.parametrize(
    "name", ["tumours-1", "three_classes-1", "tumours-2", "wines-2", "houses-3", "one_softmax-4", "sparse-5"]
)
def test_an_old_file_still_predicts_the_same(name):
    model = load_model(GOLDEN / f"{name}.model")
    expected = json.loads((GOLDEN / f"{name}.json").read_text())
    rows = np.array(expected["rows"])
    assert model.predict(rows).tolist() == expected["labels"]
    np.testing.assert_allclose(model.scores(rows), expected["scores"], rtol=1e-12, atol=1e-12)
    assert ("calibration" in expected) == (model.calibration is not None)
    if "probabilities" in expected:
        np.testing.assert_allclose(model.predict_proba(rows), expected["probabilities"], rtol=1e-12)
        assert str(model.calibration) == expected["calibration"]
    if "softmax" in expected:
        assert (model.multi_class, len(model.certificates), model.class_weight) == ("softmax", 1, "balanced")
        np.testing.assert_allclose(model.predict_proba(rows), expected["softmax"], rtol=1e-12)
    if "l1" in expected:
        assert model.l1_ratio == 0.75
        np.testing.assert_array_equal(np.flatnonzero(model.coef[0]), expected["columns"])
        np.testing.assert_allclose(model.predict_proba(rows), expected["l1"], rtol=1e-12)
    fields = None if model.encoding is None else model.encoding.to_fields()
    assert fields == expected.get("encoding")


def description_of(path):
    with zipfile.ZipFile(path) as archive:
        return json.loads(archive.read("model.json"))


def test_what_is_new_in_a_file_decides_its_version(tmp_path):
    """Whoever reads version 1 goes on reading it; what such a reader would overlook tells it to give up."""
    path = tmp_path / "a.model"
    softmax = train(X, THREE, loss="logistic", multi_class="softmax")
    save_model(softmax, path)
    assert (description_of(path)["version"], description_of(path)["header"]["multi_class"]) == (4, "softmax")
    cases = ((None, None, 1), ("sigmoid", None, 2), (None, SIZES, 3), ("sigmoid", SIZES, 3))
    for kind, encoding, version in cases:
        save_model(replace(train(X, TWO, calibrate=kind), encoding=encoding), path)
        description = description_of(path)
        assert description["version"] == version
        assert ("calibration" in description["header"]) == (kind is not None)
        assert ("encoding" in description["header"]) == (encoding is not None)
        assert not {"class_weight", "multi_class"} & set(description["header"])


def test_class_weights_are_kept_for_each_class(tmp_path):
    path = tmp_path / "a.model"
    model = train(X, THREE, class_weight={0: 1.0, 2: 5.0})
    save_model(model, path)
    assert description_of(path)["header"]["class_weight"] == [1.0, 5.0, 1.0]
    assert load_model(path).class_weight == model.class_weight == {0: 1.0, 2: 5.0, 7: 1.0}
    assert certify(load_model(path), X, THREE).relative_gap <= 1e-4
    assert certify(replace(model, class_weight=None), X, THREE).relative_gap > 1e-3
    assert certify(replace(model, class_weight=None), X, THREE, class_weight={2: 5}).relative_gap <= 1e-4
    with pytest.raises(InvalidParameter, match="LinearModel has its own class_weight"):
        certify(model, X, THREE, class_weight={2: 4})


def test_a_damaged_encoding_is_refused(tmp_path):
    save_model(replace(train(X, TWO), encoding=SIZES), tmp_path / "a.model")
    header, arrays = read_model(tmp_path / "a.model")
    good = header["encoding"]
    more = [*good["columns"], {"name": "age", "kind": "number"}]
    for damage in ({}, {"columns": []}, {**good, "columns": more}, {**good, "columns": [3]}, [1], "none"):
        write_model(tmp_path / "b.model", {**header, "encoding": damage}, arrays, version=3)
        with pytest.raises(ModelFileError, match="the model file is damaged"):
            load_model(tmp_path / "b.model")


@pytest.mark.parametrize("damage", ["one_vs_rest", "crammer_singer", "sigmoid", 3, True])
def test_a_damaged_form_of_several_classes_is_refused(tmp_path, damage):
    save_model(train(X, THREE, loss="logistic", multi_class="softmax"), tmp_path / "a.model")
    header, arrays = read_model(tmp_path / "a.model")
    write_model(tmp_path / "b.model", {**header, "multi_class": damage}, arrays, version=4)
    with pytest.raises(ModelFileError, match="the model file is damaged .multi_class"):
        load_model(tmp_path / "b.model")
    write_model(tmp_path / "b.model", {**header, "plans": [*header["plans"]] * 3}, arrays, version=4)
    with pytest.raises(ModelFileError, match="3 plans for 1 problems"):
        load_model(tmp_path / "b.model")


def test_two_classes_have_no_form(tmp_path):
    save_model(train(X, TWO, loss="logistic", multi_class="softmax"), tmp_path / "a.model")
    header, arrays = read_model(tmp_path / "a.model")
    assert "multi_class" not in header
    write_model(tmp_path / "b.model", {**header, "multi_class": "softmax"}, arrays, version=4)
    with pytest.raises(ModelFileError, match="multi_class 'softmax' with logistic loss and 2 classes"):
        load_model(tmp_path / "b.model")


def test_a_damaged_calibration_is_refused(tmp_path):
    save_model(train(X, TWO, calibrate="sigmoid"), tmp_path / "a.model")
    header, arrays = read_model(tmp_path / "a.model")
    for damage in ({"kind": "beta"}, {"curves": [{"slope": 1.0}]}, {"curves": 3}, {"n_rows": None}):
        broken = {**header, "calibration": {**header["calibration"], **damage}}
        write_model(tmp_path / "b.model", broken, arrays)
        with pytest.raises(ModelFileError, match="the model file is damaged"):
            load_model(tmp_path / "b.model")


def test_an_old_file_still_has_everything():
    model = load_model(GOLDEN / "tumours-1.model")
    assert (model.loss, model.C, model.offset, model.tol) == ("hinge", 0.1, "free", 1e-4)
    assert (model.scheme, model.label) == ("csv", "diagnosis")
    assert model.classes.tolist() == ["benign", "malignant"]
    assert model.feature_names is not None
    assert model.feature_names[0] == "mean radius"
    assert model.support is not None
    assert model.support.dual_coef.shape == (1, len(model.support.indices))
    assert str(model.certificate).startswith("within 0.0")
    assert model.plans[0].solver == "dual descent"
    low, high = model.intercept_intervals[0]
    assert low <= model.intercept[0] <= high
    three = load_model(GOLDEN / "three_classes-1.model")
    assert (three.offset, three.intercept_scaling) == ("penalized", 2.0)
    assert three.coef.shape == (3, 3)
    assert len(three.certificates) == len(three.n_iter) == 3


# ---------------------------------------------------------------- files that are wrong


@pytest.fixture
def parts(tmp_path):
    save_model(train(X, TWO), tmp_path / "good.model")
    return read_model(tmp_path / "good.model")


def refusal(tmp_path, header, arrays):
    path = tmp_path / "bad.model"
    write_model(path, header, arrays)
    with pytest.raises(ModelFileError) as caught:
        load_model(path)
    assert caught.value.path == path
    return caught.value.message


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("kind", "tree", "holds a model of kind 'tree', not 'linear'"),
        ("loss", 3, "loss must be a str; found 3"),
        ("C", "1", "expected a number, found '1'"),
        ("tol", True, "expected a number, found True"),
        ("offset", "some", "offset 'some'"),
        ("statuses", ["finished"], "status 'finished'"),
        ("statuses", {}, "statuses must be a list; found {}"),
        ("certificates", [{}], "'residuals' is missing"),
        ("certificates", [3], "damaged"),
        ("certificates", [], None),
        ("n_iter", [1, 2], "2 n_iter for 1 problems"),
        ("statuses", [], "0 statuses for 1 problems"),
        ("plans", [], "0 plans for 1 problems"),
        ("n_iter", ["many"], "damaged"),
        ("intercept_intervals", [[1.0]], "damaged"),
        ("feature_names", ["one"], "feature_names must name each of the 2 columns"),
        ("feature_names", [1, 2], "feature_names must name each of the 2 columns"),
        ("label", 1.5, "label is 1.5"),
        ("class_weight", "heavy", "class_weight must be 'balanced' or a weight for each of 2 classes"),
        ("class_weight", [1.0], "class_weight must be 'balanced' or a weight for each of 2 classes"),
        ("class_weight", [1.0, -1.0], "class_weight must be 'balanced' or a weight for each of 2 classes"),
        ("class_weight", [1.0, np.nan], "class_weight must be 'balanced' or a weight for each of 2 classes"),
        ("class_weight", [1.0, None], "expected a number, found None"),
        ("n_iter", [np.inf], "damaged"),
        ("tol", 10**400, "damaged"),
        ("plans", ["x"], "damaged"),
    ],
)
def test_a_wrong_header_is_refused(tmp_path, parts, field, value, message):
    header, arrays = parts
    if message is None:  # nothing known about the fit: as for a given classifier
        write_model(tmp_path / "bare.model", {**header, field: value}, arrays)
        assert load_model(tmp_path / "bare.model").certificate is None
        return
    assert message in refusal(tmp_path, {**header, field: value}, arrays)


@pytest.mark.parametrize(
    "field", ["loss", "C", "offset", "intercept_scaling", "tol", "certificates", "n_iter"]
)
def test_a_missing_field_is_named(tmp_path, parts, field):
    header, arrays = parts
    del header[field]
    assert refusal(tmp_path, header, arrays) == f"the model file is damaged ('{field}' is missing)"


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("coef", np.ones(2), "coef must hold finite float64 numbers in 2 dimensions"),
        ("coef", np.ones((1, 2), dtype=np.float32), "coef must hold finite float64 numbers in 2 dimensions"),
        ("coef", np.array([[1.0, np.nan]]), "coef must hold finite float64 numbers in 2 dimensions"),
        ("coef", np.ones((3, 2)), "2 classes with weights of shape (3, 2)"),
        ("classes", np.array([1, 2, 3]), "3 classes with weights of shape (1, 2)"),
        ("classes", np.array([[1, 2]]), "classes with weights of shape"),
        ("intercept", np.ones(2), "weights of shape (1, 2) with an intercept of shape (2,)"),
        ("support_indices", np.ones((2, 2), dtype=int), "support vectors with duals of shape"),
        ("support_indices", np.ones(2), "the support vectors are not whole numbers"),
        ("support_n_free", np.ones(2, dtype=int), "one count per problem"),
    ],
)
def test_a_wrong_array_is_refused(tmp_path, parts, name, value, message):
    header, arrays = parts
    assert message in refusal(tmp_path, header, {**arrays, name: value})


def test_a_missing_array_is_named(tmp_path, parts):
    header, arrays = parts
    del arrays["intercept"]
    assert refusal(tmp_path, header, arrays) == "the model file is damaged ('intercept' is missing)"


def test_fields_of_a_later_release_are_ignored(tmp_path, parts):
    header, arrays = parts
    write_model(tmp_path / "later.model", {**header, "later": 1}, {**arrays, "later": np.zeros(1)})
    assert load_model(tmp_path / "later.model").loss == "hinge"


def test_paths_that_hold_no_model(tmp_path):
    with pytest.raises(MissingFile, match="no such file"):
        load_model(tmp_path / "none.model")
    with pytest.raises(UnreadableFile, match="is a folder"):
        load_model(tmp_path)
    text = tmp_path / "a.svm"
    text.write_text("+1 1:2\n")
    with pytest.raises(ModelFileError, match="not a maxmargin model file"):
        load_model(text)
    with pytest.raises(MissingFile, match="there is no folder"):
        save_model(train(X, TWO), tmp_path / "nowhere" / "a.model")
