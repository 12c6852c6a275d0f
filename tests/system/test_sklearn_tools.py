"""The estimators inside scikit-learn's tools, and on whatever holds the data."""

import io
import pickle
import subprocess
import sys
import textwrap
from fractions import Fraction
from types import SimpleNamespace

import joblib
import numpy as np
import pandas
import polars
import pytest
import scipy.sparse as sp
import sklearn
from covering import every_value
from joblib import Parallel, delayed
from ml_dtypes import bfloat16
from sklearn.base import clone, is_classifier
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.ensemble import AdaBoostClassifier, BaggingClassifier, StackingClassifier, VotingClassifier
from sklearn.feature_selection import RFE, SelectFromModel
from sklearn.inspection import permutation_importance
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score, learning_curve
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from maxmargin import (
    ExponentialLossClassifier,
    HardMarginSVM,
    LeastSquaresClassifier,
    LinearClassifier,
    LinearSVM,
    LogisticRegression,
    MissingClassWarning,
    load_model,
    save_model,
)
from maxmargin.errors import InvalidInput
from maxmargin.rows.cores import resolve_jobs

X, Y = load_breast_cancer(return_X_y=True)
X = StandardScaler().fit_transform(X)
NAMES = [f"column {k}" for k in range(X.shape[1])]
ESTIMATORS = [LinearClassifier(), LinearSVM(loss="squared_hinge"), LogisticRegression()]


# ---------------------------------------------------------------- tools


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
def test_cross_validation_and_clone(estimator):
    assert is_classifier(estimator)
    assert cross_val_score(estimator, X, Y, cv=3).min() > 0.9
    assert not hasattr(estimator, "coef_")
    settings = {"C": 3.0, "class_weight": {0: 2.0}, "random_state": 7, "max_iter": 20_000}
    changed = clone(estimator).set_params(**settings)
    copied = clone(changed.fit(X, Y))
    assert copied.get_params() == changed.get_params()
    assert not hasattr(copied, "coef_")
    assert copied.fit(X, Y).coef_.tobytes() == changed.coef_.tobytes()


@pytest.mark.parametrize("backend", [pytest.param("loky", marks=pytest.mark.slow), "threading", "sequential"])
def test_grid_search(backend):
    grid = {"C": [0.01, 0.1, 1.0], "loss": ["hinge", "squared_hinge"]}
    alone = GridSearchCV(LinearSVM(), grid, cv=3).fit(X, Y)
    with joblib.parallel_config(backend, n_jobs=2):
        search = GridSearchCV(LinearSVM(), grid, cv=3).fit(X, Y)
    assert search.cv_results_["mean_test_score"].tolist() == alone.cv_results_["mean_test_score"].tolist()
    assert search.best_estimator_.coef_.tobytes() == alone.best_estimator_.coef_.tobytes()


@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_workers_use_one_thread_each(backend):
    counts = Parallel(n_jobs=2, backend=backend)(delayed(resolve_jobs)(None) for _ in range(6))
    assert counts == [1] * 6
    asked = Parallel(n_jobs=2, backend=backend)(delayed(resolve_jobs)(3) for _ in range(2))
    assert asked == [3, 3]


def test_tools_that_wrap_a_classifier():
    svm = LinearSVM(C=0.1)
    calibrated = CalibratedClassifierCV(svm, cv=3).fit(X, Y)
    assert calibrated.predict_proba(X).shape == (len(Y), 2)
    assert BaggingClassifier(svm, 3, random_state=0).fit(X, Y).score(X, Y) > 0.9
    voters = [("svm", svm), ("logistic", LogisticRegression())]
    assert VotingClassifier(voters).fit(X, Y).score(X, Y) > 0.9
    assert cross_val_predict(LogisticRegression(), X, Y, method="predict_proba", cv=3).shape == (len(Y), 2)
    assert learning_curve(svm, X, Y, cv=3, train_sizes=[0.3, 1.0])[2].min() > 0.8
    assert SelectFromModel(svm).fit(X, Y).transform(X).shape[1] < X.shape[1]
    assert RFE(svm, n_features_to_select=5, step=10).fit(X, Y).support_.sum() == 5
    assert permutation_importance(svm.fit(X, Y), X, Y, n_repeats=1).importances.shape == (30, 1)


