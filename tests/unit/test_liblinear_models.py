"""LIBLINEAR's model files: what is read and written, and every way in which one can be wrong."""

import tracemalloc
from contextlib import suppress

import numpy as np
import pytest
from covering import each_row, every_value
from hypothesis import given, settings
from hypothesis import strategies as st

from maxmargin.errors import InvalidInput, MissingFile, ModelFileError, UnreadableFile
from maxmargin.fit.train import fit_linear
from maxmargin.io.liblinear import (
    LiblinearModel,
    is_liblinear_model,
    read_liblinear_model,
    write_liblinear_model,
)
from maxmargin.model.liblinear import from_liblinear, labels_in_order, to_liblinear
from maxmargin.model.model import LinearModel

TWO = """\
solver_type L2R_L1LOSS_SVC_DUAL
nr_class 2
label 1 -1
nr_feature 2
bias 2
w
0.5
-1e-3
0.25
"""
THREE = """\
solver_type L2R_LR
nr_class 3
label 7 -2 4
nr_feature 1
bias -1
w
0.5 1 -2
"""


@pytest.fixture
def written(tmp_path):
    def write(text):
        path = tmp_path / "a.model"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


def test_two_classes_with_a_bias(written):
    model = read_liblinear_model(written(TWO))
    assert (model.solver_type, model.labels, model.bias) == ("L2R_L1LOSS_SVC_DUAL", (1, -1), 2.0)
    assert (model.n_columns, model.coef.tolist(), model.intercept.tolist()) == (2, [[0.5, -1e-3]], [0.5])


def test_three_classes_without_a_bias(written):
    model = read_liblinear_model(written(THREE))
    assert (model.labels, model.bias, model.n_columns) == ((7, -2, 4), -1.0, 1)
    assert (model.coef.tolist(), model.intercept.tolist()) == ([[0.5], [1.0], [-2.0]], [0.0, 0.0, 0.0])


def test_spaces_and_line_ends_are_free_as_in_liblinear(written):
    loose = TWO.replace("\n", " \r\n\n").replace("0.5 \r\n\n-1e-3", "  0.5\t-1e-3")
    np.testing.assert_array_equal(
        read_liblinear_model(written(loose)).weights, read_liblinear_model(written(TWO)).weights
    )


@settings(max_examples=60)
@given(
    values=st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=12),
    labels=st.lists(st.integers(-(2**31), 2**31 - 1), min_size=1, max_size=4, unique=True),
    bias=st.sampled_from([-1.0, 0.0, 1.0, 0.1]),
    solver_type=st.sampled_from(["L2R_LR", "MCSVM_CS", "L1R_L2LOSS_SVC"]),
)
def test_the_same_numbers_come_back(tmp_path_factory, values, labels, bias, solver_type):
    n_scores = 1 if len(labels) == 2 and solver_type != "MCSVM_CS" else len(labels)
    weights = np.resize(np.array(values), (2 + (bias >= 0), n_scores))
    path = tmp_path_factory.getbasetemp() / "round.model"
    write_liblinear_model(path, LiblinearModel(solver_type, tuple(labels), bias, weights))
    model = read_liblinear_model(path)
    assert (model.solver_type, model.labels, model.bias) == (solver_type, tuple(labels), bias)
    assert model.weights.tobytes() == weights.tobytes()


