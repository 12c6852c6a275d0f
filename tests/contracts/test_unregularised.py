"""Maximum likelihood: logistic regression without a regulariser, C = inf or lam = 0 (S22, S23, S36)."""

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse as sp
from covering import every_pair
from reference.likelihood import Likelihood, separated_rows
from reference.likelihood_tasks import KINDS, TASKS, grid_task, overlapping, with_useless_columns
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.linear_model import LogisticRegression as PeerRegression
from sklearn.linear_model import SGDClassifier

from maxmargin import LogisticRegression, certify, load_model, save_data, save_model, train
from maxmargin.cli.program import main
from maxmargin.core.certificate.newton_decrement import MOST_COLUMNS
from maxmargin.core.solution import Status
from maxmargin.data import Data
from maxmargin.errors import ConvergenceWarning, InvalidParameter, NoFiniteOptimum

# ---------------------------------------------------------------- fits


def settings_of(kind, scale=1.0):
    return {
        "loss": "logistic",
        "fit_intercept": kind != "none",
        "penalize_intercept": kind == "penalized",
        "intercept_scaling": scale,
    }


def fit(task, X=None, **settings):
    rows = task.X if X is None else X
    choice = {"C": np.inf, "tol": 1e-10, **settings_of(task.kind, task.scale), **settings}
    return train(rows, task.sign, sample_weight=task.cost, **choice)


def value_of(task, model):
    v = model.coef[0] if task.kind == "none" else np.append(model.coef[0], model.intercept[0])
    return float(task.value(v))


@every_pair(name=TASKS, kind=KINDS)
def test_fits_reach_the_optimum(name, kind):
    task = TASKS[name](kind)
    best = float(task.optimum())
    for storage in (task.X, sp.csr_array(task.X), np.asfortranarray(task.X)):
        model = fit(task, storage)
        assert model.certificate.kind == "newton-decrement"
        assert model.certificate.relative_gap <= 1e-10
        assert value_of(task, model) == pytest.approx(best, rel=1e-10)
        assert model.status is Status.SOLVED
        assert model.support is None
        assert model.certificate.residuals["features"] <= 1e-4 * task.cost.sum() * np.abs(task.X).max()


def test_the_weights_are_those_of_others():
    """SciPy's and scikit-learn's optimum, on real columns that overlap."""
    X, y = load_breast_cancer(return_X_y=True)
    for columns in ([0, 1], [1, 5, 9, 11], [0, 1, 2, 3, 4], list(range(10))):
        rows = (X[:, columns] - X[:, columns].mean(axis=0)) / X[:, columns].std(axis=0)
        model = train(rows, y, loss="logistic", C=np.inf, tol=1e-10)
        task = Likelihood(rows, np.where(y == y.max(), 1, -1).astype(np.int8), np.ones(len(y)))
        found = scipy.optimize.minimize(
            lambda v, task=task: float(task.value(v)),
            np.zeros(len(columns) + 1),
            jac=lambda v, task=task: np.asarray(task.gradient(v), dtype=float),
            method="BFGS",
            options={"gtol": 1e-9, "maxiter": 5000},
        ).x
        v = found + task.newton_step(found)
        np.testing.assert_allclose(np.append(model.coef[0], model.intercept[0]), v.astype(float), rtol=1e-8)
        peer = PeerRegression(C=np.inf, solver="newton-cholesky", tol=1e-12, max_iter=1000).fit(rows, y)
        np.testing.assert_allclose(model.coef, peer.coef_, rtol=1e-5, atol=1e-8)


def test_a_weight_is_a_repetition_and_a_factor_changes_nothing():
    task = overlapping(14)
    often = np.repeat(np.arange(len(task.X)), (2 * task.cost).astype(int))
    one = fit(task, tol=1e-13)
    repeated = train(task.X[often], task.sign[often], loss="logistic", C=np.inf, tol=1e-13)
    np.testing.assert_allclose(one.coef, repeated.coef, rtol=1e-9)
    by_lam = fit(task, C=None, lam=0, tol=1e-13)
    np.testing.assert_array_equal(one.coef, by_lam.coef)
    assert np.inf == by_lam.C


def test_class_weights():
    task = overlapping(15)
    weighted = fit(task, class_weight={1: 3.0}, tol=1e-13)
    by_hand = Likelihood(task.X, task.sign, task.cost * np.where(task.sign > 0, 3.0, 1.0))
    np.testing.assert_allclose(weighted.coef, fit(by_hand, tol=1e-13).coef, rtol=1e-9)


