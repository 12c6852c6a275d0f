"""Data that a hyperplane separates, wholly or but for rows on it, have no maximum of likelihood (S23)."""

import pickle
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from covering import every_value
from reference.likelihood import Likelihood, separated_rows
from reference.likelihood_tasks import KINDS, grid_task, problem_of

from maxmargin import separability, train
from maxmargin.core.exact.null_space import find_null_space
from maxmargin.errors import MaxMarginError, NoFiniteOptimum
from maxmargin.rows.memory import MemoryRows
from maxmargin.separation import search as separating_program
from maxmargin.separation.search import check_direction, find_separation, refuse_separable


def check_separation(task, found):
    """Assert what a separation promises, in extended precision."""
    direction = np.append(found.direction, found.offset)
    if task.kind == "none":
        direction = direction[:-1]
    if task.kind != "free":
        assert found.offset == 0
    agreement = (task.rows() @ direction)[task.cost > 0]
    assert (agreement >= -1e-13).all()
    assert np.count_nonzero(agreement > 1e-13) == found.n_separated
    assert found.kind == ("complete" if found.n_separated == len(agreement) else "quasi-complete")


def test_grids_agree_with_one_large_program():
    seen = set()
    for seed in range(120):
        task = grid_task(seed)
        expected, n_rows = separated_rows(task)
        storage = sp.csr_array(task.X) if seed % 5 == 0 else task.X
        found = find_separation(problem_of(task, storage, block_rows=7))
        assert (0 if found is None else found.n_separated) == expected, f"seed {seed}"
        seen.add((task.kind, "none" if found is None else found.kind))
        if found is not None:
            assert found.n_rows == n_rows
            check_separation(task, found)
    assert len(seen) == 9  # every kind of offset met every kind of data


def test_rows_are_taken_as_they_are_offended(monkeypatch):
    """With few rows at a time the answers are the same."""
    monkeypatch.setattr(separating_program, "_FIRST_ROWS", 4)
    monkeypatch.setattr(separating_program, "_MORE_ROWS", 2)
    for seed in range(30):
        task = grid_task(seed)
        found = find_separation(problem_of(task))
        assert (0 if found is None else found.n_separated) == separated_rows(task)[0]


@pytest.mark.parametrize("overlap", [1e-3, 1e-6, 1e-9, 1e-12])
def test_a_small_overlap_is_an_overlap(overlap):
    X = np.array([[0.0], [1.0 + overlap], [1.0], [2.0]])
    sign = np.array([-1, -1, 1, 1], dtype=np.int8)
    assert find_separation(problem_of(Likelihood(X, sign, np.ones(4)))) is None
    if overlap < 1e-10:
        return  # so small a distance the program cannot see; Newton's method does
    gap = find_separation(problem_of(Likelihood(X - [[0], [2 * overlap], [0], [0]], sign, np.ones(4))))
    assert gap.kind == "complete"


@pytest.mark.parametrize("kind", KINDS)
def test_unscaled_columns_far_from_the_origin(kind):
    random = np.random.default_rng(2)
    base = random.integers(-3, 4, size=(300, 4)).astype(float)
    sign = np.where(base @ [1, -1, 2, 0] + 0.5 >= 0, 1, -1).astype(np.int8)
    sign[base @ [1, -1, 2, 0] == 0] = random.choice([-1, 1], size=np.count_nonzero(base @ [1, -1, 2, 0] == 0))
    shift = np.array([64.0, 0, -4096, 7]) if kind == "free" else 0.0
    task = Likelihood(base * [1e-4, 1, 1024, 1e3] + shift, sign, np.ones(300), kind)
    found = find_separation(problem_of(task))
    assert found.kind == "quasi-complete"
    assert found.n_separated == np.count_nonzero(base @ [1, -1, 2, 0])


def test_two_columns_that_hardly_differ_separate_nothing_by_rounding():
    """Scores of 1e-12 are made of numbers of the size 1e-3: rows of length 1e3 hide that."""
    random = np.random.default_rng(7)
    Z = random.normal(size=(30, 3))
    X = np.column_stack([1e-3 * Z[:, 0], 1e-3 * Z[:, 1], 1e3 * (Z[:, 0] + 1e-9 * Z[:, 2])])
    sign = np.where(Z @ [0.5, 0.5, 0.5] + random.logistic(size=30) > 0, 1, -1).astype(np.int8)
    for kind in KINDS:
        assert find_separation(problem_of(Likelihood(X, sign, np.ones(30), kind))) is None


def test_many_rows():
    random = np.random.default_rng(3)
    X = random.normal(size=(30_000, 8))
    score = X @ random.normal(size=8) + 0.1
    sign = np.where(score > 0, 1, -1).astype(np.int8)
    assert find_separation(problem_of(Likelihood(X, sign, np.ones(30_000)))).kind == "complete"
    sign[np.argsort(-np.abs(score))[:1]] *= -1
    assert find_separation(problem_of(Likelihood(X, sign, np.ones(30_000)))) is None


def test_a_direction_is_judged_by_itself():
    X = np.array([[0.0, 5.0], [1.0, 0.0], [1.0, 1.0], [2.0, 0.0]])
    problem = problem_of(Likelihood(X, np.array([-1, -1, 1, 1], dtype=np.int8), np.ones(4)))
    found = check_direction(problem, np.array([2.0, 0.0]), -2.0)
    assert (found.kind, found.n_separated, found.n_rows) == ("quasi-complete", 2, 4)
    np.testing.assert_array_equal(found.direction, [1.0, 0.0])
    assert found.offset == -1.0
    assert check_direction(problem, np.array([2.0, 0.0]), -2.1) is None
    assert check_direction(problem, np.zeros(2), 0.0) is None
    assert check_direction(problem, np.full(2, 1e308), 0.0) is None


