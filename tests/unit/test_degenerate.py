"""Models that are of no use are named as such, with what would help; useful ones are not."""

import warnings
from math import inf

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.datasets import load_iris

from maxmargin import (
    DegenerateModelWarning,
    LinearClassifier,
    LinearSVM,
    LinearSVMCV,
    LogisticRegression,
    load_model,
    regularization_path,
    report,
    save_model,
    train,
)
from maxmargin.fit import alternatives
from maxmargin.fit.train import fit_linear
from maxmargin.model.degenerate import degeneracy_of, in_pieces

RANDOM = np.random.default_rng(1)
NOISE = RANDOM.normal(size=(300, 3))
ILL = np.where(np.arange(300) < 6, "ill", "well")
FLOWERS, SPECIES = load_iris(return_X_y=True)
RARE = np.r_[0:50, 50:100, 100:104]  # four of the third species


def caught_in(fit):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = fit()
    return result, [entry.message for entry in caught if entry.category is DegenerateModelWarning]


@pytest.mark.parametrize(
    "fit",
    [
        lambda: train(NOISE, ILL),
        lambda: LinearSVM().fit(NOISE, ILL).to_model(),
        lambda: LinearSVM().fit(csr_matrix(NOISE), ILL).to_model(),
        lambda: LinearSVMCV(Cs=[0.01, 1.0], cv=2).fit(NOISE, ILL).to_model(),
    ],
)
def test_two_per_cent_of_positives(fit):
    """The optimum of the hinge is θ = 0 there, and is certified."""
    model, said = caught_in(fit)
    assert model.certificate.relative_gap <= 1e-4
    assert len(said) == 1
    assert "the model is of no use: θ = 0, and all 300 rows are predicted as well" in str(said[0])
    assert "class_weight='balanced' predicts both classes." in said[0].remedy
    assert (said[0].parameter, said[0].value) == ("class_weight", None)
    assert (model.degenerate.zero, model.degenerate.never) == (("ill", "well"), ("ill",))
    assert caught_in(lambda: train(NOISE, ILL, class_weight="balanced"))[1] == []


def test_the_warning_is_about_the_line_of_the_caller():
    with pytest.warns(DegenerateModelWarning) as caught:
        LinearSVM().fit(NOISE, ILL)
    assert caught[0].filename == __file__


@pytest.mark.parametrize("form", ["one_vs_rest", "softmax"])
def test_a_class_that_is_never_predicted(form):
    X, y = FLOWERS[RARE], SPECIES[RARE]
    model, said = caught_in(lambda: train(X, y, loss="logistic", multi_class=form, C=1e-3))
    predicted = set(model.predict(X).tolist())
    assert predicted != {0, 1, 2}
    assert model.degenerate.never == tuple(sorted({0, 1, 2} - predicted))
    tried = {one.parameter: one.n_predicted for one in model.degenerate.tried}
    balanced = train(X, y, loss="logistic", multi_class=form, C=1e-3, class_weight="balanced")
    larger = train(X, y, loss="logistic", multi_class=form, C=0.1)
    assert tried["class_weight"] == len(set(balanced.predict(X).tolist()))
    assert tried["C"] == len(set(larger.predict(X).tolist()))
    assert ("multi_class" in tried) == (form == "one_vs_rest")
    assert len(said) == 1
    assert "classes is predicted for no row (2)" in str(said[0])


@pytest.mark.parametrize("form", ["one_vs_rest", "softmax"])
def test_useful_models_are_left_alone(form):
    model, said = caught_in(lambda: LogisticRegression(multi_class=form).fit(FLOWERS, SPECIES))
    assert said == []
    assert model.to_model().degenerate is None


def test_no_false_alarms():
    """Given classifiers, one class in y, searches, and fits that were cut short."""
    weights = np.zeros((3, 4))
    fits = [
        lambda: LinearClassifier.from_parameters([0.0, 0.0], 1.0).predict(NOISE[:, :2]),
        lambda: LinearClassifier.from_parameters(weights, np.zeros(3), classes=[0, 1, 2]).predict(FLOWERS),
        lambda: train(NOISE, np.ones(300)),
        lambda: LinearSVMCV(Cs=[1e-8, 1.0], cv=3).fit(FLOWERS[50:], SPECIES[50:]),
        lambda: regularization_path(NOISE, ILL, Cs=[1e-8, 1e-4]),
        lambda: train(FLOWERS, SPECIES, max_iter=1),
        lambda: train(NOISE, ILL, sample_weight=np.where(ILL == "ill", 0.0, 1.0)),
    ]
    for fit in fits:
        assert caught_in(fit)[1] == []


