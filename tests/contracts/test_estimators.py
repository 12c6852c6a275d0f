"""What a fit means: the problem of the lecture notes, solved and certified, in any form it is written."""

from concurrent.futures import ThreadPoolExecutor

import clarabel
import numpy as np
import pytest
import scipy.sparse as sp
from covering import every_value
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import SVC

from maxmargin import (
    C_from,
    ConvergenceWarning,
    LinearClassifier,
    LinearModel,
    LinearSVM,
    LogisticRegression,
    certify,
    train,
)
from maxmargin.solvers.choose import SOLVERS

ESTIMATORS = [LinearSVM(), LinearSVM(loss="squared_hinge"), LogisticRegression()]


def scaled(load):
    X, y = load(return_X_y=True)
    return (X - X.mean(axis=0)) / X.std(axis=0), y


CANCER, IRIS, WINE = scaled(load_breast_cancer), scaled(load_iris), scaled(load_wine)


def copy_of(estimator, **settings):
    return type(estimator)(**{**estimator.get_params(), **settings})


def clouds(n, share, distance, seed=0, d=4):
    random = np.random.default_rng(seed)
    y = np.where(np.arange(n) < share * n, 1, -1)
    return random.normal(size=(n, d)) + distance * (y[:, None] == 1), y


# ---------------------------------------------------------------- what is kept


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
@pytest.mark.parametrize(("X", "y"), [CANCER, WINE], ids=["two classes", "three classes"])
def test_fitted_attributes(estimator, X, y):
    model = copy_of(estimator, multi_class="one_vs_rest").fit(X, y)
    rows = 1 if len(set(y)) == 2 else 3
    assert model.coef_.shape == (rows, X.shape[1])
    assert model.intercept_.shape == model.margin_.shape == (rows,)
    assert model.intercept_interval_.shape == (rows, 2)
    assert (model.intercept_interval_[:, 0] <= model.intercept_).all()
    assert (model.intercept_ <= model.intercept_interval_[:, 1]).all()
    assert model.classes_.tolist() == sorted(set(y))
    assert model.margin_ == pytest.approx(1 / np.linalg.norm(model.coef_, axis=1))
    assert len(model.certificates_) == len(model.histories_) == rows
    assert model.certificate_ in model.certificates_
    assert model.certificate_.relative_gap == max(c.relative_gap for c in model.certificates_) <= model.tol
    assert "of the optimum" in str(model.certificate_) or "at the optimum" in str(model.certificate_)
    assert isinstance(model.n_iter_, int)
    assert model.n_iter_ >= 1
    assert len(model.history_) >= 1
    assert str(model.plan_).split(": ")[0] in {solver.title for solver in SOLVERS.values()}
    assert model.n_features_in_ == X.shape[1]
    assert model.score(X, y) > 0.95


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
def test_weights_are_in_double_precision_whatever_the_rows_are_in(estimator):
    X, y = CANCER
    for rows in (X.astype(np.float32), X.astype(np.float16), sp.csr_array(X.astype(np.float32))):
        model = copy_of(estimator).fit(rows, y)
        assert model.coef_.dtype == model.intercept_.dtype == np.float64
        assert certify(model, rows, y).objective == pytest.approx(model.certificate_.objective, rel=1e-12)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize(("X", "y"), [CANCER, WINE], ids=["two classes", "three classes"])
def test_support_vectors_make_the_weights(loss, X, y):
    model = LinearSVM(loss=loss, tol=1e-12).fit(X, y)
    assert model.dual_coef_.shape == (len(model.coef_), len(model.support_))
    assert model.dual_coef_ @ X[model.support_] == pytest.approx(model.coef_, abs=1e-5)
    assert model.dual_coef_.sum(axis=1) == pytest.approx(0, abs=1e-12)
    if loss == "hinge" and len(model.coef_) == 1:
        on_or_inside = np.flatnonzero(model.agreements(X, y) <= 1 + 1e-6)
        assert set(model.support_) <= set(on_or_inside)


def test_logistic_regression_has_no_support_vectors_and_says_why():
    model = LogisticRegression().fit(*CANCER)
    with pytest.raises(AttributeError, match="with the logistic loss every row has an influence"):
        model.support_  # noqa: B018
    assert not hasattr(model, "dual_coef_")
    hinge = LinearClassifier().fit(*CANCER)
    assert hasattr(hinge, "dual_coef_")
    assert not hasattr(hinge.set_params(loss="logistic").fit(*CANCER), "dual_coef_")


