"""Ctrl-C and deadlines reach a fit whose work is inside HiGHS, and leave nothing of it behind."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from maxmargin import ConvergenceWarning, HardMarginSVM, LinearSVM, ZeroOneClassifier
from maxmargin._core import Stopped, StopToken
from maxmargin.core.solution import Status
from maxmargin.errors import MaxMarginError, NotSeparable
from maxmargin.learners.exact import hard_margin, hinge_minimum
from maxmargin.learners.exact import zero_one as zero_one_start
from maxmargin.separation.programs import solve_program

# Each of these spends minutes in one program, or in many short ones; the child says when one begins.
CHILD = """
    import sys
    import numpy as np
    import maxmargin

    name = sys.argv[1]
    random = np.random.default_rng(0)

    def half(n, d):
        X = random.normal(size=(n, d))
        return X, np.where(random.random(n) < 0.5, -1, 1)

    makers = {
        "absolute": (maxmargin.LeastAbsoluteClassifier(), lambda: half(20_000, 200)),
        "zero-one": (maxmargin.ZeroOneClassifier(node_limit=10**9), lambda: half(200, 6)),
        "separator": (maxmargin.LinearProgramSeparator(), lambda: half(3_000, 300)),
    }
    model, make = makers[name]
    X, y = make()
    small = X[:9], np.where(np.arange(9) % 2, -1, 1)
    first = model.fit(X[:12] if name == "zero-one" else small[0], y[:12] if name == "zero-one" else small[1])
    kept = first.coef_.copy()

    def tell(frame, event, called):
        if event == "c_call" and called.__name__ == "run":
            sys.stdout.write("solving\\n")
            sys.stdout.flush()

    sys.setprofile(tell)
    try:
        model.fit(X, y)
    except KeyboardInterrupt:
        sys.setprofile(None)
        is_whole = np.isfinite(model.coef_).all() and model.predict(X[:3]).shape == (3,)
        print("interrupted", is_whole, np.array_equal(kept, model.coef_))
    else:
        sys.exit("the fit ended by itself")
