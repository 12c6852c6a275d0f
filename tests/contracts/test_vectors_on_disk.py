"""Numbers beside rows on disk: where their files are, when they go, and how a warm start takes them along."""

import os
import pickle
import sys
from pathlib import Path

import numpy as np
import pytest

from maxmargin import LinearClassifier, train
from maxmargin.io.store import store_batches
from maxmargin.rows.disk.rows import DiskRows


def table(n):
    random = np.random.default_rng(5)
    X = random.normal(size=(n, 6))
    return X, np.where(X[:, 0] + random.normal(size=n) > 0, "yes", "no")


def stored(folder, X, y):
    return store_batches([(X, y)], folder / "rows")


# ---------------------------------------------------------------- warm starts


@pytest.mark.parametrize("solver", ["semismooth_newton", "interior_point", "dual_descent"])
def test_a_warm_start_goes_from_disk_to_memory_and_back(tmp_path, solver):
    """The duals go along, so the second fit has nothing left to do, wherever the rows are then."""
    X, y = table(2000)
    store = stored(tmp_path, X, y)
    sources = {"disk": (store,), "memory": (X, y)}
    for first, second in (("disk", "memory"), ("memory", "disk"), ("disk", "disk")):
        model = LinearClassifier(C=0.1, tol=1e-6, solver=solver, warm_start=True).fit(*sources[first])
        effort, objective = model.history_.passes[-1], model.certificate_.objective
        again = pickle.loads(pickle.dumps(model)).fit(*sources[second])  # which takes them to another process
        model.fit(*sources[second])
        for found in (model, again):
            assert found.certificate_.relative_gap <= 1e-6
            assert found.certificate_.bound <= objective * (1 + 1e-12)
            assert found.history_.passes[-1] < 0.5 * effort


def test_a_warm_start_may_take_another_solver(tmp_path):
    X, y = table(2000)
    model = LinearClassifier(C=0.1, tol=1e-6, solver="semismooth_newton", warm_start=True)
    model.fit(stored(tmp_path, X, y))
    for solver in ("dual_descent", "interior_point"):
        assert model.set_params(solver=solver).fit(X, y).certificate_.relative_gap <= 1e-6
    with pytest.warns(match="max_iter"):  # other rows: nothing to go on from
        model.set_params(max_iter=1, tol=1e-12).fit(X[:900], y[:900])


# ---------------------------------------------------------------- where files are


def open_files(folder):
    """Return the sizes of this process's files that are, or were, in a folder."""
    links = [Path("/proc/self/fd", name) for name in os.listdir("/proc/self/fd")]
    return [link.stat().st_size for link in links if link.is_symlink() and str(folder) in os.readlink(link)]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="/proc is Linux's")
def test_only_what_a_warm_start_needs_outlives_a_fit(tmp_path):
    X, y = table(2000)
    fits = stored(tmp_path, X, y).folder / "fits"
    model = LinearClassifier(C=0.1).fit(tmp_path / "rows")
    assert open_files(fits) == []
    model.set_params(warm_start=True).fit(tmp_path / "rows")
    kept = sorted(open_files(fits))
    assert [size for size in kept if size > 0] == [16_000, 16_000]  # two vectors, and no second copies
    effort = model.history_.passes[-1]
    assert model.fit(tmp_path / "rows").history_.passes[-1] < 0.5 * effort
    assert sorted(open_files(fits)) == kept
    assert not any(fits.iterdir())
    del model
    assert open_files(fits) == []


def test_two_at_the_same_fit_have_vectors_beside_the_rows_each(tmp_path, monkeypatch):
    """Not in the system's folder for temporary files, which may be memory."""
    monkeypatch.setattr("maxmargin.rows.disk.folders.TemporaryDirectory", None)
    X, y = table(2000)
    store = stored(tmp_path, X, y)
    fits = store.folder / "fits"
    calm = train(store, C=0.1)
    inside = []

    def fit_too(progress):
        if not inside:
            inside.append(None)
            seen = []
            inside[0] = train(store, C=0.1, watch=lambda progress: seen.append(list(fits.glob("*/1-a"))))
            assert len(seen[0]) == 2

    outside = train(store, C=0.1, watch=fit_too)
    for model in (outside, *inside):
        np.testing.assert_array_equal(model.coef, calm.coef)
    assert not any(fits.iterdir())


def test_vectors_that_cannot_be_beside_the_rows_are_announced(tmp_path, monkeypatch):
    X, y = table(2000)
    store = stored(tmp_path, X, y)
    calm = train(store, C=0.1).coef
    (store.folder / "fits").rmdir()
    (store.folder / "fits").write_text("in the way")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with pytest.warns(UserWarning, match=f"fits cannot be written .* are in {tmp_path}/maxmargin-.* TMPDIR"):
        np.testing.assert_array_equal(train(store, C=0.1).coef, calm)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["rows"]


def test_vectors_of_a_killed_process_go_with_the_next_fit(tmp_path):
    X, y = table(300)
    store = stored(tmp_path, X, y)
    left = store.folder / "fits" / ".vectors.0123456789ab.part"
    left.mkdir(parents=True)
    (left / "1-a").write_bytes(bytes(2400))
    first, second = DiskRows(store), DiskRows(store)
    assert not left.exists()
    assert len(list((store.folder / "fits").iterdir())) == 2
    del first, second
    assert not any((store.folder / "fits").iterdir())