# Flowers of which two classes have two rows each: few draws of a bag hold all three.
RARE = np.r_[0:50, 50:52, 100:102]
WITH_WEIGHTS = [
    ExponentialLossClassifier(on_separable="direction"),
    HardMarginSVM(on_inseparable="closest"),
    LeastSquaresClassifier(),
    LinearSVM(),
    LinearSVM(calibrate="sigmoid"),
    LinearSVM(loss="squared_hinge"),
    LogisticRegression(),
]
ENSEMBLES = {
    "bagging": lambda base: BaggingClassifier(base, 10, max_samples=4, random_state=0),
    "boosting": lambda base: AdaBoostClassifier(base, n_estimators=5),
    "one against the rest": OneVsRestClassifier,
    "calibrated": lambda base: CalibratedClassifierCV(base, cv=2),
    "stacking": lambda base: StackingClassifier([("a", base), ("b", clone(base))], cv=2),
    "voting": lambda base: VotingClassifier([("a", base), ("b", clone(base))]),
}


@pytest.mark.filterwarnings("ignore::maxmargin.MissingClassWarning", "ignore::maxmargin.CalibrationWarning")
@every_value(ensemble=ENSEMBLES, base=WITH_WEIGHTS)
def test_ensembles_with_rare_classes(ensemble, base):
    flowers, kinds = load_iris(return_X_y=True)
    flowers, kinds = flowers[RARE], np.array(["common", "rare", "rarer"])[kinds[RARE]]
    model = ENSEMBLES[ensemble](base).fit(flowers, kinds)
    assert model.score(flowers, kinds) >= 50 / 54


@every_value(names=[["a", "b"], ["a", "b", "c"]], base=WITH_WEIGHTS)
def test_weights_that_leave_one_class(base, names, tmp_path):
    """The model predicts that class, knows the others, and says why there is no certificate."""
    labels = np.array(names)[np.arange(12) % len(names)]
    rows = np.random.default_rng(0).normal(size=(12, 3))
    for lone in names:
        model = clone(base)
        with pytest.warns(MissingClassWarning, match=f"weights of 0 leave rows of one class only, {lone}"):
            model.fit(rows, labels, sample_weight=(labels == lone).astype(float))
        assert model.classes_.tolist() == names
        assert model.predict(rows).tolist() == [lone] * 12
        assert np.isfinite(model.intercept_).all()
        scores = model.decision_function(rows)
        assert scores.shape == ((12,) if len(names) == 2 else (12, 3))
        if isinstance(base, LogisticRegression):
            probable = (np.array(names) == lone) * np.ones((12, 1))
            np.testing.assert_allclose(model.predict_proba(rows), probable, atol=1e-15)
            assert np.isfinite(model.predict_log_proba(rows)).all()
        with pytest.raises(AttributeError, match="'certificate_': weights of 0 leave rows of one class only"):
            model.certificate_  # noqa: B018 - looking it up is the test
        save_model(model, tmp_path / "a.model")
        assert load_model(tmp_path / "a.model").predict(rows).tolist() == [lone] * 12
        assert pickle.loads(pickle.dumps(model)).predict(rows).tolist() == [lone] * 12
        assert "constant" in repr(model.to_model().plans)
        model._repr_html_()


def test_labels_of_one_class_are_refused_whatever_the_weights():
    with pytest.raises(ValueError, match="only one class"):
        LinearSVM().fit([[0.0], [1.0]], ["a", "a"], sample_weight=[0.0, 1.0])


def test_pipeline_of_frames():
    frame = pandas.DataFrame(X, columns=NAMES).assign(kind=np.where(Y == 1, "a", "b"))
    columns = make_column_transformer((StandardScaler(), NAMES[:5]), remainder="drop")
    pipeline = make_pipeline(columns, LogisticRegression()).fit(frame, Y)
    assert pipeline.score(frame, Y) > 0.8
    assert pipeline[-1].n_features_in_ == 5
    named = make_pipeline(StandardScaler().set_output(transform="pandas"), LinearSVM()).fit(frame[NAMES], Y)
    assert named[-1].feature_names_in_.tolist() == NAMES


