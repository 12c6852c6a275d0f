"""Ctrl-C during a hard margin keeps the best hyperplane so far and raises KeyboardInterrupt."""

import os
import signal
import threading

import numpy as np
import pytest

from maxmargin import HardMarginSVM
from maxmargin.solvers import unregularised_hinge


def test_interrupt_within_a_soft_margin(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 30))
    sign = np.where(X[:, 0] > 0, 1, -1)
    solve = unregularised_hinge._solve
    calls = []

    def interrupted_the_second_time(*arguments):
        calls.append(1)
        if len(calls) == 2:
            os.kill(os.getpid(), signal.SIGINT)
        return solve(*arguments)

    monkeypatch.setattr(unregularised_hinge, "_solve", interrupted_the_second_time)
    assert threading.current_thread() is threading.main_thread()
    model = HardMarginSVM()
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, sign)
    assert np.isfinite(model.coef_).all()
    assert model.certificate_.is_finite
    assert model.training_error(X, sign) < 0.5