def test_before_fit():
    with pytest.raises(AttributeError, match="'coef_': it is not fitted yet, call fit first"):
        LinearSVM().coef_  # noqa: B018
    with pytest.raises(AttributeError, match="has no attribute 'coeff'$"):
        LinearSVM().coeff  # noqa: B018


# ---------------------------------------------------------------- the problem


def quadratic_program(X, y, C):
    """Solve min ½‖θ‖² + C Σ ξ, y(θ·x + θ₀) ≥ 1 − ξ, ξ ≥ 0 as it is written; return θ, θ₀, ξ."""
    n, d = X.shape
    P = sp.diags(np.concatenate([np.ones(d), np.zeros(1 + n)]), format="csc")
    q = np.concatenate([np.zeros(d + 1), np.full(n, C)])
    signed = sp.csc_matrix(y[:, None] * np.column_stack([X, np.ones(n)]))
    A = sp.bmat([[-signed, -sp.identity(n)], [None, -sp.identity(n)]], format="csc")
    b = np.concatenate([-np.ones(n), np.zeros(n)])
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-12
    solver = clarabel.DefaultSolver(P, q, A, b, [clarabel.NonnegativeConeT(2 * n)], settings)
    x = np.array(solver.solve().x)
    return x[:d], x[d], x[d + 1 :]


@pytest.mark.parametrize("C", [0.01, 1.0, 10.0])
def test_slacks_are_those_of_the_quadratic_program(C):
    X, y = CANCER[0], np.where(CANCER[1] == 1, 1, -1)
    theta, offset, xi = quadratic_program(X, y, C)
    model = LinearSVM(C, tol=1e-12).fit(X, y)
    assert model.coef_[0] == pytest.approx(theta, abs=1e-6)
    assert model.intercept_[0] == pytest.approx(offset, abs=1e-6)
    assert model.slacks(X, y) == pytest.approx(xi, abs=1e-5)  # S47


@pytest.mark.parametrize("share", [0.5, 0.01], ids=["1:1", "99:1"])
def test_the_offset_is_that_of_svc_also_far_from_the_origin(share):
    X, y = clouds(400, share, 2.5 if share < 0.1 else 1.0)
    theirs = SVC(kernel="linear", C=0.2, tol=1e-8).fit(X, y)
    for shift in (0.0, 1e3):
        ours = LinearSVM(C=0.2, tol=1e-11).fit(X + shift, y)
        assert ours.coef_ == pytest.approx(theirs.coef_, abs=1e-6)
        offset = ours.intercept_ + shift * ours.coef_.sum()
        assert offset == pytest.approx(theirs.intercept_, abs=1e-6)


@pytest.mark.filterwarnings("always::maxmargin.ConvergenceWarning")
def test_a_warning_does_not_claim_that_the_tolerance_was_reached(recwarn):
    for seed in range(30):  # where rounding is about as large as the tolerance
        X, y = clouds(500, 0.5, 1.3, seed)
        model = LinearSVM(tol=1e-12).fit(X + 1e3, y)
        assert len(recwarn) == 0 or model.certificate_.relative_gap > 1e-12
        assert all("reached the tolerance" not in str(warning.message) for warning in recwarn)
        recwarn.clear()


@pytest.mark.parametrize("loss", ["hinge", "logistic"])
def test_one_model_in_four_forms(loss):
    X, y = CANCER
    n, C = len(y), 0.5
    first = LinearClassifier(C, loss=loss, tol=1e-10).fit(X, y)
    mean, mean_without_half, total = 1 / (C * n), 1 / (2 * C * n), 1 / C  # λ of A9, of A7, of D26
    others = [
        LinearClassifier(lam=mean, loss=loss, tol=1e-10),
        LinearClassifier(C_from(mean_without_half, "mean_full", n), loss=loss, tol=1e-10),
        LinearClassifier(C_from(total, "sum_lambda"), loss=loss, tol=1e-10),
    ]
    for other in others:  # S29
        other.fit(X, y)
        assert other.coef_ == pytest.approx(first.coef_, rel=1e-9)
        assert other.certificate_.objective == pytest.approx(first.certificate_.objective, rel=1e-12)