def test_sample_weight_is_routed():
    weight = np.where(Y == 1, 1.0, 3.0)
    with sklearn.config_context(enable_metadata_routing=True):
        svm = LinearSVM().set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        pipeline = make_pipeline(FunctionTransformer(), svm).fit(X, Y, sample_weight=weight)
        search = GridSearchCV(svm, {"C": [1.0]}, cv=2).fit(X, Y, sample_weight=weight)
        with pytest.raises(ValueError, match="not explicitly set as requested"):
            GridSearchCV(LinearSVM(), {"C": [1.0]}).fit(X, Y, sample_weight=weight)
    direct = LinearSVM().fit(X, Y, weight)
    assert pipeline[-1].coef_.tobytes() == search.best_estimator_.coef_.tobytes() == direct.coef_.tobytes()
    assert direct.coef_.tobytes() != LinearSVM().fit(X, Y).coef_.tobytes()


# ---------------------------------------------------------------- keeping and showing


@every_value(estimator=ESTIMATORS, fitted=[False, True])
def test_pickles(estimator, fitted):
    model = clone(estimator).fit(X, Y) if fitted else clone(estimator)
    file = io.BytesIO()
    joblib.dump(model, file)
    file.seek(0)
    for copied in (joblib.load(file), pickle.loads(pickle.dumps(model))):
        assert copied.get_params() == model.get_params()
        if fitted:
            assert copied.decision_function(X).tobytes() == model.decision_function(X).tobytes()
            assert str(copied.certificate_) == str(model.certificate_)
            assert copied.certificate_ == model.certificate_
            assert copied.history_.passes.tolist() == model.history_.passes.tolist()


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
def test_representations(estimator):
    fresh = clone(estimator)
    assert type(fresh).__name__ in fresh._repr_html_()
    shown = fresh.fit(X, Y)._repr_html_()
    assert type(fresh).__name__ in shown
    if hasattr(fresh, "_get_fitted_attr_html"):  # scikit-learn 1.9 shows what a fit made
        assert "certificate_" in shown
        assert ("support_" in shown) == hasattr(fresh, "support_")
    assert repr(LinearSVM(C=2, tol=1e-4)) == "LinearSVM(C=2)"


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
def test_every_parameter_and_attribute_is_documented(estimator):
    text = type(estimator).__doc__
    assert "{" not in text.replace('{"', "")
    parameters, attributes = text.split("Attributes\n---")
    assert all(f"\n{name} : " in parameters for name in estimator.get_params())
    made = [name for name in vars(clone(estimator).fit(X, Y)) if name.endswith("_")]
    assert all(f"\n{name} : " in attributes for name in made)


# ---------------------------------------------------------------- data


@pytest.mark.parametrize("library", [pandas, polars], ids=["pandas", "polars"])
def test_frames_give_names(library):
    frame = library.DataFrame(dict(zip(NAMES, X.T, strict=True)))
    labels = library.Series(np.array(["no", "yes"])[Y])
    model = LinearSVM(tol=1e-8).fit(frame, labels)
    assert model.feature_names_in_.tolist() == NAMES
    assert model.coef_ == pytest.approx(LinearSVM(tol=1e-8).fit(X, Y).coef_, abs=1e-3)
    assert (
        model.predict(frame).tolist()
        == np.array(["no", "yes"])[(model.decision_function(frame) >= 0) * 1].tolist()
    )
    assert model.score(frame, labels) > 0.95
    assert "·column 0 " in model.equations()[0]
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        model.predict(X)
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(frame[NAMES[::-1]])
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[NAMES[:-1]])


def memory_mapped(array, folder):
    np.save(folder / "rows.npy", array)
    return np.load(folder / "rows.npy", mmap_mode="r")


def strided(array):
    room = np.full((2 * array.shape[0], 3 * array.shape[1]), np.nan, dtype=array.dtype)
    room[::2, ::3] = array
    return room[::2, ::3]


def with_data(matrix, kind):
    matrix.data = matrix.data.astype(kind)
    return matrix


def read_only_csr(matrix):
    for part in (matrix.data, matrix.indices, matrix.indptr):
        part.flags.writeable = False
    return matrix