def test_useless_columns_share_the_shortest_weights():
    """Of all optima the limit of the regularised ones is returned."""
    task = with_useless_columns("free")
    model = fit(task, tol=1e-13)
    assert model.coef[0, 1] == pytest.approx(model.coef[0, 4], rel=1e-9)
    assert abs(model.coef[0, 5]) < 1e-12  # the offset does what a constant column could
    assert model.coef[0, 6] == 0
    near = fit(task, C=1e7, tol=1e-12, solver="newton")
    np.testing.assert_allclose(model.coef, near.coef, atol=1e-5)
    np.testing.assert_allclose(model.intercept, near.intercept, atol=1e-5)


def test_three_classes_one_against_the_rest():
    random = np.random.default_rng(16)
    X, y = random.normal(size=(300, 3)), random.integers(3, size=300)
    model = LogisticRegression(C=np.inf, tol=1e-10, multi_class="one_vs_rest").fit(X, y)
    for k in range(3):
        alone = train(X, y == k, loss="logistic", C=np.inf, tol=1e-10)
        np.testing.assert_allclose(model.coef_[k], alone.coef[0], rtol=1e-9)
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1)


@pytest.mark.parametrize("overlap", [1e-3, 1e-6, 1e-9])
def test_a_small_overlap_is_fitted(overlap):
    X = np.array([[-1.0], [overlap], [0.0], [1.0 + overlap]])
    model = train(X, [-1, -1, 1, 1], loss="logistic", C=np.inf)
    assert model.certificate.relative_gap <= 1e-4
    assert model.coef[0, 0] > 0.8 * np.log(1 / overlap)


def test_the_same_model_for_any_number_of_threads():
    task = overlapping(17, n=3000, d=6)
    models = [fit(task, n_jobs=jobs) for jobs in (1, 2, 4)]
    for other in models[1:]:
        np.testing.assert_array_equal(models[0].coef, other.coef)
        assert models[0].certificate == other.certificate


# ---------------------------------------------------------------- no optimum, and other refusals


def test_grids_are_fitted_or_refused_rightly():
    for seed in range(90):
        task = grid_task(seed)
        expected, n_rows = separated_rows(task)
        if np.unique(task.sign[task.cost > 0]).size < 2:
            continue
        storage = sp.csr_array(task.X) if seed % 4 == 0 else task.X
        if expected == 0:
            assert value_of(task, fit(task, storage)) == pytest.approx(float(task.optimum()), rel=1e-9)
            continue
        with pytest.raises(NoFiniteOptimum) as raised:
            fit(task, storage)
        assert raised.value.n_separated == expected
        assert raised.value.kind == ("complete" if expected == n_rows else "quasi-complete")


@pytest.mark.parametrize(
    "settings", [{}, {"max_iter": 1}, {"max_iter": 3}, {"tol": 1e-1}, {"tol": 1e-13}], ids=str
)
def test_separable_data_are_refused_whatever_the_limits(settings):
    X = np.array([[0.0, 1.0], [1.0, -2.0], [1.0, 0.5], [2.0, 0.0], [1.0, 3.0]])
    with pytest.raises(NoFiniteOptimum, match=r"no maximum: .* Nothing was fitted\. Give a finite C"):
        train(X, [-1, -1, 1, 1, -1], loss="logistic", C=np.inf, **settings)
    estimator = LogisticRegression(C=np.inf, **settings)
    with pytest.raises(NoFiniteOptimum):
        estimator.fit(X, [-1, -1, 1, 1, -1])
    assert not hasattr(estimator, "coef_")


def test_several_classes_name_the_one_without_an_optimum():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(NoFiniteOptimum, match=r"class 0 against the rest: the likelihood .* \(150 rows\)"):
        train(X, y, loss="logistic", C=np.inf, multi_class="one_vs_rest")
    with pytest.raises(NoFiniteOptimum, match="class 0 against the rest"):
        certify(np.zeros((3, 4)), X, y, loss="logistic", lam=0, multi_class="one_vs_rest")


def test_few_columns_are_named():
    random = np.random.default_rng(24)
    X = random.normal(size=(200, 5))
    X[:, 3] = 0
    X[:4, 3] = 1
    y = random.choice([-1, 1], size=200)
    y[:4] = 1
    with pytest.raises(NoFiniteOptimum, match=r"of this error \(column 3, counted from 0\)") as raised:
        train(X, y, loss="logistic", C=np.inf)
    assert raised.value.n_separated == 4
    np.testing.assert_allclose(raised.value.direction, [0, 0, 0, 1, 0], atol=1e-12)


