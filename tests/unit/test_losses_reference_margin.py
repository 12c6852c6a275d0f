"""The γ_ref form of the SVM (S39, A5): each variable fixed in turn, and the λ form at γ_ref = 1/‖θ‖."""

import math

import clarabel
import numpy as np
import pytest
import scipy.sparse
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from maxmargin.errors import InvalidInput, InvalidParameter
from maxmargin.losses.agreement import geometric_margins
from maxmargin.losses.reference_margin import best_at_reference_margin, reference_margin
from maxmargin.losses.risk import empirical_risk, svm_objective


def sample(seed, n=25, d=3, noise=1.0):
    random = np.random.default_rng(seed)
    X, theta = random.normal(size=(n, d)), random.normal(size=d)
    y = np.where(X @ theta + noise * random.normal(size=n) > 0, 1, -1)
    return X, y


def quadratic_program(X, y):
    """Return the function of lam that solves A10 over (θ, θ₀, ξ)."""
    return lambda lam: fit_by_quadratic_program(X, y, lam)


def fit_by_quadratic_program(X, y, lam):
    """Solve A10; return θ, θ₀ and the dual value, a lower bound."""
    n, d = X.shape
    P = scipy.sparse.diags_array([lam] * d + [0.0] * (1 + n)).tocsc()
    q = np.concatenate([np.zeros(d + 1), np.full(n, 1 / n)])
    yX = np.hstack([y[:, None] * X, y[:, None]])
    A = scipy.sparse.block_array(
        [[scipy.sparse.csr_array(-yX), -scipy.sparse.eye_array(n)], [None, -scipy.sparse.eye_array(n)]]
    ).tocsc()
    b = np.concatenate([-np.ones(n), np.zeros(n)])
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    solution = clarabel.DefaultSolver(P, q, A, b, [clarabel.NonnegativeConeT(2 * n)], settings).solve()
    z = np.array(solution.x)
    return z[:d], float(z[d]), solution.obj_val_dual - 1e-9


# ---------------------------------------------------------------- θ, θ₀ fixed


@given(seed=st.integers(0, 999), log_lam=st.floats(-6, 2), weighted=st.booleans())
def test_best_reference_margin_is_the_minimum(seed, log_lam, weighted):
    X, y = sample(seed)
    random = np.random.default_rng(seed)
    theta, offset, lam = random.normal(size=3), float(random.normal()), 10**log_lam
    weight = random.integers(0, 3, len(y)) if weighted else None
    found = reference_margin(theta, offset, X, y, lam=lam, sample_weight=weight)
    gamma, share = geometric_margins(theta, offset, X, y), np.ones(len(y)) if weight is None else weight
    mean = gamma @ share / share.sum()
    assert found.mean_margin == pytest.approx(mean)
    assert found.is_finite == (mean > 0)

    def objective(u):
        return np.maximum(0, 1 - gamma * u) @ share / share.sum() + lam / 2 * u**2

    assert found.value == pytest.approx(objective(1 / found.best))
    highest = 2 / np.abs(gamma).min()
    for u in [*np.linspace(0, 5, 501), *(1 / np.abs(gamma)), highest]:
        assert found.value <= objective(u) + 1e-12
    numerical = minimize_scalar(objective, bounds=(0, highest), method="bounded", options={"xatol": 1e-10})
    assert found.value <= numerical.fun + 1e-12


@given(
    margins=st.lists(st.sampled_from([-2.0, -1.0, 0.0, 0.5, 0.5, 1.0, 2.0, 4.0]), min_size=1, max_size=6),
    lam=st.sampled_from([0.125, 0.25, 0.5, 1.0, 2.0]),
)
@example(margins=[1.0], lam=1.0)
@example(margins=[0.0], lam=1.0)
def test_best_reference_margin_with_ties_and_breakpoints(margins, lam):
    X, y = np.array(margins)[:, None], np.ones(len(margins))
    found = reference_margin([3.0], 0.0, X, y, lam=lam)
    u = np.linspace(0, 40, 4001)
    J = np.maximum(0, 1 - np.outer(u, margins)).mean(axis=1) + lam / 2 * u**2
    assert found.value <= J.min() + 1e-12
    assert found.value == pytest.approx(J.min(), abs=1e-4)
    assert found.is_finite == (np.mean(margins) > 0)


