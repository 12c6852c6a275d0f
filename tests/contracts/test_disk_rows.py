"""Fits to rows on disk: the bits of a fit in memory, in little memory, and again after a kill."""

import os

import numpy as np
import pytest
import scipy.sparse as sp
from catalogue import LOSSES, OFFSETS, ON_PASSES, opened, problem_of, task
from covering import every_value
from reference.kernels import Total
from reference.on_disk import on_disk
from reference.task import Task

from maxmargin import LinearClassifier, train
from maxmargin._core import StopToken
from maxmargin.core.solution import Plan
from maxmargin.data import Data
from maxmargin.errors import InvalidInput, InvalidParameter
from maxmargin.io.store import store_batches
from maxmargin.rows.disk import vectors as vector_files
from maxmargin.rows.disk.folders import OwnFolder
from maxmargin.rows.disk.journal import OtherFit, PassJournal
from maxmargin.rows.disk.rows import DiskRows, MappedRows
from maxmargin.rows.memory import MemoryRows
from maxmargin.solvers import choose
from maxmargin.solvers.run import Limits, run

PLAN = Plan("any", "a test")
CASES = [(name, loss) for name in ON_PASSES for loss in LOSSES if loss in choose.SOLVERS[name].needs.losses]


def solved(problem, solver, tol=1e-8, **settings):
    found = run(problem, choose.SOLVERS[solver], PLAN, Limits(tol), token=StopToken(), **settings)
    numbers = opened(problem.rows, found.alpha).tobytes()
    proof = found.certificate
    return found, (found.coef.tobytes(), found.intercept, numbers, proof.objective, proof.bound)


# ---------------------------------------------------------------- the same bits


@every_value(case=CASES, offset=OFFSETS)
def test_a_fit_has_the_bits_of_one_in_memory(case, offset):
    solver, loss = case
    for name in ("overlapping", "rows of cost 0", "far from the origin"):
        told = task(name, loss, offset)
        memory = problem_of(told, MemoryRows(told.X, block_rows=37))
        disk = problem_of(told, on_disk(told.X, block_rows=37, threads=2))
        found, expected = solved(memory, solver)
        again, bits = solved(disk, solver)
        assert bits == expected
        # … and a warm start goes on as it does in memory.
        warm = solved(disk, solver, warm_start=again.warm_start)[1]
        assert warm == solved(memory, solver, warm_start=found.warm_start)[1]


@pytest.mark.parametrize(("solver", "loss"), CASES)
def test_sparse_rows_have_the_same_bits(solver, loss):
    told = task("sparse", loss, "free")
    X = sp.csr_array(told.X)
    expected = solved(problem_of(told, MemoryRows(X, block_rows=37)), solver)[1]
    assert solved(problem_of(told, on_disk(X, block_rows=37)), solver)[1] == expected


@pytest.mark.parametrize(("solver", "loss"), CASES)
def test_condensed_rows_have_the_same_bits(monkeypatch, solver, loss):
    random = np.random.default_rng(12)
    groups = [np.eye(k)[random.integers(0, k, 3000)] for k in (3, 7)]
    X = np.hstack([random.normal(size=(3000, 3)), *groups])
    sign = np.where(X[:, 0] - X[:, 5] + random.normal(size=3000) > 0, 1, -1).astype(np.int8)
    told = Task(X, sign, np.full(3000, 0.1), loss)
    rows = on_disk(X, block_rows=1536, threads=2)
    expected = solved(problem_of(told, MemoryRows(X, block_rows=1536)), solver)[1]
    assert solved(problem_of(told, rows), solver)[1] == expected
    assert rows.condensed(StopToken()).owned_bytes > 0
    monkeypatch.setattr("maxmargin.rows.disk.rows.MOST_CONDENSED_BYTES", 10)
    assert on_disk(X, block_rows=1536).condensed(StopToken()).owned_bytes == 0


@every_value(name=["overlapping", "sparse", "d > n"], loss=LOSSES)
def test_descent_visits_rows_on_disk_block_by_block(name, loss):
    """Its vectors are in memory; the answers lie within the two certificates."""
    told = task(name, loss, "free")
    X = sp.csr_array(told.X) if name == "sparse" else told.X
    ours = solved(problem_of(told, on_disk(X, block_rows=37, kind=MappedRows)), "dual_descent")[0]
    theirs = solved(problem_of(told, MemoryRows(X)), "dual_descent")[0]
    for proof, other in ((ours.certificate, theirs.certificate), (theirs.certificate, ours.certificate)):
        assert proof.relative_gap <= 1e-8
        assert proof.bound <= other.objective * (1 + 1e-12)


