"""The hinge of Crammer and Singer wherever the rows are: the same bits, resumed fits, memory, deadlines."""

from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from catalogue import ROWS
from covering import every_value

from maxmargin import LinearSVM, store_data, train
from maxmargin._core import StopToken
from maxmargin.core.objective import Objective
from maxmargin.core.offset import FreeOffset, NoOffset, PenalizedOffset
from maxmargin.core.penalties import Ridge
from maxmargin.core.problem import Problem
from maxmargin.core.solution import Plan, Status
from maxmargin.core.targets import ClassTargets
from maxmargin.errors import ConvergenceWarning, InvalidParameter
from maxmargin.fit.memory_plan import fit_bytes
from maxmargin.fit.stored import memory_plan
from maxmargin.io.memory import held_memory
from maxmargin.losses.multiclass import CrammerSinger, Softmax
from maxmargin.rows.memory import MemoryRows
from maxmargin.solvers.choose import choose
from maxmargin.solvers.many_classes.class_newton import ClassNewton, ClassNewtonSettings
from maxmargin.solvers.run import Limits, run


def table(n=60, d=3, K=4, seed=0):
    random = np.random.default_rng(seed)
    label = np.concatenate([np.arange(K), random.integers(0, K, n - K)])
    return random.normal(size=(n, d)) + 1.5 * random.normal(size=(K, d))[label], label.astype(np.int32)


def problem_on(rows, label, cost, offset=None):
    targets = ClassTargets(rows.keep(label), rows.keep(cost), int(label.max()) + 1)
    return Problem(rows, targets, CrammerSinger(targets.n_classes), Ridge(), offset or FreeOffset())


def solved(rows, label, cost, offset=None, *, tol=1e-7, **settings):
    problem = problem_on(rows, label, cost, offset)
    solver = ClassNewton(ClassNewtonSettings(**settings))
    return run(problem, solver, Plan("", ""), Limits(tol), token=StopToken())


OFFSETS = [FreeOffset(), PenalizedOffset(2.0), NoOffset()]

# How the Newton equations are solved: by factors, by products with copied rows, by products with all rows.
WAYS = {
    "factors": {},
    "copies": {"largest_hessian": 0},
    "all rows": {"largest_hessian": 0, "most_copied": 0.0, "least_sample": 20},
    "no Gram matrix": {"largest_hessian": 0, "largest_gram": 0},
}


@every_value(cut=ROWS, offset=OFFSETS, way=WAYS)
def test_bits_are_the_same_everywhere(cut, offset, way):
    X, label = table()
    cost = np.random.default_rng(1).choice([0.0, 0.5, 3.0], len(X))
    rows = ROWS[cut](X)
    found = solved(rows, label, cost, offset, **WAYS[way])
    same = solved(MemoryRows(X, block_rows=rows.largest_block), label, cost, offset, **WAYS[way])
    assert found.certificate == same.certificate
    assert found.certificate.relative_gap <= 1e-7
    np.testing.assert_array_equal(found.coef, same.coef)
    np.testing.assert_array_equal(found.intercept, same.intercept)
    # Descent shares no code with it but the certificate.
    other = problem_on(MemoryRows(X), label, cost, offset)
    descent = run(other, *choose("dual_descent", other, 1e-6), Limits(1e-6), token=StopToken())
    assert found.certificate.objective == pytest.approx(descent.certificate.objective, rel=1e-5)


@pytest.mark.parametrize(
    "cut", [cut for cut in ("sealed vectors", "on disk", "on a Dask cluster") if cut in ROWS]
)
def test_what_is_chosen_where_duals_are_not_in_memory(cut):
    X, label = table(n=70, d=60, K=30)
    problem = problem_on(ROWS[cut](X), label, np.full(70, 0.01))
    solver, plan = choose("auto", problem, 1e-4)
    assert (solver.name, plan.reason) == (
        "semismooth_newton",
        "steps row by row would need the duals of all rows in memory",
    )
    with pytest.raises(InvalidParameter, match=r"hinge \(Crammer–Singer\) that take these: 'auto', 'sem"):
        choose("dual_descent", problem, 1e-4)
    problem = problem_on(MemoryRows(X), label, np.full(70, 0.01))
    assert choose("auto", problem, 1e-4)[0].name == "dual_descent"


