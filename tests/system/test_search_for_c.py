"""A search for C can be ended at any moment, and works inside scikit-learn's tools."""

import json
import pickle
import re
import signal
import subprocess
import sys
import textwrap

import numpy as np
import pandas
import pytest
import sklearn
from covering import each_row
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import get_scorer, make_scorer
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import maxmargin
from maxmargin import LinearSVMCV, LogisticRegressionCV

ESTIMATORS = [LinearSVMCV, LogisticRegressionCV]
CS = [0.01, 0.1, 1.0]
ENDLESS = {"tol": 1e-300, "max_iter": 10**9, "solver": "dual_descent"}


@pytest.fixture(scope="module")
def tumours():
    X, y = load_breast_cancer(return_X_y=True)
    return StandardScaler().fit_transform(X), y


@pytest.fixture(scope="module")
def hard():
    random = np.random.default_rng(0)
    y = random.integers(0, 2, size=5_000)
    return random.normal(size=(5_000, 20)) + 0.1 * y[:, None], y


def check_usable(model, X, y):
    assert np.isfinite(model.coef_).all()
    assert all(proof.is_finite for proof in model.certificates_)
    assert model.predict(X).shape == y.shape
    assert model.C_ in model.cv_results_["param_C"]


# ---------------------------------------------------------------- ended early


@pytest.fixture(scope="module")
def slow():
    """Rows for which sweeps are quick with a tiny C, and take seconds with a large one."""
    random = np.random.default_rng(0)
    y = random.integers(0, 2, size=3_000)
    return random.normal(size=(3_000, 300)) + 0.1 * y[:, None], y


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_max_time_tells_which_c_were_not_finished(slow, n_jobs):
    model = LinearSVMCV([1e-9, 1e-8, 10.0, 100.0], max_time=0.5, n_jobs=n_jobs, cv=3, **ENDLESS)
    model.set_params(tol=1e-10)
    with pytest.warns(maxmargin.ConvergenceWarning) as seen:
        model.fit(*slow)
    message = str(seen[0].message)
    assert "time limit was reached: C = " in message
    assert "100 could not be judged on all splits" in message
    check_usable(model, *slow)
    unfinished = np.isnan(model.cv_results_["mean_test_score"])
    assert unfinished[-1]
    ranks = model.cv_results_["rank_test_score"]
    assert ranks[unfinished].min() > ranks[~unfinished].max(initial=0)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_no_time_for_anything(hard, estimator):
    with pytest.warns(maxmargin.ConvergenceWarning, match=r"no C is finished, .* C = 0.5, the small") as seen:
        model = estimator([1.0, 0.5], max_time=1e-6, **ENDLESS).fit(*hard)
    assert len(seen) == 1
    assert "The model at C = 0.5 is within " in str(seen[0].message)
    assert seen[0].filename == __file__  # it points at the call of fit
    check_usable(model, *hard)
    assert not hasattr(model, "left_out_agreements_")


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_watch_is_told_c_and_split_and_may_stop(hard, n_jobs):
    labels = []

    def watch(progress):
        labels.append(progress.label)
        return {f"C = 10, split {k} of 3" for k in (1, 2, 3)} <= set(labels)

    model = LinearSVMCV([0.001, 10.0], cv=3, watch=watch, n_jobs=n_jobs, tol=1e-6)
    with pytest.warns(maxmargin.ConvergenceWarning, match="watch asked to stop: C = 10 could not be judged"):
        model.fit(*hard)
    assert {f"C = 0.001, split {k} of 3" for k in (1, 2, 3)} <= set(labels)
    assert model.C_ == 0.001
    check_usable(model, *hard)
    # No fit of all rows was begun: the mean of the splits' solutions is the model, and tells how good it is.
    assert 1e-6 < model.certificate_.relative_gap < 0.1
    assert model.plan_.solver == "mean of the splits"


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_error_in_watch_is_raised(hard, n_jobs):
    def watch(progress):
        raise RuntimeError("no more")

    with pytest.raises(RuntimeError, match="no more"):
        LinearSVMCV(CS, watch=watch, n_jobs=n_jobs).fit(*hard)


def test_verbose_shows_the_live_gap(capsys, hard):
    LinearSVMCV([0.001], cv=2).fit(*hard)
    assert capsys.readouterr() == ("", "")
    LinearSVMCV([0.001], cv=2, verbose=1).fit(*hard)
    shown = capsys.readouterr().err
    assert re.search(r"C = 0\.001, split [12] of 2: .*within .* of the optimum", shown)  # either may be first


