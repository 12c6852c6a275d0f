"""Softmax wherever the rows are: the same bits for equal blocks, resumed fits, memory, deadlines."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from catalogue import ROWS
from covering import every_value

from maxmargin import store_data, train
from maxmargin._core import StopToken
from maxmargin.core.certificate.duality import examine
from maxmargin.core.offset import FreeOffset, NoOffset, PenalizedOffset
from maxmargin.core.penalties import Ridge
from maxmargin.core.problem import Problem
from maxmargin.core.solution import Status, WarmStart
from maxmargin.core.targets import ClassTargets
from maxmargin.errors import ConvergenceWarning, InvalidParameter
from maxmargin.fit.dask import _nothing_done
from maxmargin.fit.memory_plan import fit_bytes
from maxmargin.fit.stored import Checkpoints
from maxmargin.io.memory import held_memory
from maxmargin.losses.multiclass import CrammerSinger, Softmax
from maxmargin.rows.memory import MemoryRows
from maxmargin.solvers.choose import choose
from maxmargin.solvers.run import Limits, run


def table(n=60, d=3, K=4, seed=0):
    random = np.random.default_rng(seed)
    label = np.concatenate([np.arange(K), random.integers(0, K, n - K)])
    return random.normal(size=(n, d)) + 1.5 * random.normal(size=(K, d))[label], label.astype(np.int32)


def solved(rows, label, cost, offset, tol=1e-8):
    targets = ClassTargets(rows.keep(label), rows.keep(cost), int(label.max()) + 1)
    problem = Problem(rows, targets, Softmax(targets.n_classes), Ridge(), offset)
    solver, plan = choose("auto", problem, tol)
    return run(problem, solver, plan, Limits(tol), token=StopToken())


OFFSETS = [FreeOffset(), PenalizedOffset(2.0), NoOffset()]


@every_value(cut=ROWS, offset=OFFSETS)
def test_bits_are_the_same_everywhere(cut, offset):
    X, label = table()
    cost = np.random.default_rng(1).choice([0.0, 0.5, 3.0], len(X))
    rows = ROWS[cut](X)
    found = solved(rows, label, cost, offset)
    same = solved(MemoryRows(X, block_rows=rows.largest_block), label, cost, offset)
    assert found.certificate == same.certificate
    assert found.certificate.relative_gap <= 1e-8
    np.testing.assert_array_equal(found.coef, same.coef)
    np.testing.assert_array_equal(found.intercept, same.intercept)


# ---------------------------------------------------------------- fits to stored rows

SETTINGS = {"loss": "logistic", "multi_class": "softmax"}


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    X, label = table(n=6_000, d=5)
    return store_data([(X, label)], tmp_path_factory.mktemp("rows") / "store"), X, label


def test_stored_rows_give_the_model_of_memory(store):
    stored, X, label = store
    found, expected = train(stored, **SETTINGS, tol=1e-8), train(X, label, **SETTINGS, tol=1e-8)
    np.testing.assert_array_equal(found.coef, expected.coef)
    np.testing.assert_array_equal(found.intercept, expected.intercept)
    assert found.certificates == expected.certificates
    assert found.is_joint
    assert found.plans[0].reason.endswith("rows read from disk")


def test_a_fit_to_stored_rows_continues_an_earlier_one(store):
    stored = store[0]
    first = train(stored, **SETTINGS, C=0.9, tol=1e-8)
    warm, cold = (train(stored, **SETTINGS, tol=1e-8, start=start) for start in (first, None))
    assert warm.certificate.relative_gap <= 1e-8
    assert warm.n_iter[0] < cold.n_iter[0]


def test_a_deadline_gives_the_best_model_so_far(store):
    with pytest.warns(ConvergenceWarning, match="time limit"):
        model = train(store[0], **SETTINGS, tol=1e-12, max_time=1e-6)
    assert model.statuses[0] is Status.MAX_TIME
    assert 0 < model.certificate.bound <= model.certificate.objective < np.inf


def test_a_memory_limit_is_kept_or_the_least_is_told(store):
    held = held_memory()
    model = train(store[0], **SETTINGS, memory=held + (200 << 20))
    assert model.certificate.relative_gap <= 1e-4
    with pytest.raises(InvalidParameter, match=r"6,000 rows of 5 columns on disk and 4 classes at once"):
        train(store[0], **SETTINGS, memory=held + (1 << 20))


def test_the_memory_of_many_classes_is_counted():
    rows = SimpleNamespace(
        n_rows=10**8,
        n_columns=768,
        n_values=768 * 10**8,
        is_sparse=False,
        arrays={"X": np.empty(0, np.float16)},
    )
    few, many = (fit_bytes(rows, 2, False, Softmax(n_outputs)) for n_outputs in (10, 1_000))
    weights = 8 * 1_000 * 769
    assert many - few > 40 * weights
    assert many < 3e9
    # Not with the rows, but for what descent keeps.
    rows.n_rows, rows.n_values = 10**10, 768 * 10**10
    assert fit_bytes(rows, 2, False, Softmax(1_000)) == many
    assert fit_bytes(rows, 2, True, Softmax(1_000)) > 8 * 10**13


def test_checkpoints_of_all_classes_are_read_again(tmp_path):
    saved = Checkpoints(tmp_path / "fit", (50, 3, 4))
    W, b, duals = np.ones((4, 3)), np.arange(4.0), np.zeros((50, 4))
    saved.save(0, WarmStart(W, b, duals))
    (found,) = Checkpoints(tmp_path / "fit", (50, 3, 4)).warm_starts(1)
    for kept, given in zip((found.w, found.b, found.alpha), (W, b, duals), strict=True):
        np.testing.assert_array_equal(kept, given)
    assert Checkpoints(tmp_path / "fit", (50, 3, 5)).warm_starts(1) == [None]


@pytest.mark.parametrize("cut", ROWS)
def test_certificates_are_the_same_everywhere(cut):
    X, label = table(n=40)
    W = np.random.default_rng(2).normal(size=(4, 3))
    rows = ROWS[cut](X)

    def proofs(rows):
        targets = ClassTargets(rows.keep(label), rows.keep(np.full(len(X), 0.5)), 4)
        problem = Problem(rows, targets, Softmax(4))
        own = examine(problem, W, None, None)  # with the best offsets, by Newton's method on some of the rows
        duals = rows.keep(np.random.default_rng(3).normal(size=(len(X), 4)))
        hinge = examine(replace(problem, loss=CrammerSinger(4)), W, own.b, duals)
        return own.b.tolist(), own.certificate, hinge.certificate

    found = proofs(rows)
    assert found == proofs(MemoryRows(X, block_rows=rows.largest_block))
    assert found[1].bound > 0


def test_where_rows_are_lost_before_the_fit_there_is_a_model_of_zeros():
    targets = SimpleNamespace(joint=Softmax(3), n_outputs=3, total_cost=12.0)
    found = _nothing_done(targets, SimpleNamespace(), SimpleNamespace(n_columns=2))
    np.testing.assert_array_equal(found.coef, np.zeros((3, 2)))
    np.testing.assert_array_equal(found.intercept, np.zeros(3))
    assert found.certificate.objective == pytest.approx(12 * np.log(3))
    assert found.certificate.bound == 0


@pytest.mark.parametrize(
    "cut", [cut for cut in ("sealed vectors", "on disk", "on a Dask cluster") if cut in ROWS]
)
def test_bits_are_the_same_with_a_gram_matrix_for_each_class_and_kept_scores(cut):
    X, label = table(n=150, d=64, K=20)
    rows = ROWS[cut](X)
    found, same = (
        solved(each, label, np.full(len(X), 100.0), FreeOffset(), 1e-4)
        for each in (rows, MemoryRows(X, block_rows=rows.largest_block))
    )
    assert found.certificate == same.certificate
    assert found.certificate.relative_gap <= 1e-4
    np.testing.assert_array_equal(found.coef, same.coef)