def test_the_error_tells_what_to_do():
    X = np.array([[0.0], [1.0], [1.0], [2.0]])
    problem = problem_of(Likelihood(X, np.array([-1, -1, 1, 1], dtype=np.int8), np.ones(4)))
    with pytest.raises(NoFiniteOptimum) as caught:
        refuse_separable(problem, np.zeros(1), 0.0)
    error = caught.value
    assert isinstance(error, MaxMarginError)
    assert isinstance(error, ValueError)
    assert "but for 2 rows on it (2 of 4 rows are strictly on their own side" in str(error)
    assert "Give a finite C" in str(error)
    again = pickle.loads(pickle.dumps(error))
    assert isinstance(again, NoFiniteOptimum)
    assert str(again) == str(error)
    assert (again.kind, again.n_separated, again.offset) == ("quasi-complete", 2, error.offset)
    np.testing.assert_array_equal(again.direction, error.direction)


# ---------------------------------------------------------------- columns that say nothing


def test_null_space_of_useless_columns():
    random = np.random.default_rng(4)
    X = random.normal(size=(100, 3)) + np.array([0, 1e3, 0])
    rows = np.hstack([X, X[:, :1], np.full((100, 1), 3.0), X[:, 1:2] - 2 * X[:, 2:3] + 5, np.zeros((100, 1))])
    cost = np.ones(100)
    cost[::10] = 0
    rows[::10] = random.normal(size=(10, 7)) * 1e6
    space = find_null_space(MemoryRows(rows), cost, has_offset=True)
    assert len(space.dependent) == 4
    scores = np.hstack([rows, np.ones((100, 1))])[cost > 0] @ space.basis.T
    assert np.abs(scores).max() < 1e-11
    without = find_null_space(MemoryRows(rows), cost, has_offset=False)
    assert len(without.dependent) == 3  # the fixed columns 3 and 5 stand in for an offset
    assert not without.basis[:, -1].any()
    w, b = space.shortest(random.normal(size=7), 0.5)
    np.testing.assert_allclose(space.basis[:, :-1] @ w, 0, atol=1e-9)
    assert np.isfinite(b)


def test_constant_columns_of_many_rows():
    """The mean of many equal numbers is not that number, by rounding."""
    random = np.random.default_rng(6)
    n = 100_000
    category = np.eye(5)[random.integers(5, size=n)]
    X = np.hstack(
        [random.normal(size=(n, 2)), np.full((n, 1), 3.3), 0.7 * category, np.full((n, 1), 1e5 / 3)]
    )
    space = find_null_space(MemoryRows(X), np.ones(n), has_offset=True)
    assert len(space.dependent) == 3


@every_value(difference=[1e-3, 1e-6, 1e-9], shift=[0.0, 100.0, 1e4])
def test_columns_that_differ_by_little_are_two_columns(difference, shift):
    random = np.random.default_rng(5)
    X = random.normal(size=(60, 1)) + shift
    rows = MemoryRows(np.hstack([X, X + difference * random.normal(size=(60, 1))]))
    assert len(find_null_space(rows, np.ones(60), has_offset=True).dependent) == 0


def test_a_separation_by_rounding_errors_is_called_that():
    """Rows that a rotation should have left on the boundary overlap by its rounding errors."""
    random = np.random.default_rng(3)
    on_it = random.normal(size=(12, 2)) @ random.normal(size=(2, 3))
    beyond = on_it[:4] + np.cross(on_it[0], on_it[1])
    X, sign = np.vstack([on_it, beyond]), np.append(np.tile([1, -1], 6), np.ones(4)).astype(np.int8)
    assert separability(X, sign, fit_intercept=False).kind == "overlapping"
    found = find_separation(problem_of(Likelihood(X, sign, np.ones(16), "none")))
    assert not found.is_exact
    assert str(found).startswith("to rounding errors, a hyperplane separates the classes but for 12 rows")
    integers = np.rint(8 * X)
    integers[:, 0] = [*[0] * 12, *[5] * 4]
    exact = find_separation(problem_of(Likelihood(integers, sign, np.ones(16), "none")))
    assert exact.is_exact
    assert str(exact).startswith("a hyperplane")


def test_rows_stay_on_the_boundary_beside_a_column_of_dates():
    """Milliseconds since 1970: the direction is rounded once, and its products by no more than that."""
    X = np.array([[1.7e12, 0.0], [1.7e12, 0.0], [1.7e12 + 6491.5, 0.0], [1.7e12, 0.0]])
    y = np.array([-1, 1, -1, -1])
    for rows in (X, sp.csr_array(X)):
        with pytest.raises(NoFiniteOptimum) as caught:
            train(rows, y, loss="logistic", C=np.inf)
        weights = [*(Fraction(weight) for weight in caught.value.direction), Fraction(caught.value.offset)]
        assert weights[1] == 0  # a column of zeros takes no part
        growth = [int(s) * (Fraction(x) * weights[0] + weights[2]) for s, x in zip(y, X[:, 0], strict=True)]
        size = Fraction(X.max()) * abs(weights[0]) + abs(weights[2])
        assert min(growth) >= -size / 2**52
        assert growth[2] > size / 2**40
