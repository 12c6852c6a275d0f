"""Sparse rows of a store: some of them in little memory, and damaged files are errors, not crashes."""

import os
import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from covering import every_value

import maxmargin.rows.disk.rows as module
from maxmargin import LinearClassifier, Perceptron
from maxmargin.errors import FileFormatError
from maxmargin.io.store import store_batches
from maxmargin.rows.disk.rows import MappedRows, csr_parts, gathered_rows
from maxmargin.rows.disk.store import open_store

X = sp.random_array((300, 40), density=0.1, format="csr", rng=np.random.default_rng(4))
Y = np.arange(300) % 2


@pytest.fixture
def store(tmp_path):
    return store_batches([(X, Y)], tmp_path / "rows")


@every_value(chosen=[[], [7], [3, 3, 299, 0], range(300), range(299, -1, -7)], at_once=[1, 10, 1 << 16])
def test_rows_are_those_that_scipy_would_choose(store, monkeypatch, chosen, at_once):
    monkeypatch.setattr(module, "VALUES_AT_ONCE", at_once)
    indices = np.array(chosen, dtype=np.intp)
    values, columns, starts = gathered_rows(store, indices)
    expected = X[indices]
    np.testing.assert_array_equal(values, expected.data)
    np.testing.assert_array_equal(columns, expected.indices)
    np.testing.assert_array_equal(starts, expected.indptr)
    assert columns.dtype == starts.dtype == np.int32


def test_the_memory_is_that_of_the_chosen_rows(tmp_path):
    n, per_row = 50_000, 20
    columns = np.tile(np.arange(per_row, dtype=np.int32), n)
    starts = np.arange(0, n * per_row + 1, per_row, dtype=np.int32)
    rows = sp.csr_array((np.ones(n * per_row), columns, starts), shape=(n, 30))
    mapped = MappedRows(store_batches([(rows, np.arange(n) % 2)], tmp_path / "rows"))
    mapped.subset(np.arange(2))  # imports
    tracemalloc.start()
    try:
        chosen = mapped.subset(np.arange(0, n, 5_000))
        assert tracemalloc.get_traced_memory()[1] < 100_000
    finally:
        tracemalloc.stop()
    assert chosen.n_values == 10 * per_row


# ---------------------------------------------------------------- damage

FAR = 1 << 40  # beyond what 32 bits hold: it must not be taken for 0
DAMAGE = [
    ("columns", 100, 40, r"columns\.npy: row \d+ .* names column 40, and there are 40 \(0 to 39\)"),
    ("columns", 100, -1, r"columns\.npy: row \d+ .* names column -1"),
    ("columns", 100, 2**31 - 1, r"columns\.npy: row \d+ .* names column 2147483647"),
    ("starts", 123, 5, r"starts\.npy: row 122 .* ends before it begins"),
    ("starts", 123, FAR, r"starts\.npy: row 12[23] .* (ends before it begins|lies outside)"),
    ("starts", 123, -FAR, r"starts\.npy: row 12[23] .* (ends before it begins|lies outside)"),
    ("starts", 0, -1, r"starts\.npy: row"),
    ("starts", 300, FAR, r"starts\.npy: row"),
]


def damage(store, name, place, value, *, in_secret=True):
    """Change a number of a file; in secret, its time of writing stays as it was."""
    path = store.folder / f"{name}.npy"
    before = path.stat()
    numbers = np.load(path, mmap_mode="r+")
    numbers[place] = value
    numbers.flush()
    del numbers
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns + (0 if in_secret else 1)))
    return open_store(store.folder)


@pytest.mark.parametrize(("name", "place", "value", "message"), DAMAGE)
def test_what_would_lead_outside_is_named(store, name, place, value, message):
    damaged = damage(store, name, place, value)
    with pytest.raises(FileFormatError, match=message) as told:
        csr_parts(damaged, slice(0, 300))
    assert str(told.value).endswith("the file is damaged; store the rows again")
    with pytest.raises(FileFormatError, match=message):
        gathered_rows(damaged, np.arange(300))
    for learner in (LinearClassifier(), LinearClassifier(loss="logistic"), Perceptron()):
        with pytest.raises(ValueError, match=message):
            learner.fit(store.folder)


def test_a_column_that_is_named_twice_is_damage(store):
    first = int(np.argmax(np.diff(X.indptr) > 1))
    place = int(X.indptr[first])
    damaged = damage(store, "columns", place + 1, X.indices[place])
    with pytest.raises(FileFormatError, match="a row between 0 and 299 .* names a column twice"):
        csr_parts(damaged, slice(0, 300))


def test_labels_of_no_class_are_damage(store):
    for value in (2, -1):
        damage(store, "labels", 17, value)
        with pytest.raises(ValueError, match="the label of row 17 .* is none of the classes"):
            Perceptron().fit(store.folder)


def test_a_block_is_looked_at_once(store, monkeypatch):
    asked = []
    check = module.check_csr
    monkeypatch.setattr(module, "check_csr", lambda *parts: asked.append(1) or check(*parts))
    rows = MappedRows(store, block_rows=100, threads=2)
    for _ in range(3):
        rows.__dict__.pop("_norms", None)
        rows.norms()
    assert len(asked) == 3


@every_value(
    learner=[LinearClassifier(), Perceptron(max_passes=5)],
    written=[("values", 3.0), ("labels", 1), ("columns", 39), ("starts", 7)],
)
@pytest.mark.filterwarnings("ignore::maxmargin.ConvergenceWarning")
def test_files_that_were_written_to_are_compared_with_their_checksums(store, learner, written):
    """Also where the numbers are possible ones."""
    name, value = written
    fine = learner.fit(store.folder).coef_
    os.utime(store.folder / f"{name}.npy")  # as after a copy
    np.testing.assert_array_equal(learner.fit(store.folder).coef_, fine)
    place = 1 if name == "starts" else int(np.argmax(np.asarray(store.arrays[name]) != value))
    damaged = damage(store, name, place, value, in_secret=False)
    for source in (store.folder, damaged):
        with pytest.raises(FileFormatError, match=rf"{name}\.npy: the checksum of the file is wrong"):
            learner.fit(source)