def test_descent_does_not_fetch_blocks_at_rest(monkeypatch):
    """Far on the right side nothing moves: only the blocks near the boundary are read again."""
    random = np.random.default_rng(8)
    X = random.normal(size=(2000, 3))
    sign = np.where(X[:, 0] > 0, 1, -1).astype(np.int8)
    X[:1800, 0] += 50.0 * sign[:1800]
    rows = on_disk(X, block_rows=100, kind=MappedRows)
    fetched, sweep = [], rows.sweep

    def watched_sweep(*arguments, **token):
        with monkeypatch.context() as patch:
            patch.setattr(rows, "_announce", fetched.append)
            return sweep(*arguments, **token)

    monkeypatch.setattr(rows, "sweep", watched_sweep)
    told = Task(X, sign, np.ones(2000), "hinge")
    found, _ = solved(problem_of(told, rows), "dual_descent", tol=1e-6)
    assert found.certificate.relative_gap <= 1e-6
    counts = np.bincount(fetched, minlength=20)
    assert counts[18:].min() > 2 * counts[:18].max()


# ---------------------------------------------------------------- through the front door


def table(n=3000, n_classes=2, sparse=False):
    random = np.random.default_rng(5)
    X = random.normal(size=(n, 6)) * (random.random((n, 6)) < 0.5 if sparse else 1.0)
    cuts = [-0.5, 0.5][: n_classes - 1] if n_classes > 2 else [0.1]
    y = np.array(["no", "yes", "zeta"])[np.digitize(X @ random.normal(size=6) + random.normal(size=n), cuts)]
    return (sp.csr_array(X) if sparse else X), y, random.integers(0, 4, n).astype(float)


def stored(folder, X, y, weight=None):
    pieces = [slice(first, first + 700) for first in range(0, X.shape[0], 700)]
    weights = [() if weight is None else (weight[piece],) for piece in pieces]
    return store_batches(((X[p], y[p], *w) for p, w in zip(pieces, weights, strict=True)), folder / "rows")


@every_value(loss=LOSSES, n_classes=[2, 3], weighted=[False, True], class_weight=[None, "balanced"])
def test_an_estimator_takes_a_folder(tmp_path, loss, n_classes, weighted, class_weight):
    X, y, weight = table(n_classes=n_classes)
    weight = weight if weighted else None
    stored(tmp_path, X, y, weight)
    solver = "newton" if loss != "hinge" else "semismooth_newton"
    settings = {"C": 0.1, "loss": loss, "solver": solver, "tol": 1e-7, "class_weight": class_weight}
    expected = LinearClassifier(**settings).fit(X, y, sample_weight=weight)
    found = LinearClassifier(**settings).fit(tmp_path / "rows")
    np.testing.assert_array_equal(found.coef_, expected.coef_)
    np.testing.assert_array_equal(found.intercept_, expected.intercept_)
    assert found.classes_.tolist() == expected.classes_.tolist()
    assert found.certificate_ == expected.certificate_
    np.testing.assert_array_equal(found.predict(X), expected.predict(X))
    assert not any((tmp_path / "rows" / "fits").iterdir())
    if loss != "logistic":
        with pytest.raises(AttributeError, match="where rows are not in memory"):
            found.support_  # noqa: B018


def test_sources_come_with_their_labels(tmp_path):
    X, y, _ = table(300)
    store = stored(tmp_path, X, y)
    expected = train(X, y)
    for source in (store, tmp_path / "rows", str(tmp_path / "rows"), Data(X, y)):
        assert train(source, tol=1e-6).certificate.bound <= expected.certificate.objective
        with pytest.raises(InvalidParameter, match="y comes with the rows"):
            train(source, y)
        with pytest.raises(InvalidParameter, match="sample_weight comes with the rows"):
            train(source, sample_weight=np.ones(300))
    with pytest.raises(InvalidParameter, match="takes rows in memory"):
        train(store, calibrate="sigmoid")


def test_one_class_and_bad_values_are_named(tmp_path):
    X, y, _ = table(300)
    with pytest.raises(InvalidInput, match="holds one class, no"):
        train(store_batches([(X, np.full(300, "no"))], tmp_path / "one"))
    X[123, 4] = np.nan
    with pytest.raises(InvalidInput, match="X contains NaN: row 123, column 4"):
        train(store_batches([(X, y)], tmp_path / "nan"))


def test_a_deadline_and_a_watch_end_a_fit(tmp_path):
    X, y, _ = table()
    store = stored(tmp_path, X, y)
    model = LinearClassifier(C=10, tol=1e-14, max_time=1e-6)
    with pytest.warns(match="max_time"):
        model.fit(store)
    assert model.certificate_.relative_gap > 1e-14
    seen = []
    with pytest.warns(match="watch"):
        LinearClassifier(tol=1e-14, watch=lambda progress: seen.append(progress) or True).fit(store)
    assert len(seen) == 1