INTERRUPTED_SEARCH = """
    import json, sys
    import numpy as np
    from maxmargin import LinearSVMCV

    n_jobs, refit = int(sys.argv[1]), sys.argv[2] != "no"
    settings = {"cv": 2, "solver": "dual_descent", "max_iter": 10**9}
    side_by_side = n_jobs  # one thread stays with the split that it is at
    if sys.argv[2] == "loo":
        settings, side_by_side = {"cv": "loo"}, 1
    random = np.random.default_rng(0)
    y = random.integers(0, 2, size=20_000)
    X = random.normal(size=(20_000, 40)) + 0.1 * y[:, None]

    reached = set()

    def watch(progress):
        if progress.label.startswith("C = 100"):
            reached.add(progress.label)
        if len(reached) == side_by_side:
            sys.stdout.write("fitting\\n")
            sys.stdout.flush()

    model = LinearSVMCV(
        [1e-5, 100.0], tol=1e-8, n_jobs=n_jobs, watch=watch, refit=refit, **settings
    )
    try:
        model.fit(X, y)
    except KeyboardInterrupt as interrupt:
        kept = {"C": model.C_, "score": model.best_score_, "message": str(interrupt)}
        if refit:
            kept["gap"] = model.certificate_.relative_gap
        print(json.dumps(kept))
    else:
        sys.exit("the search ended by itself")
"""


@pytest.mark.parametrize(
    ("n_jobs", "refit"),
    [
        pytest.param(1, "refit", marks=pytest.mark.slow),
        (2, "loo"),
        pytest.param(2, "refit", marks=pytest.mark.slow),
        pytest.param(2, "no", marks=pytest.mark.slow),
    ],
)
def test_ctrl_c_keeps_the_best_so_far(n_jobs, refit):
    command = [sys.executable, "-c", textwrap.dedent(INTERRUPTED_SEARCH), str(n_jobs), refit]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert child.stdout.readline() == "fitting\n"
        child.send_signal(signal.SIGINT)
        output, errors = child.communicate(timeout=60)  # generous: the fit would take days
    finally:
        child.kill()
    assert child.returncode == 0, errors
    kept = json.loads(output.splitlines()[-1])
    assert kept["C"] == 1e-5
    if refit == "loo":
        assert np.isnan(kept["score"])  # nothing was counted to the end
    else:
        assert 0.5 < kept["score"] < 1
    assert "interrupted" in kept["message"]
    if refit != "no":
        assert kept["gap"] < 0.01


# ---------------------------------------------------------------- scikit-learn's tools


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_pipeline_clone_pickle_and_outer_search(estimator, tumours):
    X, y = tumours
    frame = pandas.DataFrame(X[:, :5], columns=list("abcde"))
    steps = make_pipeline(StandardScaler(), estimator(CS, cv=3)).set_output(transform="pandas")
    steps.fit(frame, y)
    model = steps[-1]
    assert model.feature_names_in_.tolist() == list("abcde")
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.coef_, model.coef_)
    assert again.cv_results_["params"] == model.cv_results_["params"]
    copied = clone(model)
    assert copied.get_params() == model.get_params()
    assert not hasattr(copied, "C_")
    name = estimator.__name__.lower()
    search = GridSearchCV(steps, {f"{name}__class_weight": [None, "balanced"]}, cv=2).fit(frame, y)
    assert search.best_score_ > 0.85
    assert cross_val_score(estimator([1.0], cv=2), X, y, cv=2).min() > 0.9


def test_routing_of_groups_and_weights(tumours):
    X, y = tumours
    random = np.random.default_rng(0)
    groups, weights = random.integers(0, 20, len(y)), random.random(len(y))
    plain = LinearSVMCV(CS, cv=GroupKFold(3)).fit(X, y, sample_weight=weights, groups=groups)
    scored = LinearSVMCV(CS, cv=GroupKFold(3), scoring="accuracy")
    scored.fit(X, y, sample_weight=weights, groups=groups)
    with sklearn.config_context(enable_metadata_routing=True):
        routed = LinearSVMCV(CS, cv=GroupKFold(3)).fit(X, y, sample_weight=weights, groups=groups)
        assert routed.cv_results_["mean_test_score"].tolist() == plain.cv_results_["mean_test_score"].tolist()
        scorer = get_scorer("accuracy").set_score_request(sample_weight=True)
        asked = LinearSVMCV(CS, cv=GroupKFold(3), scoring=scorer)
        asked.fit(X, y, sample_weight=weights, groups=groups)
        np.testing.assert_allclose(
            asked.cv_results_["mean_test_score"], scored.cv_results_["mean_test_score"], atol=1e-12
        )
        unasked = get_scorer("accuracy").set_score_request(sample_weight=False)
        model = clone(asked).set_params(scoring=unasked)
        model.fit(X, y, sample_weight=weights, groups=groups)
        assert model.cv_results_["mean_test_score"].tolist() != asked.cv_results_["mean_test_score"].tolist()
        inner = LinearSVMCV(CS, cv=GroupKFold(3)).set_fit_request(sample_weight=True, groups=True)
        inner.set_score_request(sample_weight=True)
        outer = GridSearchCV(inner, {"fit_intercept": [True, False]}, cv=GroupKFold(2))
        outer.fit(X, y, sample_weight=weights, groups=groups)
        assert outer.best_score_ > 0.9


