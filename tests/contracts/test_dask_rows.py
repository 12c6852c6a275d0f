"""Rows on a Dask cluster: the bits of passes in memory, and trouble on the way."""

import asyncio
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from catalogue import opened, problem_of, task
from covering import each_row
from interrupts import interrupt_when
from reference.clusters import ALONE, lazy
from reference.kernels import Total
from reference.task import Task

import maxmargin
from maxmargin import LinearClassifier, LinearSVM, train
from maxmargin._core import Stopped, StopToken
from maxmargin.core.solution import Plan
from maxmargin.errors import Interrupted, InvalidInput, InvalidParameter, MaxMarginError
from maxmargin.rows.base import Fill, Inner, Scale, Smallest
from maxmargin.rows.kernels import Combine, Scores
from maxmargin.rows.memory import MemoryRows
from maxmargin.solvers import choose
from maxmargin.solvers.run import Limits, run
from maxmargin.solvers.shared_start import shared_start

da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
distributed = pytest.importorskip("distributed")
pd = pytest.importorskip("pandas")

from maxmargin.rows.dask import placement as dask_placement  # noqa: E402
from maxmargin.rows.dask import worker as dask_worker  # noqa: E402
from maxmargin.rows.dask.blocks import dask_blocks  # noqa: E402
from maxmargin.rows.dask.messages import BlockSpan, NotReady, Share  # noqa: E402
from maxmargin.rows.dask.rows import DaskRows  # noqa: E402

PLAN = Plan("any", "a test")
pytestmark = pytest.mark.xdist_group("dask")


@pytest.fixture(scope="module")
def client(two_workers):
    """Return a client that is the default one."""
    with distributed.Client(two_workers.cluster, set_as_default=True) as client:
        yield client


@pytest.fixture
def on_dask(client):
    made = []

    def make(X, block_rows=37, y=None, **settings):
        y = np.arange(X.shape[0]) % 2 if y is None else y
        made.append(
            DaskRows(dask_blocks(lazy(X, block_rows), y, None), client, block_rows=block_rows, **settings)
        )
        return made[-1]

    yield make
    for rows in made:
        rows.close()


def held_by_workers(client):
    return sum(client.run(lambda: len(dask_worker.state.blocks)).values())


def solved(problem, solver, **settings):
    found = run(problem, choose.SOLVERS[solver], PLAN, Limits(1e-4), token=StopToken(), **settings)
    proof = found.certificate
    bits = opened(problem.rows, found.alpha).tobytes()
    return found, (found.coef.tobytes(), found.intercept, bits, proof.objective, proof.bound)


# ---------------------------------------------------------------- the same passes


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
def test_passes_have_the_bits_of_rows_in_memory(on_dask, storage):
    told = task("sparse", "hinge", "free")
    X = storage(told.X)
    random = np.random.default_rng(1)
    a, w = random.normal(size=X.shape[0]), random.normal(size=X.shape[1])
    answers = []
    for rows in (MemoryRows(X, block_rows=7), on_dask(X, 7)):
        kept, z = rows.keep(a), rows.zeros()
        rows.reduce(Scores(w, 0.5), z)
        copy = rows.copied(z)
        rows.reduce(Scale(3.0), z, z)
        norm2, largest = rows.norms()
        few = np.array([5, 13, 2, 99, 5])
        chosen = rows.subset(few)
        answers.append(
            (
                (rows.n_rows, rows.n_columns, rows.n_values, largest),
                [opened(rows, vector).tobytes() for vector in (kept, z, copy, norm2, rows.filled(1.5))],
                rows.reduce(Combine(X.shape[1]), kept).tobytes(),
                (rows.reduce(Total(), kept), rows.reduce(Inner(), kept, z)),
                np.sort(rows.reduce(Smallest(9), kept, norm2).sizes).tobytes(),
                rows.take(few, kept)[0].tobytes(),
                (chosen.X if storage is np.asarray else chosen.X.toarray()).tobytes(),
                (rows.holds(copy), rows.holds(None)),
            )
        )
    assert answers[0] == answers[1]
    np.testing.assert_array_equal(np.frombuffer(answers[1][5]), a[[5, 13, 2, 99, 5]])


