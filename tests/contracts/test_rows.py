"""Rows: the same passes give the same numbers however the data are stored, cut, or read by threads."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
import scipy.sparse as sp
from catalogue import LOSSES, ROWS, SMALL_INTEGERS, STORAGES, opened, problem_data
from covering import every_pair, every_value
from reference.kernels import Total
from reference.sweep import Sweep
from reference.task import Task

from maxmargin import _core
from maxmargin._core import Block, StopToken, SweepState
from maxmargin.errors import InvalidInput, InvalidParameter
from maxmargin.rows.active import PositiveCostRows
from maxmargin.rows.base import Inner, Scale, Smallest
from maxmargin.rows.kernels import Combine, Scores, ScoresAndCombine
from maxmargin.rows.memory import MemoryRows

HELD = ["small integers", "sparse", "d > n", "one feature", "unscaled columns"]


def can_hold(storage, name, *others):
    return storage in STORAGES or name == "small integers"


def stored(storage, name):
    return (STORAGES | SMALL_INTEGERS)[storage](problem_data(name).X)


def products(rows, w, a):
    z = rows.zeros()
    v = rows.reduce(ScoresAndCombine(w), z, rows.keep(a))
    return opened(rows, z), v


# ---------------------------------------------------------------- reduce


@every_value(can_hold, storage=[*STORAGES, *SMALL_INTEGERS], name=HELD)
def test_products_equal_numpy(storage, name):
    X, held = problem_data(name).X, stored(storage, name)
    for make in ROWS.values():
        check_products(make(held), X)


def check_products(rows, X):
    random = np.random.default_rng(1)
    w, a = random.normal(size=X.shape[1]), random.normal(size=X.shape[0])
    a[::4] = 0
    z, v = products(rows, w, a)
    np.testing.assert_allclose(z, X @ w, rtol=1e-12, atol=1e-12 * np.abs(X).max())
    np.testing.assert_allclose(v, X.T @ a, rtol=1e-12, atol=1e-12 * np.abs(X).max())
    alone = rows.zeros()
    rows.reduce(Scores(w), alone)
    np.testing.assert_array_equal(opened(rows, alone), z)
    np.testing.assert_array_equal(rows.reduce(Combine(X.shape[1]), rows.keep(a)), v)
    vector, largest = rows.norms()
    norm2 = opened(rows, vector)
    np.testing.assert_allclose(norm2, (X * X).sum(axis=1), rtol=1e-14)
    assert largest == norm2.max()


# Read as float64, in place or through a buffer, by the same primitive.
SAME_BITS = ["Fortran order", "strided", "rows backwards", "columns backwards", "read-only"]
SAME_BITS_OF_INTEGERS = [name for name in SMALL_INTEGERS if not name.startswith("CSR")]


@every_value(can_hold, storage=[*SAME_BITS, *SAME_BITS_OF_INTEGERS], name=HELD)
def test_strides_and_integers_change_no_bit(storage, name):
    X = problem_data(name).X
    random = np.random.default_rng(2)
    w, a = random.normal(size=X.shape[1]), random.normal(size=X.shape[0])
    ours, plain = products(MemoryRows(stored(storage, name)), w, a), products(MemoryRows(X), w, a)
    np.testing.assert_array_equal(ours[0], plain[0])
    np.testing.assert_array_equal(ours[1], plain[1])


@pytest.mark.parametrize("storage", ["C order", "Fortran order", "CSR, int32"])
def test_threads_change_no_bit(storage):
    X = stored(storage, "n > d")
    random = np.random.default_rng(3)
    w, a = random.normal(size=X.shape[1]), random.normal(size=X.shape[0])
    alone = products(MemoryRows(X, block_rows=13), w, a)
    for threads in (2, 8):
        for ours, first in zip(
            products(MemoryRows(X, block_rows=13, threads=threads), w, a), alone, strict=True
        ):
            np.testing.assert_array_equal(ours, first)


def test_a_sum_in_another_order_would_show():
    """The test above means something: other blocks do give other bits on this data."""
    X = stored("C order", "n > d")
    a = np.random.default_rng(3).normal(size=X.shape[0])
    first = MemoryRows(X, block_rows=13).reduce(Combine(2), a)
    others = [MemoryRows(X, block_rows=size).reduce(Combine(2), a) for size in range(14, 40)]
    assert any((first != other).any() for other in others)


class NamesOfRows:
    """A kernel that says which rows it saw, in which tree."""

    def __call__(self, block, token, *pieces):
        (numbers,) = pieces
        return Joined(str(numbers.tolist()).replace(" ", ""))


class Joined(str):
    """A text that shows how it was joined."""

    def __add__(self, other):
        return Joined(f"({self}{other})")


@pytest.mark.parametrize("threads", [1, 2, 8])
def test_records_are_joined_in_one_binary_tree(threads):
    rows = MemoryRows(np.zeros((10, 1)), block_rows=2, threads=threads)
    tree = rows.reduce(NamesOfRows(), np.arange(10))
    assert tree == "((([0,1][2,3])([4,5][6,7]))[8,9])"


@pytest.mark.parametrize("cut", ROWS)
def test_a_kernel_may_rewrite_its_piece(cut):
    class Double:
        writes = (0,)

        def __call__(self, block, token, *pieces) -> None:
            pieces[0][:] *= 2

    rows = ROWS[cut](np.zeros((10, 1)))
    numbers = rows.keep(np.arange(10.0))
    rows.reduce(Double(), numbers)
    np.testing.assert_array_equal(opened(rows, numbers), 2 * np.arange(10.0))


@pytest.mark.parametrize("cut", ROWS)
def test_numbers_beside_the_rows_are_kept_copied_and_taken(cut):
    rows = ROWS[cut](np.zeros((10, 1)))
    numbers = rows.keep(np.arange(10.0))
    copy, ones = rows.copied(numbers), rows.filled(1.5)
    rows.reduce(Scale(3.0), numbers, numbers)
    np.testing.assert_array_equal(opened(rows, numbers), 3.0 * np.arange(10.0))
    np.testing.assert_array_equal(opened(rows, copy), np.arange(10.0))
    np.testing.assert_array_equal(opened(rows, ones), np.full(10, 1.5))
    taken = rows.take(np.array([7, 2, 7]), numbers, copy)
    np.testing.assert_array_equal(taken, [[21.0, 6.0, 21.0], [7.0, 2.0, 7.0]])
    assert rows.holds(copy)
    other = ROWS[cut](np.zeros((11, 1)))
    assert not rows.holds(other.zeros())
    assert not rows.holds(None)


@pytest.mark.parametrize("cut", ROWS)
def test_passes_over_numbers_alone_equal_numpy(cut):
    random = np.random.default_rng(7)
    a, b = random.normal(size=(2, 90))
    cost = np.where(random.random(90) < 0.3, 0.0, 1.0)
    rows = ROWS[cut](np.zeros((90, 2)))
    vectors = rows.keep(a), rows.keep(b)
    assert rows.reduce(Total(), vectors[0]) == pytest.approx(a.sum(), rel=1e-13)
    assert rows.reduce(Inner(), *vectors) == pytest.approx(float((a * b).sum()), rel=1e-12)
    least = rows.reduce(Smallest(20), vectors[0], rows.keep(cost))
    np.testing.assert_array_equal(np.sort(least.sizes), np.sort(np.abs(a[cost > 0]))[:20])
    assert len(rows.reduce(Smallest(100), vectors[0], rows.keep(cost)).sizes) == np.count_nonzero(cost)


@every_value(cut=ROWS, wanted=[-1, 0, 1])
def test_live_rows_are_found_by_rank(cut, wanted):
    random = np.random.default_rng(8)
    sign = np.where(random.random(90) < 0.4, 1, -1).astype(np.int8)
    cost = np.where(random.random(90) < 0.3, 0.0, 1.0)
    rows = ROWS[cut](np.zeros((90, 2)))
    live = PositiveCostRows(rows, rows.keep(sign), rows.keep(cost), wanted)
    expected = np.flatnonzero((cost > 0) & ((sign == wanted) | (wanted == 0)))
    assert live.count == len(expected)
    np.testing.assert_array_equal(live.numbers(np.arange(live.count)), expected)
    ranks = random.permutation(live.count)[:9]
    np.testing.assert_array_equal(live.numbers(ranks), np.sort(expected[ranks]))
    assert len(live.numbers(np.zeros(0, dtype=np.intp))) == 0


# ---------------------------------------------------------------- sweep


class DualSweep:
    """The compiled sweep as a kernel for `rows.sweep`."""

    def __init__(self, loss, state):
        self.loss, self.state = loss, state

    def __call__(self, block, token, order, *pieces):
        return [_core.dual_sweep(block, self.loss, self.state, *pieces, order, token)]


def start_of(data, alpha, center, gamma, mean):
    """Return u and the state that fit α, and the per-row arrays."""
    u = (data.sign * alpha) @ data.X
    state = SweepState(u, center, gamma, float(mean @ mean))
    state.balance = float((data.sign * alpha).sum())
    state.mean_dot = float(mean @ u)
    norm2 = ((data.X - mean) ** 2).sum(axis=1)
    calm, rest = np.zeros((2, len(data.sign)), dtype=np.uint8)
    return u, state, (data.sign, data.cost, norm2, data.X @ mean, alpha, calm, rest)


def sweep(rows, data, loss, *, seed=0, number=0, alpha=None, center=0.0, gamma=0.0):
    """Return α, u, the state, and what each block saw."""
    alpha = 0.01 * data.cost if alpha is None else alpha.copy()
    u, state, numbers = start_of(data, alpha, center, gamma, np.zeros(rows.n_columns))
    vectors = [rows.keep(vector) for vector in numbers]
    seen = rows.sweep(DualSweep(loss, state), seed, number, *vectors, token=StopToken())
    return opened(rows, vectors[4]), u, state, seen


@every_pair(
    name=["overlapping", "rows of cost 0", "all-zero rows", "costs far apart"],
    loss=LOSSES,
    centred=[False, True],
    offset=[(0.0, 0.0), (0.3, 0.7)],
)
def test_visits_equal_the_reference(name, loss, centred, offset):
    """Each row as a block of its own, in an order of ours, so that the reference can follow."""
    data = problem_data(name)
    mean = data.X.mean(axis=0) if centred else np.zeros(data.X.shape[1])
    center, gamma = offset
    alpha = 0.01 * data.cost
    _, state, numbers = start_of(data, alpha, center, gamma, mean)
    order = np.random.default_rng(6).permutation(len(data.sign))
    kernel = DualSweep(loss, state)
    for i in order:
        kernel(Block(data.X[i : i + 1]), StopToken(), (0, 0, 0), *(vector[i : i + 1] for vector in numbers))
    expected = Sweep(data.X, data.sign, data.cost, loss, 0.01 * data.cost, center, gamma, mean)
    expected.visit([i for i in order if data.cost[i] > 0])
    np.testing.assert_allclose(alpha, expected.alpha, rtol=1e-9, atol=1e-10 * data.cost.max())


@cache
def can_sweep(cut):
    """Whether rows of a kind can be swept; if they say that they cannot, they must refuse it in words."""
    rows = ROWS[cut](np.zeros((10, 1)))
    if not rows.can_sweep:
        with pytest.raises(InvalidParameter, match="one by one"):
            rows.sweep(NamesOfRows(), 0, 0, rows.zeros(), token=StopToken())
    return rows.can_sweep


@every_pair(
    name=["overlapping", "rows of cost 0", "n > d", "sparse"],
    loss=LOSSES,
    cut=ROWS,
    offset=[(0.0, 0.0), (0.3, 0.7)],
)
def test_a_sweep_visits_every_row_that_costs(name, loss, cut, offset):
    """Its state is what α says, every row is seen once, and the dual value of the inner problem rises."""
    data = problem_data(name)
    if not can_sweep(cut):
        return
    center, gamma = offset
    start = 0.01 * data.cost
    alpha, u, state, seen = sweep(ROWS[cut](data.X), data, loss, alpha=start, center=center, gamma=gamma)
    assert sum(record.visited for record in seen) == np.count_nonzero(data.cost)
    assert all(record.complete for record in seen)
    np.testing.assert_allclose(u, (data.sign * alpha) @ data.X, rtol=1e-10, atol=1e-10 * np.abs(u).max())
    assert state.balance == pytest.approx(float((data.sign * alpha).sum()), rel=1e-10, abs=1e-9)
    assert (alpha[data.cost == 0] == 0).all()

    def value(alpha):
        penalised = Task(data.X, data.sign, data.cost, loss, "penalized", np.sqrt(gamma))
        return float(penalised.dual(alpha)) - center * float((data.sign * alpha).sum())

    assert value(alpha) > value(start)


@pytest.mark.parametrize("storage", [*STORAGES, *SMALL_INTEGERS])
def test_sweeps_over_every_storage_lead_to_the_same_optimum(storage):
    """The order may differ (what is not read in place is swept chunk by chunk), the limit may not."""
    base = problem_data("small integers")
    data = replace(base, cost=0.01 * base.cost)
    alphas = []
    for X in (data.X, stored(storage, "small integers")):
        alpha = np.zeros(len(data.sign))
        for number in range(200):
            alpha, *_ = sweep(MemoryRows(X), data, "squared_hinge", number=number, alpha=alpha, gamma=1.0)
        alphas.append(alpha)
    np.testing.assert_allclose(alphas[0], alphas[1], rtol=1e-9, atol=1e-12)
    assert (alphas[0] > 0).sum() > 20


@pytest.mark.parametrize("cut", ROWS)
def test_the_order_of_visits_follows_from_seed_and_number(cut):
    data = problem_data("overlapping")
    if not can_sweep(cut):
        return

    def after(seed, number):
        return sweep(ROWS[cut](data.X), data, "hinge", seed=seed, number=number)[0].tobytes()

    assert after(5, 2) == after(5, 2)
    assert len({after(seed, number) for seed in range(4) for number in range(4)}) == 16


# ---------------------------------------------------------------- a first look


BAD_VALUES = {
    "X contains NaN: row 40, column 2": {(40, 2): np.nan},
    "X contains infinity (inf): row 40, column 2": {(40, 2): np.inf},
    "X contains minus infinity (-inf): row 0, column 0": {(0, 0): -np.inf},
    "X contains infinity (inf): row 40, column 4": {(41, 0): np.nan, (40, 4): np.inf, (40, 5): np.nan},
    "X contains NaN: row 3, column 1": {(88, 5): np.nan, (3, 1): np.nan},
    "X contains NaN: row 89, column 5": {(89, 5): np.nan},
}


@every_value(message=BAD_VALUES, storage=[name for name in STORAGES if name != "read-only"], threads=[1, 8])
def test_the_first_bad_value_is_named(message, storage, threads):
    X = problem_data("small integers").X.copy()
    for place, value in BAD_VALUES[message].items():
        X[place] = value
    rows = MemoryRows(STORAGES[storage](X), block_rows=7, threads=threads)
    with pytest.raises(InvalidInput) as caught:
        rows.norms()
    assert message in str(caught.value)


@pytest.mark.parametrize("kind", [np.asfortranarray, sp.csr_array])
def test_a_row_too_large_to_square_is_named(kind):
    X = np.zeros((90, 6))
    X[[50, 70], 3] = 1e200
    with pytest.raises(InvalidInput, match=r"row 50 of X \(counted from 0\) is so large"):
        MemoryRows(kind(X), block_rows=7).norms()


def test_a_bad_value_matters_more_than_a_large_row():
    X = np.zeros((30, 2))
    X[3, 1], X[20, 0] = 1e200, np.nan
    with pytest.raises(InvalidInput, match="NaN: row 20, column 0"):
        MemoryRows(X, block_rows=4).norms()


# ---------------------------------------------------------------- shapes, subsets


@every_value(sparse=[False, True], shape=[(0, 3), (3, 0), (0, 0), (1, 1)])
def test_empty_shapes(shape, sparse):
    X = np.ones(shape)
    rows = MemoryRows(sp.csr_array(X) if sparse else X, block_rows=2)
    z, v = products(rows, np.ones(shape[1]), np.ones(shape[0]))
    np.testing.assert_array_equal(z, X @ np.ones(shape[1]))
    np.testing.assert_array_equal(v, X.T @ np.ones(shape[0]))
    norm2, largest = rows.norms()
    assert norm2.shape == (shape[0],)
    assert largest == max(norm2, default=0.0)


@pytest.mark.parametrize("storage", STORAGES)
def test_a_subset_holds_the_chosen_rows(storage):
    X = problem_data("sparse").X
    index = np.array([5, 13, 2, 99, 5])
    rows = MemoryRows(STORAGES[storage](X), block_rows=7).subset(index)
    w = np.random.default_rng(4).normal(size=X.shape[1])
    z, _ = products(rows, w, np.zeros(5))
    np.testing.assert_allclose(z, X[index] @ w, rtol=1e-12, atol=1e-14)
    assert (rows.n_rows, rows.n_columns) == (5, X.shape[1])


def test_rows_are_read_in_place():
    X = np.zeros((4, 3))
    rows = MemoryRows(X)
    X[2, 1] = 5.0
    z, _ = products(rows, np.ones(3), np.zeros(4))
    np.testing.assert_array_equal(z, [0, 0, 5, 0])
    assert rows.X is X


@pytest.mark.parametrize("dtype", [np.float64, np.int8, np.uint8])
def test_row_vectors_start_at_zero(dtype):
    vector = MemoryRows(np.ones((5, 2))).zeros(dtype)
    assert vector.dtype == dtype
    np.testing.assert_array_equal(vector, np.zeros(5))