def repeated_entries(matrix):
    """Every entry twice, each half as large."""
    parts = (np.repeat(matrix.data / 2, 2), np.repeat(matrix.indices, 2), 2 * matrix.indptr)
    return sp.csr_array(parts, shape=matrix.shape)


def read_only(array):
    copied = array.copy()
    copied.flags.writeable = False
    return copied


def wide_indices(matrix):
    made = matrix.copy()
    made.indices, made.indptr = made.indices.astype(np.int64), made.indptr.astype(np.int64)
    return made


SMALL = np.random.default_rng(5).integers(-3, 4, size=(200, 7)) * (np.arange(7) != 3)
SIGNS = np.where(SMALL @ [1, -1, 1, 0, 0, 2, -2] + np.arange(200) % 5 - 2 > 0, 1, -1)

CONTAINERS = {
    "list": lambda a, folder: a.tolist(),
    "Fortran order": lambda a, folder: np.asfortranarray(a),
    "strided": lambda a, folder: strided(a),
    "backwards": lambda a, folder: a[::-1, ::-1].copy()[::-1, ::-1],
    "read-only": lambda a, folder: read_only(a),
    "memory-mapped": memory_mapped,
    "other byte order": lambda a, folder: a.astype(a.dtype.newbyteorder()),
    "unaligned": lambda a, folder: np.frombuffer(b"x" + a.tobytes(), offset=1).reshape(a.shape),
    "int8": lambda a, folder: a.astype(np.int8),
    "uint16": lambda a, folder: a.astype(np.int16),
    "int64": lambda a, folder: a.astype(np.int64),
    "float16": lambda a, folder: a.astype(np.float16),
    "bfloat16": lambda a, folder: a.astype(bfloat16),
    "bfloat16, strided": lambda a, folder: strided(a.astype(bfloat16)),
    "float32": lambda a, folder: a.astype(np.float32),
    "long double": lambda a, folder: a.astype(np.longdouble),
    "objects": lambda a, folder: a.astype(object),
    "csr_array": lambda a, folder: sp.csr_array(a),
    "csr_matrix": lambda a, folder: sp.csr_matrix(a),
    "csc_array": lambda a, folder: sp.csc_array(a),
    "csc_matrix": lambda a, folder: sp.csc_matrix(a),
    "coo_array": lambda a, folder: sp.coo_array(a),
    "coo_matrix": lambda a, folder: sp.coo_matrix(a),
    "lil_array": lambda a, folder: sp.lil_array(a),
    "csr, int64 indices": lambda a, folder: wide_indices(sp.csr_array(a)),
    "csr, float32": lambda a, folder: sp.csr_array(a.astype(np.float32)),
    "csr, int8": lambda a, folder: sp.csr_array(a.astype(np.int8)),
    "csr, int64": lambda a, folder: sp.csr_array(a.astype(np.int64)),
    "csr, float16": lambda a, folder: with_data(sp.csr_array(a), np.float16),
    "csc, float16": lambda a, folder: with_data(sp.csc_array(a), np.float16),
    "csr, long double": lambda a, folder: sp.csr_array(a.astype(np.longdouble)),
    "csr, other byte order": lambda a, folder: with_data(sp.csr_array(a), ">f8"),
    "csr, read-only": lambda a, folder: read_only_csr(sp.csr_array(a)),
    "csr, repeated entries": lambda a, folder: repeated_entries(sp.csr_array(a)),
    "dok_array": lambda a, folder: sp.dok_array(a),
    "bsr_array": lambda a, folder: sp.bsr_array(a),
    "masked array without masked values": lambda a, folder: np.ma.masked_array(a, mask=False),
    "fractions": lambda a, folder: np.vectorize(Fraction)(a),
    "csr, unsorted": lambda a, folder: sp.csr_array(a[:, ::-1])[:, ::-1],
}


@every_value(loss=["hinge", "logistic"], name=CONTAINERS)
def test_whatever_holds_the_rows(name, loss, tmp_path):
    rows = CONTAINERS[name](SMALL.astype(np.float64), tmp_path)
    plain = LinearClassifier(loss=loss, tol=1e-10).fit(SMALL.astype(np.float64), SIGNS)
    model = LinearClassifier(loss=loss, tol=1e-10).fit(rows, SIGNS)
    assert model.coef_ == pytest.approx(plain.coef_, abs=1e-4)
    assert model.certificate_.objective == pytest.approx(plain.certificate_.objective, rel=1e-9)
    assert model.decision_function(rows) == pytest.approx(plain.decision_function(SMALL), abs=1e-3)