def test_vectors_of_other_rows_are_not_held(on_dask):
    assert not on_dask(np.zeros((10, 1)), 5).holds(on_dask(np.zeros((11, 1)), 5).zeros())


def test_a_kernel_may_write_only_where_it_says(on_dask):
    class Liar(Fill):
        writes = ()

    rows = on_dask(np.zeros((10, 1)), 5)
    with pytest.raises(MaxMarginError, match="block [01] .*read-only"):
        rows.reduce(Liar(1.0), rows.zeros())


def test_a_fit_has_the_bits_of_one_in_memory(on_dask):
    """Other solvers, other losses and a worker that is killed: in test_dask_fits.py."""
    told = task("overlapping", "hinge", "free")
    found, expected = solved(problem_of(told, MemoryRows(told.X, block_rows=37)), "semismooth_newton")
    assert solved(problem_of(told, on_dask(told.X)), "semismooth_newton")[1] == expected
    assert found.certificate.relative_gap <= 1e-4


@pytest.mark.slow
def test_classes_that_begin_together_have_the_bits_of_memory(on_dask):
    random = np.random.default_rng(4)
    X, y = random.normal(size=(600, 64)), random.integers(0, 3, 600)
    X[:, :3] += 2.0 * np.eye(3)[y]
    tasks = [Task(X, np.where(y == k, 1, -1).astype(np.int8), np.full(600, 0.02), "hinge") for k in range(3)]
    found = []
    for rows in (MemoryRows(X, block_rows=100), on_dask(X, 100)):
        problems = [problem_of(told, rows) for told in tasks]
        starts = shared_start(problems, 0, StopToken())
        solutions = [
            solved(problem, "semismooth_newton", warm_start=start)[1]
            for problem, start in zip(problems, starts, strict=True)
        ]
        found.append(solutions)
    assert found[0] == found[1]


def test_every_block_is_in_one_place(client, on_dask):
    rows = on_dask(np.ones((90, 1)), 7)
    assert rows.reduce(Combine(1), rows.filled(1.0)) == [90.0]
    held = client.run(lambda: sorted(number for _, number in dask_worker.state.blocks))
    assert sorted(held.values()) == [list(range(7)), list(range(7, 13))]


def test_numbers_nobody_can_ask_for_are_freed(client, on_dask):
    rows = on_dask(np.zeros((8, 1)), 4)
    for _ in range(5):
        last = rows.filled(1.0)
    rows.reduce(Total(), last)
    counts = client.run(lambda: [len(block.arrays) for block in dask_worker.state.blocks.values()])
    assert max(max(found, default=0) for found in counts.values()) <= 2  # it, and the labels


# ---------------------------------------------------------------- trouble


def test_a_stopped_pass_leaves_the_numbers_as_they_were(on_dask):
    rows = on_dask(np.zeros((90, 1)), 7)
    numbers = rows.keep(np.arange(90.0))
    token = StopToken()
    token.stop()
    with pytest.raises(Stopped):
        rows.reduce(Scale(2.0), numbers, numbers, token=token)
    np.testing.assert_array_equal(opened(rows, numbers), np.arange(90.0))
    rows.reduce(Scale(3.0), numbers, numbers)
    np.testing.assert_array_equal(opened(rows, numbers), 3 * np.arange(90.0))


def test_ctrl_c_ends_a_fit_and_frees_the_workers(client, monkeypatch):
    X, y, _ = table(900)
    reduce, passes = DaskRows.reduce, []

    def counting(self, *arguments, **settings):
        passes.append(1)
        return reduce(self, *arguments, **settings)

    monkeypatch.setattr(DaskRows, "reduce", counting)
    with pytest.raises(Interrupted) as caught, interrupt_when(lambda: len(passes) >= 12):
        train(lazy(X, 300), y == "no", tol=1e-12, solver="interior_point")
    assert caught.value.model.certificates[0].gap >= 0
    assert held_by_workers(client) == 0
    assert set(client.run(lambda: len(dask_worker.state.running)).values()) == {0}


