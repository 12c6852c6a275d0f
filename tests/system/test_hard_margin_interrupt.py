"""Ctrl-C during a hard margin keeps the best hyperplane so far and raises KeyboardInterrupt."""

import os
import signal
import threading

import numpy as np
import pytest

from maxmargin import HardMarginSVM
from maxmargin.core.certificate import lp_dual
from maxmargin.solvers import unregularised_hinge


def interrupted_at(monkeypatch, call):
    """Let Ctrl-C come as one of the soft margins begins."""
    solve = unregularised_hinge._solve
    calls = []

    def interrupted(*arguments):
        calls.append(1)
        if len(calls) == call:
            os.kill(os.getpid(), signal.SIGINT)
        return solve(*arguments)

    monkeypatch.setattr(unregularised_hinge, "_solve", interrupted)
    assert threading.current_thread() is threading.main_thread()


def test_nobody_waits_for_a_proof_in_whole_numbers(monkeypatch):
    random = np.random.default_rng(0)
    X, sign = random.normal(size=(300, 20)), np.where(random.random(300) < 0.5, 1, -1)
    interrupted_at(monkeypatch, 1)
    monkeypatch.setattr(lp_dual, "_in_whole_numbers", lambda *arguments: pytest.fail("somebody has to wait"))
    model = HardMarginSVM()
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, sign)
    assert model.certificate_.bound <= model.certificate_.objective


def test_interrupt_within_a_soft_margin(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 30))
    sign = np.where(X[:, 0] > 0, 1, -1)
    interrupted_at(monkeypatch, 2)
    model = HardMarginSVM()
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, sign)
    assert np.isfinite(model.coef_).all()
    assert model.certificate_.is_finite
    assert model.training_error(X, sign) < 0.5