@every_value(loss=LOSSES, n_classes=[2, 3])
def test_many_sparse_columns_are_fitted_by_descent(tmp_path, loss, n_classes):
    random = np.random.default_rng(6)
    X = sp.random_array((900, 3000), density=0.01, format="csr", rng=random)
    y = np.digitize(X @ random.normal(size=3000), [0.0, 0.3][: n_classes - 1])
    stored(tmp_path, X, y)
    settings = {"loss": loss, "tol": 1e-5, "multi_class": "one_vs_rest"}
    found = LinearClassifier(**settings).fit(tmp_path / "rows")
    expected = LinearClassifier(**settings).fit(X, y)
    assert found.plan_.solver == "dual descent"
    for ours, theirs in zip(found.certificates_, expected.certificates_, strict=True):
        assert ours.relative_gap <= 1e-5
        assert ours.bound <= theirs.objective
        assert theirs.bound <= ours.objective
    assert not (tmp_path / "rows" / "fits").exists() or not any((tmp_path / "rows" / "fits").iterdir())


def test_descent_goes_on_from_what_was_saved(tmp_path):
    random = np.random.default_rng(6)
    X = sp.random_array((3000, 3000), density=0.01, format="csr", rng=random)
    store = stored(tmp_path, X, X @ random.normal(size=3000) > 0)

    class Killed(BaseException):
        pass

    def die(progress):
        raise Killed

    settings = {"C": 100.0, "tol": 1e-6, "solver": "dual_descent"}
    calm = train(store, **settings).histories[0]
    for _ in range(2):
        with pytest.raises(Killed):
            train(store, **settings, watch=lambda progress: progress.relative_gap < 1e-3 and die(progress))
    assert list((tmp_path / "rows" / "fits").glob("*/0.state"))
    model = train(store, **settings)
    assert model.certificate.relative_gap <= 1e-6
    assert model.histories[0].gap[0] < 0.1 * calm.gap[0]
    assert not any((tmp_path / "rows" / "fits").iterdir())


# ---------------------------------------------------------------- after a kill


class Killed(Exception):
    pass


class DyingRows(DiskRows):
    """Rows that die in the middle of a pass."""

    def __init__(self, *args, deaths, **settings):
        self.left = deaths
        super().__init__(*args, **settings)

    def _visit(self, k, kernel, token, vectors):
        self.left -= 1
        if self.left < 0:
            raise Killed
        return super()._visit(k, kernel, token, vectors)


@pytest.mark.parametrize(("solver", "loss"), CASES)
def test_a_fit_that_dies_goes_on_to_the_same_bits(tmp_path, monkeypatch, solver, loss):
    told = task("overlapping", loss, "free")
    expected = solved(problem_of(told, MemoryRows(told.X, block_rows=37)), solver)[1]
    store = store_batches([(told.X, told.sign)], tmp_path / "rows")
    # A killed process removes nothing, and the system closes its files.
    monkeypatch.setattr(vector_files, "_remove", lambda *files: [os.close(file) for file in files[-1]])
    deaths = 0
    for _ in range(1000):
        journal = PassJournal(OwnFolder(tmp_path / "fit"), 10**6)
        rows = DyingRows(store, block_rows=37, journal=journal, deaths=23)
        try:
            bits = solved(problem_of(told, rows), solver)[1]
            break
        except Killed:
            deaths += 1
            journal.close()
    journal.close()
    assert bits == expected
    assert deaths > 1


def test_a_journal_of_another_fit_is_noticed(tmp_path):
    X, y, _ = table(100)
    store = stored(tmp_path, X, y)
    first = PassJournal(OwnFolder(tmp_path / "fit"), 10**6)
    rows = DiskRows(store, journal=first)
    rows.reduce(Total(), rows.zeros())
    rows.filled(2.0)
    first.close()
    second = PassJournal(OwnFolder(tmp_path / "fit"), 10**6)
    again = DiskRows(store, journal=second)
    assert again.reduce(Total(), again.zeros()) == 0.0
    with pytest.raises(OtherFit):
        again.filled(3.0)
    second.close()


def test_half_an_entry_is_cut_off(tmp_path):
    X, y, _ = table(100)
    store = stored(tmp_path, X, y)
    journal = PassJournal(OwnFolder(tmp_path / "fit"), 10**6)
    rows = DiskRows(store, journal=journal)
    for _ in range(3):
        rows.reduce(Total(), rows.zeros())
    journal.close()
    os.truncate(tmp_path / "fit" / "passes", os.path.getsize(tmp_path / "fit" / "passes") - 1)
    again = PassJournal(OwnFolder(tmp_path / "fit"), 10**6)
    again.close()
    assert len(again._known) == 2


def test_two_at_the_same_fit_do_not_meet(tmp_path):
    first = PassJournal(OwnFolder(tmp_path / "fit"), 10**6)
    with pytest.raises(BlockingIOError):
        PassJournal(OwnFolder(tmp_path / "fit"), 10**6)
    first.close()
    PassJournal(OwnFolder(tmp_path / "fit"), 10**6).remove()
    assert not (tmp_path / "fit").exists()
