"""Guarantees keep to max_time: a bound that it was too short for is not claimed, the others are the same."""

import numpy as np

from maxmargin import HardMarginSVM, LinearSVM, guarantees

OVER = "the time limit was reached before it was found"


def rows(noise):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 3))
    y = np.where(X[:, 0] + noise * rng.normal(size=600) > 0, "right", "left")
    X[:, 0] += 0.5 * np.where(y == "right", 1, -1)
    return X, y


def test_a_bound_that_there_was_no_time_for_is_not_claimed():
    X, y = rows(noise=1.0)
    train, test = (X[:400], y[:400]), (X[400:], y[400:])
    model = LinearSVM(C=1).fit(*train)
    known, whole = (guarantees(model, *train, test=test, max_time=limit) for limit in (1e-9, None))
    assert dict(known.not_claimed)["compression"] == OVER
    assert "compression" in whole
    assert known["leave-one-out error"].value >= whole["leave-one-out error"].value  # undecided ones count
    for name in ("held-out error", "margin", "VC dimension"):  # which cost next to nothing
        assert known[name] == whole[name]


def test_no_time_for_the_margin_of_the_mistake_bound():
    X, y = rows(noise=0.0)
    model = HardMarginSVM().fit(X, y)
    known = guarantees(model, X, y, max_time=1e-9)
    reasons = dict(known.not_claimed)
    assert (reasons["mistake bound"], reasons["compression"]) == (OVER, OVER)
    assert "margin" in known
    assert "mistake bound" in guarantees(model, X, y, max_time=600)
