"""Beside the real LIBLINEAR: its model files, its problems, its predictions."""

import ctypes

import numpy as np
import pytest
from covering import every_value
from liblinear.liblinearutil import load_model as load_theirs
from liblinear.liblinearutil import parameter
from liblinear.liblinearutil import predict as predict_theirs
from liblinear.liblinearutil import problem as their_problem
from liblinear.liblinearutil import save_model as save_theirs
from liblinear.liblinearutil import train as train_theirs
from scipy.sparse import csr_matrix

from maxmargin import certify, load_model, save_data, save_model
from maxmargin.data import Data
from maxmargin.datasets import breast_cancer, iris
from maxmargin.errors import InvalidInput, InvalidParameter
from maxmargin.fit.train import fit_linear
from maxmargin.interop.liblinear import (
    LiblinearProblem,
    as_file,
    cross_validated,
    doubling,
    fit_as_liblinear,
    search_for_C,
    smallest_C,
)
from maxmargin.io.liblinear import CLASSIFIERS, read_liblinear_model, write_liblinear_model
from maxmargin.model.liblinear import LOSSES, from_liblinear, problem_of_liblinear, to_liblinear

SOLVERS = {CLASSIFIERS[name]: name for name in CLASSIFIERS}
# LIBLINEAR's -e, with which little is left; C is small below, for its dual solvers end after 300 sweeps.
TIGHT = {0: 1e-8, 1: 1e-10, 2: 1e-8, 3: 1e-10, 7: 1e-10}


def two_classes():
    data = breast_cancer()
    X = (data.X - data.X.mean(axis=0)) / data.X.std(axis=0)
    return Data(csr_matrix(X), np.where(data.y == "malignant", 1.0, -1.0))


def three_classes():
    data = iris()
    labels = {name: number for number, name in enumerate(data.classes.tolist(), start=3)}
    y = np.array([float(labels[name]) for name in data.y])
    order = np.random.RandomState(3).permutation(len(y))  # so that the labels do not come in order
    return Data(csr_matrix(data.X[order]), y[order])


DATA = {2: two_classes(), 3: three_classes()}


def theirs(data, options):
    ctypes.CDLL(None).srand(1)  # its sweeps draw their order there; some orders do not get far enough
    return train_theirs(their_problem(data.y, data.X, bias=bias_of(options)), parameter(f"{options} -q"))


def bias_of(options):
    words = options.split()
    return float(words[words.index("-B") + 1]) if "-B" in words else -1.0


def their_labels(model, data):
    labels, _, scores = predict_theirs([], data.X, model, "-q")
    return np.array(labels), np.array(scores)


def our_problem(s, **settings):
    return LiblinearProblem(SOLVERS[s], LOSSES[SOLVERS[s]], **settings)


# ---------------------------------------------------------------- files


@every_value(s=[0, 1, 3], bias=[-1.0, 0.5], n_classes=[2, 3])
def test_liblinear_reads_what_we_write(tmp_path, n_classes, bias, s):
    data = DATA[n_classes]
    wanted = our_problem(s, C=0.5, bias=bias)
    model = fit_as_liblinear(wanted, data)
    write_liblinear_model(tmp_path / "ours.model", as_file(wanted, model, data))
    labels, scores = their_labels(load_theirs(str(tmp_path / "ours.model")), data)
    np.testing.assert_array_equal(labels, model.predict(data.X))
    own = read_liblinear_model(tmp_path / "ours.model")
    np.testing.assert_allclose(scores, data.X @ own.coef.T + own.intercept, rtol=0, atol=1e-12)


@every_value(loss=["hinge", "squared_hinge", "logistic"], n_classes=[2, 3])
def test_liblinear_predicts_as_our_own_models(tmp_path, n_classes, loss):
    data = DATA[n_classes]
    model = fit_linear(data.X, data.y, loss=loss, multi_class="one_vs_rest")  # with a free offset
    write_liblinear_model(tmp_path / "ours.model", to_liblinear(model))
    labels, _ = their_labels(load_theirs(str(tmp_path / "ours.model")), data)
    np.testing.assert_array_equal(labels, model.predict(data.X))


@every_value(s=[0, 1, 2, 3, 4, 5, 6, 7], n_classes=[2, 3])
def test_we_read_what_liblinear_writes(tmp_path, n_classes, s):
    data = DATA[n_classes]
    trained = theirs(data, f"-s {s} -B 2 -e 0.01")
    save_theirs(str(tmp_path / "theirs.model"), trained)
    model = from_liblinear(read_liblinear_model(tmp_path / "theirs.model"))
    labels, scores = their_labels(trained, data)
    np.testing.assert_array_equal(model.predict(data.X), labels)
    if n_classes == 3:
        order = np.argsort(trained.get_labels())
        np.testing.assert_allclose(model.scores(data.X), scores[:, order], rtol=0, atol=1e-12)


