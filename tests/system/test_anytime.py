"""A fit can be ended at any moment; it keeps the best model found, certified, and can go on from it."""

import json
import pickle
import signal
import subprocess
import sys
import textwrap
import warnings

import numpy as np
import pytest
import sklearn.exceptions
from covering import every_value

import maxmargin
from maxmargin import LinearSVM, LogisticRegression
from maxmargin.core.solution import Progress
from maxmargin.presentation.wording import percent


def logistic(**settings):
    return LogisticRegression(multi_class="one_vs_rest", **settings)


ESTIMATORS = [LinearSVM, logistic]
# Descent row by row does not end here; the other solvers would be done before anybody could stop them.
SLOW = {"solver": "dual_descent"}
LIMIT_OF_ITERATIONS = "iteration limit was reached.* or raise max_iter.* To continue .* with warm_start=True"
IMPOSSIBLE = {"tol": 1e-300, "max_iter": 10**9, **SLOW}


@pytest.fixture(scope="module")
def hard():
    """Rows of three kinds that overlap, too many and too close for a fit to end soon."""
    random = np.random.default_rng(0)
    y = random.integers(0, 3, size=20_000)
    return random.normal(size=(20_000, 40)) + 0.1 * y[:, None], y


def check_usable(model, X, y):
    assert np.isfinite(model.coef_).all()
    assert np.isfinite(model.intercept_).all()
    assert all(proof.is_finite for proof in model.certificates_)
    assert model.predict(X).shape == y.shape
    for proof in model.certificates_:
        assert 0 <= proof.bound <= proof.objective
        assert proof.gap == pytest.approx(proof.objective - proof.bound, rel=1e-6)


# ---------------------------------------------------------------- limits


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_max_time(estimator, n_classes, hard):
    X, y = hard
    y = np.minimum(y, n_classes - 1)
    model = estimator(C=100.0, max_time=0.2, **IMPOSSIBLE)
    with pytest.warns(
        maxmargin.ConvergenceWarning,
        match=r"within .* of the optimum, .* time limit was reached\. Raise max_time",
    ):
        model.fit(X, y)
    check_usable(model, X, y)


@every_value(max_iter=[1, 2, 5], estimator=ESTIMATORS)
def test_max_iter(estimator, max_iter, hard):
    X, y = hard
    y = np.minimum(y, 1)
    model = estimator(max_iter=max_iter, tol=1e-12, **SLOW)
    with pytest.warns(maxmargin.ConvergenceWarning, match=LIMIT_OF_ITERATIONS) as seen:
        model.fit(X, y)
    check_usable(model, X, y)
    assert model.n_iter_ == max_iter
    assert f"within {percent(model.certificate_.relative_gap, 'up')}" in str(seen[0].message)


def test_a_limit_of_the_solver_s_own_is_not_blamed_on_max_iter(hard):
    X, y = hard
    model = LinearSVM(solver="gradient_descent", tol=1e-13, multi_class="one_vs_rest")
    with pytest.warns(maxmargin.ConvergenceWarning, match=LIMIT_OF_ITERATIONS):
        model.fit(X[:30], y[:30])
    assert model.max_iter is None


def test_the_warning_is_ours_and_scikit_learns(hard):
    with pytest.warns(sklearn.exceptions.ConvergenceWarning) as seen:
        LinearSVM(max_iter=1, multi_class="one_vs_rest").fit(*hard)
    assert len(seen) == 1
    assert issubclass(seen[0].category, maxmargin.ConvergenceWarning)
    assert seen[0].filename == __file__  # it points at the call of fit