def test_without_a_positive_mean_margin_there_is_no_best_one():
    found = reference_margin([1.0], 0.0, [[1.0], [-1.0]], [1, 1], lam=0.1)
    assert (found.best, found.value, found.is_finite) == (math.inf, 1.0, False)
    assert "no best reference margin: the mean margin is 0, not positive" in str(found)
    values = [found.objective(gamma) for gamma in (0.1, 1.0, 10.0, 1e9)]
    assert values == sorted(values, reverse=True)
    assert values[-1] == pytest.approx(1.0)


@given(seed=st.integers(0, 999), lam=st.floats(1e-3, 10))
def test_at_the_margin_width_it_is_the_lambda_form(seed, lam):
    X, y = sample(seed)
    random = np.random.default_rng(seed)
    theta, offset = random.normal(size=3), float(random.normal())
    found = reference_margin(theta, offset, X, y, lam=lam)
    assert found.width == pytest.approx(1 / np.linalg.norm(theta))
    assert found.value_at_width == pytest.approx(svm_objective(theta, offset, X, y, lam=lam))
    # A7 writes λ without the half: A7 with its own λ is ours with lam = 2λ
    a7 = empirical_risk(theta, offset, X, y, loss="hinge") + lam * theta @ theta
    assert reference_margin(theta, offset, X, y, lam=2 * lam).objective(found.width) == pytest.approx(a7)


@given(seed=st.integers(0, 999), factor=st.floats(1e-3, 1e3))
def test_the_best_reference_margin_does_not_depend_on_scale(seed, factor):
    X, y = sample(seed)
    random = np.random.default_rng(seed)
    theta, offset = random.normal(size=3), float(random.normal())
    one = reference_margin(theta, offset, X, y, lam=0.1)
    other = reference_margin(factor * theta, factor * offset, X, y, lam=0.1)
    assert (other.best, other.value) == pytest.approx((one.best, one.value))
    assert other.width == pytest.approx(one.width / factor)


@pytest.mark.parametrize("lam", [0.01, 0.1, 1.0])
def test_at_an_svm_optimum_the_best_reference_margin_is_the_width(lam):
    X, y = sample(0)
    theta, offset, bound = fit_by_quadratic_program(X, y, lam)
    found = reference_margin(theta, offset, X, y, lam=lam)
    assert found.best == pytest.approx(found.width, rel=1e-4)
    assert found.value == pytest.approx(found.value_at_width, abs=1e-7)
    assert found.value >= bound - 1e-9


@pytest.mark.parametrize("scale", [1e-200, 1.0, 1e200])
def test_extreme_scales_are_silent(scale):
    with np.errstate(all="raise"):
        found = reference_margin([scale, scale], 0.0, [[3.0, 4.0], [1.0, 0.0]], [1, 1], lam=1.0)
        values = [found.objective(gamma) for gamma in (1e-300, 1e-200, 1.0, 1e300)]
    assert found.best == pytest.approx(reference_margin([1, 1], 0, [[3, 4], [1, 0]], [1, 1], lam=1).best)
    assert found.width == pytest.approx(1 / (scale * math.sqrt(2)))
    assert values[0] == math.inf
    assert not np.isnan(values).any()


# ---------------------------------------------------------------- γ_ref fixed