def test_lam_counts_sample_weights_and_not_class_weights():
    X, y = CANCER
    weight = np.random.default_rng(0).integers(0, 4, size=len(y)).astype(float)
    by_lam = LinearSVM(lam=0.01, class_weight="balanced", tol=1e-8).fit(X, y, weight)
    by_C = LinearSVM(1 / (0.01 * weight.sum()), class_weight="balanced", tol=1e-8).fit(X, y, weight)
    assert by_lam.coef_ == pytest.approx(by_C.coef_, rel=1e-9)


def test_optimality_of_logistic_regression():
    X, y = CANCER
    C = 0.7
    model = LogisticRegression(C, tol=1e-14).fit(X, y)
    sign = np.where(y == 1, 1.0, -1.0)
    mistake = 1 - model.predict_proba(X)[np.arange(len(y)), y]
    labels = abs((sign * C * mistake).sum())
    features = np.abs((sign * C * mistake) @ X - model.coef_[0]).max()
    residuals = model.certificate_.residuals  # S36
    assert residuals["labels"] == pytest.approx(labels, abs=1e-12)
    assert residuals["features"] == pytest.approx(features, abs=1e-12)
    assert labels < 1e-8
    assert features < 1e-5
    with pytest.warns(ConvergenceWarning):
        rough = LogisticRegression(C, max_iter=2).fit(X, y).certificate_.residuals
    assert rough["features"] > 100 * residuals["features"]


@every_value(
    loss=["logistic", "squared_hinge"],
    offset=[{}, {"fit_intercept": False}, {"penalize_intercept": True}],
    shape=[(15, 30), (60, 4), (400, 30)],
)
def test_small_smooth_problems_are_solved_to_all_digits(loss, offset, shape):
    """Whatever tol is: weights are then repetitions to the digits that people compare."""
    random = np.random.default_rng(7)
    X = random.normal(size=shape)
    y, weight = random.integers(0, 3, size=shape[0]), random.integers(0, 4, size=shape[0])
    weighted = LinearClassifier(loss=loss, **offset).fit(X, y, weight)
    repeated = LinearClassifier(loss=loss, **offset).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(weighted.intercept_, repeated.intercept_, rtol=1e-9, atol=1e-11)


def test_liblinear_problem():
    X, y = clouds(200, 0.3, 1.5, seed=3)
    penalised = LinearSVM(penalize_intercept=True, intercept_scaling=2.0, tol=1e-12).fit(X + 5, y)
    lifted = LinearSVM(fit_intercept=False, tol=1e-12).fit(np.column_stack([X + 5, np.full(200, 2.0)]), y)
    assert penalised.coef_[0] == pytest.approx(lifted.coef_[0, :-1], abs=1e-6)
    assert penalised.intercept_[0] == pytest.approx(2 * lifted.coef_[0, -1], abs=1e-6)
    assert lifted.intercept_.tolist() == [0]


# ---------------------------------------------------------------- weights and classes


@every_value(
    **{"X, y": [CANCER, IRIS]}, estimator=ESTIMATORS, class_weight=[None, "balanced", {0: 3.0, 1: 0.5}]
)
def test_a_weight_means_repetition(X, y, estimator, class_weight):
    weight = np.random.default_rng(1).integers(0, 4, size=len(y))
    settings = {"class_weight": class_weight, "tol": 1e-12}
    weighted = copy_of(estimator, **settings).fit(X, y, weight)
    repeated = copy_of(estimator, **settings).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    objectives = [proof.objective for proof in weighted.certificates_]
    assert [proof.objective for proof in repeated.certificates_] == pytest.approx(objectives, rel=1e-11)
    assert weighted.coef_ == pytest.approx(repeated.coef_, abs=3e-6 * np.sqrt(max(objectives)))


def test_a_weight_of_zero_is_absence_also_of_a_class():
    X, y = IRIS
    without_two = LinearSVM(tol=1e-10).fit(X, y, sample_weight=(y != 2).astype(float))
    assert without_two.classes_.tolist() == [0, 1]
    removed = LinearSVM(tol=1e-10).fit(X[y != 2], y[y != 2])
    assert without_two.coef_ == pytest.approx(removed.coef_, abs=1e-6)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
def test_several_classes_are_separate_problems(estimator):
    X, y = WINE
    together = copy_of(estimator, tol=1e-6, multi_class="one_vs_rest").fit(X, y)
    for k, label in enumerate(together.classes_):
        alone = copy_of(estimator, tol=1e-6).fit(X, y == label)
        assert together.coef_[k].tobytes() == alone.coef_[0].tobytes()
        assert together.certificates_[k] == alone.certificate_
    assert "one class against the rest, 3 times" in str(together.plan_)
    theirs = OneVsRestClassifier(copy_of(estimator, tol=1e-6)).fit(X, y)
    assert together.predict(X).tolist() == theirs.predict(X).tolist()