# ---------------------------------------------------------------- fits to stored rows

SETTINGS = {"multi_class": "crammer_singer", "C": 0.1}


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    X, label = table(n=6_000, d=5)
    return store_data([(X, label)], tmp_path_factory.mktemp("rows") / "store"), X, label


def test_stored_rows_give_the_model_of_memory(store):
    stored, X, label = store
    # In memory descent would be chosen, which keeps the duals of all rows at hand.
    found, expected = train(stored, **SETTINGS), train(X, label, solver="semismooth_newton", **SETTINGS)
    np.testing.assert_array_equal(found.coef, expected.coef)
    np.testing.assert_array_equal(found.intercept, expected.intercept)
    assert found.certificates == expected.certificates
    assert found.is_joint
    assert found.plans[0].reason == "one 24 × 24 system per step is cheap; rows read from disk"


def test_a_fit_continues_an_earlier_one(store):
    stored = store[0]
    model = LinearSVM(warm_start=True, **SETTINGS).fit(stored.folder)
    first = model.n_iter_
    assert model.fit(stored.folder).n_iter_ < first
    assert model.certificate_.relative_gap <= 1e-4


def test_weights_of_rows_and_classes_on_disk(tmp_path):
    X, label = table(n=300)
    weight = np.random.default_rng(2).integers(0, 3, len(X))
    settings = {**SETTINGS, "tol": 1e-7, "class_weight": {0: 2.0}}
    stored = store_data([(X, label, weight.astype(float))], tmp_path / "store")
    repeated = train(np.repeat(X, weight, axis=0), np.repeat(label, weight), **settings)
    assert train(stored, **settings).certificate.objective == pytest.approx(
        repeated.certificate.objective, rel=1e-6
    )


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


def test_wide_rows_are_fitted_by_descent_or_by_passes(tmp_path):
    random = np.random.default_rng(6)
    X = sp.random_array((300, 2_500), density=0.01, format="csr", rng=random)
    label = (X @ random.normal(size=(2_500, 4))).argmax(axis=1)
    stored = store_data([(X, label)], tmp_path / "store")
    settings = {**SETTINGS, "C": 1.0, "tol": 1e-3}
    assert train(stored, **settings, memory="100GB").plans[0].solver == "dual descent"
    found = train(stored, **settings, solver="semismooth_newton", memory="100GB")
    assert found.certificate.relative_gap <= 1e-3


def test_passes_are_taken_where_the_duals_of_wide_rows_do_not_fit():
    wide = SimpleNamespace(
        n_rows=10**7,
        n_columns=10**5,
        n_values=10**9,
        is_sparse=True,
        classes=np.arange(20),
        arrays={"values": np.empty(0, np.float32)},
    )
    objective = Objective(loss="hinge", multi_class="crammer_singer")
    by_descent = [
        memory_plan(wide, limit, solver=solver, threads=1, objective=objective).by_descent
        for solver, limit in (("auto", 20 << 30), ("auto", 2 << 30), ("semismooth_newton", 20 << 30))
    ]
    assert by_descent == [True, False, False]
    with pytest.raises(InvalidParameter, match="20 classes at once"):
        memory_plan(wide, 2 << 30, solver="dual_descent", threads=1, objective=objective)


def test_the_memory_of_a_block_with_many_classes_is_counted():
    rows = SimpleNamespace(
        n_rows=10**8,
        n_columns=50,
        n_values=50 * 10**8,
        is_sparse=False,
        arrays={"X": np.empty(0, np.float64)},
    )
    softmax, hinge = (fit_bytes(rows, 2, False, loss(100)) for loss in (Softmax, CrammerSinger))
    pieces = 8 * 4 * 65_536 * 100 * 2  # scores, their change, two sets of duals
    assert pieces < hinge - softmax < 2 * pieces
    more = replace_rows(rows, 100)
    assert fit_bytes(more, 2, False, CrammerSinger(100)) == hinge  # whatever the number of rows
    assert fit_bytes(more, 2, True, CrammerSinger(100)) > 8 * more.n_rows * 100


def replace_rows(rows, times):
    return SimpleNamespace(**{**vars(rows), "n_rows": times * rows.n_rows, "n_values": times * rows.n_values})
