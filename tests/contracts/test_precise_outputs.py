"""Certificates of several outputs where columns are far from 0, or of very different scales."""

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from covering import every_pair, every_value
from mpmath import mp, mpf

from maxmargin import LogisticRegression, _core
from maxmargin.core.certificate.duality import examine
from maxmargin.core.certificate.outputs import _ReadPrecisely
from maxmargin.core.offset import FreeOffset, NoOffset, PenalizedOffset
from maxmargin.core.problem import Problem
from maxmargin.core.targets import ClassTargets
from maxmargin.losses.multiclass import CrammerSinger, Softmax
from maxmargin.rows.memory import MemoryRows
from maxmargin.solvers.choose import choose
from maxmargin.solvers.run import Limits, run

FAR = 2.0**27
LOSSES = {"softmax": Softmax, "hinge": CrammerSinger}
STORAGES = {"dense": np.ascontiguousarray, "columns": np.asfortranarray, "CSR": sp.csr_array}


def blobs(n=150, d=4, K=3):
    """Return rows whose values are multiples of 2⁻²⁰, so that they stay exact when FAR is added to them."""
    random = np.random.default_rng(0)
    label = (np.arange(n) % K).astype(np.int32)
    X = 2.0 * random.normal(size=(K, d))[label] + random.normal(size=(n, d))
    return np.round(X * 2.0**20) * 2.0**-20, label


def problem_of(X, label, loss="softmax", offset=None, cost=None, **rows):
    K = int(label.max()) + 1
    targets = ClassTargets(label, np.ones(len(label)) if cost is None else cost, K)
    return Problem(MemoryRows(X, **rows), targets, LOSSES[loss](K), offset=offset or FreeOffset())


def solved(problem, tol):
    solver, plan = choose("auto", problem, tol)
    return run(problem, solver, plan, Limits(tol), token=_core.StopToken(), seed=0)


def exact_value(X, label, cost, W, b, offset, loss):
    """Return the objective at a point, in 100 digits."""
    with mp.workdps(100):
        W, b = [[mpf(x) for x in w] for w in W.tolist()], [mpf(x) for x in b.tolist()]
        total = sum(x * x for w in W for x in w) / 2
        total += sum((x / mpf(offset.scale)) ** 2 for x in b) / 2 * bool(offset.square)
        for row, y, c in zip(X.tolist(), label.tolist(), cost.tolist(), strict=True):
            z = [mp.fdot(row, w) + x for w, x in zip(W, b, strict=True)]
            if loss == "softmax":
                total += c * mp.log(mp.fsum(mp.exp(x - z[y]) for x in z))
            else:
                total += c * max(mpf(0), *(1 + x - z[y] for k, x in enumerate(z) if k != y))
        return total


# ---------------------------------------------------------------- the pass


@every_value(storage=STORAGES, single=[False, True])
def test_scores_and_sums_are_those_of_fractions(storage, single):
    random = np.random.default_rng(1)
    n, d, K = 17, 3, 4
    X = np.add(random.normal(size=(n, d)), [1e6, -1e9, 0.0]).astype(np.float32 if single else np.float64)
    X[:5, 2] = 0.0
    label = random.integers(0, K, n).astype(np.int32)
    cost = np.where(np.arange(n) == 3, 0.0, random.uniform(0.5, 2.0, n))
    r = -random.uniform(size=(n, K)) * (random.random((n, K)) < 0.7) * (cost > 0)[:, None]
    r[np.arange(n), label] = 0.0
    r[np.arange(n), label] = -r.sum(axis=1)
    W, b, origin = random.normal(size=(K, d)), random.normal(size=K), random.normal(size=d)
    z = np.full((n, K), np.nan)
    rows = MemoryRows(STORAGES[storage](X), block_rows=8)
    sums = rows.reduce(_ReadPrecisely(W, b, origin), label, cost, r, z)
    V, balance = sums.V, sums.balance
    exact_rows = [[Fraction(float(x)) for x in row] for row in X]
    duals = [[Fraction(x) for x in row] for row in r.tolist()]
    for row, y in zip(duals, label.tolist(), strict=True):
        row[y] -= sum(row)
    distances = [
        float(sum((x - Fraction(o)) ** 2 for x, o in zip(row, origin.tolist(), strict=True)))
        for row, c in zip(exact_rows, cost, strict=True)
        if c > 0
    ]
    assert sums.furthest2 >= max(distances) * (1 - 1e-12)
    assert not z[3].any()
    for i in np.flatnonzero(cost):
        for k in range(K):
            exact = Fraction(b[k]) + sum(
                x * Fraction(w) for x, w in zip(exact_rows[i], W[k].tolist(), strict=True)
            )
            assert abs(Fraction(z[i, k]) - exact) <= Fraction(2) ** -52 * abs(exact)
    for k in range(K):
        exact = sum(row[k] for row in duals)
        found = Fraction(balance[0, k]) + Fraction(balance[1, k])
        assert abs(found - exact) <= Fraction(2) ** -95
        for j in range(d):
            terms = [row[k] * x[j] for row, x in zip(duals, exact_rows, strict=True)]
            found = Fraction(V[0, k, j]) + Fraction(V[1, k, j])
            assert abs(found - sum(terms)) <= Fraction(2) ** -95 * sum(map(abs, terms))