def test_rows_without_weight_do_not_count():
    """The only rows that are predicted as ill weigh nothing."""
    X = np.vstack([NOISE, np.full((3, 3), 50.0)])
    labels = np.append(ILL, ["ill"] * 3)
    weight = np.append(np.ones(300), np.zeros(3))
    model, said = caught_in(lambda: train(X, labels, sample_weight=weight, C=0.01))
    assert model.degenerate.n_rows == 300
    assert len(said) == 1


def test_nothing_is_tried_beside_a_long_fit(monkeypatch):
    monkeypatch.setattr(alternatives, "CHEAP", -1.0)
    model, said = caught_in(lambda: train(NOISE, ILL))
    assert model.degenerate.tried == ()
    assert "Weights of the classes may help: class_weight='balanced'." in said[0].remedy
    assert "So may a larger C" in said[0].remedy


def test_what_does_not_help_is_said():
    """Without any information in the columns nothing helps."""
    X = np.zeros((40, 1))
    model, said = caught_in(lambda: train(X, np.arange(40) % 4 == 0, C=1.0))
    assert all(one.n_predicted == 1 for one in model.degenerate.tried)
    assert "Other columns may help" in str(said[0])


def test_a_larger_cost_is_told_as_lam_where_lam_was_given():
    model, said = caught_in(lambda: train(NOISE, ILL, lam=0.5, loss="logistic"))
    assert [one.parameter for one in model.degenerate.tried] == ["class_weight", "lam"]
    assert model.degenerate.tried[1].value == pytest.approx(0.005)
    assert len(said) == 1
    unregularised = np.repeat([[0.0], [1.0]], 20, axis=0)
    labels = np.arange(40) % 20 == 0
    model, _ = caught_in(lambda: train(unregularised, labels, loss="logistic", C=inf))
    assert [one.parameter for one in model.degenerate.tried] == ["class_weight"]


@pytest.mark.parametrize("loss", ["hinge", "logistic"])
@pytest.mark.parametrize("setting", ["C", "lam"])
def test_a_cost_far_too_small_is_named(loss, setting):
    """A hundred times next to nothing is nothing: the cost that is tried is at least 1."""
    tiny = {"C": 1e-12} if setting == "C" else {"lam": 1e12 / len(SPECIES)}
    model, said = caught_in(lambda: train(FLOWERS, SPECIES, loss=loss, **tiny))
    tried = {one.parameter: one for one in model.degenerate.tried}
    assert tried[setting].value == pytest.approx(1.0 if setting == "C" else 1 / len(SPECIES), rel=1e-2)
    assert tried[setting].n_predicted == 3
    assert f"{setting}={tried[setting].value} predicts all 3 classes." in said[0].remedy


def test_rows_on_disk(tmp_path):
    np.savez(tmp_path / "rows.npz", X=NOISE, y=ILL)
    model, said = caught_in(lambda: train(tmp_path / "rows.npz", memory="4GB"))
    assert model.degenerate.only == "well"
    assert len(said) == 1


def test_the_card_the_file_and_the_report(tmp_path):
    model, _ = caught_in(lambda: train(NOISE, ILL))
    assert "all 300 rows are predicted as well" in model._repr_html_()
    save_model(model, tmp_path / "a.model")
    read = load_model(tmp_path / "a.model")
    assert read.degenerate is None
    report(read, NOISE, ILL, path=tmp_path / "a.html", max_time=1)
    assert "The model is of no use: θ = 0" in (tmp_path / "a.html").read_text(encoding="utf-8")


def test_pieces_cover_all_rows_that_count():
    X, codes = np.arange(5000.0)[:, None], np.arange(5000) % 2
    present = np.arange(5000) % 3 > 0
    parts = [part[:, 0] for part, _ in in_pieces(X, codes, present, 2)]
    assert set(np.concatenate(parts[1:])) == set(np.flatnonzero(present))
    assert set(parts[0]) <= set(parts[1])


@pytest.mark.parametrize(
    ("settings", "hints"),
    [
        ({"multi_class": "one_vs_rest"}, ["multi_class='crammer_singer'", "loss='squared_hinge'"]),
        ({"loss": "logistic", "multi_class": "one_vs_rest"}, ["multi_class='softmax'", "larger C"]),
        ({"loss": "squared_hinge"}, ["class_weight='balanced'", "larger C"]),
    ],
)
def test_what_may_help_where_nothing_was_tried(settings, hints):
    model = fit_linear(FLOWERS[RARE], SPECIES[RARE], C=1e-9, tries=False, **settings)
    said = str(model.degenerate.warning(model))
    assert all(hint in said for hint in hints), said


def test_pieces_without_rows_say_nothing():
    model = train(NOISE, np.where(NOISE[:, 0] > 0, "yes", "no"))
    codes = (NOISE[:, 0] > 0).astype(int)
    assert degeneracy_of(model, [(NOISE[:0], codes[:0]), (NOISE, codes)], 300) is None
    assert degeneracy_of(model, [(NOISE[:0], codes[:0])], 0) is None