def test_a_fit_that_was_idle_for_long_is_dropped():
    def part(rows):
        return np.zeros((rows, 2)), np.arange(rows) % 2, None

    state = dask_worker.WorkerState()
    state.load_block("old", 0, part(4))
    state.load_block("young", 0, part(4))
    state.last_used["old"] -= 2 * dask_worker.IDLE_LIMIT
    state.load_block("young", 1, part(4))
    assert set(state.blocks) == {("young", 0), ("young", 1)}
    shares = {"here": Share((BlockSpan(0, 0, 0, 4),), 1)}
    passes = state.run_passes("old", shares, 1, 0, (), frozenset(), dask_worker=SimpleNamespace(name="here"))
    with ThreadPoolExecutor(1) as thread:  # this one may have a loop of its own: a browser's
        assert thread.submit(asyncio.run, passes).result() == NotReady((0,))


def test_a_bad_value_is_named_with_its_block(on_dask):
    X = np.zeros((90, 3))
    X[40, 2] = np.nan
    rows = on_dask(X, 7)
    with pytest.raises(InvalidInput, match=r"NaN: row 40, column 2 \(counted from 0; row 5 of block 5\)"):
        rows.norms()


def test_a_block_that_cannot_be_loaded_is_named(client):
    def broken(part, block_info=None):
        if block_info[0]["chunk-location"][0] == 2:
            raise OSError("no such bucket")
        return part

    X = da.zeros((40, 2), chunks=(10, -1)).map_blocks(broken, dtype=float, meta=np.zeros((0, 0)))
    with pytest.raises(InvalidInput, match="block 2 .*no such bucket"):
        DaskRows(dask_blocks(X, np.arange(40) % 2, None), client)
    assert held_by_workers(client) == 0


def test_labels_that_do_not_match_their_rows_are_refused(client):
    X, y = da.zeros((40, 2), chunks=(20, -1)), da.ones(41, chunks=(20, 21))
    with pytest.raises(InvalidInput, match="X has 40 rows, y has 41"):
        dask_blocks(X, y, None)
    unknown = y[y > 0]
    with pytest.raises(InvalidInput, match="block 1 .*X has 20 rows, y has 21"):
        DaskRows(dask_blocks(X, unknown, None), client)


def test_another_version_on_a_worker_is_refused(client, monkeypatch):
    monkeypatch.setattr(maxmargin, "__version__", "0.0.0")
    with pytest.raises(MaxMarginError, match="but this process has 0.0.0"):
        DaskRows(dask_blocks(da.zeros((4, 1), chunks=2), np.arange(4) % 2, None), client)


def test_a_worker_without_the_package_is_refused(client):
    name, some = dask_worker.__name__, list(client.ncores())[:1]
    client.run(lambda: sys.modules.__setitem__(name, None), workers=some)
    try:
        with pytest.raises(MaxMarginError, match="cannot run maxmargin"):
            DaskRows(dask_blocks(da.zeros((4, 1), chunks=2), np.arange(4) % 2, None), client)
    finally:
        client.run(lambda: sys.modules.__delitem__(name), workers=some)


@pytest.mark.slow
def test_one_worker_has_the_same_bits_and_none_ends_a_fit_in_time(monkeypatch):
    monkeypatch.setattr(dask_placement, "NO_WORKER_TIMEOUT", 0.6)
    told = task("overlapping", "squared_hinge", "free")
    expected = solved(problem_of(told, MemoryRows(told.X, block_rows=5)), "newton")[1]
    blocks = dask_blocks(lazy(told.X, 5), told.sign, None)
    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=3, processes=False, protocol="tcp://", **ALONE
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        rows = DaskRows(blocks, client, block_rows=5)
        assert solved(problem_of(told, rows), "newton")[1] == expected
        cluster.scale(0)
        while client.ncores():
            threading.Event().wait(0.1)
        with pytest.raises(MaxMarginError, match="no Dask worker is left"):
            rows.reduce(Total(), rows.labels)
        dask_worker.state.drop_fit(rows._placement.fit)  # the worker was this process


# ---------------------------------------------------------------- through the front door


def table(n=20_000):
    random = np.random.default_rng(5)
    X = random.normal(size=(n, 4))
    y = np.array(["no", "yes", "zeta"])[
        np.digitize(X @ random.normal(size=4) + random.normal(size=n), [-0.5, 0.5])
    ]
    return X, y, random.integers(0, 4, n).astype(float)


