"""Data are checked once and made into problems in one place, whoever asks."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp

from maxmargin import (
    HardMarginSVM,
    LinearSVM,
    LinearSVMCV,
    LogisticRegression,
    certify,
    guarantees,
    leave_one_out,
    regularization_path,
    reliability,
    suspects,
    train,
)
from maxmargin.core.objective import Objective
from maxmargin.errors import InvalidInput
from maxmargin.model.evaluation import evaluate
from maxmargin.model.prepare import prepare

RANDOM = np.random.default_rng(0)
X = RANDOM.standard_normal((60, 3))
X[:20, 0] += 6
X[20:40, 1] += 6
TWO = np.where(X[:, 0] > 3, "yes", "no")
THREE = np.repeat(["a", "b", "c"], 20)
WEIGHTS = RANDOM.integers(1, 4, 60).astype(float)


class CountedTable:
    """A table that counts how often somebody makes an array of it."""

    shape, ndim = X.shape, 2

    def __init__(self):
        self.n_checks = 0

    def __len__(self):
        return len(X)

    def __array__(self, dtype=None, copy=None):
        self.n_checks += 1
        return np.array(X, dtype=dtype)


class CountedMatrix(sp.csr_array):
    """A sparse matrix that counts how often somebody makes rows of it."""

    n_checks = 0

    def tocsr(self, copy=False):
        self.n_checks += 1
        return sp.csr_array((self.data, self.indices, self.indptr), shape=self.shape)


FITTED = {
    (name, kind): estimator(C=0.5).fit(X, y)
    for name, y in {"two": TWO, "three": THREE}.items()
    for kind, estimator in {"hinge": LinearSVM, "logistic": LogisticRegression}.items()
}

CALLS = {
    "fit": lambda rows, y, model: LinearSVM().fit(rows, y),
    "fit with weights": lambda rows, y, model: LinearSVM().fit(rows, y, sample_weight=WEIGHTS),
    "fit with probabilities": lambda rows, y, model: LinearSVM(calibrate="sigmoid").fit(rows, y),
    "train": lambda rows, y, model: train(rows, y, loss="logistic"),
    "hard margin": lambda rows, y, model: HardMarginSVM().fit(rows, y == y[0], sample_weight=WEIGHTS),
    "search by leave-one-out": lambda rows, y, model: LinearSVMCV(Cs=[0.1, 1.0], cv="loo").fit(rows, y),
    "predict": lambda rows, y, model: model.predict(rows),
    "score": lambda rows, y, model: model.score(rows, y),
    "decision_function": lambda rows, y, model: model.decision_function(rows),
    "predict_proba": lambda rows, y, model: FITTED["three", "logistic"].predict_proba(rows),
    "certify": lambda rows, y, model: certify(model, rows, y),
    "leave_one_out": lambda rows, y, model: leave_one_out(model, rows, y),
    "leave_one_out of settings": lambda rows, y, model: leave_one_out(LinearSVM(), rows, y),
    "path": lambda rows, y, model: regularization_path(rows, y, C_min=0.1, C_max=1.0),
    "suspects": lambda rows, y, model: suspects(model, rows, y),
    "guarantees": lambda rows, y, model: guarantees(model, rows, y),
    "evaluate": lambda rows, y, model: evaluate(FITTED["three", "logistic"].to_model(), rows, THREE),
    "reliability": lambda rows, y, model: reliability(FITTED["three", "logistic"], rows, THREE),
}


@pytest.mark.parametrize("table", [CountedTable, lambda: CountedMatrix(X)])
@pytest.mark.parametrize("y", [TWO, THREE], ids=["two classes", "three classes"])
@pytest.mark.parametrize("call", CALLS)
def test_the_rows_are_checked_once(call, y, table):
    rows = table()
    model = FITTED["two" if y is TWO else "three", "hinge"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        CALLS[call](rows, y, model)
    assert rows.n_checks == 1


@pytest.mark.parametrize("y", [TWO, THREE])
def test_rows_that_were_checked_are_taken_as_they_are(y):
    data = prepare(X, y, WEIGHTS, Objective("hinge"))
    again = prepare(data.rows, y, WEIGHTS, Objective("hinge"), threads=2)
    assert again.rows.X is data.rows.X
    assert again.rows.threads == 2
    assert [problem.cost.tolist() for problem in again.problems] == [WEIGHTS.tolist()] * len(again.problems)


def test_a_class_weight_counts_in_the_other_problems_or_not():
    weights = {"a": 2.0, "b": 3.0, "c": 1.0}
    of_rows = np.array([weights[label] for label in THREE])
    everywhere = prepare(X, THREE, WEIGHTS, Objective("hinge", C=0.5, class_weight=weights))
    alone = prepare(X, THREE, WEIGHTS, Objective("hinge", C=0.5, class_weight=weights, rest_weighs_one=True))
    for label, one, other in zip("abc", everywhere.problems, alone.problems, strict=True):
        assert (one.cost == 0.5 * of_rows * WEIGHTS).all()
        assert (other.cost == 0.5 * np.where(label == THREE, of_rows, 1.0) * WEIGHTS).all()


def test_balanced_classes_count_weights_or_rows():
    y = np.where(np.arange(60) < 20, "few", "many")
    weights = np.where(y == "few", 2.0, 1.0)  # as much of the one class as of the other
    by_weight = prepare(X, y, weights, Objective("hinge", class_weight="balanced"))
    by_rows = prepare(X, y, weights, Objective("hinge", class_weight="balanced", balances_weights=False))
    assert by_weight.problems[0].cost[y == "few"].sum() == by_weight.problems[0].cost[y == "many"].sum()
    assert by_rows.problems[0].cost[y == "few"].sum() == 2 * by_rows.problems[0].cost[y == "many"].sum()


def test_targets_at_another_cost_are_those_made_with_it():
    objective = Objective("hinge", C=1.0, class_weight={"a": 3.0}, rest_weighs_one=True)
    made = prepare(X, THREE, WEIGHTS, objective).targets.at(0.25)
    wanted = prepare(X, THREE, WEIGHTS, objective.at(0.25)).targets
    for positive in wanted.positives:
        assert (made.cost_against_rest(positive) == wanted.cost_against_rest(positive)).all()
    assert made.C == wanted.C


@pytest.mark.parametrize(
    ("data", "settings", "message"),
    [
        ((X, np.ones(60)), {}, "y holds only one class, 1.0; a classifier needs two."),
        (
            (X, TWO, TWO == "no"),
            {"asking": "certify"},
            "a weight above 0, no; certify needs two",
        ),
        ((X, TWO), {"model_classes": ["no", "perhaps"]}, "y has no, yes, the model no, perhaps"),
        ((X[:0], TWO[:0]), {}, r"Found array with 0 sample\(s\)"),
    ],
)
def test_data_without_two_classes_are_refused(data, settings, message):
    data = (*data, None)[:3]
    with pytest.raises(InvalidInput, match=message):
        prepare(*data, Objective("hinge"), **settings)
    if not settings:
        assert len(prepare(*data, Objective("hinge"), may_be_undetermined=True).targets.classes) < 2
