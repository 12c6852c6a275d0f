"""S39: the best classifier for a fixed reference margin, found with our own solver."""

import numpy as np
import pytest

from maxmargin import fit_reference_margin, reference_margin, train
from maxmargin.losses.risk import empirical_risk, svm_objective


def sample(seed=0, n=60):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    return X, np.where(X @ [1.0, -0.5] + 0.5 * rng.normal(size=n) > 0.2, 1, -1)


@pytest.mark.parametrize("gamma_ref", [0.8, 1.5, 4.0])
def test_no_direction_and_offset_do_better(gamma_ref):
    X, y = sample()
    found = fit_reference_margin(X, y, gamma_ref)
    assert found.gap <= 1e-4
    assert np.linalg.norm(found.coef) == pytest.approx(1 / gamma_ref)
    angle = np.linspace(0, 2 * np.pi, 91)
    for direction in np.column_stack([np.cos(angle), np.sin(angle)]):
        for offset in np.linspace(-3, 3, 61):
            assert empirical_risk(direction / gamma_ref, offset, X, y, loss="hinge") >= found.bound - 1e-9


def test_at_the_width_of_an_svm_it_is_that_svm():
    """The γ_ref form equals the λ form at γ_ref = 1/‖θ‖, and θ is then the best for that γ_ref."""
    X, y = sample(1)
    model = train(X, y, lam=0.05, tol=1e-10)
    width = float(model.margin[0])
    found = fit_reference_margin(X, y, width, tol=1e-7)
    best = svm_objective(model.coef[0], model.intercept[0], X, y, lam=0.05)
    assert found.risk + 0.05 / 2 / width**2 == pytest.approx(best, abs=1e-6)
    assert reference_margin(model.coef[0], model.intercept[0], X, y, lam=0.05).best == pytest.approx(
        width, rel=1e-4
    )