class Tensor:
    """What torch's tensors of bfloat16 are asked for."""

    dtype = "torch.bfloat16"
    shape = SMALL.shape

    def __init__(self, bits):
        self.bits = bits

    def detach(self):
        return self

    cpu = detach

    def view(self, kind):
        return Tensor(self.bits.view(kind))

    def numpy(self):
        return self.bits


def test_tensors_of_bfloat16(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(int16=np.int16))
    tensor = Tensor(SMALL.astype(bfloat16))
    model = LinearSVM(tol=1e-10).fit(tensor, SIGNS)
    assert model.coef_.tobytes() == LinearSVM(tol=1e-10).fit(SMALL.astype(bfloat16), SIGNS).coef_.tobytes()
    assert (model.predict(tensor) == model.predict(SMALL)).all()
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)  # as if it were not installed
    with pytest.raises(InvalidInput, match=r"pip install ml_dtypes\), or give .* X.float\(\)"):
        LinearSVM().fit(tensor, SIGNS)


def test_columns_of_truth_values():
    truth = SMALL > 0
    as_numbers = LinearSVM(tol=1e-10).fit(truth.astype(float), SIGNS)
    assert LinearSVM(tol=1e-10).fit(truth, SIGNS).coef_ == pytest.approx(as_numbers.coef_, abs=1e-6)
    sparse = LinearSVM(tol=1e-10).fit(sp.csr_array(truth), SIGNS)
    assert sparse.coef_ == pytest.approx(as_numbers.coef_, abs=1e-6)


def test_repeated_entries_add_up():
    matrix = sp.csr_array((np.ones(4), [0, 0, 1, 1], [0, 2, 3, 4]), shape=(3, 2))
    model = LinearSVM(tol=1e-12).fit(matrix, [1, -1, -1])
    dense = LinearSVM(tol=1e-12).fit([[2.0, 0.0], [0.0, 1.0], [0.0, 1.0]], [1, -1, -1])
    assert model.coef_ == pytest.approx(dense.coef_, abs=1e-9)
    assert matrix.nnz == 4  # the caller's matrix is left as it was


def test_the_data_are_left_alone():
    before = SMALL.astype(np.float64)
    rows, labels, weight = before.copy(), SIGNS.copy(), np.arange(200.0)
    LinearSVM().fit(rows, labels, weight)
    assert rows.tobytes() == before.tobytes()
    assert labels.tobytes() == SIGNS.tobytes()
    assert weight.tolist() == list(range(200))


PEAK_OF_A_FIT = """
    import resource, sys
    import numpy as np
    from maxmargin import LinearSVM, LogisticRegression

    def peak():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)

    estimator = {"svm": LinearSVM, "logistic": LogisticRegression}[sys.argv[1]]
    random = np.random.default_rng(0)
    small = random.normal(size=(500, 4))
    estimator().fit(small, small[:, 0] > 0)  # loads what a fit loads
    X = np.empty((60_000, 250), dtype=np.float32, order=sys.argv[2])
    for row in range(0, 60_000, 1000):
        X[row : row + 1000] = random.normal(size=(1000, 250))
    y = X[:, :5].sum(axis=1) + 1 > 0
    before = peak()
    estimator(tol=0.05).fit(X, y)
    print((peak() - before) / X.nbytes)
"""


@pytest.mark.slow
@pytest.mark.parametrize(("name", "order"), [("svm", "C"), ("logistic", "F")])
def test_a_fit_makes_no_copy_of_the_rows(name, order):
    command = [sys.executable, "-c", textwrap.dedent(PEAK_OF_A_FIT), name, order]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    assert float(result.stdout) < 0.3


def test_three_classes_in_tools():
    rows, labels = load_iris(return_X_y=True)
    scores = cross_val_score(LogisticRegression(), rows, labels, scoring="roc_auc_ovr", cv=3)
    assert scores.min() > 0.9