def test_a_scorer_object_is_handed_the_weights(tumours):
    X, y = tumours
    weights = np.random.default_rng(0).random(len(y))
    scorer = make_scorer(lambda y, found, sample_weight=None: float(np.sum(sample_weight)))
    model = LinearSVMCV(CS, cv=3, scoring=scorer).fit(X, y, sample_weight=weights)
    total = sum(model.cv_results_[f"split{k}_test_score"][0] for k in range(3))
    assert total == pytest.approx(weights.sum())


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_the_model_with_its_c_is_an_estimator_of_its_own(estimator, tumours):
    X, y = tumours
    frame = pandas.DataFrame(X[:, :5], columns=list("abcde"))
    model = estimator(CS, cv=3, class_weight="balanced", calibrate="sigmoid").fit(frame, y)
    own = model.best_estimator_
    assert own.get_params()["C"] == model.C_ == model.best_params_["C"]
    assert own.get_params()["class_weight"] == "balanced"
    np.testing.assert_array_equal(own.predict_proba(frame), model.predict_proba(frame))
    assert model.certify(frame, y).relative_gap <= 1e-3
    assert str(model.certify(frame, y)) == str(own.certify(frame, y))
    left_out = maxmargin.leave_one_out(model, frame, y)
    assert left_out.n_errors == maxmargin.leave_one_out(own, frame, y).n_errors
    with pytest.raises(AttributeError, match="refit=False"):
        estimator(CS, cv=3, refit=False).fit(frame, y).best_estimator_  # noqa: B018 - looking it up


# ---------------------------------------------------------------- what is refused


@each_row(
    ("settings", "message"),
    [
        ({"Cs": 0}, "Cs must be at least one point"),
        ({"Cs": [1.0, -1.0]}, "Cs must be a whole number of points, a list of positive numbers"),
        ({"Cs": []}, "Cs must be"),
        ({"Cs": [[1.0]]}, "Cs must be"),
        ({"Cs": [np.inf]}, "Cs must be"),
        ({"Cs": "many"}, "Cs must be"),
        ({"rule": "largest"}, "rule must be one of 'best', 'one_standard_error'"),
        ({"scoring": "beauty"}, "scoring='beauty' is neither 'error' nor 'log_loss'"),
        ({"scoring": 3}, "scoring must be None"),
        ({"scoring": "log_loss"}, "scoring='log_loss' needs probabilities"),
        ({"loss": "logistic"}, "loss must be one of 'hinge', 'squared_hinge'"),
        ({"tol": 0}, "tol must be a positive number"),
        ({"watch": 3}, "watch must be a function"),
        ({"cv": [([0, 1], [2])]}, "split 0 .* trains on one class only"),
        ({"cv": [(np.arange(500), [])]}, "test rows must be row numbers"),
        ({"cv": [(np.arange(500), [1000])]}, "names test row 1000; there are 569"),
    ],
)
def test_bad_settings(tumours, settings, message):
    with pytest.raises(ValueError, match=message):
        LinearSVMCV(**settings).fit(*tumours)


def test_held_out_rows_without_weight_are_refused(tumours):
    weights = np.ones(569)
    weights[:100] = 0
    with pytest.raises(ValueError, match="split 0 .* holds out no row that has any weight"):
        LinearSVMCV(cv=[(np.arange(100, 569), np.arange(100))]).fit(*tumours, sample_weight=weights)


def test_before_fit_it_says_so():
    for name in ("C_", "cv_results_", "left_out_agreements_"):
        with pytest.raises(AttributeError, match="not fitted yet"):
            getattr(LinearSVMCV(), name)