def test_files_agree_to_the_letter(tmp_path):
    save_theirs(str(tmp_path / "theirs.model"), theirs(DATA[3], "-s 3 -B 1"))
    write_liblinear_model(tmp_path / "ours.model", read_liblinear_model(tmp_path / "theirs.model"))
    assert (tmp_path / "ours.model").read_bytes() == (tmp_path / "theirs.model").read_bytes()


# ---------------------------------------------------------------- problems


def judged(model, data, wanted):
    """Return how far a LIBLINEAR model of either origin is above the optimum, as a share of it."""
    stated = problem_of_liblinear(model, wanted.C, wanted.class_weight, free_bias=wanted.free_bias)
    return certify(stated, data.X, data.y, tol=1e-7).relative_gap


@every_value(s=[0, 1, 2, 3, 7], bias=[-1.0, 2.0], n_classes=[2, 3])
def test_the_same_optimum(tmp_path, n_classes, bias, s):
    data = DATA[n_classes]
    wanted = our_problem(s, C=0.01, bias=bias, tol=1e-6)
    model = fit_as_liblinear(wanted, data)
    assert model.certificate.relative_gap <= 1e-6
    assert judged(as_file(wanted, model, data), data, wanted) <= 1.2e-6
    save_theirs(str(tmp_path / "theirs.model"), theirs(data, f"-s {s} -c 0.01 -B {bias} -e {TIGHT[s]}"))
    found = read_liblinear_model(tmp_path / "theirs.model")
    assert judged(found, data, wanted) <= 1e-4


@pytest.mark.parametrize("n_classes", [2, 3])
def test_weights_of_classes_count_as_in_liblinear(tmp_path, n_classes):
    data = DATA[n_classes]
    weights = {1: 5.0} if n_classes == 2 else {4: 5.0, 5: 0.2}
    options = " ".join(f"-w{label} {weight}" for label, weight in weights.items())
    wanted = our_problem(3, C=0.01, bias=1.0, class_weight=weights, tol=1e-6)
    model = fit_as_liblinear(wanted, data)
    save_theirs(str(tmp_path / "theirs.model"), theirs(data, f"-s 3 -c 0.01 -B 1 -e 1e-10 {options}"))
    found = read_liblinear_model(tmp_path / "theirs.model")
    own = as_file(wanted, model, data)
    assert own.labels == found.labels
    assert judged(own, data, wanted) <= 1.2e-6
    assert judged(found, data, wanted) <= 1e-4
    # Without the weights it is another problem.
    assert judged(found, data, our_problem(3, C=0.01, bias=1.0)) > 1e-3


@pytest.mark.parametrize("s", [0, 2])
def test_a_free_bias_is_an_option_of_liblinear(tmp_path, s):
    data = DATA[2]
    wanted = our_problem(s, C=1.0, bias=1.0, free_bias=True, tol=1e-6)
    save_theirs(str(tmp_path / "theirs.model"), theirs(data, f"-s {s} -B 1 -R -e 1e-8"))
    found = read_liblinear_model(tmp_path / "theirs.model")
    assert judged(found, data, wanted) <= 1e-4
    own = as_file(wanted, fit_as_liblinear(wanted, data), data)
    assert judged(own, data, wanted) <= 1.2e-6
    np.testing.assert_allclose(own.weights, found.weights, atol=2e-3)


@pytest.mark.parametrize("s", [5, 6])
def test_other_penalties_are_not_certified(tmp_path, s):
    save_theirs(str(tmp_path / "theirs.model"), theirs(DATA[3], f"-s {s}"))
    found = read_liblinear_model(tmp_path / "theirs.model")
    with pytest.raises(InvalidParameter, match="not certified here"):
        problem_of_liblinear(found, 1.0)


# ---------------------------------------------------------------- folds and the search for C


def test_folds_judge_rows_that_the_fit_has_not_seen():
    data = DATA[2]
    share = cross_validated(our_problem(3, C=0.1, bias=1.0), data, 5) / data.n_rows
    # LIBLINEAR draws its folds by chance; a dozen rows of 569 is far beyond what that changes here.
    assert share == pytest.approx(train_theirs(data.y, data.X, "-s 3 -c 0.1 -B 1 -v 5 -q") / 100, abs=0.02)