def test_silence_when_the_gap_is_small_whatever_ended_the_fit():
    X, y = [[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        first = LinearSVM(tol=0.5).fit(X, y)
        again = LinearSVM(tol=0.5, max_iter=first.n_iter_).fit(X, y)
    assert again.certificate_.relative_gap <= 0.5


# ---------------------------------------------------------------- watch and verbose


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_watch_sees_the_live_record_and_may_stop(estimator, hard):
    X, y = hard
    seen = []

    def watch(progress):
        seen.append(progress)
        return len(seen) == 3

    model = estimator(C=100.0, watch=watch, **IMPOSSIBLE)
    with pytest.warns(maxmargin.ConvergenceWarning, match="watch asked to stop"):
        model.fit(X, np.minimum(y, 1))
    assert len(seen) == 3
    assert all(isinstance(progress, Progress) for progress in seen)
    gaps = [progress.relative_gap for progress in seen]
    assert gaps == sorted(gaps, reverse=True)
    assert model.history_.objective.tolist() == [progress.objective for progress in seen]


def test_watch_is_told_the_class(hard):
    labels = set()
    model = LinearSVM(tol=0.2, multi_class="one_vs_rest", watch=lambda progress: labels.add(progress.label))
    model.fit(hard[0], np.array(["a", "b", "c"])[hard[1]])
    assert labels == {"class a", "class b", "class c"}


def test_an_error_in_watch_is_raised(hard):
    def watch(progress):
        raise RuntimeError("no more")

    with pytest.raises(RuntimeError, match="no more"):
        LinearSVM(watch=watch).fit(*hard)


def test_verbose_shows_the_live_gap(capsys, hard):
    X, y = hard
    LinearSVM(tol=0.2).fit(X, np.minimum(y, 1))
    assert capsys.readouterr() == ("", "")
    LinearSVM(tol=0.2, verbose=1).fit(X, np.minimum(y, 1))
    shown = capsys.readouterr().err
    assert "% of the optimum (goal 20.0 %)" in shown
    assert " s, " in shown
    assert shown.endswith("\n")


# ---------------------------------------------------------------- warm start


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_warm_start_continues(estimator, n_classes, hard):
    X, y = hard[0][:4000], np.minimum(hard[1][:4000], n_classes - 1)
    cold = estimator(C=0.1, tol=1e-5).fit(X, y)
    begun = estimator(C=0.1, tol=1e-5, max_iter=max(cold.n_iter_ // 2, 1))
    with pytest.warns(maxmargin.ConvergenceWarning):
        begun.fit(X, y)
    # Also after a pickle, and although the first fit did not know that it would be continued.
    resumed = pickle.loads(pickle.dumps(begun)).set_params(warm_start=True, max_iter=None)
    resumed.fit(X, y)
    assert resumed.certificate_.relative_gap <= 1e-5
    assert resumed.n_iter_ < cold.n_iter_


def test_warm_start_of_a_solved_problem_ends_at_once(hard):
    X, y = hard[0][:2000], hard[1][:2000]
    model = LinearSVM(warm_start=True, tol=1e-3).fit(X, y)
    first = model.n_iter_
    model.fit(X, y)
    assert model.n_iter_ < first
    assert model.certificate_.relative_gap <= 1e-3


def test_warm_start_with_other_rows_columns_classes_or_loss(hard):
    X, y = hard[0][:600], hard[1][:600]
    model = LinearSVM(warm_start=True, tol=1e-3).fit(X, y)
    for rows, labels in ((X[:500], y[:500]), (X[:, :3], y), (X, np.minimum(y, 1)), (X, y[::-1])):
        model.fit(rows, labels)
        fresh = LinearSVM(tol=1e-3).fit(rows, labels)
        assert model.coef_.shape == fresh.coef_.shape
        assert model.certificate_.relative_gap <= 1e-3
    model.set_params(loss="squared_hinge").fit(X, y)
    assert model.certificate_.relative_gap <= 1e-3


def test_a_finished_model_keeps_nothing_for_continuing(hard):
    X, y = hard[0][:4000], np.minimum(hard[1][:4000], 1)
    finished = LogisticRegression(tol=1e-3).fit(X, y)
    assert len(pickle.dumps(finished)) < 8 * len(y)


# ---------------------------------------------------------------- Ctrl-C

INTERRUPTED_FIT = """
    import json, sys, warnings
    import numpy as np
    from maxmargin import LinearSVM, LogisticRegression

    name, n_classes, n_jobs = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    random = np.random.default_rng(0)
    y = random.integers(0, n_classes, size=20_000)
    X = random.normal(size=(20_000, 40)) + 0.1 * y[:, None]

    def watch(progress):
        sys.stdout.write("fitting\\n")
        sys.stdout.flush()

    model = {"svm": LinearSVM, "logistic": LogisticRegression}[name](
        C=100.0, tol=1e-300, max_iter=10**9, n_jobs=n_jobs, watch=watch, solver="dual_descent",
        multi_class="one_vs_rest",
    )
    try:
        model.fit(X, y)
    except KeyboardInterrupt as interrupt:
        model.set_params(watch=None, warm_start=True, max_iter=1)
        first = model.certificate_
        message = str(interrupt)
        shape = model.coef_.shape
        right = float(model.score(X, y))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(X, y)
        print(json.dumps({
            "message": message, "gap": first.relative_gap, "shape": shape, "finite": first.is_finite,
            "right": right, "history": len(model.history_), "later": model.certificate_.relative_gap,
        }))
    else:
        sys.exit("the fit ended by itself")
"""


@pytest.mark.parametrize(
    ("name", "n_classes", "n_jobs"),
    [
        pytest.param("svm", 2, 1, marks=pytest.mark.slow),
        pytest.param("svm", 4, 1, marks=pytest.mark.slow),
        ("logistic", 4, 2),
    ],
)
def test_ctrl_c_keeps_the_best_model(name, n_classes, n_jobs):
    command = [sys.executable, "-c", textwrap.dedent(INTERRUPTED_FIT), name, str(n_classes), str(n_jobs)]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        for _ in range(2):
            assert child.stdout.readline() == "fitting\n"
        child.send_signal(signal.SIGINT)
        output, errors = child.communicate(timeout=60)  # generous: the fit would take days
    finally:
        child.kill()
    assert child.returncode == 0, errors
    kept = json.loads(output.splitlines()[-1])
    assert kept["shape"] == [1 if n_classes == 2 else n_classes, 40]
    assert kept["finite"]
    assert kept["message"].startswith("the fit was interrupted; it keeps the best model found, ")
    assert 0 < kept["right"] < 1
    assert kept["later"] < 2 * kept["gap"]  # one sweep later: about as good, not back at the start