@each_row(
    ("was", "now", "message"),
    [
        (
            "nr_class 2",
            "nr_class two",
            'line 2: expected a whole number of 32 bits after nr_class, found "two"',
        ),
        ("nr_class 2", "nr_class 0", "line 2: expected a positive number after nr_class, found 0"),
        ("nr_class 2", "nr_class 3", "line 6: nr_class is 3, with 2 labels"),
        ("nr_class 2\n", "", "line 5: nr_class is missing above this line"),
        ("nr_class 2", "nr_class 2\nnr_class 2", "line 3: nr_class is there for the second time"),
        ("nr_class 2", "nr_class", "line 2: expected one value after nr_class, found 0"),
        ("label 1 -1", "label 1 1", "line 3: a label is there for the second time"),
        ("label 1 -1", "label 1 0.5", 'line 3: expected a whole number of 32 bits after label, found "0.5"'),
        ("label 1 -1", "label 1 3000000000", "line 3: expected a whole number of 32 bits after label, found"),
        ("bias 2", "bias nan", 'line 5: expected a finite number after bias, found "nan"'),
        ("bias 2", "bias 1\nrho 1", "line 6: rho belongs to one-class detection"),
        ("bias 2", "basis 1", "line 5: expected one of solver_type, nr_class, label, nr_feature, bias or w"),
        ("L2R_L1LOSS_SVC_DUAL", "ONECLASS_SVM", "line 1: ONECLASS_SVM is a model of one-class detection"),
        ("L2R_L1LOSS_SVC_DUAL", "L2R_L2LOSS_SVR", "line 1: L2R_L2LOSS_SVR is a model of regression"),
        ("L2R_L1LOSS_SVC_DUAL", "L3R", 'line 1: unknown solver_type "L3R"'),
        ("-1e-3", "-1e-3x", 'line 8: expected a finite number, found "-1e-3x"'),
        ("-1e-3", "inf", 'line 8: expected a finite number, found "inf"'),
        ("-1e-3", "1_0", 'line 8: expected a finite number, found "1_0"'),
        ("-1e-3", "é", "line 8: expected a finite number, found"),
        (
            "0.25\n",
            "",
            "the file is cut short: its heading promises 3 lines of weights with 1 number(s) each",
        ),
        ("0.25\n", "0.25\n7", "the file has too much in it"),
        ("w\n0.5\n-1e-3\n0.25\n", "", "the file is cut short: there is no line w"),
        ("solver_type", "svm_type", "not a LIBLINEAR model file"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(written, was, now, message):
    path = written(TWO.replace(was, now, 1))
    with pytest.raises(ModelFileError) as caught:
        read_liblinear_model(path)
    assert f"{path}, {message}" in str(caught.value) or f"{path}: {message}" in str(caught.value)


def test_files_that_are_not_there(tmp_path):
    with pytest.raises(MissingFile):
        read_liblinear_model(tmp_path / "none.model")
    with pytest.raises(UnreadableFile):
        read_liblinear_model(tmp_path)


@pytest.mark.parametrize("promise", ["nr_feature 1152921504606846976", "nr_feature 2147483647"])
def test_a_small_file_cannot_ask_for_much_memory(written, promise):
    path = written(TWO.replace("nr_feature 2", promise))
    tracemalloc.start()
    try:
        with pytest.raises(ModelFileError, match="32 bits|cut short"):
            read_liblinear_model(path)
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()


@settings(max_examples=300)
@given(
    place=st.integers(0, len(TWO) - 1),
    length=st.integers(0, 8),
    inserted=st.one_of(
        st.binary(max_size=8), st.sampled_from([b"\n", b" ", b"-", b"9" * 400, b"w\n", b"e9"])
    ),
)
def test_damaged_files_are_refused_or_read_but_never_crash(tmp_path_factory, place, length, inserted):
    content = TWO.encode()
    path = tmp_path_factory.getbasetemp() / "damaged.model"
    path.write_bytes(content[:place] + inserted + content[place + length :])
    with suppress(ModelFileError):
        model = read_liblinear_model(path)
        assert np.isfinite(model.weights).all()
        assert model.weights.shape[1] == (1 if len(model.labels) == 2 else len(model.labels))


@settings(max_examples=100)
@given(st.binary(max_size=200))
def test_any_bytes_are_refused_or_read(tmp_path_factory, content):
    path = tmp_path_factory.getbasetemp() / "any.model"
    path.write_bytes(b"solver_type " + content)
    with suppress(ModelFileError):
        read_liblinear_model(path)


def test_what_liblinear_would_not_read_is_not_written(tmp_path):
    path = tmp_path / "a.model"
    good = LiblinearModel("L2R_LR", (1, -1), -1.0, np.ones((3, 1)))
    for wrong, message in [
        ({"solver_type": "ONECLASS_SVM"}, "no classifier"),
        ({"labels": (2**31, 1)}, "32 bits"),
        ({"labels": (1, 1)}, "different labels"),
        ({"weights": np.ones((3, 2))}, "1 number"),
        ({"weights": np.array([[np.nan]])}, "finite"),
    ]:
        with pytest.raises(InvalidInput, match=message):
            write_liblinear_model(path, LiblinearModel(**{**vars(good), **wrong}))
        assert not path.exists()


def test_its_beginning_tells():
    assert is_liblinear_model(TWO.encode())
    assert is_liblinear_model(b"\n  solver_type\tL2R_LR")
    assert not is_liblinear_model(b"solver_types L2R_LR")
    assert not is_liblinear_model(b"")


# ---------------------------------------------------------------- beside our own models


@every_value(bias=[-1.0, 1.0, 3.0], labels=[(1, -1), (-1, 1), (3, 5), (7, -2, 4), (9,)])
def test_there_and_back(labels, bias):
    weights = np.random.default_rng(0).normal(size=(4, 1 if len(labels) == 2 else len(labels)))
    found = LiblinearModel("L2R_L1LOSS_SVC_DUAL", labels, bias, weights)
    model = from_liblinear(found)
    assert model.classes.tolist() == sorted(labels)
    assert model.C is None
    assert model.certificate is None
    back = to_liblinear(model, labels=labels, solver_type=found.solver_type, bias=bias)
    assert (back.labels, back.bias, back.solver_type) == (labels, bias, found.solver_type)
    np.testing.assert_allclose(back.weights, weights, rtol=1e-15)


def test_predictions_of_crammer_and_singer(written):
    text = TWO.replace("L2R_L1LOSS_SVC_DUAL", "MCSVM_CS").replace("0.5\n-1e-3\n0.25", "0.5 0\n0 1\n0.25 0")
    model = from_liblinear(read_liblinear_model(written(text)))
    assert model.predict([[1.0, 0.0], [0.0, 1.0]]).tolist() == [1.0, -1.0]


def test_labels_come_in_liblinears_order():
    assert labels_in_order(np.array([2.0, 0.0, 2.0, 1.0])) == (2, 0, 1)
    assert labels_in_order(np.array([-1.0, 1.0, 1.0])) == (1, -1)
    assert labels_in_order(np.array([0.0, 1.0])) == (0, 1)


@pytest.mark.parametrize(
    ("classes", "message"),
    [(np.array(["a", "b"]), 'whole numbers as labels; got "a"'), (np.array([0.5, 1.0]), "got 0.5")],
)
def test_labels_that_liblinear_cannot_hold(classes, message):
    with pytest.raises(InvalidInput, match=message):
        to_liblinear(LinearModel(np.ones((1, 2)), np.zeros(1), classes))


def test_losses_that_liblinear_has_not():
    model = LinearModel(np.ones((1, 2)), np.zeros(1), np.array([0, 1]), loss="exponential")
    with pytest.raises(InvalidInput, match="no exponential loss"):
        to_liblinear(model)


def test_softmax_is_not_liblinears():
    """Its logistic models are one class against the rest: it would compute other probabilities."""
    model = LinearModel(
        np.ones((3, 2)), np.zeros(3), np.array([1, 2, 3]), loss="logistic", multi_class="softmax"
    )
    with pytest.raises(InvalidInput, match="LIBLINEAR has no softmax: .* multi_class='one_vs_rest'"):
        to_liblinear(model)


def test_one_problem_of_all_classes_there_and_back():
    random = np.random.default_rng(0)
    coef, intercept = random.normal(size=(3, 4)), random.normal(size=3)
    model = LinearModel(coef, intercept, np.array([1, 5, 9]), multi_class="crammer_singer")
    found = to_liblinear(model)
    assert found.solver_type == "MCSVM_CS"
    again = from_liblinear(found)
    assert again.multi_class == "crammer_singer"
    np.testing.assert_allclose(again.coef, coef)
    two = LinearModel(coef[:1], intercept[:1], np.array([1, 5]), loss="hinge")
    pair = to_liblinear(two, solver_type="MCSVM_CS")
    assert pair.weights.shape == (5, 2)
    np.testing.assert_allclose(from_liblinear(pair).coef, coef[:1])
    np.testing.assert_allclose(from_liblinear(pair).intercept, intercept[:1])


def test_the_offset_finds_its_bias():
    X, y = [[0.0], [1.0], [3.0], [4.0]], [-1, -1, 1, 1]
    assert to_liblinear(fit_linear(X, y)).bias == 1.0
    assert to_liblinear(fit_linear(X, y, fit_intercept=False)).bias == -1.0
    penalised = to_liblinear(fit_linear(X, y, penalize_intercept=True, intercept_scaling=4.0))
    assert penalised.bias == 4.0
