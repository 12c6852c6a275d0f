"""Ctrl-C and deadlines reach a fit whose work is inside HiGHS, which looks at neither."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
from dataclasses import replace

import numpy as np
import pytest
import scipy.optimize

from maxmargin import ConvergenceWarning, HardMarginSVM, LinearSVM, ZeroOneClassifier
from maxmargin._core import Stopped, StopToken
from maxmargin.errors import NotSeparable
from maxmargin.learners import hard_margin, hinge_minimum, zero_one_start
from maxmargin.results.solution import Status
from maxmargin.solvers.linear_program import solve_program, wait_for

# Each of these spends minutes in one linear or whole-number program, or in many short ones.
CHILD = """
    import sys
    import numpy as np
    import scipy.optimize
    import maxmargin

    name = sys.argv[1]
    random = np.random.default_rng(0)

    def told(solve):
        def solve_and_tell(*arguments, **settings):
            sys.stdout.write("solving\\n")
            sys.stdout.flush()
            return solve(*arguments, **settings)
        return solve_and_tell

    def half(n, d):
        X = random.normal(size=(n, d))
        return X, np.where(random.random(n) < 0.5, -1, 1)

    makers = {
        "absolute": (maxmargin.LeastAbsoluteClassifier(), lambda: half(20_000, 100)),
        "zero-one": (maxmargin.ZeroOneClassifier(node_limit=10**9), lambda: half(200, 6)),
        "separator": (maxmargin.LinearProgramSeparator(), lambda: half(3_000, 200)),
    }
    model, make = makers[name]
    X, y = make()
    small = X[:9], np.where(np.arange(9) % 2, -1, 1)
    first = model.fit(X[:12] if name == "zero-one" else small[0], y[:12] if name == "zero-one" else small[1])
    kept = first.coef_.copy()
    scipy.optimize.linprog = told(scipy.optimize.linprog)
    scipy.optimize.milp = told(scipy.optimize.milp)
    try:
        model.fit(X, y)
    except KeyboardInterrupt:
        is_whole = np.isfinite(model.coef_).all() and model.predict(X[:3]).shape == (3,)
        print("interrupted", is_whole, np.array_equal(kept, model.coef_))
    else:
        sys.exit("the fit ended by itself")
"""


@pytest.mark.parametrize(
    ("name", "keeps_the_old"),
    [
        pytest.param("absolute", True, marks=pytest.mark.slow),
        ("separator", True),
        ("zero-one", False),
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
    # Learners with nothing to show before their end leave the estimator as it was; the others keep the best.
    assert output.splitlines()[-1] == f"interrupted True {keeps_the_old}"


# ---------------------------------------------------------------- waiting


@pytest.fixture
def endless():
    """Return work that ends only once the test is over."""
    over = threading.Event()
    yield lambda *arguments, **settings: over.wait(600)
    over.set()


def test_waiting_hands_on_answers_and_errors():
    assert wait_for(StopToken(), lambda: 7) == 7
    with pytest.raises(ZeroDivisionError):
        wait_for(StopToken(), lambda: 1 // 0)


def test_waiting_ends_at_the_deadline(endless):
    with pytest.raises(Stopped):
        wait_for(StopToken(0.05), endless)


def test_waiting_ends_when_told(endless):
    token = StopToken()
    timer = threading.Timer(0.05, token.stop)
    timer.start()
    with pytest.raises(Stopped):
        wait_for(token, endless)
    timer.join()


def test_no_program_is_begun_after_the_end(monkeypatch):
    token = StopToken()
    token.stop()
    monkeypatch.setattr(scipy.optimize, "linprog", lambda **program: pytest.fail("it was begun"))
    with pytest.raises(Stopped):
        solve_program(token, c=np.zeros(1))


# ---------------------------------------------------------------- what the learners make of it


@pytest.fixture
def noise():
    random = np.random.default_rng(0)
    return random.normal(size=(60, 5)), np.where(random.random(60) < 0.5, -1, 1)


def test_a_cover_that_does_not_end(monkeypatch, endless, noise):
    monkeypatch.setattr(scipy.optimize, "milp", endless)
    X, y = noise
    with pytest.warns(ConvergenceWarning, match="the time reached max_time"):
        model = ZeroOneClassifier(max_time=1.0).fit(X, y)
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