def test_folds_with_weights_of_several_classes():
    right = cross_validated(our_problem(1, class_weight={4: 2.0}, bias=1.0), DATA[3], 5)
    assert 130 < right <= 150


def test_the_search_begins_where_liblinear_does(capfd):
    data = DATA[2]
    _, _, share = train_theirs(their_problem(data.y, data.X, bias=1), parameter("-C -s 2 -B 1"))
    tried = [line for line in capfd.readouterr().out.splitlines() if line.startswith("log2c")]
    first = 2.0 ** float(tried[0].split()[1])
    wanted = our_problem(2, bias=1.0)
    assert smallest_C(wanted, data) == first
    found = search_for_C(wanted, data, 5, None)
    assert found.Cs[0] == first
    assert found.Cs[-1] == 1024.0
    assert found.n_right[found.best] / data.n_rows == pytest.approx(share, abs=0.01)


def test_doubling_ends_where_liblinear_ends():
    assert list(doubling(100.0)) == [100.0, 200.0, 400.0, 800.0]
    assert list(doubling(5000.0)) == [1024.0]


def test_a_search_with_weights_of_several_classes_is_refused():
    with pytest.raises(InvalidParameter, match="-C with -wi"):
        search_for_C(our_problem(2, class_weight={4: 2.0}), DATA[3], 5, None)


# ---------------------------------------------------------------- certify, by the names of files


@pytest.fixture
def on_disk(tmp_path):
    """Rows as LIBSVM text, and LIBLINEAR's model of them with a weight of a class, as files."""
    data = DATA[3]
    save_data(data, tmp_path / "rows.svm")
    save_theirs(str(tmp_path / "theirs.model"), theirs(data, "-s 3 -c 0.5 -B 1 -w4 2"))
    return tmp_path / "theirs.model", tmp_path / "rows.svm"


def test_certify_reads_files(on_disk):
    model, rows = on_disk
    data = DATA[3]
    wanted = problem_of_liblinear(read_liblinear_model(model), 0.5, {4: 2.0})
    by_claim = certify(wanted, data.X, data.y)
    settings = {"C": 0.5, "class_weight": {4: 2.0}}
    for given in ((str(model), data), (model, rows), (model, data.X, data.y)):
        found = certify(*given, **settings)
        assert (found.objective, found.bound, found.problem) == (
            by_claim.objective,
            by_claim.bound,
            by_claim.problem,
        )
    assert found.problem == "hinge, C = 0.5, penalised offset, class weights"


def test_certify_reads_our_own_files(on_disk, tmp_path):
    _, rows = on_disk
    model = fit_linear(DATA[3].X, DATA[3].y, C=2.0)
    save_model(model, tmp_path / "ours.model")
    found = certify(tmp_path / "ours.model", rows)
    assert found.relative_gap <= 2e-4
    assert found.problem == "hinge (Crammer–Singer), C = 2, unpenalised offset"


def test_what_certify_is_told_of_files(on_disk):
    model, rows = on_disk
    for settings, message in [
        ({}, "does not say its C"),
        ({"C": 1, "loss": "hinge"}, "LiblinearModel has its own loss"),
        ({"C": 1, "y": DATA[3].y}, "leave y out"),
    ]:
        with pytest.raises(InvalidParameter, match=message):
            certify(model, rows, **settings)
    with pytest.raises(InvalidInput, match="y is missing"):
        certify(model, DATA[3].X, C=1)
    weighted = Data(DATA[3].X, DATA[3].y, sample_weight=np.ones(150))
    with pytest.raises(InvalidParameter, match="leave sample_weight out"):
        certify(model, weighted, C=1, sample_weight=np.ones(150))


def test_load_model_reads_liblinears_files(on_disk):
    model, _ = on_disk
    read = load_model(model)
    labels, _ = their_labels(load_theirs(str(model)), DATA[3])
    np.testing.assert_array_equal(read.predict(DATA[3].X), labels)
    assert read.C is None
    assert read.certificate is None


def test_a_model_with_a_free_bias_is_judged_by_naming_its_problem(tmp_path):
    data = DATA[2]
    save_theirs(str(tmp_path / "theirs.model"), theirs(data, "-s 0 -B 1 -R -e 1e-8"))
    named = {"loss": "logistic", "C": 1.0, "tol": 1e-6}
    assert certify(load_model(tmp_path / "theirs.model"), data, **named).relative_gap <= 1e-4