def test_fit_to_dask_arrays_equals_fit_to_arrays(client):
    X, y, weight = table()
    block = 8192  # as rows of this shape are cut in memory
    model = train(lazy(X, block), da.from_array(y, chunks=5000), sample_weight=weight, loss="logistic")
    expected = train(X, y, sample_weight=weight, loss="logistic", solver="newton")
    assert model.coef.tobytes() == expected.coef.tobytes()
    assert list(model.classes) == ["no", "yes", "zeta"]
    assert [proof.bound for proof in model.certificates] == [proof.bound for proof in expected.certificates]
    assert held_by_workers(client) == 0


def test_fit_to_a_data_frame(client):
    X, y, weight = table(3000)
    frame = pd.DataFrame(X, columns=list("abcd")).assign(target=y, weight=weight)
    frame = frame[frame.target != "no"].reset_index(drop=True)
    lazily = dd.from_pandas(frame, npartitions=3)
    ours = LinearSVM(C=0.1, tol=1e-6).fit(lazily, "target", sample_weight="weight")
    theirs = LinearSVM(C=0.1, tol=1e-6).fit(frame[list("abcd")], frame.target, sample_weight=frame.weight)
    assert list(ours.feature_names_in_) == list("abcd")
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-2)
    assert ours.certificate_.bound <= theirs.certificate_.objective * (1 + 1e-12)
    assert theirs.certificate_.bound <= ours.certificate_.objective * (1 + 1e-12)
    assert (ours.predict(frame[list("abcd")]) == theirs.predict(frame[list("abcd")])).mean() > 0.99


def test_fit_to_a_parquet_data_set(client, tmp_path):
    """Row groups are the blocks, in the order of the files, labels and rows from the same reading."""
    X, y, _ = table(2000)
    frame = pd.DataFrame(X, columns=list("abcd")).assign(label=y)
    for k in range(2):
        part = frame[1000 * k : 1000 * (k + 1)]
        part.to_parquet(tmp_path / f"part-{k}.parquet", row_group_size=500, index=False)
    rows = dd.read_parquet(tmp_path, split_row_groups=True)
    ours = DaskRows(dask_blocks(rows, None, None), client, block_rows=500)
    try:
        assert [span.end - span.first for span in ours._blocks] == [500] * 4
        assert list(ours.classes) == ["no", "yes", "zeta"]
        codes = np.searchsorted(ours.classes, y)
        np.testing.assert_array_equal(opened(ours, ours.labels), codes)
        memory = MemoryRows(X, block_rows=500)
        sums = [ours.reduce(Combine(4), ours.keep(1.0 * codes)), memory.reduce(Combine(4), 1.0 * codes)]
        assert sums[0].tobytes() == sums[1].tobytes()
    finally:
        ours.close()


@each_row(
    ("make", "y", "message"),
    [
        (lambda: da.zeros((10, 4), chunks=(5, 2)), np.zeros(10), "rechunk"),
        (lambda: da.zeros((10, 4), chunks=(5, 4))[da.ones(10) > 0], np.zeros(10), "compute_chunk_sizes"),
        (lambda: da.zeros((10, 4), chunks=(5, 4)), None, "y is missing"),
        (lambda: da.zeros(10, chunks=5), np.zeros(10), "2 dimensions"),
        (lambda: dd.from_pandas(pd.DataFrame({"a": [1.0], "b": [1]}), npartitions=1), None, "Name it"),
        (lambda: dd.from_pandas(pd.DataFrame({"a": [1.0], "b": [1]}), npartitions=1), "c", "not a column"),
        (lambda: dd.from_pandas(pd.DataFrame({"y": [1.0]}), npartitions=1), "y", "no columns other than"),
    ],
)
def test_collections_that_cannot_be_used_are_refused(make, y, message):
    with pytest.raises(InvalidInput, match=message):
        train(make(), y)


def test_one_class_is_refused_and_solvers_that_visit_rows(client):
    X = da.zeros((10, 2), chunks=(5, 2))
    with pytest.raises(InvalidInput, match="one class"):
        train(X, np.ones(10))
    with pytest.raises(InvalidInput, match="no row"):
        train(X[:0], np.ones(0))
    with pytest.raises(InvalidParameter, match="dual_descent"):
        LinearClassifier(solver="dual_descent").fit(X, np.arange(10) % 2)
    assert held_by_workers(client) == 0