"""


@pytest.mark.parametrize(
    ("name", "keeps_the_old"),
    [
        ("absolute", True),
        pytest.param("separator", True, marks=pytest.mark.slow),
        pytest.param("zero-one", False, marks=pytest.mark.slow),
    ],
)
def test_ctrl_c_within_a_program(name, keeps_the_old):
    command = [sys.executable, "-c", textwrap.dedent(CHILD), name]
    one_thread = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}  # two on a busy machine wait for each other
    child = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=one_thread
    )
    try:
        for _ in range(40 if name == "zero-one" else 1):
            assert child.stdout.readline() == "solving\n"
        child.send_signal(signal.SIGINT)
        output, errors = child.communicate(timeout=60)  # generous: the programs would take far longer
    finally:
        child.kill()
    assert child.returncode == 0, errors
    assert errors == ""
    # Learners with nothing to show before their end leave the estimator as it was; the others keep the best.
    assert output.splitlines()[-1] == f"interrupted True {keeps_the_old}"


# ---------------------------------------------------------------- one program


def solve_long_program(token):
    """Solve a program that takes far longer than any token here lasts."""
    random = np.random.default_rng(0)
    A = np.hstack([random.normal(size=(1_000, 4_000)), np.ones((1_000, 1))])
    ones = np.ones(A.shape[1])
    return solve_program(token, -ones, A, (0.0, 0.0), (-ones, ones))


def solve_long_cover(token):
    random = np.random.default_rng(0)
    sets = np.zeros((500, 200))
    for part in sets:
        part[random.choice(200, 7, replace=False)] = 1.0
    return solve_program(token, np.ones(200), sp.csr_array(sets), (1.0, np.inf), (0.0, 1.0), integer=True)


@pytest.mark.parametrize("solve", [solve_long_program, solve_long_cover])
def test_a_program_ends_at_the_deadline(solve):
    with pytest.raises(Stopped):
        solve(StopToken(0.3))


def test_a_program_ends_when_told():
    token = StopToken()
    timer = threading.Timer(0.3, token.stop)
    timer.start()
    with pytest.raises(Stopped):
        solve_long_program(token)
    timer.join()


def test_no_program_is_begun_after_the_end():
    token = StopToken()
    token.stop()
    with pytest.raises(Stopped):
        solve_program(token, np.zeros(1), "nobody looks at this", (0.0, 0.0), (0.0, 1.0))


@pytest.mark.parametrize("as_matrix", [np.asarray, sp.csr_array])
def test_what_programs_return(as_matrix):
    A = as_matrix(np.array([[1.0, 1.0], [1.0, -1.0]]))
    found = solve_program(StopToken(), np.array([-1.0, -2.0]), A, ([-np.inf, 0.0], [3.0, 0.0]), (0.0, np.inf))
    assert (found.status, found.objective) == ("optimal", pytest.approx(-4.5))
    assert found.x == pytest.approx([1.5, 1.5])
    assert found.duals == pytest.approx([-1.5, 0.5])
    whole = solve_program(StopToken(), np.array([-1.0, -2.0]), A, (-np.inf, 3.5), (0.0, np.inf), integer=True)
    assert whole.x == pytest.approx([0.0, 3.0])
    assert (whole.objective, whole.bound) == (pytest.approx(-6.0), pytest.approx(-6.0))
    none = solve_program(StopToken(), np.zeros(2), A, (9.0, np.inf), (0.0, 1.0))
    assert (none.status, none.x) == ("infeasible", None)
    endless = solve_program(StopToken(), np.array([-1.0, 0.0]), A, (-np.inf, np.inf), (0.0, np.inf))
    assert (endless.status, endless.x) == ("failed", None)
    assert "nbounded" in endless.message


def test_scipy_without_highs(monkeypatch):
    for name in ("scipy.optimize._highspy._core", "highspy._core"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(MaxMarginError, match="pip install highspy"):
        solve_long_program(StopToken())


# ---------------------------------------------------------------- what the learners make of it


@pytest.fixture
def noise():
    random = np.random.default_rng(0)
    return random.normal(size=(60, 5)), np.where(random.random(60) < 0.5, -1, 1)


def test_a_cover_that_does_not_end():
    random = np.random.default_rng(0)
    X, y = random.normal(size=(200, 6)), np.where(random.random(200) < 0.5, -1, 1)
    with pytest.warns(ConvergenceWarning, match="the time limit was reached"):
        model = ZeroOneClassifier(max_time=1.0, node_limit=10**9).fit(X, y)
    low, high = model.bounds_[0]
    assert 0 <= low < high == round(len(y) * model.training_error(X, y))


def test_ctrl_c_in_a_surrogate_is_not_swallowed(monkeypatch, noise):
    real = zero_one_start.exponential_loss
    interrupted = lambda task, **settings: replace(real(task, **settings), status=Status.INTERRUPTED)  # noqa: E731
    monkeypatch.setattr(zero_one_start, "exponential_loss", interrupted)
    model = ZeroOneClassifier()
    with pytest.raises(KeyboardInterrupt):
        model.fit(*noise)
    assert model.bounds_[0, 0] <= model.bounds_[0, 1]


def raising(error):
    def fail(*arguments, **settings):
        raise error

    return fail


def test_a_deadline_before_the_proof_that_no_hyperplane_separates(monkeypatch, noise):
    monkeypatch.setattr(hard_margin, "separability_of", raising(Stopped))
    with pytest.raises(NotSeparable, match="max_time ended before the exact proof") as caught:
        HardMarginSVM(max_time=60.0).fit(*noise)
    assert caught.value.separability is None


def test_ctrl_c_while_a_hard_margin_is_described(monkeypatch):
    X, y = [[0.0], [1.0], [3.0], [4.0]], [-1, -1, 1, 1]
    monkeypatch.setattr(hard_margin, "describe_minimum", raising(KeyboardInterrupt))
    model = HardMarginSVM()
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert model.coef_ == pytest.approx(1.0)


def test_ctrl_c_while_a_smallest_loss_is_described(monkeypatch, noise):
    monkeypatch.setattr(hinge_minimum, "describe_minimum", raising(KeyboardInterrupt))
    model = LinearSVM(C=np.inf)
    with pytest.raises(KeyboardInterrupt):
        model.fit(*noise)
    assert model.certificate_.relative_gap < 1e-9
