"""Descent over rows on disk: as good as in memory, and chosen where it is the better way."""

import time
import warnings

import numpy as np
import pytest
import scipy.sparse as sp

from maxmargin import ConvergenceWarning, train
from maxmargin._core import StopToken
from maxmargin.core.offset import FreeOffset
from maxmargin.core.problem import Problem
from maxmargin.core.solution import Plan
from maxmargin.io.store import store_batches
from maxmargin.rows.disk.journal import OtherFit, PassJournal
from maxmargin.rows.disk.rows import MappedRows
from maxmargin.solvers.dual_descent import DualDescent
from maxmargin.solvers.run import Limits, run


def wide_rows(sort=False, n=12_000, d=6_000, per_row=15):
    random = np.random.default_rng(3)
    places = random.integers(0, d, n * per_row)
    X = sp.csr_array(
        (random.normal(size=n * per_row), places, np.arange(0, n * per_row + 1, per_row)), (n, d)
    )
    X.sum_duplicates()
    y = (X @ random.normal(size=d) + random.normal(size=n) > 0.5).astype(int)
    order = np.argsort(y, kind="stable") if sort else np.arange(n)
    return X[order], y[order]


@pytest.mark.parametrize("sort", [False, True], ids=["mixed", "sorted by class"])
@pytest.mark.parametrize(("loss", "C"), [("hinge", 1.0), ("squared_hinge", 10.0)])
def test_blocks_in_turn_take_few_more_sweeps_than_all_rows(tmp_path, loss, C, sort):
    """A free offset that followed every block in turn would take twenty times as many, and more."""
    X, y = wide_rows(sort)
    settings = {"C": C, "loss": loss, "solver": "dual_descent", "tol": 1e-4}
    store = store_batches([(X, y)], tmp_path / "rows")
    ours, theirs = train(store, **settings, max_iter=2000), train(X, y, **settings)
    assert ours.certificate.relative_gap <= 1e-4
    assert ours.n_iter[0] <= 2 * theirs.n_iter[0]


@pytest.mark.parametrize(("room", "copies"), [(None, True), (1_000_000, False)])
def test_rows_on_the_margin_are_copied_only_where_there_is_room(tmp_path, monkeypatch, room, copies):
    X, y = wide_rows()
    rows = MappedRows(store_batches([(X, y)], tmp_path / "rows"), condensed_bytes=room)
    problem = Problem.binary(rows, (2 * y - 1).astype(np.int8), np.full(len(y), 10.0), "hinge", FreeOffset())
    subset, taken = rows.subset, []
    monkeypatch.setattr(rows, "subset", lambda chosen: taken.append(len(chosen)) or subset(chosen))
    found = run(problem, DualDescent(), Plan("dual descent", ""), Limits(1e-3), token=StopToken())
    assert found.certificate.relative_gap <= 1e-3
    assert (sum(taken) > 0) == copies


def test_few_dense_rows_of_many_columns_are_fitted_by_descent(tmp_path):
    random = np.random.default_rng(4)
    X = random.normal(size=(60, 3000))
    y = X[:, 0] > 0
    store = store_batches([(X, y)], tmp_path / "rows")
    model = train(store, memory="1GB")
    assert model.plans[0].solver == "dual descent"
    assert model.certificate.relative_gap <= 1e-4


@pytest.mark.slow
def test_where_the_time_is_up_descent_goes_on_another_time(tmp_path):
    X, y = wide_rows()
    store = store_batches([(X, y)], tmp_path / "rows")
    settings = {"C": 100.0, "tol": 1e-9, "solver": "dual_descent"}

    def dawdle(progress):  # until the time is up
        if progress.relative_gap < 0.1:
            time.sleep(1.0)

    with pytest.warns(ConvergenceWarning, match="max_time"):
        first = train(store, **settings, max_time=1.0, watch=dawdle)
    assert any((tmp_path / "rows" / "fits").iterdir())
    second = train(store, **settings)
    assert second.histories[0].gap[0] < 0.5 * first.histories[0].gap[0]
    assert not any((tmp_path / "rows" / "fits").iterdir())


@pytest.mark.parametrize("loss", ["hinge", "logistic"])
def test_a_short_time_does_not_throw_away_what_a_journal_knows(tmp_path, loss, monkeypatch):
    """Passes that are known are repeated first, and only what comes after them is limited."""
    random = np.random.default_rng(5)
    X = random.normal(size=(4000, 8))
    y = X[:, 0] + random.normal(size=4000) > 0
    store = store_batches([(X, y)], tmp_path / "rows")

    class Killed(BaseException):
        pass

    def die(progress):
        if progress.relative_gap < 1e-2:
            raise Killed

    settings = {"loss": loss, "tol": 1e-12, "max_iter": 50}
    with pytest.raises(Killed):
        train(store, **settings, watch=die)
    replay, ends = PassJournal.replay, []

    def delayed(self, *given):
        """As on a busy machine, where the second attempt gets no further than the first."""
        if len(ends) == 1 and self.n_repeated == ends[0] // 2:
            time.sleep(0.2)
        try:
            return replay(self, *given)
        except OtherFit:
            ends.append(self.n_repeated)
            raise

    monkeypatch.setattr(PassJournal, "replay", delayed)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # nothing is begun afresh
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = train(store, **settings, max_time=1e-6)
    assert ends
    assert model.certificate.relative_gap < 1e-2