@pytest.mark.parametrize("lam", [0.01, 0.1, 1.0])
def test_fixing_the_width_of_an_svm_gives_the_svm_back(lam):
    X, y = sample(0)
    theta, offset, _ = fit_by_quadratic_program(X, y, lam)
    width = 1 / np.linalg.norm(theta)
    found = best_at_reference_margin(width, X, y, fit=quadratic_program(X, y), tol=1e-6)
    assert found.gap <= 1e-6
    assert found.objective(lam) == pytest.approx(svm_objective(theta, offset, X, y, lam=lam), abs=1e-5)
    np.testing.assert_allclose(found.coef, theta, rtol=0.02, atol=0.02 * np.linalg.norm(theta))


@pytest.mark.parametrize("gamma_ref", [0.5, 1.0, 3.0, 30.0])
def test_no_direction_and_offset_do_better_at_a_fixed_reference_margin(gamma_ref):
    X, y = sample(1, d=2)
    found = best_at_reference_margin(gamma_ref, X, y, fit=quadratic_program(X, y))
    assert found.gap <= 1e-4
    assert np.linalg.norm(found.coef) == pytest.approx(1 / gamma_ref)
    ratio = geometric_margins(found.coef, found.intercept, X, y) / gamma_ref
    assert found.risk == pytest.approx(np.maximum(0, 1 - ratio).mean())
    assert "within" in str(found)
    angle = np.linspace(0, 2 * np.pi, 91)
    for direction in np.column_stack([np.cos(angle), np.sin(angle)]):
        for offset in np.linspace(-4, 4, 41):
            assert empirical_risk(direction / gamma_ref, offset, X, y, loss="hinge") >= found.bound - 1e-9


def test_a_narrow_reference_margin_on_separable_data_costs_nothing():
    X, y = sample(2, noise=0.0)
    found = best_at_reference_margin(1e-4, X, y, fit=quadratic_program(X, y))
    assert found.risk == found.bound == found.gap == 0


def test_beyond_the_least_loss_classifier_the_gap_is_honest():
    X, y = sample(1, d=2)
    theta, _, least_loss = fit_by_quadratic_program(X, y, 1e-9)
    gamma_ref = 0.5 / np.linalg.norm(theta)
    found = best_at_reference_margin(gamma_ref, X, y, fit=quadratic_program(X, y))
    assert found.bound <= least_loss + 1e-6 < found.risk
    assert np.linalg.norm(found.coef) == pytest.approx(1 / gamma_ref)


def test_without_a_direction_any_will_do():
    # XOR: θ(λ) = 0 for every λ, no direction is better than none, and the sphere is not convex
    X, y = np.array([[1.0, 1], [-1, -1], [1, -1], [-1, 1]]), np.array([1, 1, -1, -1])
    found = best_at_reference_margin(0.5, X, y, fit=lambda lam: (np.zeros(2), 0.0, 1.0))
    assert np.linalg.norm(found.coef) == pytest.approx(2.0)
    assert found.risk > 1.0
    assert found.bound <= 1.0
    assert found.gap == found.risk - found.bound


# ---------------------------------------------------------------- errors


def test_refusals():
    X, y = sample(0)
    with pytest.raises(InvalidParameter, match="lam must be a positive number; got lam=0"):
        reference_margin([1.0, 0, 0], 0, X, y, lam=0)
    with pytest.raises(InvalidInput, match="geometric margins need θ ≠ 0"):
        reference_margin([0.0, 0, 0], 0, X, y, lam=1)
    with pytest.raises(InvalidParameter, match="gamma_ref must be a positive number; got gamma_ref=0"):
        reference_margin([1.0, 0, 0], 0, X, y, lam=1).objective(0)
    for wrong in (0.0, -1.0, math.nan):
        with pytest.raises(InvalidParameter, match="gamma_ref must be a positive"):
            best_at_reference_margin(wrong, X, y, fit=quadratic_program(X, y))
    with pytest.raises(InvalidParameter, match="gamma_ref must be between 1e-150 and 1e150"):
        best_at_reference_margin(1e200, X, y, fit=quadratic_program(X, y))
    with pytest.raises(InvalidParameter, match="max_fits must be a positive whole number"):
        best_at_reference_margin(1.0, X, y, fit=quadratic_program(X, y), max_fits=0)
