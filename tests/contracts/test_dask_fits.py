"""Fits on a Dask cluster: the bits of one in memory for 1, 2 and 4 workers and when one is killed on the way.

And what is left of a fit when all of them are gone, the time is up, or another goes on from it.
"""

import itertools
import os
import signal
import threading
import time

import numpy as np
import pytest
import scipy.sparse as sp
from reference.clusters import lazy, processes
from reference.on_dask import client_here

from maxmargin import LinearSVM, train
from maxmargin.core.solution import Status
from maxmargin.errors import ConvergenceWarning, InvalidParameter, RowsLost
from maxmargin.rows import memory as blocked
from maxmargin.solvers import run

distributed = pytest.importorskip("distributed")

from maxmargin.rows.dask import placement as dask_placement  # noqa: E402
from maxmargin.rows.dask import worker as dask_worker  # noqa: E402
from maxmargin.rows.dask.placement import BlockPlacement  # noqa: E402
from maxmargin.rows.dask.rows import DaskRows  # noqa: E402

pytestmark = pytest.mark.xdist_group("dask")

ROWS = 128  # in a block


def example(kind):
    """Return X, labels and weights."""
    random = np.random.default_rng(7)
    X = random.normal(size=(1024, 4))
    score = X @ random.normal(size=4) + random.normal(size=1024)
    weight = random.integers(0, 4, 1024).astype(float)
    if kind == "three classes":
        return X, np.array(["no", "yes", "zeta"])[np.digitize(score, [-0.5, 0.5])], weight
    if kind == "sparse":
        X = sp.csr_array(np.where(np.abs(X) > 1, X, 0.0))
    return X, score > 0, None if kind == "dense" else weight


# Several classes: in test_dask_rows.py.
CASES = [
    ("hinge", "dense"),
    ("squared_hinge", "sparse"),
    ("logistic", "weighted"),
    ("crammer_singer", "three classes"),
]
SOLVERS = {
    "hinge": "interior_point",
    "squared_hinge": "newton",
    "logistic": "newton",
    "crammer_singer": "semismooth_newton",
}


def bits(model):
    proofs = [(proof.objective, proof.bound) for proof in model.certificates]
    return model.coef.tobytes(), model.intercept.tobytes(), proofs


@pytest.fixture
def as_large(monkeypatch):
    """Have arrays cut as those on the cluster are, and certificates made as rarely as of large data."""
    monkeypatch.setattr(blocked, "SMALLEST_BLOCK", ROWS)
    monkeypatch.setattr(run, "_SETTINGS", run.RunSettings(cheap_values=0))


def on(client, loss, kind, **settings):
    X, y, weight = example(kind)
    told = {"loss": loss, "solver": SOLVERS[loss], "tol": 1e-2, "sample_weight": weight, **settings}
    if loss == "crammer_singer":
        told.update(loss="hinge", multi_class="crammer_singer")
    return train(X if client is None else lazy(X, ROWS), y, client=client, **told)


@pytest.mark.slow
def test_any_number_of_workers_has_the_bits_of_one_process(as_large, monkeypatch):
    with processes(1) as client:
        alone = {loss: on(client, loss, kind) for loss, kind in CASES}
        for loss, kind in CASES:
            assert bits(alone[loss]) == bits(on(None, loss, kind))
        for n_workers in (2, 4):
            client.cluster.scale(n_workers)
            client.wait_for_workers(n_workers)
            for loss, kind in CASES:
                assert bits(on(client, loss, kind)) == bits(alone[loss])
        for loss, kind in CASES:
            client.wait_for_workers(4)
            victim = next(iter(client.run(os.getpid).values()))
            n_passes = killing_at(monkeypatch, victim, 12)
            assert bits(on(client, loss, kind)) == bits(alone[loss])
            assert next(n_passes) > 15
            assert victim not in client.run(os.getpid).values()


def killing_at(monkeypatch, victim, number):
    """Have a process killed in the pass of that number; what is returned counts further."""
    reduce, counter = DaskRows.reduce, itertools.count()

    def killing(self, *arguments, **settings):
        if next(counter) == number:
            os.kill(victim, signal.SIGKILL)
        return reduce(self, *arguments, **settings)

    monkeypatch.setattr(DaskRows, "reduce", killing)
    return counter


# ---------------------------------------------------------------- all workers gone


@pytest.fixture
def leaving(monkeypatch):
    """Return a client, and what takes its workers away."""
    monkeypatch.setattr(dask_placement, "NO_WORKER_TIMEOUT", 0.5)
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=False, dashboard_address="127.0.0.1:0"
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):

        def leave():
            cluster.scale(0)
            while client.ncores():
                threading.Event().wait(0.05)
            dask_worker.state.blocks.clear()  # the workers were this process

        yield client, leave