@pytest.mark.parametrize("labels", [["no", "yes"], [False, True], [2.0, 7.0], [-5, 3], [10**15, 10**15 + 1]])
def test_labels_of_any_kind(labels):
    X, y = CANCER
    model = LinearSVM().fit(X, np.array(labels)[y])
    assert model.classes_.tolist() == labels
    assert set(model.predict(X)) == set(labels)
    assert model.coef_.tobytes() == LinearSVM().fit(X, y).coef_.tobytes()


def test_probabilities():
    for X, y in (CANCER, IRIS):
        model = LogisticRegression().fit(X, y)
        share = model.predict_proba(X)
        assert share.sum(axis=1) == pytest.approx(1, abs=1e-14)
        assert model.predict_log_proba(X) == pytest.approx(np.log(share), abs=1e-12)
        assert model.classes_[share.argmax(axis=1)].tolist() == model.predict(X).tolist()
    same = LinearClassifier(loss="logistic").fit(*IRIS)
    assert same.predict_proba(X).tobytes() == share.tobytes()


# ---------------------------------------------------------------- determinism, other faces


def bits(model):
    return model.coef_.tobytes(), model.intercept_.tobytes(), model.n_iter_, str(model.certificates_)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
def test_threads_change_no_bit(estimator):
    for X, y in (CANCER, WINE):
        alone = bits(copy_of(estimator, n_jobs=1).fit(X, y))
        assert all(bits(copy_of(estimator, n_jobs=n).fit(X, y)) == alone for n in (2, 3, -1, None))


def test_eight_fits_at_once_give_the_bits_of_one_after_another():
    jobs = [(copy_of(one, C=C), data) for one in ESTIMATORS for C in (0.1, 1.0) for data in (CANCER, WINE)]

    def fit(job):
        return bits(copy_of(job[0]).fit(*job[1]))

    one_after_another = [fit(job) for job in jobs]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(fit, jobs)) == one_after_another


def test_random_state_changes_the_order_and_not_the_model():
    draws = {"tol": 1e-9, "solver": "dual_descent"}
    first, second = (LogisticRegression(random_state=k, **draws).fit(*CANCER) for k in (1, 2))
    assert bits(first) != bits(second)
    assert bits(first) == bits(LogisticRegression(random_state=1, **draws).fit(*CANCER))
    assert first.coef_ == pytest.approx(second.coef_, abs=1e-3)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
def test_from_train_to_estimator_and_back(estimator):
    X, y = WINE
    fitted = copy_of(estimator, C=0.3).fit(X, y)
    model = train(X, y, C=0.3, loss=getattr(estimator, "loss", "logistic"))
    assert model.coef.tobytes() == fitted.coef_.tobytes()
    again = type(estimator).from_model(model)
    assert isinstance(again.to_model(), LinearModel)
    assert bits(again) == bits(fitted)
    assert again.get_params() == fitted.get_params()
    assert again.predict(X).tolist() == fitted.predict(X).tolist()


def test_from_model_wants_the_same_loss():
    with pytest.raises(ValueError, match="LinearSVM has hinge or squared_hinge loss; .*loss='logistic'"):
        LinearSVM.from_model(train(*CANCER, loss="logistic"))
    with pytest.raises(ValueError, match="LogisticRegression has logistic loss; .*loss='hinge'"):
        LogisticRegression.from_model(train(*CANCER))


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
def test_certify_confirms_the_fit(estimator):
    X, y = CANCER
    fitted = copy_of(estimator, class_weight="balanced").fit(X, y)
    assert str(fitted.certify(X, y)) == str(certify(fitted, X, y))
    with pytest.raises(ValueError, match="X has 3 features, but"):
        fitted.certify(X[:, :3], y)


def test_coefficients_set_by_hand_are_used():
    model = LinearSVM().fit(*CANCER)
    model.coef_ = -model.coef_
    model.intercept_ = -model.intercept_
    assert model.score(*CANCER) < 0.05


def test_coefficients_that_a_user_changed_are_used():
    X, y = load_iris(return_X_y=True)
    model = LinearSVM().fit(X, y)
    model.coef_ = np.zeros_like(model.coef_)
    model.intercept_ = np.array([0.0, 3.0, 1.0])
    assert set(model.predict(X)) == {1}