# ---------------------------------------------------------------- certificates


@every_value(shift=[FAR, 2.0**20], far=[[1.0, 1.0, 1.0, 1.0], [1.0, 0.0, -1.0, 0.5]])
def test_softmax_fits_of_shifted_columns_are_certified(shift, far):
    X, label = blobs()
    far = X + shift * np.array(far)  # exact
    here, there = (LogisticRegression(multi_class="softmax").fit(rows, label) for rows in (X, far))
    assert there.certificate_.relative_gap <= 1e-4
    assert there.certificate_.bound <= here.certificate_.objective
    assert there.certificate_.objective >= here.certificate_.bound
    np.testing.assert_allclose(there.coef_, here.coef_, atol=0.02)


@pytest.mark.parametrize("scale", [1e5, 1e8, 1e12])
def test_softmax_fits_with_a_large_column_are_certified(scale):
    X, label = blobs()
    column = np.random.default_rng(3).normal(size=len(X))
    plain = LogisticRegression(multi_class="softmax").fit(np.c_[X, scale * column], label)
    assert plain.certificate_.relative_gap <= 1e-4


@pytest.mark.parametrize("loss", LOSSES)
def test_the_certificate_does_not_depend_on_where_the_rows_are(loss):
    X, label = blobs()
    found = solved(problem_of(X, label, loss), 1e-8)
    W, b = np.round(found.coef * 2.0**24) * 2.0**-24, found.intercept  # W times FAR is exact
    duals = found.alpha if loss == "hinge" else None
    near = examine(problem_of(X, label, loss), W, b, duals).certificate
    far = examine(problem_of(X + FAR, label, loss), W, b - FAR * W.sum(axis=1), duals).certificate
    assert far.bound <= near.objective
    assert near.bound <= far.objective
    assert near.relative_gap <= 1e-6
    # Offsets of that size are rounded to about 1e-8, which a hinge feels in proportion.
    assert far.relative_gap <= 1e-6


@every_pair(
    loss=LOSSES,
    offset=[FreeOffset(), PenalizedOffset(10.0), NoOffset()],
    kind=["shift", "scale"],
    size=[0.0, 1e-3, 1.0],
)
def test_certificates_hold_away_from_the_optimum(loss, offset, kind, size):
    X, label = blobs(n=24, d=2)
    random = np.random.default_rng(5)
    cost = np.where(random.random(24) < 0.2, 0.0, random.uniform(0.1, 10.0, 24))
    found = solved(problem_of(X, label, loss, offset, cost), 1e-6)
    shift, scale = (1e8, np.ones(2)) if kind == "shift" else (0.0, np.array([1.0, 1e12]))
    X = X * scale + shift
    problem = problem_of(X, label, loss, offset, cost, block_rows=8)
    values = []
    for _ in range(3):
        W = found.coef / scale * (1.0 + size * random.normal(size=found.coef.shape))
        b = (found.intercept - shift * W.sum(axis=1)) * (not offset.is_absent)
        duals = found.alpha if loss == "hinge" else None
        if isinstance(duals, np.ndarray):
            duals = duals * (1.0 + size * random.normal(size=duals.shape))
        said = examine(problem, W, b, duals).certificate
        values.append((exact_value(X, label, cost, W, b, offset, loss), said))
    for value, said in values:
        assert said.objective >= value
        assert all(said.bound <= other for other, _ in values)