def test_when_all_workers_are_gone_the_best_model_is_attached(leaving):
    client, leave = leaving
    seen = []

    def watch(progress):
        seen.append(progress)
        if len(seen) == 2:
            leave()

    X, y, _ = example("dense")
    estimator = LinearSVM(loss="squared_hinge", C=1e3, tol=1e-12, watch=watch)
    told = r"no Dask worker is left.*The best model so far is within"
    with pytest.raises(RowsLost, match=told) as caught:
        estimator.fit(lazy(X, 400), y, client=client)
    model = caught.value.model
    proof = model.certificate
    assert (proof.objective, proof.bound) == (seen[-1].objective, seen[-1].bound)
    assert model.statuses == [Status.LOST]
    assert estimator.certificate_ is proof
    # What it says is true of these rows: their optimum is between the two.
    exact = LinearSVM(loss="squared_hinge", C=1e3, tol=1e-12).fit(X, y).certificate_
    assert proof.bound <= exact.objective * (1 + 1e-12)
    assert exact.bound <= proof.objective * (1 + 1e-12)
    slack = np.maximum(0, 1 - np.where(y, 1, -1) * (X @ model.coef[0] + model.intercept[0]))
    value = 0.5 * model.coef[0] @ model.coef[0] + 1e3 * slack @ slack
    assert proof.objective == pytest.approx(value, rel=1e-10)


@pytest.mark.slow
def test_all_classes_at_once_with_the_bits_of_memory_and_without_workers(leaving, as_large):
    client, leave = leaving
    settings = {"C": 10.0, "solver": "auto"}
    there, here = (on(each, "crammer_singer", "three classes", **settings) for each in (client, None))
    assert bits(there) == bits(here)
    assert there.plans[0].solver == "semismooth Newton"
    seen = []

    def watch(progress):
        seen.append(progress)
        if len(seen) == 2:
            leave()

    with pytest.raises(RowsLost, match="The best model so far is within") as caught:
        on(client, "crammer_singer", "three classes", **settings, tol=1e-12, watch=watch)
    proof = caught.value.model.certificate
    assert (proof.objective, proof.bound) == (seen[-1].objective, seen[-1].bound)
    assert proof.bound <= here.certificate.objective
    assert here.certificate.bound <= proof.objective


@pytest.mark.slow
def test_classes_that_were_not_begun_are_said_to_be_worth_nothing(leaving):
    client, leave = leaving
    X, y, weight = example("three classes")

    def watch(progress):
        if progress.label == "class yes":
            leave()

    settings = {"loss": "logistic", "multi_class": "one_vs_rest", "sample_weight": weight}
    with pytest.raises(RowsLost) as caught:
        train(lazy(X, 400), y, watch=watch, client=client, **settings)
    first, second, third = caught.value.model.certificates
    assert first.relative_gap <= 1e-4
    assert second.bound > 0
    assert (third.objective, third.bound) == (pytest.approx(weight.sum() * np.log(2)), 0.0)
    assert not caught.value.model.coef[2].any()


def test_without_a_worker_from_the_start_there_is_no_model(leaving):
    client, leave = leaving
    leave()
    X, y, _ = example("dense")
    with pytest.raises(Exception, match="the Dask client has no workers; start some, then fit"):
        train(lazy(X, 400), y, client=client)


# ---------------------------------------------------------------- limits, warm starts, progress


def test_time_is_kept_and_the_model_certified(monkeypatch):
    """As if loading had taken all of the time but nearly nothing."""
    X, y, _ = example("dense")
    load = BlockPlacement.load_all

    def slowly(self, *arguments):
        loaded = load(self, *arguments)
        time.sleep(self.timeouts.seconds_left())
        return loaded

    monkeypatch.setattr(BlockPlacement, "load_all", slowly)
    with pytest.warns(ConvergenceWarning, match="max_time"):
        model = train(lazy(X, 400), y, tol=1e-15, max_time=1, client=client_here())
    assert model.statuses == [Status.MAX_TIME]
    assert 0 <= model.certificate.bound <= model.certificate.objective


def test_a_fit_goes_on_from_weights_and_the_hinge_says_that_it_cannot():
    X, y, _ = example("dense")
    estimator = LinearSVM(loss="squared_hinge", warm_start=True, tol=1e-8)
    cold = estimator.fit(lazy(X, 400), y, client=client_here()).n_iter_
    assert estimator.fit(lazy(X, 400), y, client=client_here()).n_iter_ < cold
    hinge = LinearSVM(warm_start=True, tol=0.1).fit(X, y)
    with pytest.raises(InvalidParameter, match="cannot continue an earlier one"):
        hinge.fit(lazy(X, 400), y, client=client_here())


def test_progress_shows_the_live_gap(capsys):
    X, y, weight = example("three classes")
    settings = {"loss": "logistic", "multi_class": "one_vs_rest", "sample_weight": weight}
    train(lazy(X, 400), y, verbose=1, client=client_here(), **settings)
    told = capsys.readouterr().err
    assert "class no" in told
    assert "of the optimum (goal 0.010 %)" in told