def test_more_columns_than_rows():
    random = np.random.default_rng(18)
    X = random.normal(size=(20, 60))
    with pytest.raises(NoFiniteOptimum) as raised:
        train(X, random.choice([-1, 1], size=20), loss="logistic", C=np.inf)
    assert raised.value.kind == "complete"
    wide = sp.csr_array((3, MOST_COLUMNS + 1))
    with pytest.raises(InvalidParameter, match="at most 4,096; X has 4,097. Give a finite C"):
        train(wide, [1, -1, 1], loss="logistic", C=np.inf)


def test_solvers_that_need_a_regulariser_name_one_that_does_not():
    task = overlapping(19)
    with pytest.raises(InvalidParameter, match="'dual_descent' needs a regulariser.*one of 'auto', 'newton'"):
        fit(task, solver="dual_descent")
    assert fit(task, solver="newton").plans[0].solver == "Newton"


def test_a_limit_is_told_without_a_bound():
    X = np.linspace(-3.0, 3.0, 40)[:, None]
    y = np.where(X[:, 0] > 0, 1, -1)
    y[[19, 20]] = y[[20, 19]]  # all but separable, which takes many steps
    with pytest.warns(
        ConvergenceWarning, match="no bound above 0 was found.* Raise max_iter, or give a finite C"
    ):
        model = train(X, y, loss="logistic", C=np.inf, max_iter=1)
    assert model.certificate.bound == 0
    task = overlapping(20)
    estimator = LogisticRegression(C=np.inf, max_iter=1, tol=1e-4, warm_start=True)
    with pytest.warns(ConvergenceWarning):
        estimator.fit(task.X, task.sign, task.cost)
    estimator.set_params(max_iter=None).fit(task.X, task.sign, task.cost)
    assert estimator.certificate_.relative_gap <= 1e-4
    estimator.set_params(C=1.0).fit(task.X, task.sign, task.cost)
    assert estimator.certificate_.kind == "duality"


# ---------------------------------------------------------------- around a fit


def test_files_and_estimators(tmp_path):
    task = overlapping(21)
    estimator = LogisticRegression(C=np.inf).fit(task.X, task.sign, task.cost)
    save_model(estimator, tmp_path / "likely.model")
    model = load_model(tmp_path / "likely.model")
    assert np.inf == model.C
    assert model.certificate == estimator.certificate_
    assert "logistic, unregularised, 4 columns" in repr(model)
    again = LogisticRegression.from_model(model)
    assert again.get_params()["C"] == np.inf
    np.testing.assert_array_equal(again.predict_proba(task.X), estimator.predict_proba(task.X))
    assert clone(estimator).get_params()["C"] == np.inf
    with pytest.raises(AttributeError, match="every row has an influence"):
        _ = estimator.support_
    assert certify(estimator, task.X, task.sign, sample_weight=task.cost).relative_gap <= 2e-4


def test_certify_judges_anybodys_likelihood():
    task = overlapping(22)
    model = fit(task, tol=1e-13)
    named = {"loss": "logistic", "sample_weight": task.cost}
    good = certify(model.coef, task.X, task.sign, intercept=model.intercept, lam=0, **named)
    assert good.relative_gap <= 1e-10
    assert "(logistic, unregularised, unpenalised offset, sample weights)" in str(good)
    bad = certify(2 * model.coef, task.X, task.sign, intercept=model.intercept, C=np.inf, **named)
    excess = float(task.value(np.append(2 * model.coef[0], model.intercept[0])) / task.optimum() - 1)
    assert bad.relative_excess <= excess * (1 + 1e-9)
    assert excess <= bad.relative_gap * (1 + 1e-9)
    assert bad.relative_gap - bad.relative_excess <= 1.1e-4
    assert str(bad).endswith("by the Newton decrement")
    for peer in (
        PeerRegression(C=np.inf, max_iter=1000),
        SGDClassifier(loss="log_loss", penalty=None, random_state=0),
    ):
        found = certify(peer.fit(task.X, task.sign), task.X, task.sign)
        assert "unregularised" in str(found)
        assert found.own.kind == "newton-decrement"


def test_the_command_line(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    task = overlapping(23)
    save_data(Data(task.X, task.sign), "drawn.svm")
    assert main(["train", "drawn.svm", "--loss", "logistic", "--C", "inf"]) == 0
    assert "logistic loss, unregularised, to 0.01 % of the optimum" in capsys.readouterr().out
    assert main(["train", "drawn.svm", "other.model", "--loss", "logistic", "--lam", "0"]) == 0
    first, second = load_model("drawn.model"), load_model("other.model")
    np.testing.assert_array_equal(first.coef, second.coef)
    save_data(Data(np.array([[0.0], [1.0]]), np.array([-1, 1])), "apart.svm")
    assert main(["train", "apart.svm", "--loss", "logistic", "--C", "inf"]) != 0
    assert "the likelihood has no maximum" in capsys.readouterr().err
